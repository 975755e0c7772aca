# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second cache: its own format, page size, strides, indices and lengths, and one softmax over both lists."""

import dataclasses

import numpy as np
import pytest
from public_cases import call, merged, same_bits
from second_caches import EXTRA_ONLY, KERNELS, MAIN, PAIRS, support

import mlatile
from mlatile.testing import FORMATS, executor, make_case

kernels = pytest.mark.parametrize("kernel", KERNELS)
pairs = pytest.mark.parametrize(("kv_format", "extra"), PAIRS)
TWO = dict(extra_width=64, extra_page_size=64)
PROBLEM = dict(num_tokens=3, num_heads=5, width=40, kv_format="dsv4", page_size=16, target="sm_120a")


def two_caches(seed, kv_format="dsv4", extra="dsv4", **changes):
    sizes = dict(tokens=3, heads=5, width=70, page_size=16, extra_width=40, extra_page_size=48)
    return make_case(seed, kv_format=kv_format, extra_kv_format=extra, **sizes | changes)


def alone(case, main=True):
    """One of the two lists as a case of its own."""
    if main:
        return dataclasses.replace(case, extra_pool=None, extra_indices=None, extra_topk_length=None)
    return dataclasses.replace(
        case, pool=case.extra_pool, indices=case.extra_indices, topk_length=case.extra_topk_length, extra_pool=None,
        extra_indices=None, extra_topk_length=None,
    )


# ---- what needs no kernel --------------------------------------------------


@pairs
def test_the_reference_is_the_merge_of_both_lists(kv_format, extra):
    """By another way: two references without a sink, weighed by their lse, and the sink once."""
    case = two_caches(1, kv_format, extra, lengths=True, extra_lengths=True, sink=True)
    both = case.reference()
    first, second = (dataclasses.replace(alone(case, main), attn_sink=None).reference() for main in (True, False))
    sink = np.broadcast_to(case.attn_sink.astype(np.float64), both.lse.shape)
    outs = [first.out, second.out, np.zeros_like(first.out)]
    assert np.abs(merged(outs, [first.lse, second.lse, sink], "e") - both.out).max() < 1e-12
    assert np.abs(np.logaddexp(np.logaddexp(first.lse, second.lse), sink) - both.lse).max() < 1e-12


def test_a_second_list_changes_nothing_else_of_a_case():
    one, two = make_case(2, tokens=2, heads=3, width=9, page_size=4, sink=True), make_case(
        2, tokens=2, heads=3, width=9, page_size=4, sink=True, extra_width=5)
    assert one.q.tobytes() == two.q.tobytes() and one.pool.pages.tobytes() == two.pool.pages.tobytes()
    assert np.array_equal(one.attn_sink, two.attn_sink) and two.extra_indices.shape == (2, 5)


@kernels
@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize("extra", FORMATS)
def test_pairs(kernel, kv_format, extra):
    """Legal pairs are taken; the others are refused by their parts."""
    answer = support(kernel, kv_format, extra)
    if (kv_format, extra) in PAIRS:
        assert answer.ok, answer.reason
        return
    f, g = FORMATS[kv_format], FORMATS[extra]
    same_sizes = (f.d_qk, f.d_v) == (g.d_qk, g.d_v)
    error = mlatile.UnsupportedError if same_sizes else mlatile.ArgumentError
    with pytest.raises(error) as caught:
        mlatile.plan(**PROBLEM | dict(kv_format=kv_format), **TWO, extra_kv_format=extra, kernel=kernel)
    assert ("cannot stand together" if same_sizes else "`extra_kv_format`: expected a format with d_qk") in str(caught.value)
    assert not answer.ok and kv_format in answer.reason and extra in answer.reason


def test_the_default_format_is_the_first_one():
    for changes in ({}, dict(extra_kv_format="dsv4")):
        assert " of `dsv4`, pages of 64" in str(mlatile.plan(**PROBLEM, **TWO, **changes))
    assert "only in the extra cache" in mlatile.supported(**PROBLEM | dict(kv_format=EXTRA_ONLY)).reason


