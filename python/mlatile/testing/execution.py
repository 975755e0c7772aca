# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the executor runs, and arrays that show writes past their ends."""

import contextlib
import json

import numpy as np

from ..operation import executor_options


class Runs:
    """What the executor counted, one list of launches a call."""

    def __init__(self):
        self.raw = []

    @property
    def stats(self):
        return [json.loads(text) for text in self.raw]


@contextlib.contextmanager
def executor(*, seed=0, checked=False):
    """Within the block host arrays run with this order of warps, with checks of
    races and bad accesses where `checked`. Gives Runs."""
    before = executor_options.seed, executor_options.checked, executor_options.stats
    runs = Runs()
    executor_options.seed, executor_options.checked, executor_options.stats = seed, checked, runs.raw
    try:
        yield runs
    finally:
        executor_options.seed, executor_options.checked, executor_options.stats = before


class Guarded:
    """A view into a larger buffer of a pattern; `intact()` tells whether only the view changed."""

    PATTERN = 0xA5

    def __init__(self, shape, dtype, row_pad, head_pad):
        *rows, heads, last = shape
        dtype = np.dtype(dtype)
        self._buffer = np.full((*[n + row_pad for n in rows], heads + head_pad, last, dtype.itemsize), self.PATTERN, np.uint8)
        typed = self._buffer.reshape(-1).view(dtype).reshape(self._buffer.shape[:-1])
        inside = tuple(slice(row_pad // 2, row_pad // 2 + n) for n in rows)
        self.array = typed[(*inside, slice(0, heads))]
        self._mask = np.zeros(self._buffer.shape, bool)
        self._mask[(*inside, slice(0, heads))] = True

    def intact(self):
        return bool((self._buffer[~self._mask] == self.PATTERN).all())


def guarded(shape, dtype, *, row_pad=2, head_pad=3):
    """An array [..., heads, last] with guard rows round it and guard heads behind every row."""
    return Guarded(shape, dtype, row_pad, head_pad)
