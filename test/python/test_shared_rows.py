# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""examples/shared_rows.mlir: several query rows of a request share the gathered union of their lists."""

import dataclasses
import pathlib
import re
import subprocess

import numpy as np
import pytest
from lowered_kernels import SOURCE, compile_kernel, needs_ptxas

import mlatile
from mlatile.testing import executor, make_case

SHARED = SOURCE / "examples" / "shared_rows.mlir"
PAGE = SOURCE / "docs" / "WriteAKernel.md"
FORMATS = ["dsv4", "dots3_swa", "dsv4_nvfp4"]


def union_of(lists, slots):
    """The union of the lists [requests, rows, width] of each request, and which rows use a candidate, a bit each."""
    unions = [np.unique(request[(request >= 0) & (request < slots)]) for request in lists]
    width = max([len(union) for union in unions] + [1])
    union = np.full((len(lists), width), -1, np.int32)
    users = np.zeros((len(lists), width), np.int32)
    for i, candidates in enumerate(unions):
        union[i, : len(candidates)] = candidates
        for row, ids in enumerate(lists[i]):
            users[i, : len(candidates)] |= (np.isin(candidates, ids) << row).astype(np.int32)
    return union, users


def shared_case(seed, requests, rows, **problem):
    """A case of requests x rows lists without duplicates (a candidate counts once in a union)."""
    case = make_case(seed, tokens=requests * rows, **problem)
    indices = case.indices.copy()
    for ids in indices:
        repeated = np.setdiff1d(np.arange(len(ids)), np.unique(ids, return_index=True)[1])
        ids[repeated] = -1
    return dataclasses.replace(case, indices=indices)


def run(case, rows, *, union=None, **options):
    requests, heads = len(case.q) // rows, case.q.shape[1]
    union, users = union or union_of(case.indices.reshape(requests, rows, -1), case.pool.slots)
    params = {name: options.pop(name) for name in ("BH", "BN", "WARPS") if name in options}
    kernel = mlatile.load(SHARED, params=dict(HEADS=heads, **params))
    arguments = case.arguments(
        q=case.q.reshape(requests, rows * heads, -1), indices=union, extra_kv_cache=case.pool.pages, extra_indices=users,
        extra_page_size=case.pool.page_size, kernel=kernel, **dict(num_splits=1) | options,
    )
    if case.attn_sink is not None:
        arguments["attn_sink"] = np.tile(case.attn_sink, rows)
    result = mlatile.sparse_mla(**arguments)
    if options.get("return_lse"):
        return result[0].reshape(len(case.q), heads, -1), result[1].reshape(len(case.q), heads)
    return result.reshape(len(case.q), heads, -1)


@pytest.mark.parametrize("kv_format", FORMATS)
@pytest.mark.parametrize(("rows", "heads"), [(1, 16), (2, 8), (3, 5), (4, 16), (6, 11), (8, 16)])
def test_rows_that_share(kv_format, rows, heads):
    """Rows and heads that fill tiles and that do not, a list in no common with the others, and an empty one."""
    case = shared_case(rows, requests=2, rows=rows, heads=heads, width=70, page_size=48, kv_format=kv_format, sink=True, pages=4)
    case.indices[0] = -1
    out, lse = run(case, rows, return_lse=True)
    assert case.compare(out, lse), case.compare(out, lse).text


@pytest.mark.parametrize(("heads", "tile"), [(16, dict(BH=64, BN=16, WARPS=8)), (8, dict(BH=32, BN=32, WARPS=8))])
def test_more_pairs_a_tile(heads, tile):
    case = shared_case(5, requests=2, rows=4, heads=heads, width=100, page_size=64, pages=4)
    out = run(case, 4, **tile)
    assert case.compare(out), case.compare(out).text


@pytest.mark.parametrize("width", [1, 31, 32, 33, 200])
def test_widths(width):
    case = shared_case(width, requests=3, rows=2, heads=8, width=width, page_size=16)
    out = run(case, 2)
    assert case.compare(out), case.compare(out).text


def test_a_candidate_that_no_row_uses_counts_for_none():
    case = shared_case(7, requests=1, rows=2, heads=8, width=50, page_size=16)
    union, users = union_of(case.indices.reshape(1, 2, -1), case.pool.slots)
    case.indices[1] = -1
    out = run(case, 2, union=(union, users & 1))
    assert case.compare(out), case.compare(out).text


def test_a_gathered_row_serves_all_query_rows():
    """Copies of the union, not of every list: the number of iterations, and mma, is that of one row."""
    case = shared_case(8, requests=1, rows=2, heads=8, width=96, page_size=16, skip=0, pages=64)
    case.indices[1] = case.indices[0]
    with executor() as runs:
        run(case, 2)
        mlatile.sparse_mla(**case.arguments(num_splits=1))
    shared, apart = ([launch["mma_total"] for launch in launches] for launches in runs.stats)
    assert 2 * sum(shared) == sum(apart)


def test_seeds_give_the_same_bits():
    case = shared_case(9, requests=2, rows=4, heads=8, width=80, page_size=16)
    results = set()
    for seed in range(3):
        with executor(seed=seed):
            results.add(run(case, 4).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize(("changes", "match"), [
    (dict(num_splits=2), "no splits"), (dict(kv_format="glm"), "scales that keys take exactly"),
    (dict(kv_format="dsv4_1"), "a format with a rope part"),
])
def test_what_the_example_does_not_have_is_refused(changes, match):
    case = shared_case(1, requests=1, rows=2, heads=8, width=20, page_size=16, kv_format=changes.pop("kv_format", "dsv4"))
    with pytest.raises(mlatile.ArgumentError, match=match):
        run(case, 2, **changes)
    with pytest.raises(mlatile.ArgumentError, match="at least one head"):
        mlatile.load(SHARED, params=dict(HEADS=0))


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a", "sm_90a"])
@pytest.mark.parametrize("tile", [dict(), dict(BH=64, BN=16, WARPS=8)])
def test_assembles(target, tile):
    meta = compile_kernel(SHARED, target=target, cubin=True, FMT="dsv4", **tile).meta
    assert meta["ptxas"]["spill_stores"] == meta["ptxas"]["spill_loads"] == 0
    assert meta["shared_bytes"] <= 101_376


def test_the_example_is_short():
    assert len(SHARED.read_text().splitlines()) <= 150


def test_the_page_is_true():
    """The Python of its section runs as it stands there."""
    page = PAGE.read_text()
    section = page[page.index("shared_rows.mlir") :]
    code = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)[-1]
    assert "shared_rows" in code
    script = f"import sys; sys.path[:0] = {[str(pathlib.Path(__file__).parent)]!r}\n{code}"
    result = subprocess.run([SOURCE / ".venv" / "bin" / "python", "-c", script], cwd=SOURCE, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
