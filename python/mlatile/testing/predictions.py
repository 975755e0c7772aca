# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times that a benchmark measured beside those that plans predict, and what choosing by prediction costs.

`python -m mlatile.testing.predictions bench.json`, a file of `mlatile-bench --all-candidates --json-file`.
"""

import argparse
import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass

from .. import plan

# What of a problem is not for a plan: how its arrays were filled.
RUN_KEYS = {"skip", "name", "run"}


@dataclass(frozen=True)
class Row:
    """One way of a problem."""

    name: str
    problem: str  # JSON, without what the way forces
    kernel: str
    head_tile: int
    roles: str | None
    compute: str
    num_splits: int
    merge: str
    measured: float
    predicted: float | None

    @property
    def ratio(self):
        return self.predicted / self.measured

    @property
    def key(self):
        return self.kernel, self.head_tile, self.roles, self.compute, self.num_splits, self.merge

    @property
    def way(self):
        roles = f" {self.roles}" if self.roles else ""
        mode = f" {self.compute}" if self.compute != "bf16" else ""
        splits = f" x{self.num_splits} {self.merge}" if self.num_splits > 1 else ""
        return f"{self.kernel} {self.head_tile}{roles}{mode}{splits}"


def candidates(problem, device, **forced):
    """What the planner knows of, with predicted times, for the card that was measured."""
    options = {key: value for key, value in problem.items() if key not in RUN_KEYS}
    return plan(**options | forced, target=device["target"], num_sms=device["sms"]).candidates


def key_of(candidate):
    names = "kernel", "head_tile", "roles", "compute", "num_splits", "merge"
    return tuple(candidate.get(name) for name in names)


def predicted(problem, device, key):
    """The predicted time of a way, None without it. By its name a kernel comes in one tile, in the choice in all."""
    kernel, _, roles, compute, num_splits, merge = key
    splits = dict(num_splits=num_splits) if num_splits > 1 or "num_splits" not in problem else {}
    merges = dict(merge=merge) if num_splits > 1 else {}
    forced = [dict(compute=compute) | splits | merges, dict(compute=compute)]
    if not roles:
        forced.insert(0, forced[0] | dict(kernel=kernel))
    for options in forced:
        for c in candidates(problem, device, **options):
            if key_of(c) == key:
                return c["us"]
    return None


def read(path):
    """Rows of a benchmark's JSON. A plan without `merge` had another kernel for it: unsplit ones count."""
    with open(path) as file:
        data = json.load(file)
    rows = []
    for row in data["rows"]:
        if "us" not in row:
            continue
        made = row["plan"]
        merge = made.get("merge", "none" if made["num_splits"] == 1 else None)
        if merge is None:
            continue
        head_tile = int(re.search(r"\bBH=(\d+)", made["short"])[1])
        problem = {key: value for key, value in row["problem"].items() if key not in ("kernel", "num_splits", "merge")}
        way = made["kernel"], head_tile, made.get("roles"), made.get("compute", "bf16"), made["num_splits"], merge
        rows.append(Row(row["name"].split(" ")[0], json.dumps(problem, sort_keys=True), *way, row["us"],
                        predicted(problem, data["device"], way)))
    return data["device"], rows


def by_problem(rows):
    problems = defaultdict(list)
    for row in rows:
        problems[row.name, row.problem].append(row)
    return problems


def chosen(device, rows):
    """Of the measured ways of a problem the one that a plan takes, None where that was not measured."""
    (taken,) = (c for c in candidates(json.loads(rows[0].problem), device) if c["taken"])
    return next((row for row in rows if row.key == key_of(taken)), None)


def report(device, rows):
    """Lines for people."""
    lines = []
    for (name, _), ways in by_problem(rows).items():
        best = min(ways, key=lambda row: row.measured)
        took = chosen(device, ways)
        choice = "not measured" if took is None else f"{took.way}, {took.measured / best.measured:.2f} of the best"
        lines.append(f"{name}: best {best.way} {best.measured:.1f} us; chosen {choice}")
        for row in sorted(ways, key=lambda row: row.measured):
            known = "none" if row.predicted is None else f"{row.predicted:8.1f} {row.ratio:6.2f}"
            lines.append(f"  {row.way:32} {row.measured:8.1f} {known}")
    ratios = [math.log(row.ratio) for row in rows if row.predicted]
    if ratios:
        spread = math.sqrt(sum(r * r for r in ratios) / len(ratios))
        lines.append(f"{len(ratios)} ways, predicted / measured {math.exp(min(ratios)):.2f} to {math.exp(max(ratios)):.2f}, "
                     f"root mean square of the logarithm {spread:.3f}")
    return lines


def fixture(device, rows):
    """JSON for the test of the choice: each problem with the times of its ways."""
    problems = [
        dict(name=name, target=device["target"], num_sms=device["sms"],
             problem={key: value for key, value in json.loads(problem).items() if key not in RUN_KEYS},
             ways=[dict(kernel=row.kernel, head_tile=row.head_tile)
                   | (dict(roles=row.roles) if row.roles else {}) | (dict(compute=row.compute) if row.compute != "bf16" else {})
                   | dict(num_splits=row.num_splits, merge=row.merge, us=round(row.measured, 2)) for row in ways])
        for (name, problem), ways in by_problem(rows).items()
    ]
    return "[\n" + ",\n".join(map(json.dumps, problems)) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(prog="python -m mlatile.testing.predictions", description=__doc__.splitlines()[0])
    parser.add_argument("bench", nargs="+", help="JSON of mlatile-bench")
    parser.add_argument("--fixture", action="store_true", help="print test/unit/Runtime/measured.json instead")
    line = parser.parse_args()
    files = [read(path) for path in line.bench]
    device, rows = files[0][0], [row for _, rows in files for row in rows]
    if line.fixture:
        print(fixture(device, rows), end="")
        return
    for text in report(device, rows):
        print(text)


if __name__ == "__main__":
    main()
