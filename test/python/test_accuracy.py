# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error relative to float64 of every format: a small version of the tables of docs/Accuracy.md."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from lowered_kernels import SOURCE
from second_caches import MAIN

from mlatile.testing import FORMATS, accuracy
from mlatile.testing.reference import candidates, decode_slots


@pytest.mark.parametrize("softmax", accuracy.SOFTMAXES)
@pytest.mark.parametrize("kv_format", MAIN)
def test_inside_the_bounds(kv_format, softmax):
    case = accuracy.problem(kv_format, softmax, 320, rows=2)
    reference = case.reference()
    for splits in (1, accuracy.many(320)):
        error = accuracy.measure(case, reference, splits=splits)
        assert error.ok and error.lse < 1e-4, error
        # One value, which bf16 holds where scales are powers of two: nothing is left to round.
        if softmax == "one dominating" and FORMATS[kv_format].scale != "f32":
            assert error.error < 1e-6, error
        else:
            assert error.error > 1e-3, error  # the rounding of the output


@pytest.mark.parametrize("compute", ["fp8", "fp8_fast"])
@pytest.mark.parametrize("softmax", accuracy.SOFTMAXES)
@pytest.mark.parametrize("kv_format", accuracy.built("fp8"))
def test_fp8_inside_the_bounds(kv_format, softmax, compute):
    case = accuracy.problem(kv_format, softmax, 320, rows=2)
    reference = case.reference()
    for kernel in ("decode", "prefill", "swapab"):
        error = accuracy.measure(case, reference, splits=1, compute=compute, kernel=kernel)
        assert error.ok and error.lse < 1e-3, error


@pytest.mark.parametrize("kv_format", MAIN)
def test_problems_are_what_they_are_called(kv_format):
    for softmax, largest in accuracy.SOFTMAXES.items():
        case = accuracy.problem(kv_format, softmax, 128, rows=2, heads=3)
        for row in range(2):
            keys, _ = decode_slots(case.pool, candidates(case.pool, case.indices[row], None))
            logits = case.q[row].astype(float) @ keys.T * case.sm_scale
            assert abs(abs(logits).max(axis=1) / largest - 1).max() < 0.01
            if softmax == "one dominating":
                assert (logits.max(axis=1) - sorted_second(logits) > 10).all()


def sorted_second(logits):
    """The largest logit of each row below the largest one; a candidate that occurs twice is one."""
    return np.array([np.unique(row.round(6))[-2] for row in logits])


def test_the_page_is_what_is_measured():
    """Each format has its lines in docs/Accuracy.md; the program prints such lines."""
    page = (SOURCE / "docs" / "Accuracy.md").read_text()
    job = [sys.executable, "-m", "mlatile.testing.accuracy", "--width", "64"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    result = subprocess.run(job, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    for kv_format in MAIN:
        for softmax in accuracy.SOFTMAXES:
            for text, count in ((page, 2), (result.stdout, 2)):
                assert len(re.findall(rf"^\| {kv_format} \| {softmax} \|", text, flags=re.MULTILINE)) == count
