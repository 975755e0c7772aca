# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products in f16 keep the range of bf16 and of scales (kernels/steps/keys.mlir, query.mlir): scales and queries of any
size, side by side. Errors are relative to the largest value of a row and head, also where that is tiny."""

import ml_dtypes
import numpy as np
import pytest
from cache_bytes import aim, selected, set_scales, write_bytes
from lowered_kernels import DECODE, edited
from second_caches import MAIN

import mlatile
from mlatile.testing import FORMATS, make_case, numbers

KERNELS = ["decode", "swapab"]
ONCE = {"ROLES": "4c+4+8", "BH": 16, "BN": 16}  # keys that have their scales when they are converted
UE8M0 = [name for name in MAIN if FORMATS[name].scale == "ue8m0"]
APART = [name for name in MAIN if FORMATS[name].scale != "e4m3"]  # scales that are not multiplied into keys
BOUND = 1e-2


def check(check_case, case, **options):
    """The bounds of test cases, and the error of `out` by its own largest value alone."""
    out, lse = check_case(case, **options)
    want = case.reference().out
    error = np.abs(out.astype(np.float64) - want).max(axis=2) / np.abs(want).max(axis=2)
    assert (error <= BOUND).all(), error.max()
    return out, lse


def scaled_case(kv_format, exponents, *, by, logits, seed=3, signed=False):
    """Scales 2^(one of exponents), times 1 to 2 where they are f32; drawn for each group, or `by` candidate."""
    case = make_case(seed, tokens=3, heads=5, width=90, page_size=32, kv_format=kv_format)
    rng = np.random.default_rng(seed)
    is_f32 = FORMATS[kv_format].scale.startswith("f32")

    def draw(shape):
        drawn = rng.choice(np.array(exponents), shape if by == "group" else (shape[0], 1))
        drawn = np.broadcast_to(drawn, shape)
        if not is_f32:
            return (drawn + 127).astype(np.uint8)
        sign = rng.choice([-1, 1], shape) if signed else 1
        return (sign * np.ldexp(rng.uniform(1, 2, shape), drawn)).astype(np.float32)

    set_scales(case, draw)
    # Payloads of one size: the largest group is known, and sums stay finite.
    payload = rng.choice(numbers.to_e4m3(np.array([-1.5, -1.0, 0.0, 1.0, 1.5])), (len(selected(case)), case.pool.format.nope))
    write_bytes(case, payload)
    if logits == 0:
        case.q[:] = 0
    else:
        aim(case, logits)
    return case


EXPONENTS = {
    "small": [-120, -100], "large": [90, 100], "ordinary": [-12, -3, 4], "far apart": [-60, 40], "1e-30 to 1e30": [-100, 0, 99],
    "with a footer of zeros": [-127, -6],
}


@pytest.mark.parametrize("logits", [0, 5, 50])
@pytest.mark.parametrize("by", ["group", "candidate"])
@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("kv_format", APART)
@pytest.mark.parametrize("kernel", KERNELS)
def test_scales_of_any_size(check_case, kernel, kv_format, exponents, by, logits):
    check(check_case, scaled_case(kv_format, EXPONENTS[exponents], by=by, logits=logits), kernel=kernel)


@pytest.mark.parametrize("exponents", EXPONENTS)
@pytest.mark.parametrize("kv_format", [name for name in APART if name != "dots3_swa"])  # for which 101,376 bytes are too few
def test_scales_in_keys_that_are_converted_once(check_case, kv_format, exponents):
    kernel = mlatile.load(DECODE, params=ONCE)
    for by in ("group", "candidate"):
        check(check_case, scaled_case(kv_format, EXPONENTS[exponents], by=by, logits=5), kernel=kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kv_format", ["dsv4", "glm"])
def test_splits_and_two_caches_of_different_scales(check_case, kernel, kv_format):
    """Units differ between splits, and between the lists."""
    case = scaled_case(kv_format, [-40, 20], by="candidate", logits=5)
    check(check_case, case, num_splits=1 if kernel == "swapab" else 3, kernel=kernel)
    second = make_case(4, tokens=3, heads=5, width=40, page_size=16, kv_format=kv_format)
    case.extra_pool, case.extra_indices = second.pool, second.indices
    check(check_case, case, kernel=kernel)


@pytest.mark.parametrize("exponents", [[0], [-40, 40]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_negative_scales(check_case, kernel, exponents):
    """The unit is of the largest magnitude."""
    check(check_case, scaled_case("glm", exponents, by="group", logits=5, signed=True), kernel=kernel)


@pytest.mark.parametrize(("kv_format", "kernel"), [(name, kernel) for name in UE8M0 for kernel in (*KERNELS, "converted once")
                                                   if (name, kernel) != ("dots3_swa", "converted once")])
def test_the_largest_scale(check_case, kernel, kv_format):
    """254 is 2^127, in every group of one candidate; 0 beside it."""
    if kernel == "converted once":
        kernel = mlatile.load(DECODE, params=ONCE)
    case = make_case(6, tokens=3, heads=4, width=1, page_size=32, kv_format=kv_format, skip=0)
    set_scales(case, lambda shape: np.where(np.arange(shape[1]) % 2, 254, 0)[None].repeat(shape[0], 0).astype(np.uint8))
    payload = np.random.default_rng(2).choice(numbers.to_e4m3(np.array([0.0, 1.0, -1.0])), (len(selected(case)), case.pool.format.nope))
    write_bytes(case, payload)
    out, _ = check(check_case, aim(case, 20.0), kernel=kernel)
    assert np.abs(out.astype(np.float64)).max() == 2.0**127


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kv_format", APART)
def test_a_nan_scale_reaches_its_rows(run_case, kernel, kv_format):
    """ue8m0 255, or an f32 NaN, in one group of one candidate: rows that select it are NaN, the others are not."""
    case = make_case(8, tokens=4, heads=5, width=40, page_size=16, kv_format=kv_format, skip=0.1)
    slots = selected(case)
    slot = slots[len(slots) // 2]
    case.indices[case.indices == slot] = -1
    case.indices[1, 3] = slot
    pool = case.pool
    at = int(pool._places(np.array([slot]))[1][0])
    width = 4 if FORMATS[kv_format].scale.startswith("f32") else 1
    pool.pages[slot // pool.page_size, at + width : at + 2 * width] = 0xFF
    out, lse = run_case(case, kernel=kernel)
    is_nan = np.isnan(case.reference().lse)
    assert is_nan[1].all() and not is_nan[[0, 2, 3]].any()
    np.testing.assert_array_equal(np.isnan(lse), is_nan)
    np.testing.assert_array_equal(np.isnan(out.astype(np.float64)), np.broadcast_to(is_nan[:, :, None], out.shape))


SIZES = {"tiny": 1e-30, "huge": 1e30, "ordinary": 1.0}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize("kernel", KERNELS)
def test_queries_of_any_size(check_case, kernel, kv_format, size):
    """With sm_scale to match, so that logits are ordinary."""
    case = make_case(9, tokens=3, heads=5, width=90, page_size=32, kv_format=kv_format)
    case.q = (case.q.astype(np.float64) * SIZES[size]).astype(case.q.dtype)
    case.sm_scale = float(np.float32(case.sm_scale / SIZES[size]))
    check(check_case, case, kernel=kernel)


@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize("kernel", KERNELS)
def test_heads_of_different_sizes(check_case, kernel, kv_format):
    """Each head has a power of two of its own; one is of zeros: all its weights are one."""
    case = make_case(10, tokens=2, heads=9, width=70, page_size=32, kv_format=kv_format)
    sizes = np.array([1e-30, 1e-20, 1e-10, 1e-3, 1, 2, 4, 0, 1e-38])
    case.q = (case.q.astype(np.float64) * sizes[:, None]).astype(case.q.dtype)
    _, lse = check(check_case, case, kernel=kernel)
    valid = ((case.indices >= 0) & (case.indices < case.pool.slots)).sum(axis=1)
    np.testing.assert_allclose(lse[:, 7], np.log2(valid), atol=1e-5)


@pytest.mark.parametrize("part", ["nope", "rope"])
@pytest.mark.parametrize("ratio", [2.0**10, 2.0**20, 2.0**40, 1e30])
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_huge_element_beside_tiny_ones(check_case, kernel, part, ratio):
    """The huge one meets zeros in every key, so that the tiny ones decide, as far as they are exact in f16: to 2^-23."""
    case = make_case(11, tokens=3, heads=5, width=90, page_size=32, kv_format="glm")
    f, slots = case.pool.format, selected(case)
    column = 5 if part == "nope" else f.nope + 5
    data, _ = case.pool.rows(slots)
    if part == "nope":
        data[:, 5] = 0
        write_bytes(case, data[:, : f.nope])
    else:
        at = case.pool._places(slots)[0] + f.rope_at + 2 * 5
        case.pool.pages[(slots // case.pool.page_size)[:, None], at[:, None] + np.arange(2)] = 0
    q = case.q.astype(np.float64)
    q[:, :, column] = ratio * np.abs(q).max()
    case.q = q.astype(ml_dtypes.bfloat16)
    if ratio > 2.0**20:
        case.sm_scale /= ratio * 2.0**-20  # else the tiny ones would decide, which are off by 2^-32 of the huge one
    check(check_case, case, kernel=kernel)


def test_a_huge_element_that_counts(check_case):
    case = make_case(12, tokens=3, heads=5, width=90, page_size=32, kv_format="dsv4")
    case.q[:, :, 7] = 1e30
    case.sm_scale = 1e-30
    check(check_case, case)


def set_rope(case, slots, column):
    """Makes the rope part of slots a one in one column, else zeros."""
    pool = case.pool
    rope = np.zeros((len(slots), pool.format.rope), ml_dtypes.bfloat16)
    rope[:, column] = 1
    at = pool._places(slots)[0] + pool.format.rope_at
    pool.pages[(slots // pool.page_size)[:, None], at[:, None] + np.arange(2 * pool.format.rope)] = rope.view(np.uint8)


def small_beside_large(gap, second):
    """One nvfp4 key of the smallest scale and of zeros, and keys of large values whose scores are `gap` powers of two
    lower: dsv4 with scales 2^-9 in a second list, or of the largest e4m3 scale in the same one. What is summed is theirs."""
    case = make_case(13, tokens=1, heads=3, width=1 if second else 16, page_size=32, kv_format="dsv4_nvfp4", skip=0)
    f, slots, first = case.pool.format, selected(case), case.indices[0, 0]
    large = make_case(14, tokens=1, heads=3, width=16, page_size=32, kv_format="dsv4", skip=0) if second else case
    if second:
        set_scales(large, lambda shape: np.full(shape, 127 - 9, np.uint8))
        set_rope(large, selected(large), 1)
        case.extra_pool, case.extra_indices = large.pool, large.indices
    is_first = slots == first
    set_scales(case, lambda shape: np.where(is_first[:, None], 1, 0x7E).astype(np.uint8).repeat(shape[1], 1))
    payload = np.random.default_rng(15).integers(0, 256, (len(slots), f.nope // 2)).astype(np.uint8)
    payload[is_first] = 0
    write_bytes(case, payload)
    set_rope(case, slots, 1)
    set_rope(case, slots[is_first], 0)
    case.q[:] = 0
    case.q[:, :, f.nope] = 1
    case.sm_scale = gap * np.log(2)
    return case


def error_of_values(case, out):
    nope = case.pool.format.nope
    want = case.reference().out[:, :, :nope]
    return (np.abs(out.astype(np.float64)[:, :, :nope] - want).max(axis=2) / np.abs(want).max(axis=2)).max()


# Over a reference that followed the score alone, 2^-gap u falls between the smallest numbers of f16.
GAPS = [(True, gap) for gap in (10.5, 11.5, 12.5, 13.2)] + [(False, gap) for gap in (19.5, 20.5, 21.5)]


@pytest.mark.parametrize(("second", "gap"), GAPS)
@pytest.mark.parametrize("kernel", [*KERNELS, "prefill"])
def test_large_values_of_little_weight_beside_a_small_scale_of_e4m3(check_case, kernel, second, gap):
    case = small_beside_large(gap, second)
    out, _ = check_case(case, kernel=kernel, **(dict(num_splits=1) if kernel == "decode" else {}))
    assert error_of_values(case, out) <= BOUND


@pytest.mark.parametrize(("second", "gap"), GAPS)
def test_without_the_unit_of_e4m3_scales(tmp_path, run_case, second, gap):
    """The case above is one that needs it."""
    kernel = mlatile.load(edited(tmp_path, {"steps/keys.mlir": {
        "%least_e4m3 = arith.constant 0x3C000000": "%least_e4m3 = arith.constant 0x3F800000",
        "%most_e4m3 = arith.constant 0x43800000": "%most_e4m3 = arith.constant 0x3F800000"}}))
    case = small_beside_large(gap, second)
    out, _ = run_case(case, kernel=kernel, num_splits=1)
    assert error_of_values(case, out) > BOUND
