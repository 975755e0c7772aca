# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checked mode of the executor: the decode and merge kernels are free of races and bad accesses, their results do
not depend on the order of warps, and mistakes put into the decode kernel are reported by source line."""

import re

import numpy as np
import pytest
from lowered_kernels import KernelError, Program, compile_kernel, llvm_text, run
from test_shapes import pairwise

from mlatile.testing import executor, make_case

SWEEP = pairwise([1, 16, 22, 128], [1, 64, 65, 192], [1, 48, 64], [5, 1], [None, 3])
SEEDS = (0, 5, 10)


@pytest.mark.parametrize("heads,width,page_size,tokens,splits", SWEEP)
def test_clean_and_the_same_for_every_seed(run_case, heads, width, page_size, tokens, splits):
    number = SWEEP.index((heads, width, page_size, tokens, splits))
    case = make_case(
        number, tokens=tokens, heads=heads, width=width, page_size=page_size, lengths=number % 2 == 1,
        sink=number % 3 == 1,
    )
    out, lse = run_case(case, num_splits=splits)
    assert case.compare(out, lse)
    for seed in SEEDS:
        with executor(seed=seed, checked=True):
            again, lse_again = run_case(case, num_splits=splits)
        assert np.array_equal(out.view(np.uint16), again.view(np.uint16)), f"seed {seed}"
        assert np.array_equal(lse.view(np.uint32), lse_again.view(np.uint32)), f"seed {seed}"


PARAMS = dict(FMT="dsv4", HAS_LENGTH=False)


class Subject:
    """The decode kernel as LLVM IR, and a problem of four tiles for it."""

    def __init__(self):
        self.meta = compile_kernel(**PARAMS).meta
        self.lines = llvm_text(**PARAMS).splitlines()
        self.case = make_case(1, tokens=1, heads=16, width=120, page_size=16, skip=0.05)

    def find(self, pattern):
        return [i for i, line in enumerate(self.lines) if re.search(pattern, line)]

    def report(self, changes=None, **options):
        """What checked mode says where lines ({number: text, or None to drop it}) differ."""
        lines = [(changes or {}).get(i, line) for i, line in enumerate(self.lines)]
        program = Program("\n".join(line for line in lines if line is not None), self.meta)
        try:
            run(program, self.case, head_tile=16, checked=True, **options)
        except KernelError as error:
            return str(error)
        return None


@pytest.fixture(scope="module")
def subject():
    return Subject()


PLACE = r"[\w.]+ at \S+:\d+:\d+"


def test_every_missing_barrier_is_a_race(subject):
    """In the natural order of warps, where most give right numbers; both accesses are named."""
    assert subject.report() is None
    barriers = subject.find(r"call void @llvm\.nvvm\.barrier\.cta\.sync")
    assert barriers
    for i in barriers:
        report = subject.report({i: None})
        assert report and re.search(
            rf"race on .*{PLACE} .*warp \d+ lane \d+.* and {PLACE} by warp \d+ lane \d+|nobody has written"
            "|run-ahead|used before its init", report), (subject.lines[i], report)


def test_a_dropped_wait(subject):
    for i in subject.find(r"= call i1 @llvm\.nvvm\.mbarrier\.try\.wait"):
        name = re.match(r"\s*(%\S+) =", subject.lines[i])[1]
        report = subject.report({i: f"  {name} = or i1 true, true"})
        assert report and re.search(r"race on shared memory|nobody has written|run-ahead|nobody has waited", report), report


def test_bounds_of_the_pool(subject):
    """The kernel reads nothing but its pages: bounds half as large are an error."""
    pages = subject.case.pool.pages
    whole = [[pages.ctypes.data, pages.nbytes, "kv"], [0, 2**62, "everything else"]]
    assert subject.report(buffers=whole) is None
    half = [[pages.ctypes.data, pages.nbytes // 4, "kv"]]
    assert "outside every buffer" in subject.report(buffers=half)
