# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The list of named problems that are run on a card."""

import importlib.machinery
import importlib.util
import json
import pathlib

import pytest
from second_caches import KERNELS, PAIRS

from mlatile.testing import FORMATS

FOLDER = pathlib.Path(__file__).parents[1] / "Integration"
PROBLEMS = json.loads((FOLDER / "gpu-problems.json").read_text())


def test_every_flag_is_known_and_every_name_is_one():
    loader = importlib.machinery.SourceFileLoader("run_gpu_problems", str(FOLDER / "run-gpu-problems"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_gpu_problems", loader))
    loader.exec_module(module)
    assert len(PROBLEMS) >= 70
    assert len({p["name"] for p in PROBLEMS}) == len(PROBLEMS)
    for problem in PROBLEMS:
        assert "--tokens" in module.flags(problem)  # exits where there is no flag for a key


def test_every_format_has_the_kinds_that_other_tests_name():
    """Of the Python tests on a card, and of compute-sanitizer."""
    problems = {p["name"]: p for p in PROBLEMS}
    for kv_format in ("dsv4", "dsv4_1", "dsv3_2", "glm", "glm53_nope"):
        for kind, split in (("unsplit", False), ("in-3-splits", True), ("small", False), ("small-splits", True)):
            problem = problems[f"{kv_format}-{kind}"]
            assert problem["kv_format"] == kv_format and problem["has_topk_length"] and problem["has_sink"]
            assert problem["lse"] == "2" and (problem["num_splits"] > 1) == split


SMALL = [p for p in PROBLEMS if "-small" in p["name"]]


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_format_and_kernel_is_sanitized(kernel):
    """compute-sanitizer runs the small problems: each format in each kernel, with its own loop over candidates."""
    mine = [p for p in SMALL if p.get("kernel", "decode") == kernel]
    assert {p[key] for p in mine for key in ("kv_format", "extra_kv_format") if key in p} == set(FORMATS)
    assert all(any(("extra_kv_format" in p) == extra for p in mine) for extra in (False, True))


def test_every_pair_is_sanitized_and_every_problem_is_small():
    pairs = {(p["kv_format"], p.get("extra_kv_format")) for p in SMALL}
    assert pairs >= {*PAIRS, ("dots3_swa", None), ("dsv4_nvfp4", None)}
    for p in SMALL:
        assert p["num_tokens"] * p["num_heads"] * (p["width"] + p.get("extra_width", 0)) <= 16_384
