# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of public failures share. docs/PublicCases.md has the table from case to test."""

import mmap

import ml_dtypes
import numpy as np
import pytest

import mlatile
from mlatile.testing import FORMATS, Pool
from second_caches import KERNELS, MAIN

SHAPE = dict(num_tokens=2, num_heads=8, width=64, page_size=64, target="sm_120a")
# What does not depend on the bytes of a format runs for one whose scales stand inline and one with a footer.
LAYOUTS = list({bool(FORMATS[name].scale_row): name for name in reversed(MAIN)}.values())
each_layout = pytest.mark.parametrize("kv_format", LAYOUTS)
every_format = pytest.mark.parametrize("kv_format", MAIN)
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
# With and without splits; one CTA of the other kernels walks a whole list.
every_way = pytest.mark.parametrize(("kernel", "splits"), [("decode", 1), ("decode", 4), *((k, 1) for k in KERNELS[1:])])


def sparse_bytes(size):
    """Zeros of which only touched pages take memory; skips the test where the address space is too small."""
    try:
        store = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000))
    except (OSError, ValueError, OverflowError) as error:
        pytest.skip(f"no {size / 2**30:.0f} GiB of address space: {error}")
    return np.frombuffer(store, np.uint8)


def far_apart(rows, row_shape, dtype, row_bytes):
    """An array [rows, *row_shape] whose rows are row_bytes apart."""
    dtype = np.dtype(dtype)
    inner = [dtype.itemsize]
    for extent in row_shape[:0:-1]:
        inner.insert(0, inner[0] * extent)
    store = sparse_bytes((rows - 1) * row_bytes + int(np.prod(row_shape)) * dtype.itemsize + 4096)
    return np.lib.stride_tricks.as_strided(store.view(np.uint8)[: dtype.itemsize].view(dtype), (rows, *row_shape),
                                           (row_bytes, *inner))


def sparse_pool(small, first_page, pages, page_stride=None):
    """The pages of `small` from `first_page` on in a pool of `pages` pages, zero elsewhere."""
    n, stride = small.pages.shape
    page_stride = page_stride or stride
    store = sparse_bytes(pages * page_stride)
    view = store[: pages * page_stride].reshape(pages, page_stride)
    view[first_page : first_page + n, :stride] = small.pages
    return Pool(view, small.kv_format, small.page_size, small.row_stride)


def merged(outs, lses, base):
    """Results of disjoint lists as one: float64, weights from their lse of the given base."""
    lses = np.stack([np.asarray(lse, np.float64) for lse in lses])
    power = np.exp2 if base == "2" else np.exp
    top = lses.max(axis=0)
    weights = power(lses - np.where(np.isinf(top), 0, top))
    total = weights.sum(axis=0)
    share = weights / np.where(total == 0, 1, total)
    return sum(w[..., None] * np.asarray(out).astype(np.float64) for w, out in zip(share, outs))


def call(case, **changes):
    """(out, lse) of a case into arrays of its own."""
    return mlatile.sparse_mla(**case.arguments(**changes), return_lse=True)


def same_bits(first, second):
    return all(a.tobytes() == b.tobytes() for a, b in zip(first, second))


def rows_of(case, rows):
    """The arguments of some rows of a case."""
    return dict(q=case.q[rows], indices=case.indices[rows],
                topk_length=None if case.topk_length is None else case.topk_length[rows])


def bf16(values):
    return np.asarray(values).astype(ml_dtypes.bfloat16)
