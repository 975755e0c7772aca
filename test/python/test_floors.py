# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of mlatile-bench's floors do what they are timed for (docs/Benchmark.md)."""

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import SOURCE, Program, compile_kernel

from mlatile.testing import write_pool

FLOORS = SOURCE / "tools" / "mlatile-bench" / "floors.mlir"


def program(kernel, **params):
    compiled = compile_kernel(FLOORS, kernel=kernel, target="sm_90a", **params)
    return Program(compiled.blobs["llvm"], compiled.meta), compiled.meta


@pytest.mark.parametrize("kv_format", ["dsv4", "dsv4_1", "dsv3_2", "glm", "glm53_nope"])
@pytest.mark.parametrize("rows, share", [(200, 64), (31, 32), (70, 128)])
def test_gather_waits_for_every_row(kv_format, rows, share):
    """The sums change with the scale of any one row."""
    gather, _ = program("gather", FMT=kv_format, BN=32)
    rng = np.random.default_rng(rows)
    pool = write_pool(rng, kv_format, pages=40, page_size=16, slots=np.arange(640))
    ids = rng.permutation(640)[:rows].astype(np.int32)
    programs = -(-rows // share)

    def sums(which):
        result = np.full((programs, 32), np.nan, np.float32)
        gather.launch(programs, dict(pool=pool, ids=which, sums=result, per_program=share), checked=True)
        return result

    whole = sums(ids)
    assert np.isfinite(whole).all()
    for row in {0, rows // 2, rows - 1}:
        without = ids.copy()
        without[row] = -1
        changed = np.argwhere(sums(without) != whole)
        assert changed.tolist() == [[row // share, row % share % 32]]


@pytest.mark.parametrize("M, N, K, WARPS", [(128, 128, 32, 4), (256, 128, 32, 8), (128, 64, 64, 4)])
def test_mma_adds_up_products(M, N, K, WARPS):
    mma, meta = program("mma", M=M, N=N, K=K, WARPS=WARPS)
    rng = np.random.default_rng(1)
    a = rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((N, K)).astype(ml_dtypes.bfloat16)
    sums = np.full((2, M), np.nan, np.float32)
    steps = 3
    mma.launch(2, dict(a=a, b=b, sums=sums, steps=steps))
    expected = steps * (a.astype(np.float64) @ b.astype(np.float64).T).sum(axis=1)
    assert np.abs(sums - expected).max() < 1e-4 * np.abs(expected).max()
    (loop,) = meta["loops"]
    assert loop["mma"] == {"m16n8k16.bf16": M * N * K / (16 * 8 * 16)}
    assert loop["conversions"] == loop["cta_barriers"] == 0


def test_read_reads_everything():
    read, _ = program("read", ROWS=8, COLUMNS=512)
    rng = np.random.default_rng(2)
    data = rng.standard_normal((4 * 16, 512)).astype(np.float32)
    sums = np.full((4, 8), np.nan, np.float32)
    read.launch(4, dict(data=data, sums=sums, per_program=16))
    expected = data.reshape(4, 2, 8, 512).sum(axis=(1, 3), dtype=np.float64)
    assert np.abs(sums - expected).max() < 1e-4
