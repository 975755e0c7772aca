# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every cache format, on the executor: scales, strides, views. Sizes are in test_sweep.py."""

import pathlib

import numpy as np
import pytest

import mlatile
from mlatile.testing import FORMATS, Reference, compare, executor, make_case, numbers
from cache_bytes import aim, selected, set_scales, write_bytes
from lowered_kernels import Program, compile_kernel, run
from second_caches import MAIN

DECODE = pathlib.Path(__file__).parents[2] / "kernels" / "decode.mlir"
FP32 = [name for name in MAIN if FORMATS[name].scale.startswith("f32")]
UE8M0 = [name for name in MAIN if FORMATS[name].scale == "ue8m0"]


def fp32_case(kv_format, draw, *, logits=8.0, seed=1, width=200):
    case = make_case(seed, tokens=3, heads=9, width=width, page_size=48, kv_format=kv_format)
    rng = np.random.default_rng(seed + 100)
    set_scales(case, lambda shape: draw(rng, shape).astype(np.float32))
    return aim(case, logits)


SCALES = {
    "seven tenths": lambda rng, shape: np.full(shape, 0.7),
    "around one": lambda rng, shape: rng.uniform(0.5, 2, shape),
    "six decades": lambda rng, shape: 10.0 ** rng.uniform(-3, 3, shape),
    "powers of two": lambda rng, shape: 2.0 ** rng.integers(-12, 12, shape),
    "negative": lambda rng, shape: rng.choice([-0.7, 0.3], shape),
    "large and small": lambda rng, shape: 2.0 ** rng.uniform(-60, 60, shape),
    "zero": lambda rng, shape: rng.choice([0.0, 0.9], shape),
}


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("kv_format", FP32)
def test_fp32_scales(check_case, kv_format, scales):
    check_case(fp32_case(kv_format, SCALES[scales]), num_splits=2 if scales == "around one" else None)


