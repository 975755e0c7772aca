# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose warps have roles (docs/Roles.md): the same results from the same sources, nothing raced for, and no
barrier of the CTA in the loop."""

import re

import pytest
from lowered_kernels import DECODE, KERNEL_FOLDER, KernelError, Program, compile_kernel, needs_ptxas, run
from public_cases import call
from second_caches import MAIN

import mlatile
from mlatile.testing import executor, make_case

# Heads, candidates, roles: 64 heads a CTA where 101,376 bytes hold them.
KERNELS = ["prefill", "decode", "swapab"]
SMALL = {kv_format: (32, 32, "4+4+4") for kv_format in MAIN} | {"dots3_swa": (16, 16, "4+4+4")}
LARGE = {kv_format: (64, 32, "4+4+8") for kv_format in MAIN} | {"dots3_swa": (32, 32, "4+4+8")}


def compiled(kernel, kv_format, tile, **options):
    heads, rows, roles = tile
    return compile_kernel(KERNEL_FOLDER / f"{kernel}.mlir", kernel=kernel, FMT=kv_format, BH=heads, BN=rows, ROLES=roles, **options)


@pytest.mark.parametrize("target", ["sm_120a", "sm_90a"])
@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_format(kernel, kv_format, target):
    tile = (SMALL if target == "sm_120a" else LARGE)[kv_format]
    program = compiled(kernel, kv_format, tile, HAS_LENGTH=False, LSE=1, target=target)
    loop, = program.meta["loops"]
    assert program.meta["threads"] == 32 * sum(map(int, tile[2].split("+"))) and loop["cta_barriers"] == 0
    runs = Program(program.blobs["llvm"], program.meta)
    for seed, width in enumerate((1, tile[1], 5 * tile[1] + 3)):
        case = make_case(seed, tokens=2, heads=tile[0] + 5, width=width, page_size=16, kv_format=kv_format)
        arrays, stats = run(runs, case, head_tile=tile[0], seed=seed, checked=True)
        assert arrays.compare(lse=True), arrays.compare(lse=True).text


@pytest.mark.parametrize("roles", ["4+4+8@1:1", "4+4+8@4:3", "4c+4+8@3:1", "4+4+4", "4+8+4", "8+4+4", "4+4+16", "4+16+8"])
def test_every_split_of_the_warps(roles):
    program = compiled("decode", "dsv4", (32, 16, roles), HAS_LENGTH=False, LSE=1)
    runs = Program(program.blobs["llvm"], program.meta)
    case = make_case(3, tokens=1, heads=40, width=75, page_size=16)
    arrays, _ = run(runs, case, head_tile=32, seed=1, checked=True)
    assert arrays.compare(lse=True), arrays.compare(lse=True).text


def test_the_order_of_warps_does_not_matter():
    program = compiled("prefill", "dsv4", SMALL["dsv4"], HAS_LENGTH=True, HAS_SINK=True, LSE=2)
    runs = Program(program.blobs["llvm"], program.meta)
    case = make_case(4, tokens=4, heads=30, width=130, page_size=16, lengths=True, sink=True)
    results = []
    for seed in range(4):
        arrays, _ = run(runs, case, head_tile=32, seed=seed)
        results.append(arrays.out.tobytes())
        assert arrays.compare(), arrays.compare().text
    assert len(set(results)) == 1


@pytest.mark.parametrize("extra", ["dsv4", "dsv4_nvfp4"])
@pytest.mark.parametrize("splits", [1, 3])
def test_two_caches_and_splits(extra, splits):
    kernel = mlatile.load(DECODE, params={"ROLES": "4+4+8", "BH": 16, "BN": 16})
    case = make_case(5, tokens=2, heads=20, width=100, page_size=16, extra_width=70, extra_page_size=8,
                     extra_kv_format=extra, lengths=True, extra_lengths=True, sink=True)
    with executor(seed=splits, checked=True):
        out, lse = call(case, kernel=kernel, num_splits=splits)
    assert case.compare(out, lse), case.compare(out, lse).text


@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_converted_once(kernel, kv_format):
    """By the warps that gather, with their scales; the others multiply 16-bit rows."""
    tile = (16, 16, "4c+4+8")
    program = compiled(kernel, kv_format, tile, HAS_LENGTH=False, LSE=1, target="sm_90a")
    loop, = program.meta["loops"]
    assert loop["cta_barriers"] == 0 and loop["stages"] == 2
    runs = Program(program.blobs["llvm"], program.meta)
    for seed, width in enumerate((1, 16, 5 * 16 + 3)):
        case = make_case(seed, tokens=2, heads=20, width=width, page_size=16, kv_format=kv_format)
        arrays, _ = run(runs, case, head_tile=16, seed=seed, checked=True)
        assert arrays.compare(lse=True), arrays.compare(lse=True).text


@needs_ptxas
@pytest.mark.parametrize("kv_format", MAIN)
def test_registers(kv_format):
    """No spills within the budgets of the roles."""
    program = compiled("prefill", kv_format, SMALL[kv_format], cubin=True)
    assert program.meta["ptxas"]["spill_stores"] == program.meta["ptxas"]["spill_loads"] == 0


def test_setmaxnreg_and_named_barriers():
    text = compiled("decode", "dsv4", (16, 16, "4:40+4:152+8:160")).blobs["ptx"].decode()
    assert re.findall(r"setmaxnreg\.(\w+)\.sync\.aligned\.u32\s+(\d+)", text) == [("inc", "160"), ("inc", "152"), ("dec", "40")]
    assert ".maxntid 512" in text or ".reqntid 512" in text


def test_what_is_refused():
    with pytest.raises(KernelError, match="expected registers of all warps to be at most 2048"):
        compiled("decode", "dsv4", (16, 16, "4:64+4:152+8:160"))
    with pytest.raises(KernelError, match="keys that are converted once are multiplied in f16"):
        compiled("decode", "dsv4", (16, 16, "4c+4+8"), FP8=1)
    with pytest.raises(KernelError, match="parameter CONVERTS is derived as ROLES.converts and cannot be given"):
        compiled("decode", "dsv4", (16, 16, "4+4+8"), CONVERTS=True)
    with pytest.raises(KernelError, match="expected none, or warps that gather, of first and of second products"):
        compiled("decode", "dsv4", (16, 16, "4+4"))
