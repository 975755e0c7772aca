# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes on the executor that are not in the sweep (test_sweep.py)."""

import pytest

import mlatile
from mlatile.testing import executor, make_case


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


@pytest.mark.parametrize("heads", [1, 7, 128])
def test_no_rows(check_case, heads):
    check_case(make_case(6, tokens=0, heads=heads, width=65, page_size=32))
