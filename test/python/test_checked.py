# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checked mode of the executor: the kernels of all formats are free of races and bad accesses in every order of warps,
and mistakes put into the decode kernel are reported by source line, one of each kind at least."""

import os
import re

import numpy as np
import pytest
from fuzz_tool import SEED, fuzz
from lowered_kernels import KERNEL_FOLDER, Arrays, Edited, KernelError
from second_caches import KERNELS, MAIN

import draw
from mlatile.testing import make_case

# The smaller problems of the pairwise sweep; with MLATILE_SWEEP=3 all of them.
WORK = [] if os.environ.get("MLATILE_SWEEP", "2") == "3" else ["--work", 1 << 13]


def test_the_sweep_is_clean_in_every_order():
    """Unchecked, and checked in three orders of warps: no report, the same bits, and right."""
    result = fuzz("--sweep", 2, "--seed", SEED, "--jobs", os.cpu_count() or 1, "--checked", "--orders", 3, *WORK, timeout=24 * 3600)
    assert result.returncode == 0, result.stdout + result.stderr
    counts = dict.fromkeys(MAIN, 0)
    for name, count in re.findall(r"^  (?:bf16|fp8|fp8_fast) (\w+): (\d+) problems", result.stdout, flags=re.MULTILINE):
        counts[name] += int(count)
    assert all(count >= 4 for count in counts.values()), result.stdout
    assert all(re.search(rf"^  variant: .*\b{kernel}/", result.stdout, flags=re.MULTILINE) for kernel in KERNELS), result.stdout


class Subject(Edited):
    """The decode kernel and a problem of four tiles for it."""

    def __init__(self):
        super().__init__(FMT="dsv4", HAS_LENGTH=False)
        self.case = make_case(1, tokens=1, heads=16, width=120, page_size=16, skip=0.05)

    def report(self, changes=None, case=None, bounds=None):
        """What checked mode says. bounds: what to make of the bounds ([address, bytes, name]) of each array; None: no
        bounds at all."""
        case = case or self.case
        arguments = Arrays(case).arguments()
        options = {}
        if bounds:
            arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
            arrays["kv"] = case.pool.pages
            options["buffers"] = [bounds(array.ctypes.data, array.nbytes, name) for name, array in arrays.items()]
        try:
            self.program(changes or {}).launch(case.q.shape[0], arguments, checked=True, **options)
        except KernelError as error:
            return str(error)
        return None

    def of(self, pattern, source):
        """Numbers of the lines that match and come from this source line."""
        file, number = place_of(source)
        text = "\n".join(self.lines)
        files = dict(re.findall(r'^(!\d+) = !DIFile\(filename: "([^"]+)"', text, flags=re.MULTILINE))
        scopes = {scope for scope, name in re.findall(r"^(!\d+) = .*!DI(?:LexicalBlockFile|Subprogram)\(.*file: (!\d+)", text,
                                                      flags=re.MULTILINE) if files[name] == file}
        places = re.findall(r"^!(\d+) = !DILocation\(line: (\d+), column: \d+, scope: (!\d+)", text, flags=re.MULTILINE)
        here = {place for place, line, scope in places if int(line) == number and scope in scopes}
        found = [i for i in self.find(pattern) if (debug := re.search(r"!dbg !(\d+)", self.lines[i])) and debug[1] in here]
        assert found, (pattern, source)
        return found

    def first(self, pattern, source):
        return self.of(pattern, source)[0]


@pytest.fixture(scope="module")
def subject():
    return Subject()


def place_of(source):
    """(file, line) of kernels/decode.mlir and the steps that it calls."""
    files = [KERNEL_FOLDER / "decode.mlir", *(KERNEL_FOLDER / "steps" / f"{name}.mlir" for name in ("attend", "finish", "query", "store"))]
    places = [(file.name, i) for file in files for i, line in enumerate(file.read_text().splitlines(), 1) if source in line]
    assert len(places) == 1, (source, places)
    return places[0]


def at(instruction, source):
    """A place as a report names it."""
    file, line = place_of(source)
    return rf"{instruction}\S* at {file}:{line}:\d+"


LOOP, GATHER = "scf.for %n = %begin", "tile.gather %kv[%ids] :"
SCORES, VALUES = "tile.dot_scaled %qn, %knT", "tile.dot_scaled %p16, %kn,"
STAGED, ROPE = "%qn16 = arith.truncf %sn", "%rounded = arith.truncf %sr"
QUERY, PROBABILITIES, OUT = "tile.load %q[%b, %t, %h, %c0]", "%p16 = arith.truncf", "tile.store %yn16, %out"
THREAD = r"by warp \d+ lane \d+"
BARRIER = r"call void @llvm\.nvvm\.barrier\.cta\.sync"


def test_the_kernel_itself_is_clean(subject):
    assert subject.report() is None


def test_a_race_names_both_lines(subject):
    """Without the barrier between the weights and their product with the values."""
    report = subject.report({subject.first(BARRIER, VALUES): None})
    assert re.search(rf"race on shared memory, \d+ bytes at offset \d+: {at('store', PROBABILITIES)} {THREAD} writes, "
                     rf"and {at('ldmatrix', VALUES)} {THREAD} reads: nothing orders them"
                     rf"|{at('ldmatrix', VALUES)} {THREAD} reads shared memory that nobody has written", report), report


def test_every_missing_barrier_is_found(subject):
    """In the natural order of warps, where most give right numbers."""
    barriers = subject.find(BARRIER)
    assert len(barriers) == 6
    for i in barriers:
        report = subject.report({i: None})
        assert report and re.search(
            rf"race on .* at \w+\.mlir:\d+:\d+ {THREAD}.*, and \S+ at \w+\.mlir:\d+:\d+ {THREAD}"
            r"|at \w+\.mlir:\d+:\d+ by warp \d+ lane \d+ reads shared memory that nobody has written", report), report


def test_shared_memory_that_nobody_has_written(subject):
    for store, reader in ((PROBABILITIES, at("ldmatrix", VALUES)), (STAGED, at("ldmatrix", SCORES))):
        report = subject.report({subject.first(r"store .*ptr addrspace\(3\)", store): None})
        assert re.search(rf"{reader} {THREAD} reads shared memory that nobody has written", report), report


def test_a_dropped_wait(subject):
    waits = subject.find(r"= call i1 @llvm\.nvvm\.mbarrier\.try\.wait")
    assert len(waits) == 2
    for i in waits:
        name = re.match(r"\s*(%\S+) =", subject.lines[i])[1]
        report = subject.report({i: f"  {name} = or i1 true, true"})
        assert re.search(r"race on shared memory, .* at attend\.mlir:\d+:\d+|nobody has written", report), report


def moved(subject, number, address_space, offset):
    """The access of a line, so many bytes further on."""
    line = subject.lines[number]
    pointer = re.search(rf"ptr addrspace\({address_space}\) (%\w+)", line)[1]
    debug = re.search(r", !dbg !\d+", line)[0]
    step = f"  %moved = getelementptr i8, ptr addrspace({address_space}) {pointer}, i64 {offset}{debug}"
    return {number: step + "\n" + re.sub(rf"{re.escape(pointer)}\b", "%moved", line)}


def test_outside_of_shared_memory(subject):
    size = subject.meta["shared_bytes"]
    store = subject.first(r"store .*ptr addrspace\(3\)", PROBABILITIES)
    report = subject.report(moved(subject, store, 3, size))
    assert re.search(rf"store of 4 bytes at shared offset \d+ is outside the {size} bytes of shared memory.*"
                     rf"{at('store', PROBABILITIES)}", report), report
    copy = subject.first(r"call void @llvm\.nvvm\.cp\.async\.cg", GATHER)
    report = subject.report(moved(subject, copy, 3, -(1 << 20)))
    assert re.search(rf"shared offset -\d+ .*{at('cp.async', GATHER)}", report), report


def exact(address, size, name):
    return [address, size, name]


def test_outside_of_every_buffer(subject):
    assert subject.report(bounds=exact) is None
    load, store = subject.first(r"load .*ptr addrspace\(1\)", QUERY), subject.first(r"store .*ptr addrspace\(1\)", OUT)
    report = subject.report(moved(subject, load, 1, -(1 << 40)), bounds=exact)
    assert re.search(rf"load of \d+ bytes outside every buffer.*{at('load', QUERY)}", report), report
    report = subject.report(moved(subject, store, 1, 1 << 40), bounds=exact)
    assert re.search(rf"store of \d+ bytes outside every buffer.*{at('store', OUT)}", report), report


def test_ids_past_the_pool(subject):
    """The comparison of the ids with the slots, before the loop, for two stages, and in it, takes the first that is too large."""
    checks = subject.of(r"= icmp ult i64 %\d+, %\d+", GATHER)
    assert len(checks) == 3
    slots = subject.case.pool.slots
    changes = {i: re.sub(r"(icmp ult i64 %\d+, )%\d+", rf"\g<1>{slots + 1}", subject.lines[i]) for i in checks}
    case = make_case(1, tokens=1, heads=16, width=120, page_size=16, skip=0)
    assert case.pool.slots == slots
    case.indices[0, [3, 100]] = slots
    report = subject.report(changes, case=case, bounds=exact)
    assert re.search(rf"cp\.async of 16 bytes outside every buffer: at byte \d+ of 'kv', which has \d+.*{at('cp.async', GATHER)}",
                     report), report


def test_bounds_of_the_pool(subject):
    """The kernel reads nothing but its pages: bounds a quarter as large are an error."""
    report = subject.report(bounds=lambda address, size, name: [address, size // 4 if name == "kv" else size, name])
    assert re.search(rf"outside every buffer: at byte \d+ of 'kv'.*{at('cp.async', GATHER)}", report), report


def test_misaligned(subject):
    for space, pattern, offset, what, source in (
        (3, r"store <8 x bfloat> .*ptr addrspace\(3\)", 8, "store of 16 bytes: shared offset", ROPE),
        (1, r"load <4 x i32>, ptr addrspace\(1\)", 4, "load of 16 bytes: address", QUERY),
    ):
        report = subject.report(moved(subject, subject.first(pattern, source), space, offset))
        assert re.search(rf"misaligned {what} \S+ is not a multiple of 16.*{at('store|load', source)}", report), report


def test_wrong_arrive_counts(subject):
    """Too many are a deadlock; with too few the phase ends before all copies have landed, or all readers are done."""
    inits = subject.find(r"call void @llvm\.nvvm\.mbarrier\.init\.shared")
    assert len(inits) == 4
    for i in inits:
        count = int(re.search(r"i32 (\d+)\), !dbg", subject.lines[i])[1])
        more, fewer = (subject.report({i: subject.lines[i].replace(f"i32 {count})", f"i32 {count + step})")}) for step in (1, -1))
        assert re.search(rf"deadlock.*\n.*phase 0 runs, 1 of {count + 1} arrivals pending.*{at('', LOOP)}", more), more
        assert re.search(rf"race on shared memory, .*{at('cp.async', GATHER)}", fewer), fewer


def test_run_ahead(subject):
    """Each thread arrives three times at once for its copies of the first tile: a phase ends that nobody has waited for."""
    arrive = subject.first(r"= call i64 @llvm\.nvvm\.mbarrier\.arrive\.shared", GATHER)
    line = subject.lines[arrive]
    more = [re.sub(r"%\w+ =", f"%again{i} =", line, count=1) for i in range(2)]
    report = subject.report({arrive: "\n".join([line, *more])})
    assert re.search(r"arrival of phase 1, but nobody has waited for phase 0 \(thread \d+, "
                     rf"at {at('mbarrier.arrive', GATHER)}", report), report


@pytest.mark.parametrize("which, report", [
    (0, "that nobody has written|race on shared memory of CTA|of the cluster, which has not started"),
    (1, "the CTA ends, and its shared memory with it|of the cluster, which has ended"),
])
def test_a_dropped_barrier_of_the_cluster(which, report):
    """One before peers are read, one before anybody ends; found in every order."""
    kernel = Edited(FMT="dsv4", HAS_LENGTH=False, CLUSTER=4, JOIN=4)
    case = make_case(1, tokens=1, heads=16, width=120, page_size=16, skip=0.05)
    halves = [kernel.find(rf"call void @llvm\.nvvm\.barrier\.cluster\.{half}\.aligned\(\)") for half in ("arrive", "wait")]
    assert [len(half) for half in halves] == [2, 2]

    def launch(changes, seed):
        kernel.program(changes).launch(4, Arrays(case).arguments(), checked=True, seed=seed)

    for seed in range(4):
        launch({}, seed)
        with pytest.raises(KernelError, match=report):
            launch({half[which]: None for half in halves}, seed)
