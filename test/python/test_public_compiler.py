# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: number formats; compiler, ptxas, caches, shared memory (C80 to C9F)."""

import os
import pathlib
import re
import stat
import subprocess
import sys

import numpy as np
import pytest
from lowered_kernels import ATTEND, BUILD, DECODE, KERNEL_FOLDER, edited, line_of, needs_ptxas, planned_params
from public_cases import SHAPE, call, each_layout, every_format, every_kernel, every_way, same_bits
from second_caches import KERNELS, MAIN

import mlatile
from mlatile.testing import FORMATS, compare, decode_slots, make_case, reference

SHARED_LIMIT = 101_376
COMPILE = BUILD / "bin" / "mlatile-compile"


def compile_decode(path, *arguments):
    return subprocess.run([COMPILE, path, "--kernel=decode", f"--param=FMT={MAIN[0]}", *arguments], capture_output=True,
                          text=True)


# ---- number formats --------------------------------------------------------


@every_kernel
def test_c80_the_same_bytes_of_two_formats(kernel):
    """Scales are applied as they stand, a power of two or not: both formats give the same bits."""
    case = make_case(1, tokens=2, heads=4, width=60, page_size=16, kv_format="glm")
    want = call(case, kernel=kernel)
    assert case.compare(*want)
    assert same_bits(want, call(case, kernel=kernel, kv_format="dsv3_2"))


@pytest.mark.parametrize("kv_format", [name for name in MAIN if FORMATS[name].scale.startswith("f32")])
@every_kernel
@pytest.mark.parametrize("scale", [0.7, 1.0, 0.3333333, 1.9999999, 3e-5, 700.0])
def test_c80_arbitrary_scales(kv_format, kernel, scale):
    """Values times 0.7, not times the power of two below it: the test sees the difference."""
    case = make_case(2, tokens=2, heads=4, width=60, page_size=16, kv_format=kv_format, skip=0)
    f = case.pool.format
    slots = np.unique(case.indices)
    _, scale_at = case.pool._places(slots)
    groups = f.nope // f.group
    page = (slots // 16)[:, None]

    def set_scales(value):
        raw = np.full(groups, value, "<f4").view(np.uint8)
        case.pool.pages[page, scale_at[:, None] + np.arange(len(raw))] = raw

    set_scales(scale)
    case.q = (case.q.astype(np.float32) / max(1.0, scale * 100)).astype(case.q.dtype)
    out, lse = call(case, kernel=kernel)
    assert case.compare(out, lse)
    truncated = 2.0 ** np.floor(np.log2(scale))
    if truncated / scale < 0.95:
        set_scales(truncated)
        assert not case.compare(out)


@every_format
def test_c83_the_error_does_not_grow_with_the_width(kv_format):
    """Accumulation in float32 over de-quantised 16-bit operands: the bound of `compute=bf16` for 64 to 8192 candidates."""
    errors = {kernel: [] for kernel in KERNELS}
    for width in (64, 512, 2048, 8192):
        case = make_case(3, tokens=1, heads=8, width=width, page_size=64, kv_format=kv_format, q_spread=2.0)
        want = case.reference()
        for kernel in KERNELS:
            out, lse = call(case, kernel=kernel)
            result = compare(out, want, lse=lse)
            assert result, (kernel, result.text)
            errors[kernel].append(result.error)
    assert all(max(each) <= 4 * each[0] + 2e-3 for each in errors.values()), errors


@each_layout
@every_kernel
@pytest.mark.parametrize("stage", ["tile", "tilegpu", "nvvm", "llvm", "ptx"])
def test_c84_no_double_anywhere(kv_format, kernel, stage):
    tile = [f"{name}={value}" for name, value in planned_params(kv_format, kernel=kernel).items()]
    jobs = [(kernel, ["HAS_SINK=true", "LSE=2", f"FMT={kv_format}", *tile])]
    if kernel == "decode":
        jobs.append(("merge", ["HAS_SINK=true", "LSE=1"]))
    for symbol, params in jobs:
        job = [COMPILE, KERNEL_FOLDER / f"{kernel}.mlir", f"--kernel={symbol}", f"--emit={stage}", *[f"--param={p}" for p in params]]
        text = subprocess.run(job, capture_output=True, text=True, check=True).stdout
        code = "\n".join(line.split(" loc(")[0].split(", !dbg")[0] for line in text.splitlines() if not line.startswith("!"))
        assert len(code) > 1000 and not re.findall(r".*(?:\bf64\b|\bdouble\b|\.f64|%fd\d).*", code)


@pytest.mark.parametrize(("value", "kind"), [("2.0 : f64", "f64"), ("2.0 : bf16", "bf16")])
def test_c84_no_implicit_promotion(tmp_path, value, kind):
    """A number of another type in a formula is an error at its line, not a conversion."""
    path = edited(tmp_path, {ATTEND: {
        "  %scale2_ = arith.mulf %sm_scale, %log2e : f32\n":
        f"  %other = arith.constant {value}\n  %scale2_ = arith.mulf %sm_scale, %other : f32\n"}})
    result = compile_decode(path)
    assert result.returncode != 0
    assert f"attend.mlir:{line_of(tmp_path / ATTEND, '%sm_scale, %other')}:" in result.stderr and kind in result.stderr


# ---- ptxas, targets --------------------------------------------------------


@pytest.fixture
def old_ptxas(tmp_path):
    path = tmp_path / "old" / "ptxas"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.99'\n[ $# -lt 3 ] || exec sleep 600\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("how", ["option", "environment"])
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
def test_c90_a_ptxas_too_old_for_the_target(tmp_path, old_ptxas, how, target):
    """Refused by path and version, before it is given anything to assemble; an override is never replaced in silence."""
    arguments = [f"--target={target}", "--emit=cubin", "-o", "/dev/null"]
    environment = dict(os.environ)
    if how == "option":
        arguments.append(f"--ptxas={old_ptxas}")
    else:
        environment["MLATILE_PTXAS"] = str(old_ptxas)
    job = [COMPILE, DECODE, "--kernel=decode", f"--param=FMT={MAIN[0]}", *arguments]
    result = subprocess.run(job, capture_output=True, text=True, env=environment, timeout=60)
    assert result.returncode != 0
    for part in (str(old_ptxas), "12.4.99", target, "expected ptxas"):
        assert part in result.stderr


@needs_ptxas
def test_c96_the_assembler_is_reported():
    """Which version made the machine code."""
    kernel = mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=MAIN[0], num_splits=2)))
    for part in kernel.parts:
        assert re.fullmatch(r"\d+\.\d+\.\d+", str(part.report["ptxas"]))
        assert part.report["seconds"]["ptxas"] > 0


