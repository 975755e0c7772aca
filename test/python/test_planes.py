# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles of three dimensions: loads, reductions along each of them, within a warp and across warps, and broadcasts."""

import itertools
import pathlib

import numpy as np
import pytest
from lowered_kernels import Program, compile_kernel

KERNEL = pathlib.Path(__file__).parent / "kernels" / "planes.mlir"
# P, BH, BD, warps: warps over columns, over planes, over rows, over nothing.
SHAPES = [(8, 1, 512, 4), (32, 1, 128, 4), (16, 1, 256, 4), (8, 2, 512, 4), (2, 4, 512, 4), (4, 2, 64, 1), (3, 1, 128, 4), (1, 4, 64, 2),
          (8, 4, 8, 4), (4, 16, 16, 8), (5, 3, 24, 2), (6, 2, 20, 4)]


def program_of(shape):
    names = ("P", "BH", "BD", "WARPS")
    compiled = compile_kernel(KERNEL, kernel="planes", **dict(zip(names, shape)))
    return Program(compiled.blobs["llvm"], compiled.meta)


def arrays_of(extents, seed):
    """Arguments for two programs; the loaded ones are parts of larger arrays, which hold NaN besides."""
    planes, rows, columns = extents
    rng = np.random.default_rng(seed)
    x = np.full((2, planes + 1, rows + 2, columns + 8), np.nan, np.float16)[:, :planes, :rows, :columns]
    x[:] = rng.normal(size=x.shape)
    w = rng.normal(size=(2, planes, rows)).astype(np.float32)
    nan = lambda *shape: np.full(shape, np.nan, np.float32)  # noqa: E731
    return dict(x=x, w=w, sum=nan(2, rows, columns), most=nan(2, rows, columns), of_rows=nan(2, planes, rows),
                of_columns=nan(2, planes, columns), all=nan(2, planes, rows, columns))


def expected(arrays, shape):
    """In float64, of whole tiles, which are zero past the arrays."""
    planes, rows, columns = arrays["x"].shape[1:]
    x = np.zeros((2, *shape[:3]))
    x[:, :planes, :rows, :columns] = arrays["x"].astype(np.float64)
    w = np.zeros(x.shape[:3])
    w[:, :planes, :rows] = arrays["w"]
    y = x * w[..., None]
    whole = dict(sum=y.sum(1), most=y.max(1), of_rows=y.sum(3), of_columns=y.sum(2))
    whole["all"] = (whole["sum"][:, None] + whole["of_columns"][:, :, None]) * w[..., None]
    return {name: value[tuple(slice(n) for n in arrays[name].shape)] for name, value in whole.items()}


def check(arrays, shape):
    for name, value in expected(arrays, shape).items():
        error = np.abs(arrays[name] - value).max()
        assert error <= 1e-5 * max(1, np.abs(value).max()), (name, error)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def test_sums_and_broadcasts(shape):
    program = program_of(shape)
    for seed in range(3):
        arrays = arrays_of(shape[:3], seed)
        program.launch(2, arrays, seed=seed, checked=True)
        check(arrays, shape)


@pytest.mark.parametrize("less", [*itertools.product((0, 1), repeat=3)])
def test_past_the_ends(less):
    """Planes, rows and columns outside of the arrays are zero, and are not written."""
    shape = (8, 2, 256, 4)
    extents = tuple(n - by * k for n, by, k in zip(shape, (3, 1, 37), less))
    arrays = arrays_of(extents, 0)
    program_of(shape).launch(2, arrays, checked=True)
    check(arrays, shape)


def test_sums_across_warps_are_needed():
    """The sums go through shared memory, and there only where warps share the planes."""
    across, within = program_of((8, 1, 512, 4)).meta, program_of((4, 2, 64, 1)).meta
    assert across["shared_bytes"] >= 2 * 512 * 4
    assert within["shared_bytes"] == 0
