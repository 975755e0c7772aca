# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splits of a case on the executor, joined in any form and tile."""

import functools

import lowered_kernels
import ml_dtypes
import numpy as np
from lowered_kernels import Arrays

COUNTERS = 64


@functools.cache
def program(kernel, **params):
    compiled = lowered_kernels.compile_kernel(kernel=kernel, **params)
    return lowered_kernels.Program(compiled.blobs["llvm"], compiled.meta)


class Splits:
    """A case in some splits, with the memory that its launches share."""

    def __init__(self, case, splits, counters=None, **tile):
        rows, heads, _ = case.q.shape
        self.case, self.splits = case, splits
        self.rows, self.heads, self.d_v = rows, heads, case.pool.format.d_v
        self.tile = dict(FMT=case.pool.kv_format, HAS_LENGTH=case.topk_length is not None, **tile)
        self.results = dict(HAS_SINK=case.attn_sink is not None, LSE=1)
        self.grid = rows * -(-heads // 16) * splits
        nan = lambda *shape, dtype=np.float32: np.full(shape, np.nan, dtype)  # noqa: E731
        self.parts = dict(part_o=nan(rows, splits, heads, self.d_v, dtype=np.float16), part_u=nan(rows, splits, heads),
                          part_m=nan(rows, splits, heads), part_l=nan(rows, splits, heads))
        self.counters = np.zeros(COUNTERS, np.int32) if counters is None else counters

    def launch(self, kernel, grid, params, pending=(), checked=False, **options):
        arrays = Arrays(self.case)
        arguments = arrays.arguments() | self.parts | dict(num_splits=self.splits, counters=self.counters)
        arguments["lse"] = arrays.lse[None]
        if checked:
            written = {"out", "lse", "counters", *self.parts}
            options |= dict(checked=True, buffers=[
                [value.ctypes.data, value.nbytes, name, name in written, name in pending]
                for name, value in arguments.items() if isinstance(value, np.ndarray)])
            pages = self.case.pool.pages
            options["buffers"].append([pages.ctypes.data, pages.nbytes, "kv", False])
        program(kernel, **params).launch(grid, arguments, **options)
        return np.array(arrays.out).view(np.uint16), arrays.lse, arrays

    def decode(self, **options):
        self.launch("decode", self.grid, self.tile | dict(SPLIT=True), **options)

    def merge(self, dependent=False, pending=(), **options):
        # Two tiles: the results do not depend on it.
        return self.merge_tile(4 if dependent else 1, 128 if dependent else 512, DEPENDENT=dependent, pending=pending, **options)

    def merge_tile(self, heads, columns, pending=(), checked=False, **params):
        grid = self.rows * -(-self.heads // heads) * -(-self.d_v // columns)
        return self.launch("merge", grid, self.results | dict(BH=heads, BD=columns) | params, pending=pending, checked=checked)

    def slices(self, **options):
        return self.launch("decode", self.grid, self.tile | self.results | dict(SPLIT=True, SLICES=True), **options)

    def cluster(self, **options):
        """Without the memory that the other forms share, since it is not needed."""
        tile = dict(JOIN=-(-16 // self.splits)) | self.tile | self.results | dict(CLUSTER=self.splits)
        parts, counters = self.parts, self.counters
        self.parts = {name: part[:0] for name, part in parts.items()}
        self.counters = counters[:0]
        try:
            return self.launch("decode", self.grid, tile, **options)
        finally:
            self.parts, self.counters = parts, counters


def same(form, other):
    return (form[0] == other[0]).all() and (form[1] == other[1]).all()


def near(cluster, other):
    """The same lse, and the same out but for its last place: the partial outputs of clusters are f32, of others f16."""
    out, expected = (form[0].view(ml_dtypes.bfloat16).astype(np.float32) for form in (cluster, other))
    largest = np.abs(expected).max(-1, keepdims=True)
    return (np.abs(out - expected) <= 2**-7 * largest).all() and (cluster[1] == other[1]).all()
