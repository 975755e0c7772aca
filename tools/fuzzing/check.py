# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one problem and says what is wrong with it."""

import functools
from dataclasses import replace

import ml_dtypes
import numpy as np

import data as problem_data
import mlatile
from mlatile.testing import compare, executor, guarded

POISON = 0x7FC00000  # a NaN as float32, a large id as int32


@functools.cache
def kernel_file(path):
    return mlatile.load(path)


def check(problem, *, path=None, checked=False):
    """None, or one line."""
    data = problem_data.make(problem)
    try:
        return compared(problem, data, path, checked)
    except mlatile.Error as error:
        return f"{type(error).__name__}: {error}".replace("\n", " | ")


def compared(problem, data, path, checked):
    out, lse, wrong = run(problem, data, path, checked)
    if wrong:
        return wrong
    result = compare(out, data.reference(), lse=lse, lse_base=problem.lse or "2", compute=problem.compute)
    if not result:
        return result.text
    if not problem.twice:
        return None
    other = replace(
        problem, executor_seed=problem.executor_seed + 1, strided=not problem.strided,
        frame="framed" if problem.frame == "flat" else "flat", splits=problem.splits or planned_splits(problem, data),
    )
    first = out, lse
    if problem.splits is None:  # the same number of splits, whoever chose it
        first = run(replace(problem, splits=other.splits), data, path, checked)[:2]
    second = run(other, data, path, checked)
    if second[2]:
        return second[2]
    for name, a, b in zip(("out", "lse"), first, second):
        if a is not None and a.tobytes() != b.tobytes():
            return f"{name} differs between two orders of warps and framings"
    return None


def planned_splits(problem, data):
    extra = problem.extra
    return mlatile.plan(
        num_tokens=problem.tokens, num_heads=problem.heads, width=problem.main.width, kv_format=problem.main.kv_format,
        page_size=problem.main.page_size, kernel=problem.kernel, compute=problem.compute, target="sm_120a",
        extra_width=extra and extra.width, extra_page_size=extra and extra.page_size,
        extra_kv_format=extra and extra.kv_format, has_sink=data.sink is not None,
    ).num_splits


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
            extra_kv_cache=data.extra.pool.pages, extra_kv_format=data.extra.pool.kv_format,
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


def _row_stride(pool):
    return pool.row_stride if pool.row_stride != pool.format.data_row else None
