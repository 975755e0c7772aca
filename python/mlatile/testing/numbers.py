# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small floating-point formats, byte by byte."""

import numpy as np


def _e4m3_values():
    """OCP e4m3fn: bias 7, subnormals, no infinities, 0x7F and 0xFF are NaN."""
    values = np.empty(256)
    for byte in range(256):
        sign = -1.0 if byte & 0x80 else 1.0
        exponent, mantissa = (byte >> 3) & 15, byte & 7
        if exponent == 15 and mantissa == 7:
            values[byte] = np.nan
        elif exponent == 0:
            values[byte] = sign * mantissa * 2.0**-9
        else:
            values[byte] = sign * (1 + mantissa / 8) * 2.0 ** (exponent - 7)
    return values


E4M3 = _e4m3_values()
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
# Byte e is 2^(e - 127); 255 is NaN.
UE8M0 = np.array([2.0 ** (e - 127) for e in range(255)] + [np.nan])

_E4M3_POSITIVE = E4M3[:127]  # ascending


def to_e4m3(values):
    """Nearest e4m3 byte, ties to the even byte; past 448: 448."""
    magnitude = np.minimum(np.abs(values), 448.0)
    return _nearest(magnitude, _E4M3_POSITIVE) | np.where(np.signbit(values), 0x80, 0).astype(np.uint8)


def to_e2m1(values):
    """Nearest e2m1 code (a nibble), ties to the even code; past 6: 6."""
    magnitude = np.minimum(np.abs(values), 6.0)
    return _nearest(magnitude, E2M1[:8]) | np.where(np.signbit(values), 8, 0).astype(np.uint8)


def _nearest(magnitude, table):
    above = np.clip(np.searchsorted(table, magnitude), 1, len(table) - 1)
    below = above - 1
    up, down = table[above] - magnitude, magnitude - table[below]
    tie = np.where(above % 2 == 0, above, below)
    return np.where(up < down, above, np.where(down < up, below, tie)).astype(np.uint8)


def bf16_values(raw):
    """uint8 [..., 2n], little endian, to float64 [..., n]."""
    words = np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16
    return words.view(np.float32).astype(np.float64)


def to_bf16(values):
    """Nearest-even bf16 as uint8 [..., 2n]; finite values only."""
    words = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (words + 0x7FFF + ((words >> 16) & 1)) >> 16
    return np.ascontiguousarray(rounded.astype("<u2")).view(np.uint8)
