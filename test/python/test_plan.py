# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans and kernels as objects of Python."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

import mlatile

PROBLEM = dict(num_tokens=3, num_heads=11, width=192, kv_format="dsv4", page_size=48, target="sm_120a")
PTXAS = os.environ.get("MLATILE_PTXAS") or shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="no ptxas")


def test_plan_explains():
    plan = mlatile.plan(**PROBLEM)
    assert (plan.kernel, plan.compute, plan.target, plan.num_splits) == ("decode", "bf16", "sm_120a", 6)
    text = str(plan)
    for part in ("192 candidates of `dsv4`", "6 splits, merge dependent", "decode", "num_sms: 188"):
        assert part in text
    assert plan.merge == "dependent" and plan.workspace_bytes > plan.counter_bytes > 0


def test_num_sms_decides_the_splits():
    assert mlatile.plan(**PROBLEM, num_sms=3).num_splits == 1
    assert mlatile.plan(**PROBLEM, num_sms=9).num_splits == 3


def test_merges_as_asked_for():
    assert mlatile.plan(**PROBLEM, num_splits=4, merge="slices").merge == "slices"
    assert mlatile.plan(**PROBLEM, num_splits=4, merge="launch").merge == "launch"
    with pytest.raises(mlatile.UnsupportedError, match="merge `slices`: 12 CTAs would wait for each other"):
        mlatile.plan(**PROBLEM, num_splits=4, num_sms=11, merge="slices")
    made = mlatile.plan(**PROBLEM, num_splits=4, merge="cluster")
    assert (made.merge, made.workspace_bytes, made.counter_bytes, len(made.launches)) == ("cluster", 0, 0, 1)
    with pytest.raises(mlatile.UnsupportedError, match="merge `cluster`: expected at most 8 splits"):
        mlatile.plan(**PROBLEM, num_splits=9, merge="cluster")
    with pytest.raises(mlatile.ArgumentError, match="`merge`: expected"):
        mlatile.plan(**PROBLEM, merge="grid")


def test_a_new_plan_takes_less_than_a_millisecond():
    seconds = []
    for tokens in range(1, 100):
        begin = time.perf_counter()
        mlatile.plan(**PROBLEM | dict(num_tokens=tokens, num_heads=64, width=7936, extra_width=512, extra_page_size=64))
        seconds.append(time.perf_counter() - begin)
    assert sorted(seconds)[50] < 1e-3


def test_tables_come_from_the_library():
    from mlatile.testing import FORMATS

    listed = {f["name"]: f for f in mlatile.formats()}
    assert list(listed) == list(FORMATS)
    for name, own in FORMATS.items():
        theirs = listed[name]
        assert (theirs["d_qk"], theirs["d_v"], theirs["group"]) == (own.d_qk, own.d_v, own.group)
        assert (theirs["data_row"], theirs["scale_row"]) == (own.data_row, own.scale_row)
    assert mlatile.targets()[:2] == ["sm_120a", "sm_121a"]


def test_import_opens_nothing():
    """Importing needs neither the compiler, nor CUDA, nor NumPy."""
    script = (
        "import sys, mlatile; maps = open('/proc/self/maps').read();"
        "assert 'libcuda' not in maps and 'LLVM' not in maps and 'compiler' not in maps;"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_compile_without_ptxas():
    assert [part.symbol for part in mlatile.compile(mlatile.plan(**PROBLEM, num_splits=2, merge="slices")).parts] == ["decode"]
    # More CTAs than surely run at the same time are not made to wait for each other.
    kernel = mlatile.compile(mlatile.plan(**PROBLEM, num_sms=1, num_splits=2))
    assert [part.symbol for part in kernel.parts] == ["decode", "merge"]
    assert ".target sm_120a" in kernel.ptx
    assert "mma.sync" in kernel.ptx and "f64" not in kernel.ptx
    assert "tile.kernel" in kernel.mlir or "tile." in kernel.mlir
    assert kernel.meta["threads"] % 32 == 0
    assert kernel.llvm


def test_compile_for_another_target():
    kernel = mlatile.compile(mlatile.plan(**PROBLEM), target="sm_90a")
    assert kernel.target == "sm_90a" and ".target sm_90a" in kernel.ptx
    with pytest.raises(mlatile.ArgumentError, match="`target`: expected 'sm_120a'"):
        mlatile.compile(mlatile.plan(**PROBLEM), target="sm_70")


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_90a"])
@pytest.mark.parametrize("options", [dict(num_splits=1), dict(num_splits=4, has_topk_length=True, has_sink=True, return_lse=True)])
def test_report(target, options):
    kernel = mlatile.compile(mlatile.plan(**PROBLEM | dict(target=target), **options))
    for part in kernel.parts:
        report = part.report
        # On sm_90a registers are bounded for three CTAs an SM.
        assert report["spill_bytes"] <= (0 if target == "sm_120a" else 64)
        assert 0 < report["registers"] <= 255
        assert report["shared_bytes"] <= 101_376
        assert report["threads"] % 32 == 0
        for offset, size in report["buffers"].values():
            assert 0 <= offset and offset + size <= report["shared_bytes"]
        assert all(seconds >= 0 for seconds in report["seconds"].values())
        assert part.cubin[:4] == b"\x7fELF"


def test_a_plan_without_rows_has_no_kernel():
    plan = mlatile.plan(**PROBLEM | dict(num_tokens=0))
    assert plan.launches == []
    with pytest.raises(mlatile.ArgumentError, match="without a launch"):
        mlatile.compile(plan)


def test_main_job():
    program = pathlib.Path(mlatile._mlatile.__file__).parents[2] / "bin" / "mlatile-run"
    if not program.exists():
        pytest.skip(f"no {program}")
    job = [program, "--tokens", "3", "--heads", "11", "--width", "192", "--page-size", "48", "--json"]
    result = subprocess.run(job, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["ok"] and report["error"] <= report["error_bound"]
    assert report["plan"]["num_splits"] == 6
    wrong = subprocess.run([*job, "--compute", "fp8", "--target", "sm_90a"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "compute `fp8` needs mma of e4m3 with block scaling, which target `sm_90a` has not" in wrong.stderr


@pytest.mark.parametrize("problem, target, same", [
    (dict(num_tokens=64, num_heads=64, target="sm_120a", compute="bf16"), "sm_90a", True),
    (dict(num_tokens=64, num_heads=128, target="sm_90a"), "sm_120a", False),  # 64 heads with roles have no room there
    (dict(num_tokens=4096, num_heads=64, target="sm_120a"), "sm_121a", True),
    (dict(num_tokens=4096, num_heads=64, target="sm_120a"), "sm_90a", False),  # it has no FP8
])
def test_a_plan_is_compiled_for_another_target(problem, target, same):
    """In the way that was taken, where that can be."""
    plan = mlatile.plan(**problem, width=2048, kv_format="dsv4", page_size=64)
    assert plan.roles
    own, other = (mlatile.compile(plan, target=name).meta for name in (plan.target, target))
    names = "BH", "BN", "WARPS", "ROLES", "FP8"
    assert ([own["params"][name] for name in names] == [other["params"][name] for name in names]) == same
    assert other["target"] == target and own["target"] == plan.target
