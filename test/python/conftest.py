# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest

import mlatile
from mlatile.testing import guarded


def run(case, **options):
    """Runs a case with the lse into guarded arrays; gives (out, lse) after their guards were checked."""
    import ml_dtypes

    arguments = case.arguments(**options)
    rows, heads, _ = case.q.shape
    out = guarded((rows, heads, case.pool.format.d_v), ml_dtypes.bfloat16)
    # The lse's heads are contiguous: a view whose rows are longer than its heads.
    lse_buffer = np.full((rows + 2, heads + 3), 12345.0, np.float32)
    lse = lse_buffer[1 : 1 + rows, :heads]
    returned = mlatile.sparse_mla(**arguments, out=out.array, lse=lse)
    assert returned is out.array
    assert out.intact(), "out was written outside its rows and heads"
    outside = np.ones(lse_buffer.shape, bool)
    outside[1 : 1 + rows, :heads] = False
    assert (lse_buffer[outside] == 12345.0).all(), "lse was written outside its rows and heads"
    return np.array(out.array), np.array(lse)


@pytest.fixture
def run_case():
    return run


@pytest.fixture
def check_case():
    """Runs a case and compares it with the reference."""

    def check(case, *, lse_base="2", **options):
        out, lse = run(case, lse_base=lse_base, **options)
        comparison = case.compare(out, lse, lse_base=lse_base)
        assert comparison, comparison.text
        return out, lse

    return check
