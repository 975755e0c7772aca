# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse MLA in float64, over the bytes as they stand in the pool."""

from dataclasses import dataclass

import numpy as np

from . import numbers

LOG2_E = 1.4426950408889634


@dataclass
class Reference:
    """out [T, H, d_v]; lse [T, H] in natural log; magnitude [T, H] = max_d sum_c w[c] |v[c, d]|."""

    out: np.ndarray
    lse: np.ndarray
    magnitude: np.ndarray


def decode_slots(pool, slots):
    """Keys [n, d_qk] and values [n, d_v] of slots, float64."""
    f = pool.format
    data, raw = pool.rows(slots)
    if f.payload == "e4m3":
        nope = numbers.E4M3[data[:, : f.nope]]
    else:
        packed = data[:, : f.nope // 2]
        nope = numbers.E2M1[np.stack([packed & 15, packed >> 4], axis=2)].reshape(len(data), f.nope)
    if f.scale == "ue8m0":
        scale = numbers.UE8M0[raw]
    elif f.scale == "e4m3":
        scale = numbers.E4M3[raw]
    else:
        scale = np.ascontiguousarray(raw).view("<f4").astype(np.float64)
    nope = nope * np.repeat(scale, f.group, axis=1)
    if not f.rope:
        return nope, nope
    rope = numbers.bf16_values(data[:, f.rope_at : f.rope_at + 2 * f.rope])
    key = np.concatenate([nope, rope], axis=1)
    return key, key if f.rope_in_value else nope


def candidates(pool, indices, length):
    """The valid slots of one row of indices, in order, duplicates kept."""
    row = np.asarray(indices, dtype=np.int64)
    if length is not None:
        row = row[: min(max(int(length), 0), len(row))]
    return row[(row >= 0) & (row < pool.slots)]


def _candidates_of(t, pool, indices, length):
    """Of row t: the different valid slots as keys and values, and which of them every candidate is."""
    slots = candidates(pool, indices[t], None if length is None else length[t])
    unique, inverse = np.unique(slots, return_inverse=True)
    return (*decode_slots(pool, unique), inverse)


def reference(
    q, pool, indices, *, sm_scale, topk_length=None, extra_pool=None, extra_indices=None, extra_topk_length=None,
    attn_sink=None, soft_cap=None,
):
    """q [T, H, d_qk], indices [T, W] (arrays of any number type); gives Reference.

    extra_*: a second pool and its lists, in the same softmax. soft_cap: logits become cap * tanh(logit / cap).
    """
    rows, heads, _ = q.shape
    q = np.asarray(q).astype(np.float64)
    scale = np.float64(np.float32(sm_scale))
    out = np.zeros((rows, heads, pool.format.d_v))
    lse = np.empty((rows, heads))
    magnitude = np.zeros((rows, heads))
    sink = np.full(heads, -np.inf) if attn_sink is None else np.asarray(attn_sink, dtype=np.float64)
    for t in range(rows):
        key, value, inverse = _candidates_of(t, pool, indices, topk_length)
        if extra_pool is not None:
            more = _candidates_of(t, extra_pool, extra_indices, extra_topk_length)
            inverse = np.concatenate([inverse, more[2] + len(key)])
            key, value = np.concatenate([key, more[0]]), np.concatenate([value, more[1]])
        logits = scale * (q[t] @ key.T)[:, inverse]
        if soft_cap is not None:
            logits = soft_cap * np.tanh(logits / soft_cap)
        top = np.maximum(logits.max(axis=1, initial=-np.inf), sink)
        base = np.where(np.isinf(top), 0.0, top)
        with np.errstate(over="ignore", divide="ignore"):
            weight = np.exp(logits - base[:, None])
            total = weight.sum(axis=1) + np.exp(sink - base)
            lse[t] = np.where(np.isinf(top), top, base + np.log(total))
        usable = np.isfinite(total) & (total > 0)
        weight = np.where(usable[:, None], weight / np.where(usable, total, 1)[:, None], 0.0)
        per_slot = np.zeros((heads, len(key)))
        np.add.at(per_slot, (slice(None), inverse), weight)
        out[t] = per_slot @ value
        magnitude[t] = (per_slot @ np.abs(value)).max(axis=1, initial=0.0)
    return Reference(out, lse, magnitude)
