# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of a result, and the bounds of every compute mode."""

from dataclasses import dataclass

import numpy as np

from .reference import LOG2_E

TINY = 2.0**-100
# compute: error, cosine, lse in base 2 (absolute; 2^-20 of |lse| comes on top)
BOUNDS = {"bf16": (1.0e-2, 0.9999, 2e-3), "fp8": (1.5e-2, 0.9999, 4e-3), "fp8_fast": (8e-2, 0.997, 5e-2)}


@dataclass
class Comparison:
    """Worst values over all rows and heads; `lse` is the error over its bound."""

    ok: bool
    error: float
    cosine: float
    lse: float
    where: tuple  # (row, head) of the worst error
    text: str

    def __bool__(self):
        return self.ok


def compare(out, reference, *, lse=None, lse_base="2", compute="bf16"):
    """out [T, H, d_v] and lse [T, H] (or with [B, S] rows) against a Reference."""
    error_bound, cosine_bound, lse_bound = BOUNDS[compute]
    got = np.asarray(out).astype(np.float64).reshape(reference.out.shape)
    want = reference.out
    if got.size == 0:
        return Comparison(True, 0.0, 1.0, 0.0, (), "nothing to compare")

    top_got, top_want = np.abs(got).max(axis=2), np.abs(want).max(axis=2)
    tiny = (top_got < TINY) & (top_want < TINY)  # false where got has a NaN
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.abs(got - want).max(axis=2) / np.maximum(top_want, 2.0**-6 * reference.magnitude)
        norm = np.linalg.norm(got, axis=2) * np.linalg.norm(want, axis=2)
        cosine = (got * want).sum(axis=2) / norm
    error = np.where(tiny, 0.0, np.where(np.isnan(error), np.inf, error))
    cosine = np.where(top_want < TINY, 1.0, np.where(np.isnan(cosine), -1.0, cosine))
    lse_ratio = 0.0 if lse is None else _lse_ratio(lse, reference.lse, lse_base, lse_bound).max()

    where = np.unravel_index(error.argmax(), error.shape)
    worst, least = float(error.max()), float(cosine.min())
    ok = worst <= error_bound and least >= cosine_bound and lse_ratio <= 1
    text = (
        f"{'ok' if ok else 'WRONG'}: error {worst:.2e} (bound {error_bound:.1e}) at row {where[0]} head {where[1]}, "
        f"cosine {least:.6f} (bound {cosine_bound})"
    )
    if lse is not None:
        text += f", lse {lse_ratio:.3f} of its bound"
    return Comparison(bool(ok), worst, least, float(lse_ratio), tuple(int(i) for i in where), text)


def _lse_ratio(got, want, base, bound):
    """Error over bound; infinities must agree. float32 overflows as the kernel's does."""
    got = np.asarray(got).astype(np.float64).reshape(want.shape)
    if base == "2":
        want = want * LOG2_E
    with np.errstate(over="ignore", invalid="ignore"):
        stored = want.astype(np.float32).astype(np.float64)
        allowed = bound * (1.0 if base == "2" else 1 / LOG2_E) + 2.0**-20 * np.abs(want)
        ratio = np.abs(got - want) / allowed
    same_infinity = np.isinf(stored) & (got == stored)
    return np.where(same_infinity, 0.0, np.where(np.isnan(ratio) | np.isinf(stored), np.inf, ratio))
