# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sinks, lse, splits, and logits of every size."""

import numpy as np
import pytest

import mlatile
from mlatile.testing import make_case


@pytest.mark.parametrize("splits", [1, 4])
@pytest.mark.parametrize("value", [-np.inf, np.inf, 3e38, -3e38, 0.0, 30.0, -30.0])
def test_sinks(check_case, run_case, value, splits):
    case = make_case(1, tokens=3, heads=4, width=100, page_size=16)
    without = run_case(case, num_splits=splits)
    case.indices[2] = -1
    case.attn_sink = np.array([value, value, 0.5, -0.5], np.float32)
    out, lse = check_case(case, num_splits=splits)
    if value == np.inf:
        assert not out[:, :2].astype(np.float32).any() and (lse[:, :2] == np.inf).all()
    if value == -np.inf:
        assert np.array_equal(out[:2, :2].astype(np.float32), without[0][:2, :2].astype(np.float32))
        assert (lse[2, :2] == -np.inf).all()


@pytest.mark.parametrize("base", ["2", "e"])
@pytest.mark.parametrize("splits", [1, 5])
def test_lse_base(check_case, base, splits):
    check_case(make_case(2, tokens=3, heads=6, width=150, page_size=16, sink=True), lse_base=base, num_splits=splits)


def test_the_base_does_not_change_out(run_case):
    case = make_case(3, tokens=2, heads=6, width=150, page_size=16)
    two, e = run_case(case, lse_base="2"), run_case(case, lse_base="e")
    assert two[0].tobytes() == e[0].tobytes()
    assert np.allclose(two[1] * np.log(2), e[1], atol=1e-4)


def test_without_lse_out_is_the_same(run_case):
    case = make_case(4, tokens=2, heads=6, width=150, page_size=16)
    assert mlatile.sparse_mla(**case.arguments()).tobytes() == run_case(case)[0].tobytes()


def test_return_lse_allocates():
    case = make_case(5, tokens=2, heads=6, width=40, page_size=16)
    out, lse = mlatile.sparse_mla(**case.arguments(), return_lse=True)
    assert out.dtype == case.q.dtype and out.shape == (2, 6, 512)
    assert lse.dtype == np.float32 and lse.shape == (2, 6)
    assert case.compare(out, lse)


@pytest.mark.parametrize("splits", [1, 2, 7, 17, 40])
@pytest.mark.parametrize("width", [33, 513])
def test_any_number_of_splits(check_case, width, splits):
    """17 is one a tile at width 513; 40 leaves empty splits, which are neutral."""
    check_case(make_case(6, tokens=2, heads=20, width=width, page_size=64, lengths=True, sink=True), num_splits=splits)


@pytest.mark.parametrize("logits", [0.0, 1.0, 20.0, 80.0])
def test_sizes_of_logits(check_case, logits):
    """From flat softmax to one dominating candidate."""
    case = make_case(7, tokens=2, heads=8, width=128, page_size=16)
    exact = case.reference()
    q = case.q.astype(np.float64)
    spread = max(1e-9, np.abs(exact.lse).max())
    case.q = (q * (logits / spread)).astype(case.q.dtype)
    check_case(case)
    check_case(case, num_splits=4)


def test_small_outputs(check_case):
    """Values near 1e-4: a zero output must not pass."""
    case = make_case(8, tokens=2, heads=8, width=128, page_size=16, spread=1e-4)
    out, _ = check_case(case)
    assert not case.compare(np.zeros_like(out))


@pytest.mark.parametrize("width", [2051, 8192])
def test_wide(check_case, width):
    check_case(make_case(9, tokens=1, heads=16, width=width, page_size=64))