@pytest.mark.parametrize("compute", ["fp8", "fp8_fast"])
def test_fp8_is_refused_for_four_bits(compute):
    answer = mlatile.supported(**PROBLEM | dict(kv_format="dsv4_1"), **TWO, extra_kv_format=EXTRA_ONLY, compute=compute)
    assert not answer.ok and f"compute `{compute}` is refused for `{EXTRA_ONLY}`" in answer.reason


WRONG_PLANS = [
    (dict(extra_width=0, extra_page_size=64), "`extra_width`: expected 1 to"),
    (dict(extra_width=64), "`extra_page_size`: expected a value with extra_width"),
    (dict(extra_width=64, extra_page_size=0), "`extra_page_size`: expected 1 to"),
    (dict(extra_page_size=64), "`extra_page_size`: expected none without extra_width, got 64"),
    (dict(extra_kv_format="dsv4"), "`extra_kv_format`: expected none without extra_width, got 'dsv4'"),
    (dict(extra_page_stride=592), "`extra_page_stride`: expected none without extra_width"),
    (dict(has_extra_topk_length=True), "`has_extra_topk_length`: expected none without extra_width"),
    (TWO | dict(extra_kv_format="v4"), "`extra_kv_format`: expected 'dsv3_2'"),
    (TWO | dict(extra_page_stride=37384), "`extra_page_stride`: .* next good one is 37392"),
    (TWO | dict(extra_page_stride=37360), "`extra_page_stride`: expected at least 37376"),
    (TWO | dict(has_extra_topk_length=1), "`has_extra_topk_length`: expected True or False"),
]


@pytest.mark.parametrize("changes,text", WRONG_PLANS)
def test_wrong_plans(changes, text):
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        mlatile.plan(**PROBLEM, **changes)
    assert mlatile.supported(**PROBLEM, **changes).reason == str(caught.value)


CASE = two_caches(3, lengths=True, extra_lengths=True)
WRONG_CALLS = [
    ("extra_indices", dict(extra_indices=None), "expected an array with extra_kv_cache, got none"),
    ("extra_page_size", dict(extra_page_size=None), "expected a value with extra_kv_cache, got none"),
    ("extra_page_size", dict(extra_page_size=0), "expected 1 to 2147483647, got 0"),
    ("extra_page_size", dict(extra_page_size=True), "expected an integer"),
    ("extra_indices", dict(extra_kv_cache=None), "expected none without extra_kv_cache"),
    ("extra_kv_format", dict(extra_kv_format="v4"), "expected 'dsv3_2'"),
    ("extra_kv_format", dict(extra_kv_format=4), "expected a string"),
    ("extra_kv_cache", dict(extra_kv_cache=CASE.extra_pool.pages.view(np.int8)), "expected uint8"),
    ("extra_kv_cache", dict(extra_kv_cache=CASE.extra_pool.pages[:, :9000]), "expected at least 28032 bytes a page"),
    ("extra_page_stride", dict(extra_page_stride=28040), "next good one is 28048"),
    ("extra_page_stride", dict(extra_page_stride=28048), "expected 28032, the stride"),
    ("extra_indices", dict(extra_indices=CASE.extra_indices.astype(np.int64)), "expected int32, got int64"),
    ("extra_indices", dict(extra_indices=CASE.extra_indices[:2]), r"expected shape \[3, W\]"),
    ("extra_indices", dict(extra_indices=CASE.extra_indices[:, :0]), "expected a width"),
    ("extra_indices", dict(extra_indices=np.asfortranarray(CASE.extra_indices)), "contiguous last dimension"),
    ("extra_topk_length", dict(extra_topk_length=np.ones(4, np.int32)), r"expected shape \[3\]"),
    ("extra_topk_length", dict(extra_topk_length=np.ones(3, np.int64)), "expected int32, got int64"),
]