def test_c90_ptx_needs_no_ptxas(tmp_path):
    """PTX, LLVM IR and the executor work where no ptxas is."""
    script = (
        f"import sys; sys.path[:0] = {[str(pathlib.Path(__file__).parent)]!r}\n"
        "import mlatile; from mlatile.testing import make_case\n"
        "case = make_case(1, tokens=1, heads=2, width=5, page_size=4)\n"
        "assert case.compare(mlatile.sparse_mla(**case.arguments(), num_splits=1))\n"
    )
    environment = os.environ | {"MLATILE_PTXAS": str(tmp_path / "none")}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)


LACKING = [  # what the target does not have, one operation a line
    ("sm_120a", "  nvvm.wgmma.fence.aligned\n", "wgmma"),
    ("sm_120a", "  llvm.inline_asm has_side_effects \"tcgen05.wait::ld.sync.aligned;\", \"\" : () -> ()\n", "tcgen05"),
    ("sm_90a", "  llvm.inline_asm has_side_effects \"tcgen05.wait::ld.sync.aligned;\", \"\" : () -> ()\n", "tcgen05"),
]


@pytest.mark.parametrize(("target", "line", "word"), LACKING, ids=[f"{t}-{w}" for t, _, w in LACKING])
def test_c91_what_the_target_lacks_is_refused_at_its_line(tmp_path, target, line, word):
    """Before ptxas; the target is named."""
    start = "  // program = (row * head tiles + head tile) * splits + split\n"
    path = edited(tmp_path, {"decode.mlir": {start: line + start}})
    result = compile_decode(path, f"--target={target}", "-o", os.devnull)
    assert result.returncode != 0
    number = line_of(path, line.rstrip("\n"))
    assert re.search(rf"decode\.mlir:{number}:\d+: error: .*{target}.*{word}", result.stderr), result.stderr[:2000]


@pytest.mark.parametrize("target", ["sm_120a", "sm_121a", "sm_90a"])
def test_c91_targets_are_the_specific_ones(target):
    ptx = mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=MAIN[0], target=target))).ptx
    assert re.search(rf"^\.target {target}\b", ptx, flags=re.MULTILINE)


# ---- shared memory ---------------------------------------------------------


