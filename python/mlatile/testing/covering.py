# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Covering arrays: few rows in which all values of any few factors meet."""

import itertools
import random

import numpy as np

CANDIDATES = 8  # rows that are tried for each one that is taken


def covering(factors, strength, *, cost=None, allowed=None):
    """Rows (dicts) in which every combination of the values of any `strength` factors occurs.

    factors: {name: values}. cost(row): rows are taken by what they cover for their cost; default: all cost the same.
    allowed(part): whether a row may have these values of some factors; combinations that it refuses are left out.
    Greedy, and always the same.
    """
    if not 1 <= strength <= len(factors):
        raise ValueError(f"strength: expected 1 to {len(factors)}, got {strength}")
    return _Greedy({name: list(values) for name, values in factors.items()}, strength, cost, allowed).rows()


def uncovered(factors, strength, rows, allowed=None):
    """The combinations, as dicts, that none of the rows has."""
    missing = []
    for names in itertools.combinations(factors, strength):
        seen = {tuple(row[name] for name in names) for row in rows}
        for values in itertools.product(*(factors[name] for name in names)):
            part = dict(zip(names, values))
            if values not in seen and (allowed is None or allowed(part)):
                missing.append(part)
    return missing


class _Greedy:
    def __init__(self, factors, strength, cost, allowed):
        self.names, self.values = list(factors), list(factors.values())
        self.cost = cost or (lambda row: 1)
        self.may = allowed or (lambda part: True)
        self.random = random.Random(0)
        # What has one value is in every combination, unless there is too little else.
        every = [factor for factor, values in enumerate(self.values) if len(values) > 1]
        if len(every) < strength:
            every = list(range(len(self.names)))
        # Of each choice of factors, by number in ascending order: which combinations of values are still to be covered.
        self.open = {}
        for group in itertools.combinations(every, strength):
            sizes = [len(self.values[factor]) for factor in group]
            mask = np.ones(sizes, bool)
            if allowed:
                for place in np.ndindex(*sizes):
                    mask[place] = allowed(self._named(dict(zip(group, place))))
            self.open[group] = mask
        # For each factor: the others of a group, as bits, and the group.
        self.groups_of = [
            [(sum(1 << other for other in group if other != factor), group) for group in self.open if factor in group]
            for factor in range(len(self.names))
        ]

    def rows(self):
        rows = []
        for group, mask in self.open.items():
            while mask.any():
                start = dict(zip(group, (int(i) for i in np.argwhere(mask)[0])))
                tried = [self._row(dict(start)) for _ in range(CANDIDATES)]
                best = max((row for row in tried if row is not None), key=self._worth, default=None)
                if best is None:
                    raise ValueError(f"no row has {self._named(start)}, though it is allowed")
                for other, others in self.open.items():
                    others[tuple(best[factor] for factor in other)] = False
                rows.append(self._named(best))
        return rows

    def _row(self, row):
        """The other factors in a random order, each at the value that with those before covers most for its cost."""
        rest = [factor for factor in range(len(self.names)) if factor not in row]
        self.random.shuffle(rest)
        there = sum(1 << factor for factor in row)
        for factor in rest:
            gain = np.zeros(len(self.values[factor]), int)
            for others, group in self.groups_of[factor]:
                if others & there == others:
                    gain += self.open[group][tuple([slice(None) if other == factor else row[other] for other in group])]
            choices = [v for v in range(len(gain)) if self.may(self._named(row | {factor: v}))]
            if not choices:
                return None
            if len(choices) > 1:
                costs = {v: self._partial_cost(row | {factor: v}) for v in choices}
                self.random.shuffle(choices)  # among equals any: no value is the usual one
                row[factor] = min(choices, key=lambda v: (-gain[v] / costs[v], costs[v]))
            else:
                row[factor] = choices[0]
            there |= 1 << factor
        return row

    def _partial_cost(self, row):
        """Of a row whose open factors stand at their first value."""
        return self.cost(self._named({factor: 0 for factor in range(len(self.names))} | row))

    def _worth(self, row):
        gain = sum(bool(mask[tuple([row[factor] for factor in group])]) for group, mask in self.open.items())
        return gain / self.cost(self._named(row))

    def _named(self, row):
        return {self.names[factor]: self.values[factor][value] for factor, value in sorted(row.items())}