@pytest.mark.parametrize("name,changes,text", WRONG_CALLS, ids=[f"{i}-{w[0]}" for i, w in enumerate(WRONG_CALLS)])
def test_wrong_calls(name, changes, text):
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        call(CASE, **changes)
    assert f"argument `{name}`: " in str(caught.value)


# ---- numbers ---------------------------------------------------------------


@kernels
@pairs
def test_every_pair(check_case, kernel, kv_format, extra):
    """Lengths on both, a sink, other page sizes; unselected slots of both pools hold NaN. Checked mode is clean."""
    number = PAIRS.index((kv_format, extra))
    case = two_caches(number, kv_format, extra, lengths=True, extra_lengths=True, sink=True)
    with executor(seed=number, checked=True):
        check_case(case, kernel=kernel, lse_base="e" if number % 2 else "2")


SPLITS = pytest.mark.parametrize("kernel,splits", [*((k, None) for k in KERNELS), *(("decode", n) for n in (1, 2, 5, 9, 40))])


@SPLITS
@pytest.mark.parametrize("lengths,extra_lengths", [(False, False), (True, False), (False, True)])
def test_lengths_on_either(check_case, kernel, splits, lengths, extra_lengths):
    case = two_caches(4, lengths=lengths, extra_lengths=extra_lengths, sink=True)
    check_case(case, kernel=kernel, num_splits=splits)


@SPLITS
@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("how", ["skipped", "length"])
def test_either_list_may_be_empty(check_case, kernel, splits, how, sink):
    """Row 0 has no first list, row 1 no second one, row 2 neither; then a list that is empty in every row."""
    case = two_caches(5, lengths=how == "length", extra_lengths=how == "length", sink=sink)

    def clear(main, rows):
        if how == "skipped":
            (case.indices if main else case.extra_indices)[rows] = -1
        else:
            (case.topk_length if main else case.extra_topk_length)[rows] = 0

    clear(True, [0, 2])
    clear(False, [1, 2])
    out, lse = check_case(case, kernel=kernel, num_splits=splits)
    assert not out[2].astype(np.float32).any()
    if not sink:
        assert (lse[2] == -np.inf).all()
    clear(True, slice(None))
    check_case(case, kernel=kernel, num_splits=splits)


@kernels
@pytest.mark.parametrize("width,extra_width", [(1, 1), (1, 65), (65, 1), (32, 32), (31, 33), (129, 513)])
def test_widths(check_case, kernel, width, extra_width):
    check_case(two_caches(6, width=width, extra_width=extra_width), kernel=kernel)


@pytest.mark.parametrize("kernel,splits", [*((k, 1) for k in KERNELS), ("decode", 4)])
@pytest.mark.parametrize("sink", [0.0, 40.0, np.inf, -np.inf])
def test_the_sink_counts_once(check_case, kernel, splits, sink):
    case = two_caches(7)
    case.attn_sink = np.full(5, sink, np.float32)
    check_case(case, kernel=kernel, num_splits=splits)


@kernels
@pytest.mark.parametrize(("kv_format", "extra"), [("dsv4", "dsv4"), ("dsv4", "dsv4_nvfp4"), ("dsv4_1", EXTRA_ONLY)])
def test_strides_and_framing(run_case, kernel, kv_format, extra):
    """Rows of extra_indices in a longer buffer, lengths with a stride, pages with padding, [B, S] rows: the same bits."""
    case = two_caches(8, kv_format, extra, tokens=6, lengths=True, extra_lengths=True)
    plain = run_case(case, kernel=kernel)
    assert case.compare(*plain)
    store = np.full((6, 7936), 2**31 - 1, np.int32)
    store[:, :40] = case.extra_indices
    lengths = np.full((6, 5), 2**31 - 1, np.int32)
    lengths[:, 2] = case.extra_topk_length
    pages = np.full((len(case.extra_pool.pages), case.extra_pool.pages.shape[1] + 576), 0xFF, np.uint8)
    pages[:, :-576] = case.extra_pool.pages
    more = dict(extra_indices=store[:, :40], extra_topk_length=lengths[:, 2], extra_kv_cache=pages, kernel=kernel)
    assert same_bits(plain, run_case(case, **more))
    assert same_bits(plain, run_case(case, **more | dict(extra_indices=case.extra_indices[:, None, :])))
    framed = call(
        case, kernel=kernel, q=case.q.reshape(2, 3, 5, 512), indices=case.indices.reshape(2, 3, 70),
        topk_length=case.topk_length.reshape(2, 3), extra_topk_length=case.extra_topk_length.reshape(2, 3),
        extra_indices=np.lib.stride_tricks.as_strided(store, (2, 3, 40), (4 * 3 * 7936, 4 * 7936, 4)),
    )
    assert same_bits(plain, framed)


