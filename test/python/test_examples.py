# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of examples/, as docs/WriteAKernel.md shows them: another algorithm, no C++."""

import dataclasses
import pathlib
import re
import subprocess

import numpy as np
import pytest
from lowered_kernels import BUILD, SOURCE, compile_kernel, needs_ptxas
from second_caches import MAIN

import mlatile
from mlatile.testing import FORMATS, executor, make_case, write_pool

WINDOW = SOURCE / "examples" / "sliding_window.mlir"
WITH_ROPE = [name for name in MAIN if FORMATS[name].rope]


def window_case(seed, positions, firsts, *, heads, window, page_size, kv_format="dsv4"):
    """A case whose index lists are the windows; the slots of no window hold NaN. Gives it and the rows (first, p)."""
    rows = len(positions)
    listed = np.full((rows, window), -1, np.int64)
    for t, (p, first) in enumerate(zip(positions, firsts)):
        ids = first + np.arange(max(0, p - window), max(0, p))
        listed[t, : len(ids)] = ids
    pages = -(-int(listed.max() + 40) // page_size)
    case = make_case(seed, tokens=rows, heads=heads, width=window, page_size=page_size, pages=pages, kv_format=kv_format)
    slots = np.unique(listed[listed >= 0])
    pool = write_pool(np.random.default_rng(seed), kv_format, pages=pages, page_size=page_size, slots=slots)
    case = dataclasses.replace(case, pool=pool, indices=listed.astype(np.int32), topk_length=None, attn_sink=None)
    return case, np.stack([firsts, positions], axis=1).astype(np.int32)


def run_window(case, rows, window, **options):
    kernel = mlatile.load(WINDOW, params=dict(WINDOW=window))
    return mlatile.sparse_mla(**case.arguments(indices=rows, kernel=kernel, **options))


@pytest.mark.parametrize("kv_format", WITH_ROPE)
@pytest.mark.parametrize("heads", [1, 16, 22])
@pytest.mark.parametrize("window", [1, 31, 32, 33, 128, 513])
def test_sliding_window(kv_format, heads, window):
    """Before, at and past the first whole window; two sequences; empty rows; page sizes that divide nothing."""
    positions = [1, window - 1, window, window + 1, 3 * window + 5, 0, -3]
    firsts = [0, 0, 1, 0, 37, 5, 5]
    case, rows = window_case(window, positions, firsts, heads=heads, window=window, page_size=48, kv_format=kv_format)
    out = run_window(case, rows, window)
    assert case.compare(out), case.compare(out).text
    assert not out[5:].astype(np.float32).any()


def test_sliding_window_past_the_pool():
    """Ids that are not in the pool are skipped as in every kernel, a whole tile of them too."""
    case, rows = window_case(1, [100, 90], [0, 20], heads=4, window=100, page_size=16)
    slots = case.pool.slots
    rows[0] = slots - 40, 100
    out = run_window(case, rows, 100)
    assert not np.isnan(out[1].astype(np.float32)).any()
    rows[0] = slots + 5, 100
    assert not run_window(case, rows, 100)[0].astype(np.float32).any()


def test_sliding_window_is_the_sparse_kernel_on_its_list():
    case, rows = window_case(2, [200, 7, 130], [0, 3, 60], heads=8, window=128, page_size=64)
    out = run_window(case, rows, 128).astype(np.float32)
    listed = mlatile.sparse_mla(**case.arguments(), num_splits=1).astype(np.float32)
    assert np.abs(out - listed).max() <= 2.0**-7 * np.abs(listed).max()


def test_sliding_window_gathers_ahead():
    """Computed ids are fetched ahead as those of a list are: copies are in flight during the products."""
    case, rows = window_case(3, [400], [0], heads=8, window=256, page_size=64)
    kernel = mlatile.load(WINDOW, params=dict(WINDOW=256))
    for seed in range(3):
        with executor(seed=seed) as runs:
            out = mlatile.sparse_mla(**case.arguments(indices=rows, kernel=kernel))
        assert case.compare(out)
        (stats,) = runs.stats[0]
        assert stats["mma_with_copies_in_flight"] > 3 * stats["mma_without_copies_in_flight"]


@pytest.mark.parametrize(("changes", "word"), [
    (dict(attn_sink=np.zeros(4, np.float32)), "HAS_SINK"), (dict(return_lse=True), "LSE"), (dict(num_splits=2), "SPLIT"),
    (dict(topk_length=np.ones(2, np.int32)), "HAS_LENGTH"),
])
def test_what_the_example_does_not_have_is_refused(changes, word):
    case, rows = window_case(4, [9, 20], [0, 3], heads=4, window=16, page_size=16)
    with pytest.raises(mlatile.ArgumentError, match=rf"`kernel`: .*no lengths, sinks, splits or lse here \(.*{word} = [1-9]"):
        run_window(case, rows, 16, **changes)
    with pytest.raises(mlatile.ArgumentError, match="`params`: .*a window has at least one token"):
        mlatile.load(WINDOW, params=dict(WINDOW=0))


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a", "sm_90a"])
def test_sliding_window_assembles(target):
    meta = compile_kernel(WINDOW, target=target, cubin=True, FMT="dsv4").meta
    assert meta["ptxas"]["spill_stores"] == meta["ptxas"]["spill_loads"] == 0
    assert meta["shared_bytes"] <= 101_376


def test_the_example_is_short():
    lines = WINDOW.read_text().splitlines()
    assert len(lines) <= 120
    words = "|".join(("sparse", "window", "sliding"))
    for folder in ("dialect", "lib"):  # and no part of the compiler knows it
        for file in (SOURCE / folder).rglob("*.cpp"):
            assert not re.search(rf"\b({words})_", file.read_text(), flags=re.IGNORECASE), file


def test_the_page_is_true():
    """Every command of docs/WriteAKernel.md runs as it stands there, with the programs of this build."""
    page = (SOURCE / "docs" / "WriteAKernel.md").read_text()
    commands = re.findall(r"^    (build/bin/mlatile-(?:opt|compile) .*)$", page, flags=re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        words = command.replace("build/bin/", f"{BUILD}/bin/")
        result = subprocess.run(["bash", "-o", "pipefail", "-c", words], cwd=SOURCE, capture_output=True, text=True)
        wants_failure = "WINDOW=0" in command
        assert (result.returncode != 0) == wants_failure, f"{command}: {result.stderr[:1000]}"
    code = re.search(r"```python\n(.*?)```", page, flags=re.DOTALL)[1]
    script = f"import sys; sys.path[:0] = {[str(pathlib.Path(__file__).parent)]!r}\n{code}"
    result = subprocess.run([SOURCE / ".venv" / "bin" / "python", "-c", script], cwd=SOURCE, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
