# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned kernels, assembled: nothing spilled, and the arena fits.

Kernels, formats, second formats, heads, options and targets pairwise. MLATILE_SWEEP=3: each kernel with each format and
pair at each number of heads, those with any third factor: half an hour on one core."""

import concurrent.futures
import os
import re

import pytest
from lowered_kernels import needs_ptxas
from second_caches import KERNELS, MAIN, PAIRS

import mlatile
from mlatile.testing import FORMATS, covering

STRENGTH = int(os.environ.get("MLATILE_SWEEP", 2))
CACHES = [*((name, None) for name in MAIN), *PAIRS]
VARIANTS = [(kernel, *formats) for kernel in KERNELS for formats in CACHES]
PARTS = ("kernel", "kv_format", "extra_kv_format")
OTHERS = dict(
    num_heads=[1, 8, 11, 16, 22, 64, 80, 128], target=["sm_120a", "sm_121a"], num_splits=[1, 2],
    compute=["bf16", "fp8", "fp8_fast"], has_topk_length=[False, True], has_extra_topk_length=[False, True], has_sink=[False, True], lse_base=[None, "2", "e"],
)


def allowed(part):
    """Pairs that are legal, splits and lengths only where there are any."""
    given = dict(zip(PARTS, part["variant"])) if "variant" in part else part
    if part.get("num_splits") == 2 and given.get("kernel", "decode") != "decode":
        return False
    if part.get("compute", "bf16") != "bf16" and any(name and FORMATS[name].scale == "e4m3" for name in
                                                     (given.get("kv_format"), given.get("extra_kv_format"))):
        return False
    if part.get("has_extra_topk_length") and given.get("extra_kv_format", "") is None:
        return False
    return any(all(given.get(name, value) == value for name, value in zip(PARTS, variant)) for variant in VARIANTS)


def rows():
    """The three parts of a variant as factors of their own, or as one."""
    if STRENGTH > 2:
        found = covering(dict(variant=VARIANTS) | OTHERS, STRENGTH, allowed=allowed)
        return [dict(zip(PARTS, row.pop("variant"))) | row for row in found]
    parts = {name: list(dict.fromkeys(values)) for name, values in zip(PARTS, zip(*VARIANTS))}
    return covering(parts | OTHERS, STRENGTH, allowed=allowed)


def planned(row):
    more = dict(extra_width=64, extra_page_size=64) if row["extra_kv_format"] else {}
    base = row["lse_base"]
    return mlatile.plan(**row | more | dict(num_tokens=4, width=512, page_size=64, lse_base=base or "2", return_lse=base is not None))


@pytest.fixture(scope="module")
def plans():
    return [planned(row) for row in rows()]


@needs_ptxas
def test_nothing_spills(plans):
    found = {}
    for plan in plans:
        if not {launch["kernel"] for launch in plan.launches} <= found.keys():
            found |= {part.name: part for part in mlatile.compile(plan).parts}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = dict(zip(found, pool.map(lambda kernel: kernel.report, found.values())))
    wrong = {name: (report["spill_bytes"], report["shared_bytes"], report["registers"]) for name, report in reports.items()
             if report["spill_bytes"] or report["shared_bytes"] > 101_376 or not 0 < report["registers"] <= 255}
    assert not wrong, "\n".join(f"{name}: spills, shared memory, registers {values}" for name, values in wrong.items())


def test_which_they_are(plans):
    """Each kernel, format and pair, and each option of a kernel; and the merges."""
    names = {launch["kernel"] for plan in plans for launch in plan.launches}
    for target in OTHERS["target"]:
        here = [name for name in names if name.endswith(target)]
        for kernel in KERNELS:
            assert any(name.startswith(f"{kernel}-{kernel}-") for name in here)
        for main, extra in CACHES:
            pair = rf"-EXTRA={extra or main}-FMT={main}(-FP8=\d)?-HAS_EXTRA={'true' if extra else 'false'}-"
            assert any(re.search(pair, name) for name in names), pair
        for option in ("FP8=1", "FP8=2", "SPLIT=true", "SPLIT=false", "HAS_LENGTH=true", "HAS_LENGTH=false", "HAS_EXTRA_LENGTH=true",
                       "HAS_SINK=true", "LSE=0", "LSE=1", "LSE=2"):
            assert any(f"-{option}-" in name for name in here), (target, option)
    assert any(name.startswith("decode-merge-") for name in names)
    for heads in (8, 16, 32, 64):
        assert any(f"-BH={heads}-" in name for name in names)