@kernels
def test_row_stride_of_an_inline_second_pool(run_case, kernel):
    """There is no argument for it: the token axis of a view says it."""
    case = two_caches(9, "glm53_nope", "glm53_nope")
    plain = run_case(case, kernel=kernel)
    assert case.compare(*plain)
    pages, size = len(case.extra_pool.pages), case.extra_pool.page_size
    wide = np.full((pages, size, 656), 0xFF, np.uint8)
    wide[:, :, :528] = case.extra_pool.pages.reshape(pages, size, 528)
    assert same_bits(plain, run_case(case, kernel=kernel, extra_kv_cache=wide))


def refill(pool, indices, lengths, byte):
    """Puts the byte everywhere but into the selected slots."""
    slots = np.unique(indices[np.arange(indices.shape[1])[None, :] < lengths[:, None]])
    slots = slots[(slots >= 0) & (slots < pool.slots)]
    data, scales = pool.rows(slots)
    data_at, scale_at = pool._places(slots)
    page = (slots // pool.page_size)[:, None]
    pool.pages[:] = byte
    pool.pages[page, data_at[:, None] + np.arange(data.shape[1])] = data
    pool.pages[page, scale_at[:, None] + np.arange(scales.shape[1])] = scales


@kernels
@pytest.mark.parametrize("byte", [0x00, 0x7E, 0x7F])
def test_bytes_of_slots_that_are_not_selected(run_case, kernel, byte):
    """Zeros, the largest values, NaN of another kind, in either pool: the same bits."""
    case = two_caches(10, lengths=True, extra_lengths=True)
    plain = run_case(case, kernel=kernel)
    assert case.compare(*plain)
    refill(case.pool, case.indices, case.topk_length, byte)
    assert same_bits(plain, run_case(case, kernel=kernel))
    refill(case.extra_pool, case.extra_indices, case.extra_topk_length, byte)
    assert same_bits(plain, run_case(case, kernel=kernel))


@kernels
def test_no_rows(kernel):
    case = two_caches(11, tokens=0, lengths=True, extra_lengths=True)
    out, lse = call(case, kernel=kernel)
    assert out.shape == (0, 5, 512) and lse.shape == (0, 5)
    framed = call(case, kernel=kernel, q=case.q.reshape(0, 4, 5, 512), indices=case.indices.reshape(0, 4, 70),
                  extra_indices=case.extra_indices.reshape(0, 4, 40), topk_length=case.topk_length.reshape(0, 4),
                  extra_topk_length=case.extra_topk_length.reshape(0, 4))
    assert framed[0].shape == (0, 4, 5, 512)


@kernels
@pytest.mark.parametrize(("first", "second"), [(128, 512), (1, 63), (64, 1)])
@pytest.mark.parametrize("kv_format", MAIN)
def test_one_list_or_two(check_case, kernel, kv_format, first, second):
    """One list of 640, or 128 and 512 of the same pool: the same answer."""
    case = make_case(12, tokens=2, heads=8, width=first + second, page_size=64, kv_format=kv_format, sink=True)
    whole = check_case(case, kernel=kernel)
    two = dataclasses.replace(
        case, indices=case.indices[:, :first], extra_pool=case.pool, extra_indices=case.indices[:, first:],
    )
    parts = check_case(two, kernel=kernel)
    assert case.compare(*parts)
    assert np.abs(whole[1] - parts[1]).max() < 4e-3
