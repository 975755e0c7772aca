# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heads x width x page size x rows, pairwise, on the executor."""

import itertools

import pytest

import mlatile
from mlatile.testing import executor, make_case

HEADS = [1, 7, 11, 16, 64, 80, 128]
WIDTHS = [1, 63, 64, 65, 192, 513, 1152]
PAGES = [1, 2, 32, 64, 256]
TOKENS = [5, 1, 65, 0]  # ties go to the first: rows that need no value in particular get 5


def pairwise(*axes):
    """Rows in which every pair of values of two axes occurs; greedy, always the same."""
    missing = {
        ((i, a), (j, b)) for i, j in itertools.combinations(range(len(axes)), 2) for a in axes[i] for b in axes[j]
    }

    def pairs(row):
        return set(itertools.combinations(enumerate(row), 2))

    rows = []
    everything = list(itertools.product(*axes))
    while missing:
        best = max(everything, key=lambda row: len(pairs(row) & missing))
        rows.append(best)
        missing -= pairs(best)
    return rows


SWEEP = pairwise(HEADS, WIDTHS, PAGES, TOKENS)


def test_the_sweep_has_every_pair():
    for (i, a), (j, b) in itertools.combinations(enumerate([HEADS, WIDTHS, PAGES, TOKENS]), 2):
        assert {(row[i], row[j]) for row in SWEEP} == set(itertools.product(a, b))


@pytest.mark.parametrize("heads,width,page_size,tokens", SWEEP)
def test_pairwise(check_case, heads, width, page_size, tokens):
    # Options rotate with the case, so that the sweep meets them in many combinations.
    number = SWEEP.index((heads, width, page_size, tokens))
    case = make_case(
        number, tokens=tokens, heads=heads, width=width, page_size=page_size, lengths=number % 2 == 1,
        sink=number % 3 == 1,
    )
    splits = [None, 1, 2, 7, -(-width // 32)][number % 5]
    check_case(case, num_splits=splits, lse_base="e" if number % 4 == 3 else "2")


@pytest.mark.parametrize("tokens", [2, 3, 6, 12, 63, 64])
def test_draft_and_batch_rows(check_case, tokens):
    check_case(make_case(tokens, tokens=tokens, heads=8, width=192, page_size=64))


def test_pages_with_padding(check_case):
    """Engines round a page of 64 tokens up to 37,440 bytes, and pack layers between."""
    for stride in (37376, 37440, 3 * 37440):
        check_case(make_case(3, tokens=2, heads=16, width=100, page_size=64, page_stride=stride))


def test_page_of_2304_tokens(check_case):
    check_case(make_case(4, tokens=2, heads=22, width=200, page_size=2304))


def test_cost_follows_heads():
    """mma of a candidate tile at 8 heads: at most a quarter of that at 64."""

    def mma(heads):
        case = make_case(5, tokens=1, heads=heads, width=64, page_size=16)
        with executor() as runs:
            mlatile.sparse_mla(**case.arguments(num_splits=1))
        (launch,) = runs.stats[0]
        return launch["mma_total"]

    assert 0 < 4 * mma(8) <= mma(64)
    assert mma(16) == mma(8) and mma(17) == 2 * mma(16) and mma(128) == 8 * mma(16)
