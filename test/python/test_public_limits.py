# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: scratch and planning, hangs, grid limits, overflow (C50 to C75)."""

import os
import re
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import DECODE
from public_cases import (
    LAYOUTS, SHAPE, call, each_layout, every_kernel, every_way, far_apart, rows_of, same_bits, sparse_bytes, sparse_pool,
)
from second_caches import KERNELS, MAIN

import mlatile
from mlatile.testing import Pool, executor, make_case
from mlatile.testing.pools import page_bytes

# ---- scratch, planning, compiling ------------------------------------------


def workspace_of(size, fill, counters):
    store = np.full(size + 512, fill, np.uint8)
    start = -store.ctypes.data % 256
    store[start : start + counters] = 0
    return store, store[start : start + size]


@each_layout
def test_c50_scratch_is_the_callers(kv_format):
    """Exactly the planned bytes are enough, no byte beside them is written, nothing is kept in it between calls."""
    case = make_case(1, tokens=3, heads=5, width=150, page_size=16, kv_format=kv_format, sink=True)
    other = make_case(2, tokens=3, heads=5, width=150, page_size=16, kv_format=kv_format, sink=True)
    plan = mlatile.plan(num_tokens=3, num_heads=5, width=150, kv_format=kv_format, page_size=16, has_sink=True,
                        num_splits=4, return_lse=True, target="sm_120a")
    size = plan.workspace_bytes
    want = call(case, num_splits=4), call(other, num_splits=4)
    assert case.compare(*want[0]) and other.compare(*want[1])
    store, space = workspace_of(size, 0xFF, plan.counter_bytes)
    for _ in range(2):  # two graphs that share the scratch, replayed in turn
        for each, expected in zip((case, other), want):
            assert same_bits(expected, call(each, num_splits=4, workspace=space))
    mask = np.ones(len(store), bool)
    start = space.ctypes.data - store.ctypes.data
    mask[start : start + size] = False
    assert (store[mask] == 0xFF).all()
    with pytest.raises(mlatile.ArgumentError, match="`workspace`"):
        call(case, num_splits=4, workspace=space[: size - 1])


