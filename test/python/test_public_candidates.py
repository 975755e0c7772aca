# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: sentinels, lengths, empty rows, NaN; lse, sinks and merging (C30 to C46)."""

import ml_dtypes
import numpy as np
import pytest
from public_cases import call, each_layout, every_format, merged, rows_of, same_bits

import mlatile
from mlatile.testing import make_case

splits_or_not = pytest.mark.parametrize("splits", [1, 4])


@every_format
@splits_or_not
@pytest.mark.parametrize("first", [1, 16, 32, 48, 64, 149])
def test_c30_leading_skips(check_case, kv_format, first, splits):
    """Whole tiles of nothing before the first candidate: finite, and the compacted list gives the same."""
    case = make_case(first, tokens=2, heads=3, width=150, page_size=16, skip=0, kv_format=kv_format)
    case.indices[:, :first] = -1
    out, lse = check_case(case, num_splits=splits)
    assert np.isfinite(out.astype(np.float32)).all() and np.isfinite(lse).all()
    case.indices = np.ascontiguousarray(case.indices[:, first:])
    check_case(case, num_splits=splits)


@every_format
@splits_or_not
@pytest.mark.parametrize("garbage", [0x00, 0x7F, 0x7E, 0xFF], ids=["zero", "NaN", "largest", "NaN and scale NaN"])
def test_c32_bytes_of_other_slots(run_case, kv_format, garbage, splits):
    """Whatever unselected slots and page tails hold, slot 0 and half-filled pages included: the same bits."""
    case = make_case(1, tokens=3, heads=3, width=70, page_size=48, kv_format=kv_format, lengths=True)
    want = run_case(case, num_splits=splits)
    pool = case.pool
    at = np.arange(case.indices.shape[1])[None, :] < case.topk_length[:, None]
    slots = np.unique(case.indices[at])
    slots = slots[(slots >= 0) & (slots < pool.slots)]
    data, scales = pool.rows(slots)
    data_at, scale_at = pool._places(slots)
    page = (slots // pool.page_size)[:, None]
    pool.pages[:] = garbage
    pool.pages[page, data_at[:, None] + np.arange(data.shape[1])] = data
    pool.pages[page, scale_at[:, None] + np.arange(scales.shape[1])] = scales
    assert case.compare(*want) and same_bits(want, run_case(case, num_splits=splits))


@each_layout
@pytest.mark.parametrize("frame", [(0,), (0, 4), (3, 0)])
def test_c35_no_rows(kv_format, frame):
    """Empty results, no launch, whatever else is given."""
    case = make_case(2, tokens=1, heads=5, width=40, page_size=16, kv_format=kv_format, sink=True)
    f = case.pool.format
    arguments = case.arguments(
        q=np.zeros((*frame, 5, f.d_qk), ml_dtypes.bfloat16), indices=np.zeros((*frame, 40), np.int32),
        topk_length=np.zeros(frame, np.int32),
    )
    out, lse = mlatile.sparse_mla(**arguments, return_lse=True)
    assert out.shape == (*frame, 5, f.d_v) and lse.shape == (*frame, 5)
    plan = mlatile.plan(num_tokens=0, num_heads=5, width=40, kv_format=kv_format, page_size=16, target="sm_120a")
    assert plan.launches == [] and plan.workspace_bytes == 0


@every_format
@splits_or_not
@pytest.mark.parametrize("width", [1, 15, 17, 31, 33, 63, 65, 100])
def test_c3b_the_last_tile_is_masked(run_case, kv_format, width, splits):
    """What is loaded past the width is no index: slot 0 counts nowhere, whether it is NaN or large."""
    case = make_case(width, tokens=2, heads=3, width=width, page_size=32, skip=0, kv_format=kv_format)
    case.indices = np.where(case.indices == 0, 1, case.indices).astype(np.int32)
    other = next(s for s in np.unique(case.indices) if s > 0 and _finite(case, s))
    case.indices = np.where(case.indices == 1, other, case.indices).astype(np.int32)
    want = run_case(case, num_splits=splits)
    assert case.compare(*want)
    # The rows lie in longer ones that are full of slot 0.
    store = np.zeros((2, width + 64), np.int32)
    store[:, :width] = case.indices
    case.indices = store[:, :width]
    assert same_bits(want, run_case(case, num_splits=splits))


def _finite(case, slot):
    data, scales = case.pool.rows(np.array([slot]))
    return not (data == 0xFF).all() and not (scales == 0xFF).any()


@every_format
@splits_or_not
def test_c3d_any_number_of_rows(run_case, kv_format, splits):
    """1 to 12 rows a request: each row has the bits of its single-row call."""
    case = make_case(3, tokens=12, heads=5, width=133, page_size=64, kv_format=kv_format, lengths=True, sink=True)
    single = [call(case, **rows_of(case, slice(t, t + 1)), num_splits=splits) for t in range(12)]
    want = [np.concatenate(part) for part in zip(*single)]
    for rows in range(1, 13):
        got = call(case, **rows_of(case, slice(0, rows)), num_splits=splits)
        assert same_bits([part[:rows] for part in want], got), rows
    assert case.compare(*want)


@each_layout
def test_c3d_regrouping_changes_nothing(run_case, kv_format):
    case = make_case(4, tokens=12, heads=5, width=133, page_size=64, kv_format=kv_format, lengths=True)
    want = run_case(case)
    for b in (1, 2, 3, 4, 6, 12):
        frame = (b, 12 // b)
        got = call(case, q=case.q.reshape(*frame, *case.q.shape[1:]), indices=case.indices.reshape(*frame, 133),
                   topk_length=case.topk_length.reshape(frame))
        assert same_bits(want, got), frame


@each_layout
@splits_or_not
def test_c3f_duplicates_count_twice(check_case, kv_format, splits):
    """A window that overlaps the selection."""
    case = make_case(5, tokens=2, heads=3, width=128, page_size=32, skip=0, kv_format=kv_format)
    case.indices[:, 64:] = case.indices[:, :64]
    _, twice = check_case(case, num_splits=splits)
    case.indices = np.ascontiguousarray(case.indices[:, :64])
    _, once = check_case(case, num_splits=splits)
    assert np.abs(twice - once - 1).max() < 4e-3  # twice the sum: one more in base 2


# ---- lse and merging -------------------------------------------------------


@each_layout
@pytest.mark.parametrize("base", ["2", "e"])
def test_c40_partitions_of_two_and_eight(kv_format, base):
    """Sums 2 and 8: lse 1 and 3 in base 2, the partitions weigh 1/5 and 4/5. Read in the other base, they do not."""
    case = make_case(6, tokens=2, heads=4, width=10, page_size=4, skip=0, kv_format=kv_format)
    case.q[:] = 0  # every logit is 0
    parts = [call(case, indices=np.ascontiguousarray(part), lse_base=base) for part in np.split(case.indices, [2], axis=1)]
    for (_, lse), total in zip(parts, (2, 8)):
        assert np.abs(lse - (np.log2 if base == "2" else np.log)(total)).max() < 1e-5
    outs, lses = zip(*parts)
    assert case.compare(merged(outs, lses, base))
    assert not case.compare(merged(outs, lses, "e" if base == "2" else "2"))


@each_layout
@pytest.mark.parametrize("base", ["2", "e"])
@pytest.mark.parametrize("shares", [(4096,), (1, 4095), (1024, 2048, 1024), (40, 0, 4056)])
def test_c40_long_lists_in_parts(kv_format, base, shares):
    case = make_case(7, tokens=1, heads=4, width=4096, page_size=64, kv_format=kv_format)
    outs, lses, start = [], [], 0
    for share in shares:
        ids = case.indices[:, start : start + share] if share else np.full((1, 1), -1, np.int32)
        out, lse = call(case, indices=np.ascontiguousarray(ids), lse_base=base)
        outs, lses, start = [*outs, out], [*lses, lse], start + share
    assert case.compare(merged(outs, lses, base))


@each_layout
@pytest.mark.parametrize("base", ["2", "e"])
def test_c43_context_parallel(kv_format, base):
    """Ranks have no sink and some have no candidate; the sink enters once, in the merge."""
    case = make_case(8, tokens=3, heads=4, width=96, page_size=16, kv_format=kv_format, sink=True)
    ranks = 3
    parts = []
    for rank in range(ranks):
        mine = np.where(case.indices % ranks == rank, case.indices, -1).astype(np.int32)
        if rank == 2:
            mine[0] = -1  # nothing of row 0 here
        parts.append(call(case, indices=mine, attn_sink=None, lse_base=base))
    case.indices[0][case.indices[0] % ranks == 2] = -1
    sink = case.attn_sink * (np.log2(np.e) if base == "2" else 1)
    outs = [out for out, _ in parts] + [np.zeros_like(parts[0][0])]
    lses = [lse for _, lse in parts] + [np.broadcast_to(sink, parts[0][1].shape)]
    assert (parts[2][1][0] == -np.inf).all()
    assert case.compare(merged(outs, lses, base))


@each_layout
@pytest.mark.parametrize("base", ["2", "e"])
def test_c43_lse_has_the_sink(kv_format, base):
    case = make_case(9, tokens=2, heads=4, width=40, page_size=16, kv_format=kv_format, sink=True)
    out, with_sink = call(case, lse_base=base)
    _, without = call(case, attn_sink=None, lse_base=base)
    scale = np.log2(np.e) if base == "2" else 1
    joined = np.logaddexp(without.astype(np.float64) / scale, case.attn_sink) * scale
    assert np.abs(with_sink - joined).max() < 1e-4
    assert case.compare(out, with_sink, lse_base=base)


@every_format
@pytest.mark.parametrize("sink", [0.0, 3.0, 40.0, -40.0, np.inf, -np.inf, 3e38])
def test_c46_the_sink_counts_once(check_case, kv_format, sink):
    """With any number of splits, empty ones too."""
    case = make_case(10, tokens=2, heads=4, width=200, page_size=16, kv_format=kv_format)
    case.attn_sink = np.full(4, sink, np.float32)
    results = [check_case(case, num_splits=splits) for splits in (1, 2, 5, 7, 30)]
    for out, lse in results[1:]:
        first = results[0][0].astype(np.float32)
        assert np.abs(out.astype(np.float32) - first).max() <= 1e-2 * max(np.abs(first).max(), 2.0**-100)
        assert np.array_equal(np.isinf(lse), np.isinf(results[0][1]))
