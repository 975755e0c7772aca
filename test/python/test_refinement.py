# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured times in a file (docs/HostApi.md, "Refinement"), by a clock that is none."""

import json
import os
import subprocess
import sys

import pytest

import mlatile
from mlatile.testing import make_case

PROBLEM = dict(num_tokens=64, num_heads=64, width=2048, kv_format="dsv4", page_size=64, target="sm_90a", num_sms=132)
CARD = "Some Card"


@pytest.fixture
def path(tmp_path):
    yield tmp_path / "times.json"
    mlatile.use_refinement(None)


def slow_roles(plan):
    return 100.0 + 10 * plan.num_splits + (50 if plan.roles else 0)


def refine(path, measure=slow_roles, **more):
    return mlatile.refine_by(measure, path, card=CARD, **dict(within=2, most=100) | PROBLEM | more)


def test_plans_take_the_fastest(path):
    before = mlatile.plan(**PROBLEM)
    assert before.roles and before.measured_us is None
    ways = refine(path)
    assert [way["measured_us"] for way in ways] == sorted(way["measured_us"] for way in ways)
    mlatile.use_refinement(path)
    after = mlatile.plan(**PROBLEM)
    taken = after.candidates[0]
    assert after.measured_us == taken["measured_us"] == ways[0]["measured_us"] == 110
    assert taken["roles"] is None and "measured 110.0 us" in str(after) and taken["why"].endswith(", measured 110.0 us")
    assert f"refinement `{path}`: times of `{CARD}` (sm_90a, 132 SMs), of {len(ways)} of " in str(after)
    assert mlatile.plan(**PROBLEM | dict(num_tokens=63)).measured_us is None
    mlatile.use_refinement(None)
    assert mlatile.plan(**PROBLEM).roles == before.roles


def test_every_way_is_measured_as_it_is(path):
    seen = []

    def measure(plan):
        taken = plan.candidates[0]
        seen.append((taken["kernel"], taken["head_tile"], taken["roles"], taken["num_splits"], taken["merge"]))
        if len(seen) == 1:
            raise mlatile.LaunchError("it was lost")
        return len(seen)

    ways = refine(path, measure, within=1.3, most=5)
    assert len(seen) == len(ways) == 5
    assert {(w["kernel"], w["head_tile"], w["roles"], w["num_splits"], w["merge"]) for w in ways} == set(seen)
    assert ways[-1]["error"] == "it was lost" and ways[-1]["measured_us"] is None
    assert len(json.loads(path.read_text())["entries"][0]["ways"]) == 4


def test_what_a_clock_may_not_do(path):
    with pytest.raises(ZeroDivisionError):
        refine(path, lambda plan: 1 / 0)
    for time, text in ((float("nan"), "expected microseconds, got nan"), (-1, "expected microseconds, got -1"),
                       ("fast", "expected it to give microseconds")):
        ways = refine(path, lambda plan, time=time: time)
        assert ways and all(text in way["error"] for way in ways)
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", "\0"])
def test_files_that_are_none_are_ignored(path, text):
    path.write_text(text)
    mlatile.use_refinement(path)
    assert f"refinement `{path}`: ignored, it holds no times of mlatile" in str(mlatile.plan(**PROBLEM))
    with pytest.raises(mlatile.ArgumentError, match="`path`: expected a file of measured times, or none"):
        refine(path)
    assert path.read_text() == text


def test_the_environment_names_a_file(path):
    refine(path)
    script = f"import mlatile; print(mlatile.plan(**{PROBLEM!r}).measured_us)"
    for name, want in ((str(path), "110.0"), (str(path) + ".none", "None")):
        result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                                env=os.environ | dict(MLATILE_REFINEMENT=name))
        assert result.stdout.strip() == want


def test_arguments(path):
    for more, text in ((dict(within=0.5), "`within`"), (dict(most=0), "`most`"), (dict(num_heads=0), "`num_heads`")):
        with pytest.raises(mlatile.ArgumentError, match=text):
            refine(path, **more)
    with pytest.raises(mlatile.ArgumentError, match="`measure`"):
        refine(path, 7)
    with pytest.raises(mlatile.ArgumentError, match="`card`"):
        mlatile.refine_by(slow_roles, path, card="", **PROBLEM)
    for wrong in ("", 7):
        with pytest.raises(mlatile.ArgumentError, match="`path`"):
            mlatile.use_refinement(wrong)


def test_the_executor_is_no_card(path):
    case = make_case(1, tokens=2, heads=3, width=40, page_size=16)
    with pytest.raises(mlatile.UnsupportedError, match="nothing is measured on the executor"):
        mlatile.refine(path, case.q, case.pool.pages, case.indices, kv_format="dsv4", page_size=16, sm_scale=0.04)
    assert not path.exists()
