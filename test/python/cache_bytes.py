# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Payloads and scales of a case's cache, replaced after it was drawn."""

import numpy as np

from mlatile.testing import decode_slots


def selected(case):
    """The slots that rows select."""
    return np.unique(case.indices[(case.indices >= 0) & (case.indices < case.pool.slots)])


def write_bytes(case, raw, scales=False):
    """Replaces the payloads, or the scales, of all selected slots: raw [slots, bytes]."""
    pool, slots = case.pool, selected(case)
    places = pool._places(slots)[scales]
    pool.pages[(slots // pool.page_size)[:, None], places[:, None] + np.arange(raw.shape[1])] = raw


def set_scales(case, draw):
    """draw(shape) gives float32 for the formats with fp32 scales, else bytes."""
    f, count = case.pool.format, len(selected(case))
    scales = np.ascontiguousarray(draw((count, f.nope // f.group)))
    assert scales.dtype == (np.float32 if f.scale.startswith("f32") else np.uint8)
    write_bytes(case, scales.view(np.uint8).reshape(count, -1), scales=True)


def aim(case, logits):
    """Makes the largest logit that large."""
    key, _ = decode_slots(case.pool, selected(case))
    largest = np.abs(case.q.astype(np.float64) @ key.T).max() * case.sm_scale
    case.q = (case.q.astype(np.float64) * (logits / largest)).astype(case.q.dtype)
    return case
