# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partial outputs in f16 over a power of two of each head (kernels/steps/partial.mlir): outputs of any size, and of
different sizes side by side."""

import numpy as np
import pytest
from cache_bytes import aim, selected, set_scales, write_bytes
from lowered_kernels import Program, compile_kernel, edited, planned_params
from split_forms import Splits

from mlatile.testing import FORMATS, make_case, numbers

FORMS = ["dependent", "slices", "cluster"]
BOUND = 1e-2


def sized_case(kv_format, first, others, heads=5):
    """96 candidates in three splits of 32: scales of 2^first of the first split's, 2^others of the others'. Rope parts,
    which have no scales, are zero."""
    case = make_case(3, tokens=3, heads=heads, width=96, page_size=32, kv_format=kv_format, skip=0)
    slots = selected(case)
    # A slot of the first split is in no other.
    is_first = np.arange(len(slots)) % 3 == 0
    rng = np.random.default_rng(4)
    case.indices[:, :32] = rng.choice(slots[is_first], (3, 32))
    case.indices[:, 32:] = rng.choice(slots[~is_first], (3, 64))
    is_first = np.isin(selected(case), slots[is_first])
    payload = rng.choice(numbers.to_e4m3(np.array([-1.5, -1.0, 0.0, 1.0, 1.5])), (len(is_first), case.pool.format.nope))
    write_bytes(case, payload)
    pool, f, slots = case.pool, case.pool.format, selected(case)
    at = pool._places(slots)[0] + f.rope_at
    pool.pages[(slots // pool.page_size)[:, None], at[:, None] + np.arange(2 * f.rope)] = 0
    exponents = np.where(is_first, first, others)[:, None]
    is_f32 = FORMATS[kv_format].scale.startswith("f32")
    scales = np.ldexp(np.float32(1), exponents) if is_f32 else (exponents + 127).astype(np.uint8)
    set_scales(case, lambda shape: np.broadcast_to(scales, shape))
    return case


def error_of(case, out):
    """By the largest value of a row and head alone, also where that is tiny."""
    want = case.reference().out
    return (np.abs(out.astype(np.float64) - want).max(axis=2) / np.abs(want).max(axis=2)).max()


def joined(case, form, **tile):
    work = Splits(case, 3, **planned_params(case.pool.kv_format) | tile)
    if form == "cluster":
        return work.cluster()[2]
    if form == "slices":
        return work.slices()[2]
    work.decode()
    return work.merge(dependent=True)[2]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("first", "others"), [(99, 99), (-100, -100), (60, -40), (-40, 60), (-100, -20)])
@pytest.mark.parametrize("kv_format", ["dsv4", "glm", "dots3_swa"])
def test_any_size(kv_format, first, others, form):
    case = aim(sized_case(kv_format, first, others), 5.0)
    arrays = joined(case, form)
    comparison = arrays.compare(lse=True)
    assert comparison, comparison.text
    assert error_of(case, arrays.out) <= BOUND
    largest = np.abs(arrays.out.astype(np.float64)).max()
    assert 2.0 ** (max(first, others) - 7) < largest < 2.0 ** (max(first, others) + 2)


@pytest.mark.parametrize("form", FORMS)
def test_a_heavy_split_of_tiny_values(form):
    """What the first split leaves is tiny and has nearly all of the weight: its unit must not be another split's."""
    case = sized_case("glm", -100, -103)
    case = aim(case, 60.0)
    arrays = joined(case, form)
    assert arrays.compare(lse=True)
    assert error_of(case, arrays.out) <= BOUND


def equal_weights(width, values, exponent):
    """Scores of zero; groups of elements drawn from values, with scales of 2^exponent, and one of zeros, with one of 1."""
    case = make_case(5, tokens=1, heads=3, width=width, page_size=32, skip=0)
    case.q[:] = 0
    pool, f = case.pool, case.pool.format
    pool.pages[:] = 0
    case.indices[0] = np.arange(width) % pool.slots
    set_scales(case, lambda shape: np.where(np.arange(shape[1]), exponent + 127, 127).astype(np.uint8)[None].repeat(shape[0], 0))
    payload = numbers.to_e4m3(np.random.default_rng(6).choice(values, (len(selected(case)), f.nope)))
    payload[:, : f.group] = 0
    write_bytes(case, payload)
    return case


# Sums of 256 elements of 448 are past f16, those of 32 of 2^-29 are below it.
BEYOND = {"above": lambda: equal_weights(768, [448.0], 0), "below": lambda: equal_weights(96, [2**-9, -(2**-9)], -20)}


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("form", FORMS)
def test_sums_beyond_f16(beyond, form):
    arrays = joined(BEYOND[beyond](), form)
    assert arrays.compare(lse=True), arrays.compare(lse=True).text


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("form", ["dependent", "slices"])
def test_without_units(tmp_path, monkeypatch, beyond, form):
    """The cases above are ones that need them."""
    # A unit of one.
    one = ("%most_ = arith.constant 128.0 : f32\n  %same = tile.full %most_ : f32 -> !row\n"
           "  %unit, %inverse = func.call @unit_of(%same)")
    source = edited(tmp_path, {"steps/partial.mlir": {"%unit, %inverse = func.call @unit_of(%most)": one}})

    def program(kernel, **params):
        compiled = compile_kernel(source, kernel=kernel, **params)
        return Program(compiled.blobs["llvm"], compiled.meta)

    monkeypatch.setattr("split_forms.program", program)
    assert not joined(BEYOND[beyond](), form).compare()


def test_partial_outputs_are_within_f16():
    """Of each split and head the largest is between 2^7 and 2^8, if it has any."""
    case = aim(sized_case("dsv4", 60, -40, heads=17), 5.0)
    case.topk_length = np.array([96, 40, 0], np.int32)
    work = Splits(case, 3)
    work.decode()
    largest = np.abs(work.parts["part_o"].astype(np.float64)).max(-1)
    units = work.parts["part_u"].astype(np.float64)
    there = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0]], bool)
    assert ((largest[there] >= 2**7) & (largest[there] <= 2**8)).all()
    assert (largest[~there] == 0).all()
    assert (np.frexp(units)[0] == 0.5).all()
    assert work.merge()[2].compare(lse=True)
