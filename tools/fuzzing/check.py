# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one problem and says how it went."""

import functools
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

import data as problem_data
import draw
import mlatile
from mlatile.testing import compare, executor, guarded

POISON = 0x7FC00000  # a NaN as float32, a large id as int32


@functools.cache
def kernel_file(path):
    return mlatile.load(path)


@dataclass
class Outcome:
    """What a problem gave: worst error, lowest cosine, lse over its bound; `wrong` is None or one line."""

    wrong: str | None = None
    error: float = 0.0
    cosine: float = 1.0
    lse: float = 0.0


def check(problem, *, path=None, checked=False, orders=1):
    data = problem_data.make(problem)
    try:
        return compared(problem, data, path, checked, orders)
    except mlatile.Error as error:
        return Outcome(f"{type(error).__name__}: {error}".replace("\n", " | "))


def compared(problem, data, path, checked, orders):
    out, lse, wrong = run(problem, data, path, checked)
    if wrong:
        return Outcome(wrong)
    result = compare(out, data.reference(), lse=lse, lse_base=problem.lse or "2", compute=problem.compute)
    outcome = Outcome(None if result else result.text, result.error, result.cosine, result.lse)
    for other, how in again(problem, data, orders, checked):
        if outcome.wrong:
            break
        # The same number of splits, whoever chose it.
        first = run(replace(problem, splits=other.splits), data, path, False)[:2] if other.splits != problem.splits else (out, lse)
        *second, outcome.wrong = run(other, data, path, checked and how != UNCHECKED)
        for name, a, b in zip(("out", "lse"), first, second):
            if a is not None and a.tobytes() != b.tobytes():
                outcome.wrong = outcome.wrong or f"{name} differs {how}"
    return outcome


UNCHECKED = "without checks"


def again(problem, data, orders, checked):
    """(problem that must give the same bits, how it differs)."""
    if checked:
        yield problem, UNCHECKED
    for order in range(1, orders):
        yield replace(problem, executor_seed=problem.executor_seed + order), "between two orders of warps"
    if problem.twice:
        yield replace(
            problem, executor_seed=problem.executor_seed + 1, strided=not problem.strided,
            frame="framed" if problem.frame == "flat" else "flat", splits=problem.splits or mlatile.plan(**draw.plan_keywords(problem)).num_splits,
        ), "between two orders of warps and framings"


def run(problem, data, path, checked):
    """(out [T, H, d_v], lse [T, H] or None, what is wrong beside the numbers)."""
    rng = np.random.default_rng([problem.seed, 3, problem.case])
    t, h, d_qk = data.q.shape
    framed = problem.frame == "framed" and t > 1
    frame = (t,)
    if framed:
        rows = [b for b in range(1, t + 1) if t % b == 0]
        b = int(rows[rng.integers(len(rows))])
        frame = (b, t // b)
    d_v = data.main.pool.format.d_v

    q = data.q
    if problem.strided:  # rows and heads are a part of a larger array; the base is odd
        store = np.full((t + 1, h + 2, d_qk + 3), np.nan, ml_dtypes.bfloat16)
        q = store[1:, 1 : h + 1, 1 : d_qk + 1]
        q[:] = data.q
    row_pad, head_pad = (2, 3) if problem.strided else (0, 0)
    guard = guarded((*frame, h, d_v), ml_dtypes.bfloat16, row_pad=row_pad, head_pad=head_pad)
    lse_store = lse = None
    if problem.lse:
        lse_store = np.full((*frame[:-1], frame[-1] + 2, h + 3), 12345.0, np.float32)
        lse = lse_store[..., 1:-1, :h]

    arguments = dict(
        q=_framed(q, frame), kv_cache=data.main.pool.pages, kv_format=data.main.pool.kv_format,
        page_size=data.main.pool.page_size, sm_scale=data.scale, attn_sink=data.sink, out=guard.array, lse=lse,
        lse_base=problem.lse or "2", compute=problem.compute, num_splits=problem.splits,
        kernel=kernel_file(path) if path else problem.kernel, row_stride=_row_stride(data.main.pool),
        indices=_indices(problem, problem.main, data.main, frame),
        topk_length=_lengths(problem, data.main.lengths, frame),
    )
    if data.extra is not None:
        arguments |= dict(
            extra_kv_cache=_pages(data.extra.pool), extra_kv_format=data.extra.pool.kv_format,
            extra_page_size=data.extra.pool.page_size,
            extra_indices=_indices(problem, problem.extra, data.extra, frame),
            extra_topk_length=_lengths(problem, data.extra.lengths, frame),
        )
    with executor(seed=problem.executor_seed, checked=checked):
        mlatile.sparse_mla(**arguments)
    wrong = None if guard.intact() else "out was written outside its rows and heads"
    out = np.array(guard.array).reshape(t, h, d_v)
    if lse is not None:
        filled = np.array(lse)
        lse[...] = 12345.0
        if not (lse_store == 12345.0).all():
            wrong = "lse was written outside its rows and heads"
        lse = filled.reshape(t, h)
    return out, lse, wrong


def _framed(array, frame):
    """Rows [T, ...] as [*frame, ...], without a copy."""
    if len(frame) == 1:
        return array
    stride = array.strides[0]
    return np.lib.stride_tricks.as_strided(
        array, (*frame, *array.shape[1:]), (stride * frame[1], stride, *array.strides[1:])
    )


def _indices(problem, cache, part, frame):
    ids = part.indices
    if cache.wide_rows:
        store = np.full((ids.shape[0], ids.shape[1] + 37), POISON, np.int32)
        store[:, 5 : 5 + ids.shape[1]] = ids
        ids = store[:, 5 : 5 + ids.shape[1]]
    if problem.frame == "middle":
        return ids[:, None, :]
    return _framed(ids, frame)


def _lengths(problem, lengths, frame):
    if lengths is None:
        return None
    if problem.strided:
        store = np.full((len(lengths), 3), POISON, np.int32)
        store[:, 1] = lengths
        lengths = store[:, 1]
    return _framed(lengths, frame)


def _pages(pool):
    """A second cache has no argument for its row stride: rows that are padded are an axis."""
    if _row_stride(pool) is None:
        return pool.pages
    shape = (len(pool.pages), pool.page_size, pool.format.data_row)
    return np.lib.stride_tricks.as_strided(pool.pages, shape, (pool.pages.strides[0], pool.row_stride, 1))


def _row_stride(pool):
    return pool.row_stride if pool.row_stride != pool.format.data_row else None
