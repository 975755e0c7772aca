# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of a drawn problem: pools with NaN in every slot that no row selects, lists with wild ids."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from mlatile.testing import FORMATS, Pool, decode_slots, reference
from mlatile.testing.pools import page_bytes, write_pool

WILD = [-1, -1, -2, -(2**31), 2**31 - 1]
EXTREME = [-np.inf, np.inf, 3e38, -3e38, 0.0, 30.0, -30.0]
MOST_SLOTS = 384  # different slots that rows select; a longer list has duplicates
MOST_BYTES = 24 << 20


@dataclass
class List:
    pool: Pool
    indices: np.ndarray  # int32 [T, W]
    lengths: np.ndarray | None


@dataclass
class Data:
    q: np.ndarray
    main: List
    extra: List | None
    sink: np.ndarray | None
    scale: float

    def reference(self):
        extra = self.extra
        return reference(
            self.q, self.main.pool, self.main.indices, sm_scale=self.scale, topk_length=self.main.lengths,
            extra_pool=extra and extra.pool, extra_indices=extra and extra.indices,
            extra_topk_length=extra and extra.lengths, attn_sink=self.sink,
        )


def make(problem):
    rng = np.random.default_rng([problem.seed, 2, problem.case])
    main = _list(rng, problem, problem.main)
    extra = _list(rng, problem, problem.extra) if problem.extra else None
    scale = FORMATS[problem.main.kv_format].d_qk ** -0.5 if problem.scale is None else problem.scale
    sink = None
    if problem.sink != "none":
        sink = rng.standard_normal(problem.heads) * 3
        if problem.sink == "extreme":
            sink = np.where(rng.random(problem.heads) < 0.7, rng.choice(EXTREME, problem.heads), sink)
        sink = sink.astype(np.float32)
    return Data(_queries(rng, problem, main, extra, scale), main, extra, sink, scale)


def _list(rng, problem, cache):
    f = FORMATS[cache.kv_format]
    row_stride = f.data_row + cache.row_pad if cache.row_pad else None
    tight = page_bytes(cache.kv_format, cache.page_size, row_stride)
    stride = -(-tight // 16) * 16 + cache.page_pad
    pages = max(2, -(-min(2 * cache.width + 64, 3 * MOST_SLOTS) // cache.page_size))
    pages = max(1, min(pages, MOST_BYTES // stride))
    slots = pages * cache.page_size
    order = rng.permutation(slots)
    count = max(1, min(slots // 2, MOST_SLOTS))
    usable, poison = order[:count], order[count:]

    shape = (problem.tokens, cache.width)
    indices = rng.choice(usable, shape)
    wild = rng.choice([*WILD, slots, slots + 1], shape)
    skipped = _skips(rng, shape, cache)
    indices = np.where(skipped, wild, indices)
    lengths = None
    if cache.lengths:
        w = cache.width
        lengths = np.where(
            rng.random(problem.tokens) < 0.5, rng.integers(0, w + 1, problem.tokens),
            rng.choice([-(2**31), -1, 0, 1, w - 1, w, w + 1, 2**31 - 1], problem.tokens),
        ).astype(np.int32)
        if len(poison):  # what stands past a length names NaN
            past = np.arange(w)[None, :] >= lengths[:, None]
            indices = np.where(past & ~skipped, rng.choice(poison, shape), indices)
    counted = indices if lengths is None else indices[np.arange(cache.width)[None, :] < lengths[:, None]]
    selected = np.unique(counted)
    selected = selected[(selected >= 0) & (selected < slots)]
    pool = write_pool(rng, cache.kv_format, pages=pages, page_size=cache.page_size, slots=selected,
                      page_stride=stride, row_stride=row_stride, spread=1e-4 if cache.content == "small" else 1.0)
    if cache.content == "bytes":
        _random_bytes(rng, pool, selected)
    elif cache.content == "equal" and len(selected):  # a flat softmax of equal values
        same = np.repeat(selected[:1], len(selected))
        data, scales = pool.rows(same)
        data_at, scale_at = pool._places(selected)
        page = (selected // cache.page_size)[:, None]
        pool.pages[page, data_at[:, None] + np.arange(data.shape[1])] = data
        pool.pages[page, scale_at[:, None] + np.arange(scales.shape[1])] = scales
    return List(pool, indices.astype(np.int32), lengths)


def _random_bytes(rng, pool, slots):
    """Any payload but NaN: subnormals, both zeros, the largest values. Scales stay as they were written."""
    f = pool.format
    size = f.nope if f.payload == "e4m3" else f.nope // 2
    raw = rng.integers(0, 256, (len(slots), size), dtype=np.uint8)
    if f.payload == "e4m3":
        raw[(raw & 0x7F) == 0x7F] ^= 1
    data_at, _ = pool._places(slots)
    pool.pages[(slots // pool.page_size)[:, None], data_at[:, None] + np.arange(size)] = raw


def _skips(rng, shape, cache):
    """Where entries are skipped."""
    tokens, width = shape
    at = np.arange(width)[None, :]
    run = rng.integers(0, width + 1, (tokens, 1))
    if cache.pattern == "none":
        return np.zeros(shape, bool)
    if cache.pattern == "leading":
        return np.broadcast_to(at < run, shape)
    if cache.pattern == "trailing":
        return np.broadcast_to(at >= run, shape)
    if cache.pattern == "one":  # one entry counts
        return np.broadcast_to(at != np.minimum(run, width - 1), shape)
    if cache.pattern == "alternate":
        return np.broadcast_to(at % 2 == run % 2, shape)
    return rng.random(shape) < cache.skip


def _queries(rng, problem, main, extra, scale):
    """bfloat16 [T, H, d_qk] whose largest logit is about `problem.logits`."""
    d_qk = main.pool.format.d_qk
    q = rng.standard_normal((problem.tokens, problem.heads, d_qk))
    keys = [k for k in (_keys(part) for part in (main, extra) if part is not None) if len(k)]
    if not keys:
        return q.astype(ml_dtypes.bfloat16)
    keys = np.concatenate(keys)
    if problem.dominating:  # every head looks at one key
        q = keys[rng.integers(0, len(keys), q.shape[:2])] + 1e-3 * q
    some = keys if len(keys) <= 256 else keys[rng.permutation(len(keys))[:256]]
    flat = q.reshape(-1, d_qk)
    largest = np.abs(flat @ some.T).max(axis=1) * abs(scale)
    with np.errstate(divide="ignore"):
        factor = np.where(largest > 0, problem.logits / largest, 1.0)
    # Logits are sums of products not much larger than themselves: where a query is all but orthogonal to the keys,
    # making it longer would ask for more than float32 sums have.
    products = (np.abs(flat) @ np.abs(some).T).max(axis=1) * abs(scale)
    factor = np.minimum(factor, 16 * problem.logits / np.maximum(products, 1e-30))
    factor = np.minimum(factor, 1e4 / np.maximum(np.abs(flat).max(axis=1), 1e-30))
    return (flat * factor[:, None]).reshape(q.shape).astype(ml_dtypes.bfloat16)


def _keys(part):
    counted = part.indices
    if part.lengths is not None:
        counted = counted[np.arange(counted.shape[1])[None, :] < part.lengths[:, None]]
    slots = np.unique(counted)
    slots = slots[(slots >= 0) & (slots < part.pool.slots)]
    return decode_slots(part.pool, slots)[0]
