# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes put into the decode kernel's LLVM IR on purpose: each gives a wrong number or an error of the executor
under at least one of a few seeds. What no mutant shows, no test on the executor would."""

import re

import pytest
from lowered_kernels import KernelError, Program, compile_kernel, llvm_text, run

from mlatile.testing import make_case

PARAMS = dict(FMT="dsv4", HAS_LENGTH=False)
SEEDS = range(6)


class Subject:
    def __init__(self):
        self.meta = compile_kernel(**PARAMS).meta
        self.lines = llvm_text(**PARAMS).splitlines()
        # Four tiles, so that both stages are used again; the last one is not whole.
        self.case = make_case(1, tokens=2, heads=16, width=120, page_size=16, skip=0.05)
        self.reference = self.case.reference()

    def find(self, pattern):
        return [i for i, line in enumerate(self.lines) if re.search(pattern, line)]

    def caught(self, changes):
        """What shows that lines ({number: text, or None to drop it}) are wrong; None if nothing does."""
        lines = [changes.get(i, line) for i, line in enumerate(self.lines)]
        program = Program("\n".join(line for line in lines if line is not None), self.meta)
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
    """Each of the loads of group scales, taken from the group before or after."""
    loads = subject.find(r"= load i8, ptr addrspace\(3\)")
    # Seven groups, each by its own load; the converted byte becomes the exponent.
    assert len(loads) == 7
    wrong = 0
    for load in loads:
        pointer = re.search(r"addrspace\(3\) (%\S+),", subject.lines[load])[1]
        (address,) = subject.find(rf"^\s*{re.escape(pointer)} = ")
        match = re.match(r"(.*= getelementptr i8, ptr addrspace\(3\) %\S+, i32 )(\d+)(.*)", subject.lines[address])
        if not match or int(match[2]) >= 7:
            continue  # group 0 has the address of the row
        index = int(match[2])
        wrong += 1
        assert subject.caught({address: f"{match[1]}{index - 1}{match[3]}"}), subject.lines[address]
        if index < 6:
            assert subject.caught({address: f"{match[1]}{index + 1}{match[3]}"}), subject.lines[address]
    assert wrong == 6


def test_a_missing_barrier(subject):
    """Every barrier of the CTA is needed: the passes insert none for nothing."""
    barriers = subject.find(r"call void @llvm\.nvvm\.barrier\.cta\.sync")
    assert len(barriers) == 6
    for i in barriers:
        assert subject.caught({i: None}), subject.lines[i]


def test_a_dropped_copy(subject):
    """Any one of the copies of a thread, before the loop and in it."""
    copies = subject.find(r"call void @llvm\.nvvm\.cp\.async\.c[ag]\.shared\.global")
    assert len(copies) == 20
    for i in copies:
        assert subject.caught({i: None}), subject.lines[i]
