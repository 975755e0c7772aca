# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged pools of every format, written from numbers.

The layout is written down here a second time on purpose: a mistake in the
library's table of formats must not be able to hide.
"""

from dataclasses import dataclass

import numpy as np

from . import numbers


@dataclass(frozen=True)
class Format:
    """Bytes of one token; offsets in the data row (inline) or the scale row (footer)."""

    nope: int
    rope: int
    group: int
    payload: str  # e4m3, e2m1
    scale: str  # f32_pow2, f32, ue8m0, e4m3
    data_row: int
    scale_row: int  # 0: inline
    rope_at: int
    scale_at: int
    rope_in_value: bool

    @property
    def d_qk(self):
        return self.nope + self.rope

    @property
    def d_v(self):
        return self.nope + (self.rope if self.rope_in_value else 0)


FORMATS = {
    "dsv3_2": Format(512, 64, 128, "e4m3", "f32_pow2", 656, 0, 528, 512, False),
    "glm": Format(512, 64, 128, "e4m3", "f32", 656, 0, 528, 512, False),
    "glm53_nope": Format(512, 0, 128, "e4m3", "f32", 528, 0, 0, 512, False),
    "dsv4": Format(448, 64, 64, "e4m3", "ue8m0", 576, 8, 448, 0, True),
    "dsv4_1": Format(512, 0, 32, "e4m3", "ue8m0", 512, 16, 0, 0, False),
    "dots3_swa": Format(1024, 64, 128, "e4m3", "ue8m0", 1152, 8, 1024, 0, False),
    "dsv4_nvfp4": Format(448, 64, 16, "e2m1", "e4m3", 352, 32, 224, 0, True),
    "dsv4_1_fp4": Format(512, 0, 16, "e2m1", "e4m3", 256, 32, 0, 0, False),
}


@dataclass
class Pool:
    """pages: uint8 [pages, page_stride], the page padding included."""

    pages: np.ndarray
    kv_format: str
    page_size: int
    row_stride: int

    @property
    def format(self):
        return FORMATS[self.kv_format]

    @property
    def slots(self):
        return self.pages.shape[0] * self.page_size

    def rows(self, slots):
        """Data rows and scale bytes of slots: uint8 [n, data_row], [n, scale bytes]."""
        data_at, scale_at, f = *self._places(slots), self.format
        page = (np.asarray(slots) // self.page_size)[:, None]
        data = self.pages[page, data_at[:, None] + np.arange(f.data_row)]
        return data, self.pages[page, scale_at[:, None] + np.arange(_scale_bytes(f))]

    def write(self, slots, nope, rope):
        """Quantises float64 [n, nope] and [n, rope] into the slots."""
        f = self.format
        data_at, scale_at = self._places(slots)
        page = (np.asarray(slots) // self.page_size)[:, None]
        payload, scales = _quantise(f, nope)
        self.pages[page, data_at[:, None] + np.arange(payload.shape[1])] = payload
        self.pages[page, scale_at[:, None] + np.arange(scales.shape[1])] = scales
        if f.scale_row:  # pad of the scale row: anything finite or not, never read
            pad = np.arange(scales.shape[1], f.scale_row)
            self.pages[page, scale_at[:, None] + pad] = 0xFF
        if f.rope:
            raw = numbers.to_bf16(rope)
            self.pages[page, data_at[:, None] + f.rope_at + np.arange(raw.shape[1])] = raw

    def _places(self, slots):
        """Byte offsets in the page of the data row and of the scales."""
        offset = np.asarray(slots, dtype=np.int64) % self.page_size
        data_at = offset * self.row_stride
        if self.format.scale_row:
            return data_at, self.page_size * self.row_stride + offset * self.format.scale_row
        return data_at, data_at + self.format.scale_at


def _scale_bytes(f):
    return f.nope // f.group * (4 if f.scale.startswith("f32") else 1)


def page_bytes(kv_format, page_size, row_stride=None):
    """Bytes of a page without padding at its end."""
    f = FORMATS[kv_format]
    row = row_stride or f.data_row
    return page_size * (row + f.scale_row)


def write_pool(rng, kv_format, *, pages, page_size, slots, page_stride=None, row_stride=None, spread=1.0):
    """A pool of NaN bytes with random tokens in `slots`.

    Values are normal with a factor a token (so that dropping or swapping scales
    shows) times `spread`. page_stride: bytes, default tight, rounded up to 16.
    """
    f = FORMATS[kv_format]
    row_stride = row_stride or f.data_row
    stride = page_stride or -(-page_bytes(kv_format, page_size, row_stride) // 16) * 16
    # 0xFF is NaN as e4m3, ue8m0, bf16 and fp32 alike.
    pool = Pool(np.full((pages, stride), 0xFF, np.uint8), kv_format, page_size, row_stride)
    slots = np.unique(np.asarray(slots, dtype=np.int64))
    n = len(slots)
    factor = spread * 2.0 ** rng.uniform(-1, 1, (n, f.nope // f.group, 1))
    nope = rng.standard_normal((n, f.nope // f.group, f.group)) * factor
    rope = rng.standard_normal((n, f.rope)) * spread
    if n:
        pool.write(slots, nope.reshape(n, f.nope), rope)
    return pool


def _quantise(f, nope):
    """Payload bytes [n, ...] and scale bytes [n, ...] of float64 [n, nope]."""
    n = nope.shape[0]
    groups = nope.reshape(n, -1, f.group)
    amax = np.maximum(np.abs(groups).max(axis=2), 1e-4)
    scale = amax / (448.0 if f.payload == "e4m3" else 6.0)
    if f.scale in ("ue8m0", "f32_pow2"):
        exponent = np.ceil(np.log2(scale))
        scale = 2.0**exponent
    if f.scale == "ue8m0":
        raw = (exponent + 127).astype(np.uint8)
    elif f.scale == "e4m3":
        raw = numbers.to_e4m3(np.maximum(scale, 2.0**-9))
        scale = numbers.E4M3[raw]
    else:
        single = scale.astype("<f4")
        raw, scale = single.view(np.uint8).reshape(n, -1), single.astype(np.float64)
    scaled = (groups / scale[:, :, None]).reshape(n, f.nope)
    if f.payload == "e4m3":
        return numbers.to_e4m3(scaled), raw
    codes = numbers.to_e2m1(scaled)
    return codes[:, 0::2] | codes[:, 1::2] << 4, raw