def test_c53_planning_neither_compiles_nor_calibrates():
    """A thousand shapes planned without the compiler, CUDA, or memory for a cache that large."""
    script = (
        "import mlatile, resource\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for t in (1, 7, 64, 70000, 1 << 20):\n"
        "  for h in (1, 8, 11, 128):\n"
        "    for w in (1, 192, 513, 7936, 1 << 20):\n"
        "      for p in (1, 64, 2304):\n"
        f"        mlatile.plan(num_tokens=t, num_heads=h, width=w, page_size=p, kv_format={MAIN[0]!r}, target='sm_120a')\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert 'libmlatile_compiler' not in maps and 'LLVM' not in maps and 'libcuda' not in maps\n"
        "assert after - before < 64 << 10, (before, after)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@each_layout
@every_kernel
def test_c54_nothing_is_compiled_for_another_size_or_stride(kv_format, kernel):
    """After one call per kind nothing is left to compile: with the compiler forbidden, other rows, widths, pages,
    strides and numbers of splits run. How many splits are joined at once is a kind, the least power of two."""
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
import numpy as np, mlatile
from mlatile.testing import make_case
def run(tokens, width, page_size, pad, splits):
    case = make_case(tokens, tokens=tokens, heads=5, width=width, page_size=page_size, kv_format={kv_format!r})
    store = np.zeros((tokens, width + pad), np.int32); store[:, :width] = case.indices
    splits = splits if {kernel!r} == "decode" else 1
    out = mlatile.sparse_mla(**case.arguments(indices=store[:, :width]), kernel={kernel!r}, num_splits=splits)
    assert case.compare(out)
run(1, 40, 16, 0, 1); run(1, 40, 16, 0, 2); run(1, 40, 16, 0, 3); run(1, 40, 16, 0, 17)
mlatile._mlatile.allow_compiling(False)
for job in ((3, 100, 64, 7, 1), (9, 33, 1, 100, 4), (5, 70, 8, 3, 3), (2, 513, 256, 0, 40), (1, 1, 2, 1, 2)): run(*job)
case = make_case(1, tokens=1, heads=5, width=40, page_size=16, kv_format={kv_format!r}, sink=True)
try: mlatile.sparse_mla(**case.arguments(), kernel={kernel!r}, num_splits=1)
except mlatile.Error as error: print(error)
else: raise SystemExit("a kernel with a sink was compiled although compiling was off")
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "HAS_SINK=true" in result.stdout and "compil" in result.stdout


@each_layout
@pytest.mark.parametrize("splits", [1, 2, 8, None])
def test_c5a_rows_on_both_sides_of_a_limit(run_case, kv_format, splits):
    """62 (the last that are merged 128 columns at a time) to 65 rows: the same rows agree, to the bit where the number of
    splits is fixed."""
    case = make_case(3, tokens=65, heads=3, width=260, page_size=64, kv_format=kv_format)
    whole = run_case(case, num_splits=splits)
    assert case.compare(*whole)
    for rows in (8, 62, 63, 64):
        part = call(case, **rows_of(case, slice(0, rows)), num_splits=splits)
        if splits is not None:
            assert same_bits([a[:rows] for a in whole], part)
        difference = np.abs(part[0].astype(np.float32) - whole[0][:rows].astype(np.float32)).max()
        assert difference <= 1e-2 * np.abs(part[0].astype(np.float32)).max()


# ---- hangs and grid limits -------------------------------------------------


@each_layout
@every_way
@pytest.mark.parametrize("heads", [8, 128])
def test_c60_named_barriers_have_one_arrival_outstanding(kv_format, heads, kernel, splits):
    """No kernel arrives on a named barrier without waiting there: such a barrier cannot be a phase ahead."""
    plan = mlatile.plan(**SHAPE | dict(kv_format=kv_format, num_heads=heads, kernel=kernel, num_splits=splits, has_sink=True))
    parts = mlatile.compile(plan).parts
    barriers = [re.findall(r"^\s*((?:bar|barrier)\.[^;]*);", part.ptx, flags=re.MULTILINE) for part in parts]
    assert barriers[0]
    assert not [b for found in barriers for b in found if ".arrive" in b]


@each_layout
def test_c62_many_launches_of_mixed_shapes(kv_format):
    """$MLATILE_SOAK launches (200): in any order of warps the bits of the first time."""
    cases = [
        make_case(seed, tokens=t, heads=h, width=w, page_size=p, kv_format=kv_format, lengths=seed % 2 == 1, sink=seed % 3 == 0)
        for seed, (t, h, w, p) in enumerate([(1, 1, 1, 1), (2, 8, 33, 2), (3, 5, 64, 64), (1, 20, 100, 48), (5, 2, 31, 16)])
    ]
    ways = [("decode", 1), ("prefill", 1), ("decode", 2), ("swapab", 1), ("decode", 5)]
    want = {}
    for i in range(int(os.environ.get("MLATILE_SOAK", 200))):
        key = i % len(cases), *ways[i // len(cases) % len(ways)]
        with executor(seed=i):
            got = call(cases[key[0]], kernel=key[1], num_splits=key[2])
        assert same_bits(want.setdefault(key, got), got), (i, key)
    for (number, *_), got in want.items():
        assert cases[number].compare(*got)


STUCK = """
tile.kernel @decode params(FMT : format, HAS_LENGTH : i1 = true, HAS_SINK : i1 = false, SPLIT : i1 = false, LSE : index = 0)
    warps(4)
    (%q : !tile.view<[B, S, H, D], bf16>, %kv : !tile.pool<FMT>, %indices : !tile.view<[B, S, W], i32>,
     %lengths : !tile.view<[B, S, 1], i32>, %sink : !tile.view<[H], f32>, %out : !tile.view<[B, S, H, D], bf16>,
     %lse : !tile.view<[B, S, H], f32>, %sm_scale : f32, %num_splits : index) {
  %bars = tilegpu.alloc "stuck" : !tilegpu.mbarriers<1>
  %c0 = arith.constant 0 : i32
  tilegpu.mbarrier_init %bars {count = 128 : i32} : !tilegpu.mbarriers<1>
  tilegpu.sync cta
  tilegpu.mbarrier_wait %bars[%c0], %c0 : !tilegpu.mbarriers<1>
  tile.return
}
"""


def test_c62_a_hang_is_an_error_that_names_the_kernel(tmp_path):
    path = tmp_path / "stuck.mlir"
    path.write_text(STUCK)
    case = make_case(4, tokens=1, heads=1, width=4, page_size=4)
    with pytest.raises(mlatile.LaunchError) as caught:
        mlatile.sparse_mla(**case.arguments(), kernel=mlatile.load(path), num_splits=1)
    text = str(caught.value)
    assert "stuck" in text and "decode" in text and "mbarrier" in text and "deadlock" in text


@each_layout
@every_kernel
@pytest.mark.parametrize("rows", [65_535, 65_536, 131_072, 1 << 20, 10_000_000])
def test_c64_rows_are_on_the_first_axis_of_the_grid(kv_format, kernel, rows):
    """A launch has one extent, up to 2^31 - 1; what does not fit is refused by name."""
    for heads in (1, 16, 17, 128):
        problem = SHAPE | dict(kv_format=kv_format, num_tokens=rows, num_heads=heads, kernel=kernel, num_splits=1)
        (step,) = mlatile.plan(**problem).launches
        assert rows <= step["grid"] < 2**31 and isinstance(step["grid"], int)


@pytest.mark.parametrize("kernel", ["decode", "swapab"])
def test_c64_seventy_thousand_rows(kernel):
    """Every row is written, the last ones too. One warp a CTA, so that the executor takes seconds; prefill, which has
    four at least, runs so many rows on a card (`rows-70000-prefill`)."""
    if kernel == "decode":
        kernel = mlatile.load(DECODE, params=dict(WARPS=1, BN=16))
    rows, slots = 70_000, 64
    case = make_case(5, tokens=slots, heads=1, width=3, page_size=16, skip=0)
    rng = np.random.default_rng(5)
    case.topk_length = rng.integers(1, 4, slots).astype(np.int32)
    pick = rng.integers(0, slots, rows)
    out = np.full((rows, 1, 512), np.nan, ml_dtypes.bfloat16)
    mlatile.sparse_mla(**case.arguments(**rows_of(case, pick)), kernel=kernel, num_splits=1, out=out)
    few = mlatile.sparse_mla(**case.arguments(), kernel=kernel, num_splits=1)
    assert case.compare(few)
    assert out.tobytes() == few[pick].tobytes()


# ---- overflow --------------------------------------------------------------


def far_case(kv_format, seed, **options):
    return make_case(seed, tokens=2, heads=3, width=40, page_size=64, pages=4, skip=0.1, kv_format=kv_format, **options)


def moved(case, pool, first_page):
    valid = (case.indices >= 0) & (case.indices < case.pool.slots)
    case.indices = np.where(valid, case.indices.astype(np.int64) + first_page * pool.page_size, -1).astype(np.int32)
    case.pool = pool
    return case


# Each format in decode; the other kernels gather by the same steps: one of each layout.
FAR = pytest.mark.parametrize(("kv_format", "kernel"), [(f, k) for f in MAIN for k in KERNELS if k == "decode" or f in LAYOUTS])


@FAR
@pytest.mark.parametrize("edge", [2**31, 2**32, 2**33], ids=["2 GiB", "4 GiB", "8 GiB"])
@pytest.mark.parametrize("splits", [1, 3])
def test_c70_page_times_stride(check_case, kv_format, kernel, edge, splits):
    """Pages on both sides of a power of two in bytes; a pool of zeros elsewhere shows a truncated address."""
    case = far_case(kv_format, 6)
    first = edge // case.pool.pages.shape[1] - 2
    splits = splits if kernel == "decode" else 1
    check_case(moved(case, sparse_pool(case.pool, first, first + 5), first), kernel=kernel, num_splits=splits)


@FAR
@pytest.mark.parametrize("stride", [2**30, 2**31 + 16, 2**32 + 4096])
def test_c70_pages_far_apart(check_case, kv_format, kernel, stride):
    """A stride that passes 2^31 by itself: pools of several layers in one block."""
    case = far_case(kv_format, 7)
    check_case(moved(case, sparse_pool(case.pool, 1, 6, page_stride=stride), 1), kernel=kernel)


@each_layout
@every_kernel
def test_c71_the_largest_ids(check_case, kv_format, kernel):
    """Slot ids up to 2^31 - 2 in a pool of one-slot pages: more than a terabyte from first to last byte."""
    small = make_case(8, tokens=2, heads=3, width=30, page_size=1, pages=64, skip=0.1, kv_format=kv_format)
    stride = -(-page_bytes(kv_format, 1) // 16) * 16
    pages = 2**31 - 1
    store = sparse_bytes(pages * stride)
    view = store[: pages * stride].reshape(pages, stride)
    view[pages - 64 :] = small.pool.pages
    check_case(moved(small, Pool(view, kv_format, 1, small.pool.row_stride), pages - 64), kernel=kernel)


@each_layout
@every_way
def test_c75_rows_far_apart(kv_format, kernel, splits):
    """Rows of q, indices, lengths, out and lse more than 2^31 elements from the first: as in T * H * d_v of 2^31."""
    rows = 4
    case = make_case(9, tokens=rows, heads=3, width=40, page_size=16, kv_format=kv_format, lengths=True)
    f = case.pool.format
    want = call(case, kernel=kernel, num_splits=splits)
    assert case.compare(*want)
    step = 2**30 + 4096  # elements
    q = far_apart(rows, (3, f.d_qk), ml_dtypes.bfloat16, 2 * step)
    indices = far_apart(rows, (40,), np.int32, 4 * step)
    lengths = far_apart(rows, (1,), np.int32, 4 * step)[:, 0]
    out = far_apart(rows, (3, f.d_v), ml_dtypes.bfloat16, 2 * step)
    lse = far_apart(rows, (3,), np.float32, 4 * step)
    q[:], indices[:], lengths[:] = case.q, case.indices, case.topk_length
    mlatile.sparse_mla(**case.arguments(q=q, indices=indices, topk_length=lengths), out=out, lse=lse, kernel=kernel,
                       num_splits=splits)
    assert same_bits(want, (np.array(out), np.array(lse)))


@each_layout
@every_kernel
def test_c75_results_of_two_to_the_31(kv_format, kernel):
    """T = 32,768 and H = 128: the plan has CTAs for all rows and heads; what scratch it asks for is counted in 64 bits."""
    plan = mlatile.plan(**SHAPE | dict(kv_format=kv_format, num_tokens=32_768, num_heads=128, kernel=kernel, num_splits=1))
    heads = int(re.search(r"-BH=(\d+)-", plan.launches[0]["kernel"])[1])
    assert plan.launches[0]["grid"] == 32_768 * 128 // heads
    split = mlatile.plan(**SHAPE | dict(kv_format=kv_format, num_tokens=32_768, num_heads=128, num_splits=2))
    assert split.workspace_bytes >= 2 * 32_768 * 128 * (512 * 2 + 3 * 4)


