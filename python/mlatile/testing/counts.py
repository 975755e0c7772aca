# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the loops over candidates of the planned kernels do for 64 candidates, read from their PTX.

`python -m mlatile.testing.counts` prints the table of docs/Measurements.md.
"""

import argparse
from dataclasses import dataclass

from .. import compile, plan, supported
from .pools import FORMATS

KERNELS = ("decode", "prefill", "swapab")
HEADS = (8, 16, 32, 64)  # each at least one tile of a kernel
CANDIDATES = 64


@dataclass(frozen=True)
class Counts:
    """Of one loop, all warps of a CTA together; barriers are those of the CTA, not of its warps."""

    kernel: str
    kv_format: str
    heads: int
    candidates: int
    warps: int
    mma: float
    ldmatrix: float
    conversions: float
    copies: float
    barriers: float


def loops(kernel, kv_format, heads, extra=None, target="sm_120a"):
    """The loops of a planned kernel, over the first list and over the second, each with its list's format."""
    more = dict(extra_width=64, extra_page_size=64, extra_kv_format=extra) if extra else {}
    planned = plan(num_tokens=1, num_heads=heads, width=64, page_size=64, num_splits=1, kernel=kernel, kv_format=kv_format,
                   target=target, **more)
    meta = compile(planned).parts[0].meta
    warps, params = meta["threads"] // 32, meta["params"]
    for loop, rows in zip(meta["loops"], (kv_format, extra), strict=extra is not None):
        per = CANDIDATES / loop["candidates"]
        yield Counts(
            kernel, rows, params["BH"], loop["candidates"], warps, per * sum(loop["mma"].values()),
            *(per * loop[name] for name in ("ldmatrix", "conversions")), per * (loop["async_copies"] + loop["bulk_copies"]),
            per * loop["cta_barriers"] / warps,
        )


def caches(kv_format):
    """Formats of a problem in which the format stands: alone, or second where it may not stand first."""
    problem = dict(num_tokens=1, num_heads=8, width=64, page_size=64)
    if supported(**problem, kv_format=kv_format).ok:
        return kv_format, None
    more = dict(extra_width=64, extra_page_size=64, extra_kv_format=kv_format)
    return next((main, kv_format) for main in FORMATS if supported(**problem, **more, kv_format=main).ok)


def measurements(target="sm_120a"):
    """Counts of every kernel, format and tile of heads."""
    found = {}
    for kernel in KERNELS:
        for kv_format in FORMATS:
            main, extra = caches(kv_format)
            for heads in HEADS:
                *_, last = loops(kernel, main, heads, extra, target)
                found[last] = None
    return list(found)


def table(measured):
    """Markdown, a line each kernel, format and tile."""
    lines = ["| kernel | format | heads x candidates (warps) | mma | ldmatrix | conversions | copies | barriers |",
             "|---" * 8 + "|"]
    for c in measured:
        numbers = (f"{n:g}" if n < 1e4 else f"{n:.0f}" for n in (c.mma, c.ldmatrix, c.conversions, c.copies, c.barriers))
        lines.append(f"| {c.kernel} | {c.kv_format} | {c.heads} x {c.candidates} ({c.warps}) | {' | '.join(numbers)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="python -m mlatile.testing.counts", description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="sm_120a")
    print(table(measurements(parser.parse_args().target)))


if __name__ == "__main__":
    main()
