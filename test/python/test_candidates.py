# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Skipped entries, lengths, empty rows, duplicates. Unselected slots hold NaN in every case."""

import numpy as np
import pytest

from mlatile.testing import make_case

SPLITS = [1, 3]


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("sink", [False, True])
def test_rows_without_candidates(check_case, sink, splits):
    case = make_case(1, tokens=4, heads=5, width=70, page_size=16, sink=sink)
    case.indices[1] = -1
    case.indices[3] = case.pool.slots
    out, lse = check_case(case, num_splits=splits)
    assert not out[[1, 3]].astype(np.float32).any()
    if not sink:
        assert (lse[[1, 3]] == -np.inf).all()


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("skipped", [1, 16, 31, 32, 33, 64, 69])
def test_leading_skips(check_case, run_case, skipped, splits):
    """A maximum that starts at -inf must not turn into NaN; the list without the skips gives the same."""
    case = make_case(skipped, tokens=2, heads=3, width=70, page_size=16, skip=0)
    case.indices[:, :skipped] = -1
    out, lse = check_case(case, num_splits=splits)
    case.indices = np.ascontiguousarray(case.indices[:, skipped:])
    compact, _ = check_case(case, num_splits=splits)
    assert np.abs(out.astype(np.float32) - compact.astype(np.float32)).max() < 0.02


def test_skips_between(check_case):
    case = make_case(5, tokens=3, heads=4, width=130, page_size=8, skip=0)
    case.indices[0, ::2] = -1
    case.indices[1, 40:90] = -(2**31)
    case.indices[2, 1:] = 2**31 - 1
    check_case(case)


@pytest.mark.parametrize("wild", [-1, -2, -(2**31), 2**31 - 1, "slots", "slots + 1"])
def test_wild_indices_are_skipped(check_case, wild):
    case = make_case(6, tokens=2, heads=3, width=65, page_size=32, skip=0)
    value = {"slots": case.pool.slots, "slots + 1": case.pool.slots + 1}.get(wild, wild)
    case.indices[:, 3:40] = value
    check_case(case)


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("length", [-(2**31), -1, 0, 1, 31, 32, 33, 64, 65, 66, 2**31 - 1])
def test_lengths(check_case, length, splits):
    case = make_case(7, tokens=3, heads=3, width=65, page_size=32, skip=0, lengths=True)
    # Row 0 has the length in question; what lies past it is a slot of NaN.
    kept = min(max(length, 0), 65)
    selected = np.array([s for s in np.unique(case.indices) if 0 <= s < case.pool.slots and _finite(case, s)])
    rng = np.random.default_rng(0)
    case.indices[0] = _nan_slot(case)
    case.indices[0, :kept] = rng.choice(selected, kept) if kept else []
    case.topk_length[0] = length
    check_case(case, num_splits=splits)


def _finite(case, slot):
    data, scales = case.pool.rows(np.array([slot]))
    return not (scales == 0xFF).any()


def _nan_slot(case):
    return next(s for s in range(case.pool.slots) if not _finite(case, s))


def test_lengths_may_have_a_stride(check_case):
    case = make_case(8, tokens=5, heads=3, width=65, page_size=32, lengths=True)
    storage = np.full((5, 7), 2**31 - 1, np.int32)
    storage[:, 3] = case.topk_length
    case.topk_length = storage[:, 3]
    assert not case.topk_length.flags.c_contiguous
    check_case(case)


def test_duplicates_count_as_often_as_they_occur(check_case):
    case = make_case(9, tokens=2, heads=3, width=96, page_size=32, skip=0)
    case.indices[:, 10:60] = case.indices[:, :1]
    check_case(case)


def test_slot_zero_is_an_ordinary_slot(check_case):
    """It holds NaN where nobody selects it, and counts where somebody does."""
    for seed in range(4):
        case = make_case(seed, tokens=1, heads=2, width=33, page_size=4)
        if not (case.indices == 0).any():
            assert not _finite(case, 0)
        check_case(case)


def test_bytes_past_the_length_never_count(run_case):
    """The result does not change with what stands past the length or in unselected slots."""
    case = make_case(10, tokens=3, heads=3, width=70, page_size=16, lengths=True)
    before = run_case(case)
    past = np.arange(70)[None, :] >= case.topk_length[:, None]
    case.indices = np.where(past, np.int32(0), case.indices)
    after = run_case(case)
    for a, b in zip(before, after):
        assert a.tobytes() == b.tobytes()
