# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler makes of kernels/decode.mlir: how much it computes, and that copies overlap with it."""

import re

import pytest
from lowered_kernels import ATTEND, Program, compile_kernel, edited, llvm_text, run

import mlatile
from mlatile.testing import executor, make_case

PARAMS = dict(FMT="dsv4", HAS_LENGTH=False)
TILE, HEADS = 32, 16  # BN, BH
# m16n8k16 instructions of a tile: scores 16 x 32 over 512, values 16 x 512 over 32.
SCORE_MMA, VALUE_MMA = (TILE // 8) * (512 // 16), (512 // 8) * (TILE // 16)


@pytest.fixture(scope="module")
def decode():
    compiled = compile_kernel(**PARAMS)
    return Program(compiled.blobs["llvm"], compiled.meta)


def test_cost_follows_real_heads():
    """8 heads cost at most a quarter of the mma of 64, over the whole grid."""
    mma = {}
    for heads in (1, 8, 16, 64, 80):
        case = make_case(1, tokens=2, heads=heads, width=64, page_size=16)
        with executor() as runs:
            mlatile.sparse_mla(**case.arguments(), num_splits=1)
        mma[heads] = sum(launch["mma_total"] for launch in runs.stats[0])
    assert 0 < 4 * mma[8] <= mma[64]
    assert mma[1] == mma[8] == mma[16] and mma[80] == 5 * mma[16]
    assert mma[16] == 2 * 2 * (SCORE_MMA + VALUE_MMA)


@pytest.mark.parametrize("tiles", [1, 2, 3, 8])
def test_copies_of_the_next_tile_are_in_flight(decode, tiles):
    """At every mma but those of the last tile. The copies of a CTA count as landed as soon as one of its warps has
    waited for them: nobody issues more at the end, so the first warp may enter the last tile while the other three
    still multiply the values of the tile before."""
    case = make_case(2, tokens=1, heads=HEADS, width=tiles * TILE, page_size=16)
    for seed in range(4):
        arrays, stats = run(decode, case, head_tile=HEADS, seed=seed)
        assert arrays.compare(), arrays.compare().text
        without, overlapped = stats["mma_without_copies_in_flight"], stats["mma_with_copies_in_flight"]
        assert without + overlapped == tiles * (SCORE_MMA + VALUE_MMA)
        last = SCORE_MMA + VALUE_MMA
        assert last <= without <= last + (VALUE_MMA * 3 // 4 if tiles > 1 else 0), f"seed {seed}"
        assert stats["copies_in_flight_at_exit"] == 0


def test_one_stage_has_no_copies_in_flight(tmp_path):
    """The count above can fail: a pipeline of one stage waits for what it has just issued."""
    compiled = compile_kernel(edited(tmp_path, {ATTEND: {"stages = 2": "stages = 1"}}), **PARAMS)
    case = make_case(2, tokens=1, heads=HEADS, width=4 * TILE, page_size=16)
    arrays, stats = run(Program(compiled.blobs["llvm"], compiled.meta), case, head_tile=HEADS)
    assert arrays.compare(), arrays.compare().text
    assert stats["mma_with_copies_in_flight"] == 0


def test_three_stages(tmp_path):
    """More stages than two: candidate tiles of 16 rows, two tiles ahead."""
    compiled = compile_kernel(edited(tmp_path, {ATTEND: {"stages = 2": "stages = 3"}}), BN=16, **PARAMS)
    program = Program(compiled.blobs["llvm"], compiled.meta)
    for width in (1, 16, 17, 33, 49, 200):
        case = make_case(3, tokens=2, heads=HEADS, width=width, page_size=16)
        for seed in range(2):
            arrays, _ = run(program, case, head_tile=HEADS, seed=seed)
            assert arrays.compare(), arrays.compare().text


def test_llvm_text_fed_back_gives_the_same_bits(decode):
    text = Program(llvm_text(**PARAMS), decode.meta)
    case = make_case(4, tokens=3, heads=11, width=150, page_size=16)
    first, _ = run(decode, case, head_tile=HEADS)
    again, _ = run(text, case, head_tile=HEADS)
    assert first.compare(), first.compare().text
    assert first.out.tobytes() == again.out.tobytes()


def test_every_order_gives_the_same_bits(decode):
    """Warps, lanes and CTAs in any order, on any number of host threads."""
    case = make_case(5, tokens=3, heads=20, width=150, page_size=16)
    want, _ = run(decode, case, head_tile=HEADS, seed=0, host_threads=1)
    for seed in range(6):
        for host_threads in (1, 2, 5):
            got, _ = run(decode, case, head_tile=HEADS, seed=seed, host_threads=host_threads)
            assert got.out.tobytes() == want.out.tobytes(), f"seed {seed}, {host_threads} host threads"


def test_every_order_gives_the_same_bits_with_splits(run_case):
    case = make_case(6, tokens=2, heads=20, width=150, page_size=16, sink=True)
    results = []
    for seed in range(5):
        with executor(seed=seed):
            out, lse = run_case(case, num_splits=3)
        results.append((out.tobytes(), lse.tobytes()))
    assert len(set(results)) == 1


KERNELS = [
    ("decode", dict(FMT="dsv4")),
    ("decode", dict(FMT="dsv4", HAS_SINK=True, LSE=2)),
    ("decode", dict(FMT="dsv4", SPLIT=True)),
    ("merge", dict(HAS_SINK=True, LSE=1)),
]


@pytest.mark.parametrize(("kernel", "params"), KERNELS, ids=["decode", "sink and lse", "split", "merge"])
def test_neither_double_nor_local_memory(kernel, params):
    text = llvm_text(kernel=kernel, **params)
    code = "\n".join(line.split(", !dbg")[0] for line in text.splitlines() if not line.startswith("!"))
    assert "fmul float" in code
    assert not re.findall(r".*\bdouble\b.*", code)
    assert not re.findall(r".*\balloca\b.*", code)
    ptx = compile_kernel(kernel=kernel, **params).blobs["ptx"].decode()
    assert not re.findall(r".*(?:\.f64|%fd|\.local)\b.*", ptx)
