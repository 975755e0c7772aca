# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes put into the decode kernel's LLVM IR on purpose: each gives a wrong number or an error of the executor
under at least one of a few seeds. What no mutant shows, no test on the executor would."""

import re

import pytest
from lowered_kernels import Edited, KernelError, run

from mlatile.testing import make_case

PARAMS = dict(FMT="dsv4", HAS_LENGTH=False)
SEEDS = range(6)


class Subject(Edited):
    def __init__(self):
        super().__init__(**PARAMS)
        # Four tiles, so that both stages are used again; the last one is not whole.
        self.case = make_case(1, tokens=2, heads=16, width=120, page_size=16, skip=0.05)

    def caught(self, changes):
        """What shows that lines are wrong; None if nothing does."""
        program = self.program(changes)
        for seed in SEEDS:
            try:
                arrays, _ = run(program, self.case, head_tile=16, seed=seed)
            except KernelError as error:
                return f"seed {seed}: {error}"
            comparison = arrays.compare()
            if not comparison:
                return f"seed {seed}: {comparison.text}"
        return None


@pytest.fixture(scope="module")
def subject():
    return Subject()


def test_the_kernel_itself_passes(subject):
    assert subject.caught({}) is None


def test_a_dropped_wait(subject):
    """For landed copies, and for a stage that everybody has read."""
    waits = subject.find(r"= call i1 @llvm\.nvvm\.mbarrier\.try\.wait")
    assert len(waits) == 2
    for i in waits:
        name = re.match(r"\s*(%\S+) =", subject.lines[i])[1]
        assert subject.caught({i: f"  {name} = or i1 true, true"}), subject.lines[i]


def swapped(line, first, second):
    """The call with two of its arguments exchanged."""
    head, arguments, tail = re.match(r"(.*?mma\.[^(]*\()(.*)(\).*)", line).groups()
    parts = arguments.split(", ")
    parts[first], parts[second] = parts[second], parts[first]
    return head + ", ".join(parts) + tail


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 2), (1, 3), (4, 5), (6, 7), (6, 8)])
def test_two_swapped_fragment_registers(subject, first, second):
    """Of A (0 to 3), of B (4, 5), of the accumulator (6 to 9)."""
    calls = subject.find(r"= call .*@llvm\.nvvm\.mma\.m16n8k16")
    assert len(calls) >= 48
    # The first of a chain adds to a constant zero: swapping that changes nothing.
    calls = [i for i in calls if swapped(subject.lines[i], first, second) != subject.lines[i]]
    for i in calls[:: len(calls) // 4]:
        assert subject.caught({i: swapped(subject.lines[i], first, second)}), subject.lines[i]


def test_a_wrong_scale(subject):
    """Twice as large, at each place of the scores and some of the values: the byte becomes the exponent there."""
    shifts = subject.find(r"= shl i32 %\w+, 23")
    groups = 7
    # Scores and values each take those of the groups of a thread's candidates.
    assert len(shifts) > 2 * groups
    for i in shifts[:groups] + shifts[groups :: len(shifts) // 12]:
        name, byte, rest = re.match(r"\s*(%\w+) = shl i32 (%\w+), 23(.*)", subject.lines[i]).groups()
        assert subject.caught({i: f"  %larger = add i32 {byte}, 1\n  {name} = shl i32 %larger, 23{rest}"}), subject.lines[i]


def test_a_missing_barrier(subject):
    """Every barrier of the CTA is needed: the passes insert none for nothing. One for the mbarriers, one for the sizes of
    the query's parts, one for the query, two in the loop, one for the sums after it."""
    barriers = subject.find(r"call void @llvm\.nvvm\.barrier\.cta\.sync")
    assert len(barriers) == 6
    for i in barriers:
        assert subject.caught({i: None}), subject.lines[i]


def test_a_dropped_copy(subject):
    """Any one of the copies of a thread, of the two tiles before the loop and of the one in it."""
    copies = subject.find(r"call void @llvm\.nvvm\.cp\.async\.c[ag]\.shared\.global")
    assert len(copies) == 30
    for i in copies:
        assert subject.caught({i: None}), subject.lines[i]
