# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a problem looks like: sizes and kinds, no data yet.

Problem k of a seed depends on the two numbers and on what is built, nothing
else. Drawn problems come in blocks that share a kernel, since compiling one
takes as long as running twenty problems.
"""

from dataclasses import asdict, dataclass

import numpy as np

import mlatile
from mlatile.testing import BOUNDS, FORMATS

BLOCK = 8
WIDTHS = [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192, 229, 256, 500, 512]
WIDE = [513, 576, 640, 1023, 1024, 1025, 1152, 2048, 2051, 2176, 4096, 7936]
PAGES = [1, 2, 3, 16, 32, 48, 64, 100, 128, 256, 2304]
HEAD_BINS = [(1, 8), (9, 16), (17, 32), (33, 64), (65, 128)]
SINKS = ["none", "normal", "extreme"]
LSE = [None, "2", "e"]
CONTENTS = ["normal", "bytes", "small", "equal"]
LOGITS = {"bf16": [0, 0.5, 4, 20, 80], "fp8": [0, 0.5, 4, 16], "fp8_fast": [0, 0.5, 4]}


@dataclass(frozen=True)
class Variant:
    """A combination that the library says it has."""

    kernel: str
    compute: str
    kv_format: str
    extra_format: str | None = None
    splits: bool = True  # takes more than one split


@dataclass
class Cache:
    """One pool and its list of candidates."""

    kv_format: str
    width: int
    page_size: int
    page_pad: int  # bytes behind every page, a multiple of 16
    row_pad: int  # bytes behind every row, inline formats
    content: str
    skip: float
    pattern: str  # random, leading, trailing, one, none, alternate
    lengths: bool
    wide_rows: bool  # rows of indices are a part of longer ones


@dataclass
class Problem:
    seed: int
    case: int
    kernel: str
    compute: str
    tokens: int
    heads: int
    main: Cache
    extra: Cache | None
    sink: str
    lse: str | None
    splits: int | None
    logits: float
    dominating: bool
    scale: float | None  # None: d_qk ** -0.5
    frame: str  # flat, middle, framed
    strided: bool  # q, lengths, lse and out are parts of larger arrays
    executor_seed: int
    twice: bool  # again: other order of warps, other framing, the same bits

    def text(self):
        shown = {k: v for k, v in asdict(self).items() if k not in ("seed", "case", "main", "extra")}
        parts = [f"{k}={v}" for k, v in shown.items()]
        for name in ("main", "extra"):
            if getattr(self, name) is not None:
                parts.append(f"{name}({', '.join(f'{k}={v}' for k, v in asdict(getattr(self, name)).items())})")
        return " ".join(parts)


def plan_keywords(problem, target="sm_120a"):
    """The problem as mlatile.plan takes it."""
    main, extra = problem.main, problem.extra
    keywords = dict(
        num_tokens=problem.tokens, num_heads=problem.heads, width=main.width, kv_format=main.kv_format,
        page_size=main.page_size, kernel=problem.kernel, compute=problem.compute, target=target,
        has_sink=problem.sink != "none", num_splits=problem.splits, has_topk_length=main.lengths,
        return_lse=problem.lse is not None, lse_base=problem.lse or "2",
    )
    if extra:
        keywords |= dict(extra_width=extra.width, extra_page_size=extra.page_size, extra_kv_format=extra.kv_format,
                         has_extra_topk_length=extra.lengths)
    return keywords


def built(formats=None, kernels=None, computes=None, extras=None):
    """All variants that the library supports, those with a second cache too."""
    keywords = dict(num_tokens=2, num_heads=8, width=64, page_size=64, target="sm_120a")
    variants = []
    for kernel in kernels or ("decode", "prefill", "swapab"):
        for compute in computes or BOUNDS:
            for kv_format in formats or FORMATS:
                given = keywords | dict(kernel=kernel, compute=compute, kv_format=kv_format)
                if not mlatile.supported(**given).ok:
                    continue
                splits = mlatile.supported(**given, num_splits=2).ok
                if not extras or "none" in extras:
                    variants.append(Variant(kernel, compute, kv_format, splits=splits))
                for extra in extras or FORMATS:
                    if extra == "none":
                        continue
                    more = dict(extra_width=64, extra_page_size=64, extra_kv_format=extra)
                    if mlatile.supported(**given, **more).ok:
                        variants.append(Variant(kernel, compute, kv_format, extra, splits))
    return variants


def choose(rng, items):
    return items[int(rng.integers(len(items)))]


def log_uniform(rng, low, high):
    return int(np.clip(np.floor(np.exp(rng.uniform(np.log(low), np.log(high + 1)))), low, high))


def sizes(rng, work):
    """(tokens, heads, width): 28 in 100 wide (over 512), 14 in 100 of many rows (over 8), the five head bins
    equally often; rows * heads * width stays under `work` where those promises leave room."""
    kind = rng.choice(["wide", "rows", "plain"], p=[0.28, 0.14, 0.58])
    low, high = HEAD_BINS[int(rng.integers(5))]
    heads = int(choose(rng, [low, high, *rng.integers(low, high + 1, 2)]))
    room = max(1, work // (-(-heads // 16) * 16))
    if kind == "rows":
        tokens = int(choose(rng, [9, 12, 16, 24, 63, 64, 65, log_uniform(rng, 9, 200)]))
        limit = min(512, max(1, room // tokens))
        width = choose(rng, [w for w in WIDTHS if w <= limit] + [log_uniform(rng, 1, limit)] * 4)
    elif kind == "wide":
        limit = max(513, min(8192, room))
        width = choose(rng, [w for w in WIDE if w <= limit] + [log_uniform(rng, 513, limit)] * 6)
        tokens = int(min(8, rng.integers(1, max(1, room // width) + 1)))
    else:
        tokens = int(rng.integers(1, 9))
        limit = min(512, max(1, room // tokens))
        width = choose(rng, [w for w in WIDTHS if w <= limit] + [log_uniform(rng, 1, limit)] * 10)
    return tokens, heads, int(width)


def cache(rng, kv_format, width, lengths, page_size=None):
    f = FORMATS[kv_format]
    drawn = int(choose(rng, [choose(rng, PAGES), log_uniform(rng, 1, 300)]))
    # All draws happen for all formats, so that one format's problems do not depend on another's.
    row_pad = int(choose(rng, [0, 0, 16, 128]))
    return Cache(
        kv_format=kv_format, width=width, page_size=page_size or drawn, page_pad=int(choose(rng, [0, 0, 16, 64, 576, 4096])),
        row_pad=0 if f.scale_row else row_pad, content=choose(rng, CONTENTS),
        skip=float(choose(rng, [0, 0.1, 0.1, 0.5, 0.95, 1])),
        pattern=choose(rng, ["random", "random", "leading", "trailing", "one", "none", "alternate"]),
        lengths=lengths, wide_rows=bool(rng.random() < 0.4),
    )


def split_count(rng, kind, tiles, most):
    """kind: planned, one, few, empty (more than there are tiles) or many; at most `most`, where that leaves two."""
    if kind == "planned":
        return None
    if kind == "one":
        return 1
    few, empty = [2, 3, 7], tiles + 1 + int(rng.integers(1, 4))
    some = {"few": few, "empty": [empty], "many": [*few, max(2, tiles), empty, 2 + int(rng.integers(max(1, 2 * tiles)))]}
    return max(2, min(int(choose(rng, some[kind])), most))


def draw(seed, case, variants, work):
    """Problem `case` of a seed: everything is random."""
    block = np.random.default_rng([seed, 0, case // BLOCK])
    rng = np.random.default_rng([seed, 1, case])
    variant = variants[int(block.random() * len(variants))]
    options = dict(lengths=bool(block.random() < 0.5), extra_lengths=bool(block.random() < 0.5))
    options["sink"] = SINKS[int(block.choice(3, p=[0.4, 0.3, 0.3]))]
    options["lse"] = choose(block, [*LSE, "2"])
    kinds = ["one", "many", "many", "planned"] if variant.splits else ["one", "one", "one", "planned"]
    options["splits"] = choose(block, kinds)
    tokens, heads, width = sizes(rng, work)
    return fill(rng, seed, case, variant, tokens=tokens, heads=heads, width=width, work=work, **options)


def fill(rng, seed, case, variant, *, tokens, heads, width, splits, lengths, extra_lengths, sink, lse, work, page_size=None):
    """A problem of this variant, these sizes and options; whatever else there is comes from rng."""
    extra_width = log_uniform(rng, 1, max(width, min(512, work // (tokens * heads))))
    main = cache(rng, variant.kv_format, width, lengths, page_size)
    extra = cache(rng, variant.extra_format, extra_width, extra_lengths) if variant.extra_format else None
    # Splits cost a merge each: partial results stay within the same work.
    tiles = -(-width // 32) + (-(-extra_width // 32) if extra else 0)
    count = split_count(rng, splits, tiles, 4 * work // (tokens * heads * 64))
    if count and variant.kernel != "decode":  # the others have no splits
        count = 1
    return Problem(
        seed=seed, case=case, kernel=variant.kernel, compute=variant.compute, tokens=tokens, heads=heads, main=main,
        extra=extra, sink=sink, lse=lse, splits=count, logits=float(choose(rng, LOGITS[variant.compute])),
        dominating=bool(rng.random() < 0.25), scale=choose(rng, [None, None, None, None, 0.0, -0.0417, 1.0]),
        frame=choose(rng, ["flat", "flat", "middle", "framed"]), strided=bool(rng.random() < 0.5),
        executor_seed=int(rng.integers(0, 1 << 30)), twice=bool(rng.random() < 0.08),
    )