@pytest.mark.parametrize("rows", [80, 128, 256])
def test_c92_too_large_a_tile_is_a_compile_time_error(tmp_path, rows):
    """The limit, the bytes wanted, and every buffer with its bytes, at the line that needs it; nothing is launched."""
    kernel = mlatile.load(edited(tmp_path, {}), params=dict(BN=rows))
    with pytest.raises(mlatile.CompileError) as caught:
        mlatile.compile(mlatile.plan(**SHAPE, kv_format="dsv4", kernel=kernel))
    text = str(caught.value)
    wanted = int(re.search(r"expected at most (\d+) bytes of shared memory on sm_120a, got (\d+)", text)[2])
    assert f"{SHARED_LIMIT}" in text and wanted > SHARED_LIMIT
    buffers = [int(n) for n in re.findall(r"buffer `\w+`: (\d+) bytes", text)]
    assert len(buffers) >= 5 and max(buffers) < wanted <= sum(buffers)
    assert re.search(rf"{ATTEND}:\d+:\d+: note: buffer `rows`", text)
    assert len(text) < 4000, "the message is buried in IR"


@every_format
@every_way
def test_c93_built_in_kernels_fit_the_card(kv_format, kernel, splits):
    """With what ptxas says, for both targets, pairs of caches and all head tiles: test_assembled.py."""
    built = mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=kv_format, num_heads=128, kernel=kernel, num_splits=splits)))
    assert built.meta["shared_bytes"] > 0
    assert all(part.meta["shared_bytes"] <= SHARED_LIMIT for part in built.parts)


@every_format
@every_kernel
def test_c9e_the_plan_can_be_asked(kv_format, kernel):
    """The arena and every buffer in it can be asked before any launch, without ptxas; the arena is not above the sum."""
    meta = mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=kv_format, num_heads=128, kernel=kernel, num_splits=1))).meta
    buffers = list(meta["buffers"].values())
    end = max(offset + size for offset, size in buffers)
    assert end <= meta["shared_bytes"] <= min(SHARED_LIMIT, sum(size + 127 for _, size in buffers))


def test_c9e_reuse_where_lives_do_not_meet():
    """Two large buffers, one after the other, stand at one place."""
    text = subprocess.run([BUILD / "bin" / "mlatile-opt", "--tilegpu-plan-shared"], input=TWO_SCRATCHES,
                          capture_output=True, text=True, check=True).stdout
    offsets = re.findall(r'tilegpu\.alloc "(\w+)" \{offset = (\d+)', text)
    assert len(offsets) == 2 and offsets[0][1] == offsets[1][1], text


TWO_SCRATCHES = """
#l = #tilegpu.layout<reg = [[32], [64], [128], [256], [512], [1024], [2048], [4096]], lane = [[1], [2], [4], [8], [16]], warp = [], reps = [1]>
tile.kernel @k warps(1) (%src: !tile.view<[N], f32>, %dst: !tile.view<[N], f32>) {
  %z = arith.constant 0 : index
  %x = tile.load %src[%z] : !tile.view<[N], f32> -> tensor<8192xf32, #l>
  %a = tilegpu.alloc "first" : !tilegpu.buffer<8192xf32>
  tilegpu.store_shared %x, %a : tensor<8192xf32, #l>, !tilegpu.buffer<8192xf32>
  %y = tilegpu.load_shared %a : !tilegpu.buffer<8192xf32> -> tensor<8192xf32, #l>
  %b = tilegpu.alloc "second" : !tilegpu.buffer<8192xf32>
  tilegpu.store_shared %y, %b : tensor<8192xf32, #l>, !tilegpu.buffer<8192xf32>
  %w = tilegpu.load_shared %b : !tilegpu.buffer<8192xf32> -> tensor<8192xf32, #l>
  tile.store %w, %dst[%z] : tensor<8192xf32, #l>, !tile.view<[N], f32>
  tile.return
}
"""


# ---- caches, layouts, instructions -----------------------------------------


