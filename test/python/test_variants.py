# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other kernels than the built-in one: written at the second level, and with the warps arranged otherwise."""

import pathlib
import re
import subprocess

import numpy as np
import pytest
from lowered_kernels import BUILD, SOURCE, Program, compile_kernel, needs_ptxas, run

import mlatile
from mlatile.testing import make_case

SECOND_LEVEL = SOURCE / "test" / "Integration" / "second-level-decode.mlir"
PARTS = ("Analysis", "Conversion", "Pipelines", "Registration", "Transforms")
SWAPPED = pathlib.Path(__file__).parent / "kernels" / "swapped.mlir"


def test_no_op_and_no_pass_knows_attention():
    """The recurrence, masks, sinks, splits and merges stand in kernel files. (That a soft-cap needs no C++ is shown in
    test_kernel_files.py.)"""
    words = re.compile(r"softmax|attention|logit|\b(sinks?|lse|topk)\b", re.IGNORECASE)
    folders = [SOURCE / "dialect", *[SOURCE / "lib" / name for name in PARTS],
               *[SOURCE / "lib" / "include" / "mlatile" / name for name in PARTS]]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".cpp", ".h", ".td")]
    assert len(files) > 40
    found = [f"{file.relative_to(SOURCE)}:{number}: {line.strip()}" for file in files
             for number, line in enumerate(file.read_text().splitlines(), 1)
             if words.search(line) and "Nothing here" not in line]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("warps", "heads", "rows"), [(1, 32, 32), (2, 16, 48), (4, 64, 16), (8, 16, 16), (8, 64, 64)])
def test_decode_with_other_tiles(warps, heads, rows):
    """Nothing takes four warps, 16 heads or 32 candidates for granted. (Some of these need sm_90a's shared memory.)"""
    compiled = compile_kernel(FMT="dsv4", HAS_LENGTH=False, LSE=1, WARPS=warps, BH=heads, BN=rows, target="sm_90a")
    assert compiled.meta["threads"] == 32 * warps
    program = Program(compiled.blobs["llvm"], compiled.meta)
    for width in (5, 130):
        case = make_case(8, tokens=1, heads=40, width=width, page_size=16)
        arrays, _ = run(program, case, head_tile=heads, seed=1)
        assert arrays.compare(lse=True), arrays.compare(lse=True).text


# ---- the second level ------------------------------------------------------


@pytest.fixture(scope="module")
def second_level():
    compiled = compile_kernel(SECOND_LEVEL)
    return Program(compiled.blobs["llvm"], compiled.meta)


@pytest.mark.parametrize("heads", [1, 16, 31])
@pytest.mark.parametrize("width", [0, 1, 32, 33, 65, 300])
def test_second_level(second_level, heads, width):
    case = make_case(1, tokens=2, heads=heads, width=width, page_size=16)
    arrays, stats = run(second_level, case, head_tile=16, seed=heads)
    assert arrays.compare(), arrays.compare().text
    # One barrier before the loop, four a tile, one after it: a softmax with one exchange between warps.
    tiles = -(-width // 32)
    assert stats["cta_barriers"] == 2 * -(-heads // 16) * (2 + 4 * tiles)


def test_second_level_in_every_order(second_level):
    case = make_case(2, tokens=2, heads=16, width=150, page_size=16)
    results = {run(second_level, case, head_tile=16, seed=seed)[0].out.tobytes() for seed in range(6)}
    assert len(results) == 1


def test_second_level_as_a_kernel_file():
    """No pass of the author's level runs, and the public call takes it."""
    kernel = mlatile.load(SECOND_LEVEL)
    case = make_case(3, tokens=3, heads=11, width=100, page_size=48)
    out = mlatile.sparse_mla(**case.arguments(), kernel=kernel, num_splits=1)
    assert case.compare(out), case.compare(out).text
    built_in = mlatile.sparse_mla(**case.arguments(), num_splits=1)
    difference = np.abs(out.astype(np.float32) - built_in.astype(np.float32)).max()
    assert difference <= 2.0**-7 * np.abs(built_in.astype(np.float32)).max()


# ---- candidates on the M side, heads on the N side -------------------------


@pytest.fixture(scope="module")
def swapped():
    compiled = compile_kernel(SWAPPED, FMT="dsv4")
    assert compiled.meta["shared_bytes"] <= 101_376
    return Program(compiled.blobs["llvm"], compiled.meta)


@pytest.mark.parametrize("heads", [1, 8, 31, 32, 40])
@pytest.mark.parametrize("width", [0, 1, 15, 16, 17, 100])
def test_swapped(swapped, heads, width):
    case = make_case(4, tokens=2, heads=heads, width=width, page_size=16)
    arrays, stats = run(swapped, case, head_tile=32, seed=width)
    assert arrays.compare(), arrays.compare().text
    # One for the mbarriers, one before the loop for the queries, none in it.
    assert stats["cta_barriers"] == 2 * -(-heads // 32) * 2


def test_swapped_without_a_candidate(swapped):
    case = make_case(5, tokens=2, heads=32, width=100, page_size=16)
    case.indices[:] = -1
    arrays, _ = run(swapped, case, head_tile=32)
    assert not arrays.out.astype(np.float32).any()


@pytest.mark.parametrize(("rows", "heads"), [(32, 32), (16, 64)])
def test_swapped_with_other_tiles(rows, heads):
    """More candidates or heads a warp. (32 candidates of 32 heads do not fit sm_120a's shared memory.)"""
    compiled = compile_kernel(SWAPPED, FMT="dsv4", BN=rows, BH=heads, target="sm_90a")
    program = Program(compiled.blobs["llvm"], compiled.meta)
    case = make_case(6, tokens=1, heads=40, width=100, page_size=16)
    arrays, _ = run(program, case, head_tile=heads)
    assert arrays.compare(), arrays.compare().text


def test_swapped_in_every_order(swapped):
    case = make_case(7, tokens=2, heads=40, width=100, page_size=16)
    results = {run(swapped, case, head_tile=32, seed=seed)[0].out.tobytes() for seed in range(6)}
    assert len(results) == 1


def test_swapped_softmax_stays_in_its_warp():
    """No barrier in the loop, and the weights stay in registers from one product to the next."""
    job = [BUILD / "bin" / "mlatile-compile", SWAPPED, "--param=FMT=dsv4", "--emit=tilegpu"]
    text = subprocess.run(job, capture_output=True, text=True, check=True).stdout
    loop = text[text.index("scf.for") : text.index("scf.yield")]
    order = re.findall(r"tilegpu\.(sync cta|sync warp|dequant|dot|reduce_warp|store_shared|mbarrier_arrive)\b", loop)
    assert order == ["dot", "dot", "reduce_warp", "reduce_warp", "dot", "dot", "mbarrier_arrive"]


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
@pytest.mark.parametrize(("path", "params"), [(SECOND_LEVEL, {}), (SWAPPED, dict(FMT="dsv4"))],
                         ids=["second level", "swapped"])
def test_variants_assemble(target, path, params):
    meta = compile_kernel(path, target=target, cubin=True, **params).meta
    assert meta["ptxas"]["spill_stores"] == meta["ptxas"]["spill_loads"] == 0
    assert meta["ptxas"]["static_shared"] == meta["shared_bytes"] <= 101_376
