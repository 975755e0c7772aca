# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers outside of attention: two in a loop, one outside of it, pipelines of one to four stages."""

import pathlib

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import Program, compile_kernel

from mlatile.testing import decode_slots, write_pool

KERNEL = pathlib.Path(__file__).parent / "kernels" / "gathers.mlir"


def check(program, width, rows, seed):
    rng = np.random.default_rng(width)
    pool = write_pool(rng, "dsv4", pages=8, page_size=16, slots=np.arange(0, 128, 2))
    first, second = (rng.choice(np.arange(0, 128, 2), width).astype(np.int32) for _ in range(2))
    first[rng.random(width) < 0.3] = -1
    second[rng.random(width) < 0.3] = 128
    arrays = dict(
        nope=np.full((width, 448), np.nan, np.float32), rope=np.full((width, 64), np.nan, ml_dtypes.bfloat16),
        head=np.full((rows, 64), 5, ml_dtypes.bfloat16),
    )
    program.launch(1, dict(kv=pool, first=first, second=second, **arrays), seed=seed)

    def keys(ids):
        return decode_slots(pool, np.where((ids >= 0) & (ids < 128), ids, 0))[0]

    skipped = (first < 0)[:, None]
    nope = keys(first)[:, :448].astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(arrays["nope"], np.where(skipped, np.float32(-7), nope))
    rope = np.where((second > 127)[:, None], 0, keys(second)[:, 448:]).astype(ml_dtypes.bfloat16)
    assert np.array_equal(arrays["rope"], rope)
    if width > rows:
        last = np.where(skipped, 0, keys(first)[:, 448:])[-rows:].astype(ml_dtypes.bfloat16)
        assert np.array_equal(arrays["head"], last)
    else:
        assert (arrays["head"] == 5).all()


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_gathers(tmp_path, stages, warps):
    path = tmp_path / "gathers.mlir"
    text = KERNEL.read_text()
    assert text.count("stages = 2") == 1
    path.write_text(text.replace("stages = 2", f"stages = {stages}"))
    compiled = compile_kernel(path, kernel="gathers", target="sm_90a", FMT="dsv4", WARPS=warps)
    program = Program(compiled.blobs["llvm"], compiled.meta)
    for width in (1, 16, 17, 33, 65, 100):
        for seed in range(2):
            check(program, width, 16, seed)
