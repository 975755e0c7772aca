# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: lse, sinks and merging (C40 to C46)."""

import numpy as np
import pytest
from public_cases import call, each_layout, every_format, every_kernel, merged
from second_caches import KERNELS

from mlatile.testing import make_case


@each_layout
@every_kernel
@pytest.mark.parametrize("base", ["2", "e"])
def test_c40_partitions_of_two_and_eight(kv_format, kernel, base):
    """Sums 2 and 8: lse 1 and 3 in base 2, the partitions weigh 1/5 and 4/5. Read in the other base, they do not."""
    case = make_case(6, tokens=2, heads=4, width=10, page_size=4, skip=0, kv_format=kv_format)
    case.q[:] = 0  # every logit is 0
    parts = [call(case, indices=np.ascontiguousarray(part), lse_base=base, kernel=kernel)
             for part in np.split(case.indices, [2], axis=1)]
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
@every_kernel
@pytest.mark.parametrize("base", ["2", "e"])
def test_c43_context_parallel(kv_format, kernel, base):
    """Ranks have no sink and some have no candidate; the sink enters once, in the merge."""
    case = make_case(8, tokens=3, heads=4, width=96, page_size=16, kv_format=kv_format, sink=True)
    ranks = 3
    parts = []
    for rank in range(ranks):
        mine = np.where(case.indices % ranks == rank, case.indices, -1).astype(np.int32)
        if rank == 2:
            mine[0] = -1  # nothing of row 0 here
        parts.append(call(case, indices=mine, attn_sink=None, lse_base=base, kernel=kernel))
    case.indices[0][case.indices[0] % ranks == 2] = -1
    sink = case.attn_sink * (np.log2(np.e) if base == "2" else 1)
    outs = [out for out, _ in parts] + [np.zeros_like(parts[0][0])]
    lses = [lse for _, lse in parts] + [np.broadcast_to(sink, parts[0][1].shape)]
    assert (parts[2][1][0] == -np.inf).all()
    assert case.compare(merged(outs, lses, base))


@each_layout
@every_kernel
@pytest.mark.parametrize("base", ["2", "e"])
def test_c43_lse_has_the_sink(kv_format, kernel, base):
    case = make_case(9, tokens=2, heads=4, width=40, page_size=16, kv_format=kv_format, sink=True)
    out, with_sink = call(case, lse_base=base, kernel=kernel)
    _, without = call(case, attn_sink=None, lse_base=base, kernel=kernel)
    scale = np.log2(np.e) if base == "2" else 1
    joined = np.logaddexp(without.astype(np.float64) / scale, case.attn_sink) * scale
    assert np.abs(with_sink - joined).max() < 1e-4
    assert case.compare(out, with_sink, lse_base=base)


@every_format
@pytest.mark.parametrize("sink", [0.0, 3.0, 40.0, -40.0, np.inf, -np.inf, 3e38])
def test_c46_the_sink_counts_once(check_case, kv_format, sink):
    """With any number of splits, empty ones too, and in the kernels without splits."""
    case = make_case(10, tokens=2, heads=4, width=200, page_size=16, kv_format=kv_format)
    case.attn_sink = np.full(4, sink, np.float32)
    results = [check_case(case, kernel="decode", num_splits=splits) for splits in (1, 2, 5, 7, 30)]
    results += [check_case(case, kernel=kernel) for kernel in KERNELS[1:]]
    for out, lse in results[1:]:
        first = results[0][0].astype(np.float32)
        assert np.abs(out.astype(np.float32) - first).max() <= 1e-2 * max(np.abs(first).max(), 2.0**-100)
        assert np.array_equal(np.isinf(lse), np.isinf(results[0][1]))
