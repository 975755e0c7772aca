# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Covering arrays, and that of the numeric sweep (test_sweep.py)."""

import itertools

import fuzz_tool  # noqa: F401, where draw and sweep are found
import pytest
from second_caches import KERNELS, MAIN, PAIRS

import draw
import sweep
from mlatile.testing import covering, uncovered


@pytest.mark.parametrize("strength", [2, 3])
def test_every_combination_is_in_the_sweep(strength):
    """And not many rows more than the two or three longest factors ask for, nor an hour of work."""
    variants = draw.built()
    factors = sweep.factors(variants)
    # Each kernel takes each format and each legal pair, and nothing else.
    one_or_two = [*((name, None) for name in MAIN), *PAIRS]
    assert sorted({(v.kernel, v.kv_format, str(v.extra_format)) for v in variants}) == sorted(
        (kernel, kv_format, str(extra)) for kernel in KERNELS for kv_format, extra in one_or_two)
    rows = sweep.rows(tuple(variants), strength)
    assert not uncovered(factors, strength, rows, sweep.is_built(variants))
    longest = sorted(map(len, factors.values()))[-strength:]
    least = 1
    for length in longest:
        least *= length
    assert least <= len(rows) < 1.15 * least
    assert sum(map(sweep.seconds, rows)) < 3600


def test_covering_leaves_out_what_is_refused():
    factors = dict(a=[0, 1, 2], b=["x", "y"], c=[0, 1], d=[None])

    def allowed(part):
        return not (part.get("a") == 2 and part.get("b") == "y")

    rows = covering(factors, 2, allowed=allowed)
    assert all(map(allowed, rows)) and all(list(row) == list(factors) for row in rows)
    assert not uncovered(factors, 2, rows, allowed)
    assert uncovered(factors, 2, rows) == [dict(a=2, b="y")]
    assert rows == covering(factors, 2, allowed=allowed)
    missing = uncovered(factors, 2, rows[1:], allowed)
    assert missing and all(part.items() <= rows[0].items() for part in missing)


def test_covering_prefers_the_cheap():
    factors = dict(a=range(6), b=range(6), c=[1, 100])
    cost = lambda row: row["c"]  # noqa: E731
    rows = covering(factors, 2, cost=cost)
    assert not uncovered(factors, 2, rows)
    assert sum(map(cost, rows)) < sum(map(cost, covering(factors, 2)))


@pytest.mark.parametrize("strength", [1, 2, 3, 4])
def test_covering_of_any_strength(strength):
    factors = {name: range(size) for name, size in zip("abcd", (3, 1, 2, 4))}
    rows = covering(factors, strength)
    assert not uncovered(factors, strength, rows)
    if strength == 4:
        assert sorted(map(tuple, (row.values() for row in rows))) == sorted(itertools.product(*factors.values()))


@pytest.mark.parametrize("strength", [0, 3])
def test_covering_takes_a_strength_that_there_is(strength):
    with pytest.raises(ValueError, match=f"strength: expected 1 to 2, got {strength}"):
        covering(dict(a=[1], b=[2]), strength)