@pytest.mark.parametrize("kv_format", FP32)
def test_scales_far_apart(run_case, kv_format):
    """2^8 between neighbouring groups: each group is compared by itself. (Further apart, test_ranges.py, the smaller
    ones are compared with the largest.)"""
    case = fp32_case(kv_format, lambda rng, shape: rng.uniform(0.5, 1, shape) * 2.0 ** np.array([0, 8, 0, -2]))
    out, lse = run_case(case, num_splits=3)
    want, size = case.reference(), case.pool.format.group
    for group in range(case.pool.format.nope // size):
        part = slice(group * size, group * size + size)
        own = want.out[:, :, part]
        comparison = compare(out[:, :, part], Reference(own, want.lse, np.abs(own).max(axis=2)), lse=lse)
        assert comparison, f"group {group}: {comparison.text}"


def rounding(tmp_path):
    """decode.mlir that multiplies scales into 16-bit keys for every format."""
    text = DECODE.read_text()
    derived = "SCALE_E4M3 : i1 = FMT.scale_e4m3"
    assert text.count(derived) == 1
    path = tmp_path / "rounding.mlir"
    path.write_text(text.replace(derived, "SCALE_E4M3 : i1 = true"))
    return mlatile.load(path)


@pytest.mark.parametrize("kv_format", FP32)
def test_rounded_keys_would_be_noticed(check_case, run_case, tmp_path, kv_format):
    """At logits of 80 the lse tells exact scales from scales rounded into the keys, and from powers of two."""
    case = fp32_case(kv_format, SCALES["around one"], logits=80.0)
    check_case(case)
    out, lse = run_case(case, kernel=rounding(tmp_path))
    assert case.compare(out, lse).lse > 2

    exponent = make_case(1, tokens=3, heads=9, width=200, page_size=48, kv_format=kv_format)
    exponent.q, exponent.pool.pages = case.q, case.pool.pages.copy()
    _, raw = case.pool.rows(selected(case))
    write_bytes(exponent, raw & np.tile(np.array([0, 0, 0x80, 0xFF], np.uint8), raw.shape[1] // 4), scales=True)
    out, lse = run_case(exponent)
    assert exponent.compare(out, lse)
    assert case.compare(out, lse).lse > 2 and not case.compare(out)


@pytest.mark.parametrize("kv_format", UE8M0)
def test_the_exact_path_takes_byte_scales(check_case, tmp_path, kv_format):
    """tile.dot_scaled and the field `scale` are for any format with e4m3 payload."""
    text = DECODE.read_text().replace("SCALE_F32 : i1 = FMT.scale_f32", "SCALE_F32 : i1 = true")
    path = tmp_path / "exact.mlir"
    path.write_text(text)
    case = make_case(3, tokens=2, heads=17, width=130, page_size=48, kv_format=kv_format, lengths=True, sink=True)
    # Half of the candidates: sixteen groups take sixteen scaled tiles of p.
    check_case(case, kernel=mlatile.load(path, params={"BN": 16}), num_splits=2)


@pytest.mark.parametrize("kv_format", UE8M0)
def test_ue8m0_bytes_at_the_ends(check_case, kv_format):
    """0 is 2^-127, as in a footer that was never written; 254 is 2^127."""
    for choices in ([0, 1], [0, 1, 120, 130]):
        case = make_case(5, tokens=3, heads=4, width=70, page_size=32, kv_format=kv_format)
        rng = np.random.default_rng(1)
        set_scales(case, lambda shape: rng.choice(np.array(choices, np.uint8), shape))
        check_case(case, num_splits=2)

    # One candidate of 0 and +-2^127, so that out, its value, is finite.
    case = make_case(6, tokens=3, heads=4, width=1, page_size=32, kv_format=kv_format, skip=0)
    set_scales(case, lambda shape: np.full(shape, 254, np.uint8))
    rng = np.random.default_rng(2)
    payload = rng.choice(numbers.to_e4m3(np.array([0.0, 1.0, -1.0])), (len(selected(case)), case.pool.format.nope))
    write_bytes(case, payload)
    aim(case, 50.0)
    out, _ = check_case(case, compute="bf16")  # fp8 holds to logits of +-16
    assert np.abs(out.astype(np.float64)).max() == 2.0**127


@pytest.mark.parametrize("row_stride", [528, 656, 672])
def test_row_strides(check_case, row_stride):
    """glm53_nope stands in rows of its own size or of its siblings'; what is between is NaN and never read."""
    case = make_case(
        7, tokens=3, heads=5, width=90, page_size=48, kv_format="glm53_nope", row_stride=row_stride, lengths=True
    )
    check_case(case, row_stride=row_stride, num_splits=2)


@pytest.mark.parametrize("kv_format,row_stride", [("dsv3_2", 656), ("glm", 656), ("glm", 688), ("glm53_nope", 656)])
def test_inline_views(run_case, kv_format, row_stride):
    """Pages of tokens, NHD and HND: the token axis says the row stride."""
    case = make_case(8, tokens=2, heads=5, width=60, page_size=16, kv_format=kv_format, row_stride=row_stride)
    expected = run_case(case, row_stride=row_stride)
    assert case.compare(*expected)
    pages = case.pool.pages
    used = min(row_stride, FORMATS[kv_format].data_row)
    tokens = pages[:, : 16 * row_stride].reshape(len(pages), 16, row_stride)[:, :, :used]
    for view in (tokens, tokens[:, :, None], tokens[:, None]):
        out, lse = run_case(case, kv_cache=view)
        assert out.tobytes() == expected[0].tobytes() and lse.tobytes() == expected[1].tobytes()
    with pytest.raises(mlatile.ArgumentError, match="`row_stride`: expected"):
        run_case(case, kv_cache=tokens, row_stride=row_stride + 16)


@pytest.mark.parametrize(("warps", "heads", "rows"), [(1, 32, 32), (2, 16, 48), (4, 64, 16), (8, 16, 16), (8, 32, 64)])
def test_other_tiles(warps, heads, rows):
    """Blocks of scales fit other arrangements of warps. (Some of these need sm_90a's shared memory.)"""
    compiled = compile_kernel(FMT="glm", HAS_LENGTH=False, LSE=1, WARPS=warps, BH=heads, BN=rows, target="sm_90a")
    program = Program(compiled.blobs["llvm"], compiled.meta)
    for width in (5, 130):
        case = make_case(8, tokens=1, heads=40, width=width, page_size=16, kv_format="glm")
        arrays, _ = run(program, case, head_tile=heads, seed=1)
        assert arrays.compare(lse=True), arrays.compare(lse=True).text


@pytest.mark.parametrize("kv_format", FP32)
def test_the_order_of_warps_does_not_matter(kv_format):
    case = make_case(10, tokens=1, heads=20, width=100, page_size=16, kv_format=kv_format)
    outs = set()
    for seed in range(4):
        with executor(seed=seed):
            outs.add(mlatile.sparse_mla(**case.arguments(num_splits=1)).tobytes())
    assert len(outs) == 1


@pytest.mark.parametrize("kv_format", MAIN)
def test_splits_and_framing_do_not_matter(run_case, kv_format):
    case = make_case(9, tokens=4, heads=6, width=70, page_size=16, kv_format=kv_format)
    out = run_case(case, num_splits=2)[0]
    framed = mlatile.sparse_mla(
        **case.arguments(q=case.q.reshape(2, 2, 6, -1), indices=case.indices.reshape(2, 2, 70), num_splits=2)
    )
    assert framed.tobytes() == out.tobytes()
