# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numeric sweep of tools/fuzz: everything that is built x sizes x options, pairwise.

MLATILE_SWEEP=3 runs it three-way, and in checked mode whole: hours on a slow machine."""

import itertools
import os
import re

import pytest
from fuzz_tool import SEED, fuzz
from lowered_kernels import edited
from second_caches import KERNELS, MAIN, PAIRS

import draw
import sweep
from mlatile.testing import covering, uncovered

STRENGTH = int(os.environ.get("MLATILE_SWEEP", 2))


@pytest.mark.parametrize("strength", [2, 3])
def test_every_combination_is_in_the_sweep(strength):
    """And not many rows more than the two or three longest factors ask for, nor an hour of work."""
    variants = draw.built()
    factors = sweep.factors(variants)
    # Each kernel takes each format and each legal pair, and nothing else.
    one_or_two = [*((name, None) for name in MAIN), *PAIRS]
    assert sorted((v.kernel, v.kv_format, str(v.extra_format)) for v in variants) == sorted(
        (kernel, kv_format, str(extra)) for kernel in KERNELS for kv_format, extra in one_or_two)
    rows = sweep.rows(tuple(variants), strength)
    assert not uncovered(factors, strength, rows, sweep.is_built(variants))
    longest = sorted(map(len, factors.values()))[-strength:]
    least = 1
    for length in longest:
        least *= length
    assert least <= len(rows) < 1.15 * least
    assert sum(map(sweep.seconds, rows)) < 3600


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


def test_a_sweep_that_is_not_finished_is_an_error():
    result = fuzz("--sweep", 2, "--seconds", 0.5, "--work", 4096)
    assert result.returncode == 1 and re.search(r"\d+ problems of the sweep were not run", result.stderr)


def test_a_failure_is_one_line_that_shows_it_again(tmp_path):
    """Without the end that a length sets."""
    end = {"%len1 = arith.minsi %len0, %width : index": "%len1 = arith.minsi %width, %width : index"}
    path = edited(tmp_path, {"steps/candidates.mlir": end})
    result = fuzz("--sweep", 2, "--work", 4096, "--kernel-file", path)
    assert result.returncode == 1, result.stdout + result.stderr
    line = re.search(r"^  (tools/fuzz --seed 1 --case \d+ --sweep 2 --work 4096 .*)$", result.stdout, flags=re.MULTILINE)[1]
    again = fuzz(command=line.split())
    assert again.returncode == 1 and "WRONG" in again.stdout and "lengths=True" in again.stdout
    sound = fuzz(command=line.split(" --kernel-file")[0].split())
    assert sound.returncode == 0 and "ok: error" in sound.stdout


# ---- covering arrays ---------------------------------------------------------


def test_covering_leaves_out_what_is_refused():
    factors = dict(a=[0, 1, 2], b=["x", "y"], c=[0, 1], d=[None])

    def allowed(part):
        return not (part.get("a") == 2 and part.get("b") == "y")

    rows = covering(factors, 2, allowed=allowed)
    assert all(map(allowed, rows)) and all(list(row) == list(factors) for row in rows)
    assert not uncovered(factors, 2, rows, allowed)
    assert uncovered(factors, 2, rows) == [dict(a=2, b="y")]
    assert rows == covering(factors, 2, allowed=allowed)
    missing = uncovered(factors, 2, rows[1:], allowed)
    assert missing and all(part.items() <= rows[0].items() for part in missing)


def test_covering_prefers_the_cheap():
    factors = dict(a=range(6), b=range(6), c=[1, 100])
    cost = lambda row: row["c"]  # noqa: E731
    rows = covering(factors, 2, cost=cost)
    assert not uncovered(factors, 2, rows)
    assert sum(map(cost, rows)) < sum(map(cost, covering(factors, 2)))


@pytest.mark.parametrize("strength", [1, 2, 3, 4])
def test_covering_of_any_strength(strength):
    factors = {name: range(size) for name, size in zip("abcd", (3, 1, 2, 4))}
    rows = covering(factors, strength)
    assert not uncovered(factors, strength, rows)
    if strength == 4:
        assert sorted(map(tuple, (row.values() for row in rows))) == sorted(itertools.product(*factors.values()))


@pytest.mark.parametrize("strength", [0, 3])
def test_covering_takes_a_strength_that_there_is(strength):
    with pytest.raises(ValueError, match=f"strength: expected 1 to 2, got {strength}"):
        covering(dict(a=[1], b=[2]), strength)
