# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of the kernels relative to float64, by format and kind of softmax.

`python -m mlatile.testing.accuracy` prints the tables of docs/Accuracy.md; exit status 1 where a bound is broken.
"""

import argparse
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .. import sparse_mla, supported
from .cases import make_case
from .metric import BOUNDS, compare
from .pools import FORMATS
from .reference import LOG2_E, candidates, decode_slots

# Largest |logit| of a row and head, natural log.
SOFTMAXES = {"flat": 0.05, "ordinary": 4.0, "one dominating": 30.0, "logits to 80": 80.0}
WIDTHS = (64, 512, 2048, 8192)
TILE = 32  # candidates; "many" splits have one tile each
MOST_SPLITS = 64


@dataclass
class Error:
    """Worst over rows and heads; lse in base 2, absolute."""

    error: float
    cosine: float
    lse: float
    ok: bool  # inside the bounds of the compute mode


def problem(kv_format, softmax, width, *, rows=4, heads=16, seed=1):
    """A case whose queries give that kind of softmax over its rows' candidates."""
    case = make_case(seed, tokens=rows, heads=heads, width=width, page_size=64, kv_format=kv_format, skip=0)
    rng = np.random.default_rng(seed + 1)
    q = rng.standard_normal(case.q.shape)
    for row in range(rows):
        keys, _ = decode_slots(case.pool, candidates(case.pool, case.indices[row], None))
        if softmax == "one dominating":
            q[row] = keys[rng.integers(0, width, heads)]
        largest = np.abs(q[row] @ keys.T).max(axis=1, keepdims=True) * case.sm_scale
        q[row] *= SOFTMAXES[softmax] / largest
    case.q = q.astype(ml_dtypes.bfloat16)
    return case


def measure(case, reference, *, splits, compute="bf16", kernel="decode"):
    out, lse = sparse_mla(**case.arguments(return_lse=True, num_splits=splits, compute=compute, kernel=kernel))
    result = compare(out, reference, lse=lse, compute=compute)
    return Error(result.error, result.cosine, float(np.abs(lse - reference.lse * LOG2_E).max()), result.ok)


def many(width):
    return min(MOST_SPLITS, -(-width // TILE))


def built(compute="bf16"):
    sizes = dict(num_tokens=1, num_heads=16, width=64, page_size=64, target="sm_120a")
    return [name for name in FORMATS if supported(**sizes, kv_format=name, compute=compute).ok]


def measurements(widths=WIDTHS, compute="bf16"):
    """{(format, softmax, width): errors of one split and of many}."""
    measured = {}
    for kv_format in built(compute):
        for softmax in SOFTMAXES:
            for width in widths:
                case = problem(kv_format, softmax, width)
                reference = case.reference()
                measured[kv_format, softmax, width] = [
                    measure(case, reference, splits=splits, compute=compute) for splits in (1, many(width))
                ]
    return measured


def tables(measured):
    """Markdown: the error by width, and the worst of everything."""
    widths = list(dict.fromkeys(width for _, _, width in measured))
    by_width = ["| format | softmax | " + " | ".join(map(str, widths)) + " |", "|---" * (2 + len(widths)) + "|"]
    worst = ["| format | softmax | error | 1 - cosine | lse |", "|---|---|---|---|---|"]
    for kv_format, softmax in dict.fromkeys(key[:2] for key in measured):
        pairs = [measured[kv_format, softmax, width] for width in widths]
        cells = (", ".join(f"{e.error:.1e}" for e in pair) for pair in pairs)
        by_width.append(f"| {kv_format} | {softmax} | " + " | ".join(cells) + " |")
        every = [e for pair in pairs for e in pair]
        worst.append(f"| {kv_format} | {softmax} | {max(e.error for e in every):.1e} | "
                     f"{max(0, 1 - min(e.cosine for e in every)):.0e} | {max(e.lse for e in every):.0e} |")
    return "\n".join(["Error by width, one split and many:", "", *by_width, "", "Worst over widths and splits:", "", *worst])


def main():
    parser = argparse.ArgumentParser(prog="python -m mlatile.testing.accuracy", description=__doc__.splitlines()[0])
    parser.add_argument("--compute", default="bf16", choices=list(BOUNDS))
    parser.add_argument("--width", type=int, action="append", help=f"instead of {', '.join(map(str, WIDTHS))} (repeatable)")
    options = parser.parse_args()
    if not built(options.compute):
        parser.error(f"--compute: no format computes in {options.compute} yet")
    measured = measurements(options.width or WIDTHS, options.compute)
    print(tables(measured))
    outside = [key for key, pair in measured.items() if not all(e.ok for e in pair)]
    for key in outside:
        print("outside the bounds:", *key)
    return 1 if outside else 0


if __name__ == "__main__":
    raise SystemExit(main())
