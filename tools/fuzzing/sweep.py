# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems in which the values of any two, or any three, factors meet; what is no factor is drawn."""

import functools

import numpy as np

import draw
from mlatile.testing import covering

SIZES = {
    "heads": [1, 3, 8, 11, 16, 22, 33, 64, 80, 96, 128],
    "width": [1, 63, 64, 65, 192, 500, 513, 1152, 2048, 2051, 7936],
    "page_size": [1, 2, 32, 48, 64, 256, 2304],
    "tokens": [1, 5, 6, 64, 65],
}
OPTIONS = {
    "splits": ["planned", "one", "few", "empty"],
    "lengths": [False, True],
    "sink": draw.SINKS,
    "lse": draw.LSE,
}
VARIANT = ("kernel", "compute", "kv_format", "extra_format")
WORK = 1 << 20  # bounds the partial results of splits


def factors(variants):
    """{name: values}: what is built, sizes, options."""
    built = {name: list(dict.fromkeys(getattr(v, name) for v in variants)) for name in VARIANT}
    return built | SIZES | OPTIONS


def is_built(variants):
    @functools.cache
    def some(split, *given):
        return any(v.splits >= split and all(getattr(v, name) == value for name, value in given) for v in variants)

    def allowed(part):
        split = part.get("splits") in ("few", "empty")
        return some(split, *[(name, part[name]) for name in VARIANT if name in part])

    return allowed


def tiles(row):
    """Candidate tiles of all CTAs."""
    return row["tokens"] * -(-row["heads"] // 16) * -(-row["width"] // 32)


def seconds(row):
    """About what a problem takes on the executor on one core."""
    return 0.1 + 0.0003 * tiles(row)


@functools.cache
def rows(variants, strength):
    """variants: a tuple."""
    return covering(factors(variants), strength, cost=seconds, allowed=is_built(variants))


class Sweep:
    """Problem k is row k; the seed draws all that is no factor."""

    def __init__(self, seed, variants, strength, work=None):
        self.seed = seed
        self.rows = [row for row in rows(tuple(variants), strength)
                     if work is None or row["tokens"] * row["heads"] * row["width"] <= work]
        self.count = len(self.rows)

    def problem(self, case):
        row = dict(self.rows[case])
        variant = draw.Variant(**{name: row.pop(name) for name in VARIANT})  # splits are a factor of their own
        rng = np.random.default_rng([self.seed, 4, case])
        return draw.fill(rng, self.seed, case, variant, extra_lengths=bool(rng.random() < 0.5), work=WORK, **row)
