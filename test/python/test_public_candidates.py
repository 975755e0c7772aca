# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: sentinels, lengths, empty rows, NaN (C30 to C3F)."""

import ml_dtypes
import numpy as np
import pytest
from public_cases import call, each_layout, every_format, every_kernel, every_way, rows_of, same_bits

import mlatile
from mlatile.testing import make_case


@every_format
@every_way
@pytest.mark.parametrize("first", [1, 16, 32, 48, 64, 149])
def test_c30_leading_skips(check_case, kv_format, first, kernel, splits):
    """Whole tiles of nothing before the first candidate: finite, and the compacted list gives the same."""
    case = make_case(first, tokens=2, heads=3, width=150, page_size=16, skip=0, kv_format=kv_format)
    case.indices[:, :first] = -1
    out, lse = check_case(case, kernel=kernel, num_splits=splits)
    assert np.isfinite(out.astype(np.float32)).all() and np.isfinite(lse).all()
    case.indices = np.ascontiguousarray(case.indices[:, first:])
    check_case(case, kernel=kernel, num_splits=splits)


@every_format
@every_way
@pytest.mark.parametrize("garbage", [0x00, 0x7F, 0x7E, 0xFF], ids=["zero", "NaN", "largest", "NaN and scale NaN"])
def test_c32_bytes_of_other_slots(run_case, kv_format, garbage, kernel, splits):
    """Whatever unselected slots and page tails hold, slot 0 and half-filled pages included: the same bits."""
    case = make_case(1, tokens=3, heads=3, width=70, page_size=48, kv_format=kv_format, lengths=True)
    want = run_case(case, kernel=kernel, num_splits=splits)
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
    assert case.compare(*want) and same_bits(want, run_case(case, kernel=kernel, num_splits=splits))


@each_layout
@every_kernel
@pytest.mark.parametrize("frame", [(0,), (0, 4), (3, 0)])
def test_c35_no_rows(kv_format, kernel, frame):
    """Empty results, no launch, whatever else is given."""
    case = make_case(2, tokens=1, heads=5, width=40, page_size=16, kv_format=kv_format, sink=True)
    f = case.pool.format
    arguments = case.arguments(
        q=np.zeros((*frame, 5, f.d_qk), ml_dtypes.bfloat16), indices=np.zeros((*frame, 40), np.int32),
        topk_length=np.zeros(frame, np.int32), kernel=kernel,
    )
    out, lse = mlatile.sparse_mla(**arguments, return_lse=True)
    assert out.shape == (*frame, 5, f.d_v) and lse.shape == (*frame, 5)
    plan = mlatile.plan(num_tokens=0, num_heads=5, width=40, kv_format=kv_format, page_size=16, target="sm_120a",
                        kernel=kernel)
    assert plan.launches == [] and plan.workspace_bytes == 0


@every_format
@every_way
@pytest.mark.parametrize("width", [1, 15, 17, 31, 33, 63, 65, 100])
def test_c3b_the_last_tile_is_masked(run_case, kv_format, width, kernel, splits):
    """What is loaded past the width is no index: slot 0 counts nowhere, whether it is NaN or large."""
    case = make_case(width, tokens=2, heads=3, width=width, page_size=32, skip=0, kv_format=kv_format)
    case.indices = np.where(case.indices == 0, 1, case.indices).astype(np.int32)
    other = next(s for s in np.unique(case.indices) if s > 0 and _finite(case, s))
    case.indices = np.where(case.indices == 1, other, case.indices).astype(np.int32)
    want = run_case(case, kernel=kernel, num_splits=splits)
    assert case.compare(*want)
    # The rows lie in longer ones that are full of slot 0.
    store = np.zeros((2, width + 64), np.int32)
    store[:, :width] = case.indices
    case.indices = store[:, :width]
    assert same_bits(want, run_case(case, kernel=kernel, num_splits=splits))


def _finite(case, slot):
    data, scales = case.pool.rows(np.array([slot]))
    return not (data == 0xFF).all() and not (scales == 0xFF).any()


@every_format
@every_way
def test_c3d_any_number_of_rows(run_case, kv_format, kernel, splits):
    """1 to 12 rows a request: each row has the bits of its single-row call."""
    case = make_case(3, tokens=12, heads=5, width=133, page_size=64, kv_format=kv_format, lengths=True, sink=True)
    single = [call(case, **rows_of(case, slice(t, t + 1)), kernel=kernel, num_splits=splits) for t in range(12)]
    want = [np.concatenate(part) for part in zip(*single)]
    for rows in range(1, 13):
        got = call(case, **rows_of(case, slice(0, rows)), kernel=kernel, num_splits=splits)
        assert same_bits([part[:rows] for part in want], got), rows
    assert case.compare(*want)


@each_layout
@every_kernel
def test_c3d_regrouping_changes_nothing(run_case, kv_format, kernel):
    case = make_case(4, tokens=12, heads=5, width=133, page_size=64, kv_format=kv_format, lengths=True)
    want = run_case(case, kernel=kernel)
    for b in (1, 2, 3, 4, 6, 12):
        frame = (b, 12 // b)
        got = call(case, kernel=kernel, q=case.q.reshape(*frame, *case.q.shape[1:]),
                   indices=case.indices.reshape(*frame, 133), topk_length=case.topk_length.reshape(frame))
        assert same_bits(want, got), frame


@each_layout
@every_way
def test_c3f_duplicates_count_twice(check_case, kv_format, kernel, splits):
    """A window that overlaps the selection."""
    case = make_case(5, tokens=2, heads=3, width=128, page_size=32, skip=0, kv_format=kv_format)
    case.indices[:, 64:] = case.indices[:, :64]
    _, twice = check_case(case, kernel=kernel, num_splits=splits)
    case.indices = np.ascontiguousarray(case.indices[:, :64])
    _, once = check_case(case, kernel=kernel, num_splits=splits)
    assert np.abs(twice - once - 1).max() < 4e-3  # twice the sum: one more in base 2