def test_c97_and_c9f_an_edited_file_is_another_kernel(tmp_path):
    """Same path, size and time, other content: the content is what counts, in one process and for both at once."""
    scale, none = "arith.mulf %sm_scale, %log2e : f32", "arith.mulf %sm_scale, %f0    : f32"  # every logit becomes 0
    assert len(none) == len(scale)
    case = make_case(4, tokens=2, heads=3, width=40, page_size=16)
    flat = reference(case.q, case.pool, case.indices, sm_scale=0.0)
    first = mlatile.load(edited(tmp_path, {}))
    assert case.compare(mlatile.sparse_mla(**case.arguments(), kernel=first))
    second = mlatile.load(edited(tmp_path, {ATTEND: {scale: none}}))
    assert compare(mlatile.sparse_mla(**case.arguments(), kernel=second), flat)
    assert case.compare(mlatile.sparse_mla(**case.arguments(), kernel=first))
    assert not case.compare(mlatile.sparse_mla(**case.arguments(), kernel=second))


@each_layout
@pytest.mark.parametrize("width", [192, 229])
@pytest.mark.parametrize(("warps", "tile"), [(1, 16), (2, 16), (4, 16), (4, 32), (8, 32)])
def test_c99_any_width_with_any_number_of_warps(kv_format, width, warps, tile):
    kernel = mlatile.load(DECODE, params=dict(WARPS=warps, BN=tile))
    case = make_case(5, tokens=2, heads=5, width=width, page_size=64, kv_format=kv_format)
    out = mlatile.sparse_mla(**case.arguments(), kernel=kernel, num_splits=1)
    assert case.compare(out), case.compare(out).text


@each_layout
@pytest.mark.parametrize("width", [192, 229])
@pytest.mark.parametrize("heads", [5, 11, 20, 64])
@pytest.mark.parametrize("kernel", KERNELS[1:])
def test_c99_any_width_with_any_head_tile(check_case, kv_format, width, heads, kernel):
    check_case(make_case(5, tokens=1, heads=heads, width=width, page_size=64, kv_format=kv_format), kernel=kernel)


@every_format
@every_kernel
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a", "sm_90a"])
def test_c9b_the_multiplication_is_the_one_that_was_asked_for(kv_format, kernel, target):
    """`compute=bf16` is bf16 or f16 `mma` and nothing else; `auto` says in the plan what it became."""
    plan = mlatile.plan(**SHAPE | dict(kv_format=kv_format, target=target, kernel=kernel, compute="bf16", num_splits=1))
    kinds = set(re.findall(r"\bmma\.sync[\w.:]*", mlatile.compile(plan).ptx))
    right = re.compile(r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(bf16\.bf16|f16\.f16)\.f32")
    assert kinds and all(right.fullmatch(kind) for kind in kinds)
    auto = mlatile.plan(**SHAPE | dict(kv_format=kv_format, kernel=kernel, target=target))
    assert auto.compute in ("bf16", "fp8") and auto.compute in str(auto)


@every_kernel
@pytest.mark.parametrize("compute", ["fp8", "fp8_fast"])
def test_c9b_no_fallback_in_silence(compute, kernel):
    """FP8 is FP8: block-scaled `mma`, beside those of the rope part and, in `fp8`, of the values. Where the target or the
    format has none it is refused."""
    for kv_format in MAIN:
        problem = SHAPE | dict(kv_format=kv_format, kernel=kernel, compute=compute, num_splits=1)
        here, hopper = (mlatile.supported(**problem | dict(target=target)) for target in ("sm_120a", "sm_90a"))
        assert not hopper.ok and f"compute `{compute}`" in hopper.reason
        if FORMATS[kv_format].scale == "e4m3":
            assert not here.ok and f"compute `{compute}` is refused for `{kv_format}`" in here.reason
            continue
        kinds = set(re.findall(r"\bmma\.sync[\w.:]*", mlatile.compile(mlatile.plan(**problem | dict(target="sm_120a"))).ptx))
        block = {kind for kind in kinds if "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0" in kind}
        others = {kind.split("m16n8k16.row.col.f32.")[1].split(".")[0] for kind in kinds - block}
        assert block and others == ({"bf16"} if FORMATS[kv_format].rope else set()) | ({"f16"} if compute == "fp8" else set())


@every_format
@every_kernel
def test_decoded_values_have_the_rows_they_belong_to(kv_format, kernel):
    """One candidate a row: out is its value, exactly, as the reference decodes it."""
    case = make_case(6, tokens=40, heads=1, width=1, page_size=8, skip=0, kv_format=kv_format)
    out, _ = call(case, kernel=kernel)
    _, values = decode_slots(case.pool, case.indices[:, 0])
    exact = values.astype(np.float32).astype(case.q.dtype)
    difference = np.abs(out[:, 0].astype(np.float64) - values)
    assert (difference <= np.abs(exact.astype(np.float64)) * 2.0**-7 + 1e-30).all()
