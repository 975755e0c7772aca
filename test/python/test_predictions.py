# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m mlatile.testing.predictions`: what a benchmark measured beside what plans predict."""

import json
import subprocess
import sys

PROBLEM = dict(num_tokens=1, num_heads=64, width=512, kv_format="dsv4", page_size=64)


def bench(tmp_path):
    rows = [
        dict(name="one", us=11.0, plan=dict(kernel="decode", num_splits=16, merge="dependent", short="decode BH=16 BN=32, 64 CTAs")),
        dict(name="one decode x1", us=30.0, plan=dict(kernel="decode", num_splits=1, short="decode BH=16 BN=32, 4 CTAs")),
        dict(name="one prefill", us=90.0, plan=dict(kernel="prefill", num_splits=1, merge="none", short="prefill BH=64 BN=16, 1 CTAs")),
        dict(name="one older", us=15.0, plan=dict(kernel="decode", num_splits=8, short="decode BH=16 BN=32, 32 CTAs")),
        dict(name="one failed", error="no kernel"),
    ]
    path = tmp_path / "bench.json"
    problem = dict(problem=PROBLEM | dict(skip=0.0))
    path.write_text(json.dumps(dict(device=dict(target="sm_90a", sms=132), rows=[problem | row for row in rows])))
    return path


def run(*arguments):
    command = [sys.executable, "-m", "mlatile.testing.predictions", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_report(tmp_path):
    first, *ways, last = run(bench(tmp_path)).splitlines()
    assert first == "one: best decode 16 x16 dependent 11.0 us; chosen decode 16 x16 dependent, 1.00 of the best"
    assert [line.split()[0] for line in ways] == ["decode", "decode", "prefill"]
    assert last.startswith("3 ways, predicted / measured ")


def test_fixture(tmp_path):
    (problem,) = json.loads(run(bench(tmp_path), "--fixture"))
    assert problem["problem"] == PROBLEM and problem["target"] == "sm_90a"
    assert [(way["kernel"], way["num_splits"], way["us"]) for way in problem["ways"]] == [
        ("decode", 16, 11.0), ("decode", 1, 30.0), ("prefill", 1, 90.0)]
