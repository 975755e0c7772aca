# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`merge_states`: parts of a list as one, in both bases of the lse, with the sink counted once."""

import ml_dtypes
import numpy as np
import pytest

import mlatile
from mlatile.testing import compare, make_case, reference

INF = np.inf


def parts(denominators, base, values=None):
    """Constant outs and the lse of softmax denominators, one row and head a part."""
    log = np.log2 if base == "2" else np.log
    values = range(1, len(denominators) + 1) if values is None else values
    outs = [np.full((1, 1, 4), value, np.float32) for value in values]
    with np.errstate(divide="ignore"):
        return outs, [np.full((1, 1), log(np.float64(z)), np.float32) for z in denominators]


@pytest.mark.parametrize("base", ["2", "e"])
def test_c40_denominators_of_two_and_eight(base):
    out, lse = mlatile.merge_states(*parts([2, 8], base), lse_base=base)
    assert out.dtype == lse.dtype == np.float32
    np.testing.assert_allclose(out, 0.2 * 1 + 0.8 * 2, rtol=1e-6)
    np.testing.assert_allclose(lse, np.log2(10) if base == "2" else np.log(10), rtol=1e-6)
    # Another base gives other weights: what a mix-up would look like.
    other, _ = mlatile.merge_states(*parts([2, 8], base), lse_base="e" if base == "2" else "2")
    assert abs(other - out).max() > 0.05


@pytest.mark.parametrize("base", ["2", "e"])
def test_the_sink_counts_once(base):
    sink = np.array([np.log(6)], np.float32)  # a logit: its weight is 6
    out, lse = mlatile.merge_states(*parts([2, 8], base), lse_base=base, attn_sink=sink)
    np.testing.assert_allclose(out, (2 * 1 + 8 * 2) / 16, rtol=1e-6)
    np.testing.assert_allclose(lse, np.log2(16) if base == "2" else np.log(16), rtol=1e-6)


@pytest.mark.parametrize("denominators,sink,out,lse", [
    ([5], None, 1, np.log2(5)),
    ([0, 8], None, 2, 3),  # a part without a candidate
    ([0, 0], None, 0, -INF),
    ([0, 0], 0.0, 0, 0),
    ([2, 8], -INF, 1.8, np.log2(10)),
    ([2, 8], INF, 0, INF),
    ([2, INF], None, 0, INF),  # a part with an infinite sink
])
def test_infinities(denominators, sink, out, lse):
    sink = None if sink is None else np.array([sink], np.float32)
    merged, log = mlatile.merge_states(*parts(denominators, "2"), attn_sink=sink)
    np.testing.assert_allclose(merged, out, rtol=1e-6)
    np.testing.assert_allclose(log, lse, rtol=1e-6, atol=1e-6)


def test_large_logarithms_do_not_overflow():
    outs, _ = parts([1, 1], "2")
    lses = [np.full((1, 1), 3000, np.float32), np.full((1, 1), 2999, np.float32)]
    out, lse = mlatile.merge_states(outs, lses)
    np.testing.assert_allclose(out, (2 * 1 + 1 * 2) / 3, rtol=1e-6)
    np.testing.assert_allclose(lse, 3000 + np.log2(1.5), rtol=1e-6)


@pytest.mark.parametrize("base", ["2", "e"])
def test_calls_over_parts_are_the_call_over_all(base):
    case = make_case(5, tokens=3, heads=7, width=200, page_size=16, sink=True)
    cuts = [0, 1, 64, 64 + 90, 200]
    results = [
        mlatile.sparse_mla(
            **case.arguments(indices=case.indices[:, a:b], attn_sink=None), return_lse=True, lse_base=base
        )
        for a, b in zip(cuts, cuts[1:])
    ]
    out, lse = mlatile.merge_states(*zip(*results), lse_base=base, attn_sink=case.attn_sink)
    assert out.dtype == ml_dtypes.bfloat16
    want = reference(case.q, case.pool, case.indices, sm_scale=case.sm_scale, attn_sink=case.attn_sink)
    comparison = compare(out, want, lse=lse, lse_base=base)
    assert comparison, comparison.text
    # Framed rows and a merge of merges.
    pairs = [
        mlatile.merge_states([r[0][None] for r in pair], [r[1][None] for r in pair], lse_base=base)
        for pair in (results[:2], results[2:])
    ]
    again, _ = mlatile.merge_states(*zip(*pairs), lse_base=base, attn_sink=case.attn_sink)
    assert compare(again[0], want)


ONE = np.ones((2, 3, 4), np.float32)
LOG = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("name,arguments,text", [
    ("outs", dict(outs=[]), "expected a list or tuple of at least one array, got list"),
    ("outs", dict(outs=ONE), "expected a list or tuple of at least one array, got ndarray"),
    ("outs", dict(outs=[ONE, [1]]), "expected NumPy arrays or torch tensors"),
    ("outs", dict(outs=[ONE, ONE[:1]]), r"expected shape \[2, 3, 4\], got \[1, 3, 4\] at 1"),
    ("outs", dict(outs=[LOG[0], LOG[0]]), r"expected shapes \[T, H, d_v\], got \[3\]"),
    ("lses", dict(lses=[LOG]), "expected as many as outs, 2, got 1"),
    ("lses", dict(lses=[LOG, LOG.T]), r"expected shape \[2, 3\], got \[3, 2\] at 1"),
    ("lses", dict(lses=[LOG, LOG.astype(np.float64)]), "expected float32, got float64 at 1"),
    ("lse_base", dict(lse_base="10"), "expected '2' or 'e', got '10'"),
    ("lse_base", dict(lse_base=2), "expected a string"),
    ("attn_sink", dict(attn_sink=LOG), r"expected shape \[3\], got \[2, 3\]"),
    ("attn_sink", dict(attn_sink=[1, 2, 3]), "expected NumPy arrays or torch tensors, got list"),
])
def test_wrong_arguments(name, arguments, text):
    arguments = dict(outs=[ONE, ONE], lses=[LOG, LOG]) | arguments
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        mlatile.merge_states(**arguments)
    assert f"argument `{name}`: " in str(caught.value)
