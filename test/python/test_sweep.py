# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numeric sweep of tools/fuzz: everything that is built x sizes x options, pairwise.

MLATILE_SWEEP=3 runs it three-way, and in checked mode whole: hours on a slow machine."""

import os
import re

from fuzz_tool import SEED, fuzz

import draw
import sweep

STRENGTH = int(os.environ.get("MLATILE_SWEEP", 2))


def test_a_problem_is_its_row():
    variants = draw.built()
    problems = sweep.Sweep(5, variants, 2)
    for case, row in enumerate(problems.rows):
        p = problems.problem(case)
        assert p == sweep.Sweep(5, variants, 2).problem(case)
        sizes = dict(heads=p.heads, width=p.main.width, page_size=p.main.page_size, tokens=p.tokens)
        assert sizes == {name: row[name] for name in sweep.SIZES}
        tiles = -(-p.main.width // 32)
        kind = {"planned": p.splits is None, "one": p.splits == 1, "few": p.splits in range(2, 8), "empty": (p.splits or 0) > tiles}
        # Partial results of the largest problems are bounded.
        assert kind[row["splits"]] or (row["splits"] == "empty" and p.splits * p.tokens * p.heads * 64 > sweep.WORK * 2)
        assert (p.kernel, p.extra and p.extra.kv_format) == (row["kernel"], row["extra_format"])
        assert (p.main.kv_format, p.main.lengths, p.sink, p.lse) == tuple(row[k] for k in ("kv_format", "lengths", "sink", "lse"))
    assert len({p.executor_seed for p in map(problems.problem, range(problems.count))}) == problems.count


def test_the_sweep():
    result = fuzz("--sweep", STRENGTH, "--seed", SEED, "--jobs", os.cpu_count() or 1, timeout=24 * 3600)
    assert result.returncode == 0, result.stdout + result.stderr
    count = sweep.Sweep(int(SEED), draw.built(), STRENGTH).count
    assert re.search(rf"^{count} problems in .*, 0 wrong", result.stdout, flags=re.MULTILINE), result.stdout
