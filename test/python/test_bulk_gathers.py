# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers by bulk copies (BULK=true): right numbers for every format and shape, one copy a row that is there and none
of any other, and mistakes in their protocol are found."""

import re

import numpy as np
import pytest
from lowered_kernels import KERNEL_FOLDER, Arrays, Edited, KernelError, Program, compile_kernel, needs_ptxas, run
from public_cases import call
from second_caches import KERNELS, MAIN, PAIRS

import mlatile
from mlatile.testing import FORMATS, covering, executor, make_case
from mlatile.testing.pools import page_bytes

BH = 16


def built(kernel, kv_format, *, bulk=True, roles="none", rows=16, extra=None, **options):
    if extra:
        options |= dict(HAS_EXTRA=True, EXTRA=extra)
    return compile_kernel(KERNEL_FOLDER / f"{kernel}.mlir", kernel=kernel, FMT=kv_format, BH=BH, BN=rows, BULK=bulk, ROLES=roles, LSE=1,
                          **options)


def listed(indices, lengths, pool):
    """How many entries name a slot and stand before the length."""
    limit = indices.shape[1] if lengths is None else np.asarray(lengths)[:, None]
    return int(((indices >= 0) & (indices < pool.slots) & (np.arange(indices.shape[1]) < limit)).sum())


# Page paddings and row paddings are multiples of 16 bytes, as of every pool.
FACTORS = {
    "kernel": KERNELS,
    "kv_format": MAIN,
    "extra": [None, *dict.fromkeys(extra for _, extra in PAIRS)],
    "roles": ["none", "4+4+4", "4c+4+4"],
    "rows": [16, 32],
    "target": ["sm_120a", "sm_90a"],
    "heads": [1, 16, 21],
    "width": [1, 16, 31, 64, 163],
    "tokens": [1, 3],
    "page_size": [1, 3, 16, 64],
    "page_pad": [0, 16, 208],
    "row_pad": [0, 16],
    "skip": [0, 0.15, 0.7, 1],
    "lengths": [False, True],
}


def allowed(part):
    kv_format, extra = part.get("kv_format"), part.get("extra")
    if kv_format and extra and (kv_format, extra) not in PAIRS:
        return False
    if part.get("row_pad") and (extra or (kv_format and FORMATS[kv_format].scale_row)):
        return False  # rows of a footer's page are tight
    large = extra or part.get("rows") == 32 or kv_format == "dots3_swa" or part.get("roles") == "4c+4+4"
    if part.get("target") == "sm_120a" and part.get("roles", "none") != "none" and large:
        return False  # more than its shared memory
    if (part.get("kernel"), part.get("roles")) == ("swapab", "4c+4+4") and "dsv4_1" in (kv_format, extra):
        return False  # groups narrower than the warps of values
    return not (part.get("target") == "sm_120a" and kv_format == "dots3_swa" and part.get("rows") == 32)


SWEEP = covering(FACTORS, 2, allowed=allowed)


def strided(kv_format, page_size, page_pad, row_pad):
    row_stride = FORMATS[kv_format].data_row + row_pad
    return dict(page_stride=-(-page_bytes(kv_format, page_size, row_stride) // 16) * 16 + page_pad, row_stride=row_stride)


@pytest.mark.parametrize("number", range(len(SWEEP)))
def test_problems(number):
    """Checked, with unselected slots that hold NaN: right, and as many copies as entries that are there."""
    row = dict(SWEEP[number])
    kernel, kv_format, extra, page_size = (row[name] for name in ("kernel", "kv_format", "extra", "page_size"))
    program = built(kernel, kv_format, roles=row["roles"], rows=row["rows"], extra=extra, target=row["target"],
                    HAS_LENGTH=row["lengths"], HAS_EXTRA_LENGTH=row["lengths"])
    more = strided(kv_format, page_size, row["page_pad"], row["row_pad"])
    if extra:
        more |= dict(extra_width=70, extra_page_size=page_size, extra_kv_format=extra, extra_lengths=row["lengths"],
                     extra_page_stride=strided(extra, page_size, row["page_pad"], 0)["page_stride"])
    case = make_case(number, tokens=row["tokens"], heads=row["heads"], width=row["width"], page_size=page_size, kv_format=kv_format,
                     skip=row["skip"], lengths=row["lengths"], **more)
    arrays = Arrays(case)
    arguments = arrays.arguments()
    copies = listed(case.indices, case.topk_length, case.pool)
    if extra:
        arguments |= dict(extra_kv=case.extra_pool, extra_indices=case.extra_indices[None],
                          extra_lengths=None if case.extra_topk_length is None else case.extra_topk_length[None, :, None])
        copies += listed(case.extra_indices, case.extra_topk_length, case.extra_pool)
    pools = [("kv", case.pool)] + ([("extra_kv", case.extra_pool)] if extra else [])
    arrays_by_name = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    arrays_by_name |= {name: pool.pages for name, pool in pools}
    head_tiles = -(-row["heads"] // BH)
    stats = Program(program.blobs["llvm"], program.meta).launch(
        row["tokens"] * head_tiles, arguments, seed=number, checked=True,
        buffers=[[value.ctypes.data, value.nbytes, name] for name, value in arrays_by_name.items()])
    result = arrays.compare(lse=True)
    assert result, (row, result.text)
    assert stats["bulk_copies"] == copies * head_tiles, row


@pytest.mark.parametrize("kv_format", MAIN)
def test_the_same_bits_as_by_cp_async(kv_format):
    case = make_case(2, tokens=2, heads=20, width=75, page_size=16, kv_format=kv_format, skip=0.3)
    results = []
    for bulk in (False, True):
        program = built("decode", kv_format, bulk=bulk, HAS_LENGTH=False)
        for seed in range(3):
            arrays, stats = run(Program(program.blobs["llvm"], program.meta), case, head_tile=BH, seed=seed)
            assert bool(stats["bulk_copies"]) == bulk
            results.append(arrays.out.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("extra", ["dsv4", "dsv4_nvfp4"])
def test_splits(extra, splits):
    kernel = mlatile.load(KERNEL_FOLDER / "decode.mlir", params={"BULK": True})
    case = make_case(5, tokens=2, heads=20, width=100, page_size=16, extra_width=70, extra_page_size=8, extra_kv_format=extra,
                     lengths=True, extra_lengths=True, sink=True, skip=0.3)
    with executor(seed=splits, checked=True):
        out, lse = call(case, kernel=kernel, num_splits=splits)
    assert case.compare(out, lse), case.compare(out, lse).text


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a", "sm_90a"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_assembled(kernel, target):
    """One instruction a warp and copy, for formats whose scales stand in a footer and in the row."""
    for kv_format in ("dsv4", "glm"):
        program = built(kernel, kv_format, rows=32, target=target, cubin=True)
        loop, = program.meta["loops"]
        warps = program.meta["threads"] // 32
        rows = loop["candidates"] * 64 // 64
        # A warp issues the copies of its rows in one instruction, and those of their scales.
        assert loop["bulk_copies"] == warps * -(-loop["candidates"] // (32 * warps))
        assert loop["async_copies"] == (loop["bulk_copies"] if FORMATS[kv_format].scale_row else 0)
        spilled = program.meta["ptxas"]["spill_stores"]
        # Some kernels of this shape spill on sm_90a; not more than by cp.async.
        allowance = built(kernel, kv_format, bulk=False, rows=32, target=target, cubin=True).meta["ptxas"]["spill_stores"] if spilled else 0
        assert spilled <= allowance and (target == "sm_90a" or not spilled)


class Subject(Edited):
    """A kernel without barriers of the CTA in its loop, and a problem that fills its stages four times."""

    def __init__(self):
        super().__init__(source=KERNEL_FOLDER / "swapab.mlir", kernel="swapab", FMT="dsv4", BH=BH, BN=16, WARPS=2, HAS_LENGTH=False, BULK=True)
        self.case = make_case(1, tokens=1, heads=16, width=120, page_size=16, skip=0.3)

    def report(self, changes, checked=True, seed=0):
        """What an executor says, or what is wrong with the numbers; None if nothing is."""
        try:
            arrays, _ = run(self.program(changes), self.case, head_tile=BH, checked=checked, seed=seed)
        except KernelError as error:
            return str(error)
        result = arrays.compare()
        return None if result else result.text


@pytest.fixture(scope="module")
def subject():
    return Subject()


CALL = r"= call \S+ @llvm\.nvvm\."
# Of the two tiles before the loop, and of the one in it.
PLACES = 3


BARRIER = r"call void @llvm\.nvvm\.barrier\.cta\.sync"


def of(subject, pattern):
    found = [i for i in subject.find(pattern) if not re.search(BARRIER, subject.lines[i + 1])]
    assert len(found) == PLACES, (pattern, found)
    return found


def test_the_kernel_itself_is_clean(subject):
    for seed in range(4):
        assert subject.report({}, seed=seed) is None


def test_a_dropped_copy(subject):
    for i in of(subject, r"call void @llvm\.nvvm\.cp\.async\.bulk"):
        assert re.search(r"deadlock: .*\n.*0 of 18 arrivals pending, \d+ bytes expected", subject.report({i: None}, checked=False))


@pytest.mark.parametrize("bytes_of_a_row", [560, 592])
def test_a_wrong_expectation(subject, bytes_of_a_row):
    for i in of(subject, CALL + r"redux\.sync\.add"):
        line = subject.lines[i]
        name, = re.findall(r"^\s*(%\w+) =", line)
        scaled = line.replace(f"{name} =", "%sum =", 1) + f"\n  %rows = udiv i32 %sum, 576\n  {name} = mul i32 %rows, {bytes_of_a_row}"
        report = subject.report({i: scaled}, checked=False)
        assert re.search(r"expect_tx is too small|deadlock: .*\n.*arrivals pending, -?\d+ bytes expected", report), report


def test_a_dropped_arrival(subject):
    for pattern in (CALL + r"mbarrier\.arrive\.expect", r"call void @llvm\.nvvm\.cp\.async\.mbarrier\.arrive\.noinc"):
        for i in of(subject, pattern):
            assert "deadlock" in subject.report({i: None}, checked=False)


def test_a_dropped_wait(subject):
    waits = subject.find(CALL + r"mbarrier\.try\.wait")
    assert len(waits) == 2
    for i in waits:
        name = re.match(r"\s*(%\S+) =", subject.lines[i])[1]
        assert subject.report({i: f"  {name} = or i1 true, true"}), subject.lines[i]


def test_a_skipped_row_that_is_not_zeroed(subject):
    """Before the loop, where the stages hold nothing; later they hold numbers."""
    zeros = subject.find(r"store <4 x i32> zeroinitializer, ptr addrspace\(3\)")
    assert len(zeros) % PLACES == 0
    for i in zeros[: 2 * len(zeros) // PLACES : 7]:
        assert "nobody has written" in subject.report({i: None})


def test_a_missing_proxy_fence(subject):
    """The numbers are right without; checked mode names both places."""
    place = r"attend_swapped\.mlir:\d+:\d+"
    for i in of(subject, r"call void @llvm\.nvvm\.fence\.proxy\.async"):
        assert subject.report({i: None}, checked=False) is None
        assert re.search(rf"missing proxy fence, .*: store at {place} by warp \d lane \d+ writes, and "
                         rf"cp\.async\.bulk\S* at {place} by warp \d lane \d+ writes by the async proxy", subject.report({i: None}))


def test_a_missing_barrier_of_the_warp(subject):
    """Ids that one lane stores are covered by the arrival of another. Before the loop a barrier of the CTA follows."""
    last = of(subject, r"call void @llvm\.nvvm\.bar\.warp\.sync")[-1]
    assert re.search(r"race on shared memory, .*: store .* writes, and load .* reads: nothing orders them", subject.report({last: None}))


def test_fences_for_shared_bytes():
    """Of two caches of different forms the second one's stages take bytes that the code before has written: all
    threads fence before a barrier."""
    params = dict(FMT="dsv4", EXTRA="dsv4_nvfp4", HAS_EXTRA=True, BH=BH, BN=16, HAS_LENGTH=False, HAS_EXTRA_LENGTH=False, BULK=True)
    edited = Edited(**params)
    fences = [i for i in edited.find(r"call void @llvm\.nvvm\.fence\.proxy\.async") if re.search(BARRIER, edited.lines[i + 1])]
    first, *shared = fences  # the first one is for the mbarriers
    assert shared
    case = make_case(1, tokens=1, heads=16, width=120, page_size=16, extra_width=100, extra_kv_format="dsv4_nvfp4", skip=0.3)

    def report(changes):
        arrays = Arrays(case)
        arguments = arrays.arguments() | dict(extra_kv=case.extra_pool, extra_indices=case.extra_indices[None])
        try:
            edited.program(changes).launch(1, arguments, checked=True)
        except KernelError as error:
            return str(error)
        return None if arrays.compare() else arrays.compare().text

    assert report({}) is None
    assert "missing proxy fence" in report(dict.fromkeys(shared))
