# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random problems with everything that may go wrong in them."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .metric import compare
from .pools import FORMATS, Pool, write_pool
from .reference import reference

# Entries that no kernel may follow.
WILD = np.array([-1, -2, -(2**31), 2**31 - 1], dtype=np.int64)


@dataclass
class Case:
    """Arrays of one problem, rows flat; arguments() are those of sparse_mla."""

    q: np.ndarray
    pool: Pool
    indices: np.ndarray
    sm_scale: float
    topk_length: np.ndarray | None = None
    attn_sink: np.ndarray | None = None
    extra_pool: Pool | None = None  # a second cache, with its lists
    extra_indices: np.ndarray | None = None
    extra_topk_length: np.ndarray | None = None

    def arguments(self, **changes):
        values = dict(
            q=self.q, kv_cache=self.pool.pages, indices=self.indices, kv_format=self.pool.kv_format,
            page_size=self.pool.page_size, sm_scale=self.sm_scale, topk_length=self.topk_length,
            attn_sink=self.attn_sink,
        )
        if self.extra_pool is not None:
            values |= dict(
                extra_kv_cache=self.extra_pool.pages, extra_indices=self.extra_indices,
                extra_topk_length=self.extra_topk_length, extra_kv_format=self.extra_pool.kv_format,
                extra_page_size=self.extra_pool.page_size,
            )
        return values | changes

    def reference(self, **options):
        return reference(
            self.q, self.pool, self.indices, sm_scale=self.sm_scale, topk_length=self.topk_length,
            extra_pool=self.extra_pool, extra_indices=self.extra_indices, extra_topk_length=self.extra_topk_length,
            attn_sink=self.attn_sink, **options,
        )

    def compare(self, out, lse=None, *, reference_options=None, **options):
        return compare(out, self.reference(**reference_options or {}), lse=lse, **options)


def make_case(
    seed, *, tokens, heads, width, page_size, kv_format="dsv4", skip=0.15, lengths=False, sink=False, pages=None,
    page_stride=None, row_stride=None, spread=1.0, q_spread=1.0, extra_width=None, extra_page_size=None,
    extra_kv_format=None, extra_lengths=False, extra_pages=None, extra_page_stride=None,
):
    """A random problem; every slot that no row selects holds NaN bytes.

    skip: fraction of entries that are skipped (negative or past the pool).
    lengths: True draws lengths from negative to past the width; entries past a
    length name NaN slots. sink: True draws finite ones. extra_width: adds a second
    cache, of the same format and page size unless others are given; the rest of the
    problem is that without it.
    """
    rng = np.random.default_rng(seed)
    f = FORMATS[kv_format]
    pool, indices, topk_length = _list(
        rng, kv_format, tokens, width, page_size, skip=skip, lengths=lengths, pages=pages, page_stride=page_stride,
        row_stride=row_stride, spread=spread,
    )
    q = (rng.standard_normal((tokens, heads, f.d_qk)) * q_spread).astype(ml_dtypes.bfloat16)
    case = Case(
        q=q, pool=pool, indices=indices, sm_scale=f.d_qk**-0.5, topk_length=topk_length,
        attn_sink=rng.standard_normal(heads).astype(np.float32) if sink else None,
    )
    if extra_width is not None:
        case.extra_pool, case.extra_indices, case.extra_topk_length = _list(
            rng, extra_kv_format or kv_format, tokens, extra_width, extra_page_size or page_size, skip=skip,
            lengths=extra_lengths, pages=extra_pages, page_stride=extra_page_stride, row_stride=None, spread=spread,
        )
    return case


def _list(rng, kv_format, tokens, width, page_size, *, skip, lengths, pages, page_stride, row_stride, spread):
    """A pool, its indices and their lengths (or None)."""
    if pages is None:
        pages = max(2, -(-min(2 * width + 64, 4096) // page_size))
    slots = pages * page_size
    # Half of the pool is for rows to select, the rest holds NaN.
    order = rng.permutation(slots)
    usable, poison = order[: max(1, slots // 2)], order[max(1, slots // 2) :]
    indices = rng.choice(usable, (tokens, width))
    wild = rng.choice(np.concatenate([WILD, [slots, slots + 1]]), indices.shape)
    wild = np.where(wild >= 2**31, 2**31 - 1, wild)
    indices = np.where(rng.random(indices.shape) < skip, wild, indices)

    topk_length = None
    if lengths:
        topk_length = rng.integers(-2, width + 3, tokens).astype(np.int32)
        if tokens > 2:
            topk_length[rng.permutation(tokens)[:2]] = (0, 2**31 - 1)
        if len(poison):
            past = np.arange(width)[None, :] >= topk_length[:, None]
            indices = np.where(past, rng.choice(poison, indices.shape), indices)

    selected = np.unique(indices) if topk_length is None else np.unique(
        indices[np.arange(width)[None, :] < topk_length[:, None]]
    )
    selected = selected[(selected >= 0) & (selected < slots)]
    pool = write_pool(
        rng, kv_format, pages=pages, page_size=page_size, slots=selected, page_stride=page_stride,
        row_stride=row_stride, spread=spread,
    )
    return pool, indices.astype(np.int32), topk_length
