# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: shapes without a kernel, strides, views and layouts (C01 to C2B)."""

import ml_dtypes
import numpy as np
import pytest
from public_cases import SHAPE, call, each_layout, every_format, merged, rows_of, same_bits
from second_caches import KERNELS

import mlatile
from mlatile.testing import executor, make_case

# ---- shapes that had no kernel ---------------------------------------------


@each_layout
@pytest.mark.parametrize("rows", [5, 6, 12, 66])
@pytest.mark.parametrize("width", [131, 133, 192])
def test_c01_rows_and_widths_of_drafts(check_case, kv_format, rows, width):
    """k + 1 rows a request, window + k candidates, at more than 64 rows too."""
    check_case(make_case(rows, tokens=rows, heads=4, width=width, page_size=64, kv_format=kv_format))


@each_layout
@pytest.mark.parametrize("heads", [32, 64])
def test_c04_wide_window(check_case, kv_format, heads):
    check_case(make_case(1, tokens=2, heads=heads, width=512, page_size=64, kv_format=kv_format))


@every_format
@pytest.mark.parametrize(("tokens", "heads", "width"), [(16, 64, 1152), (3, 8, 576), (2, 16, 2176), (1, 128, 896)])
def test_c05_widths_that_are_no_power_of_two(check_case, kv_format, tokens, heads, width):
    check_case(make_case(2, tokens=tokens, heads=heads, width=width, page_size=64, kv_format=kv_format))


@every_format
@pytest.mark.parametrize("heads", [8, 16, 32])
@pytest.mark.parametrize("page_size", [2, 32, 64, 100])
def test_c06_pages_of_every_size(check_case, kv_format, heads, page_size):
    check_case(make_case(3, tokens=2, heads=heads, width=128, page_size=page_size, kv_format=kv_format))


@every_format
@pytest.mark.parametrize("heads", [1, 7, 8, 11, 22])
def test_c10_heads_are_neither_padded_nor_paid_for(run_case, kv_format, heads):
    """Arrays with the real heads alone; the mma are those of the head tiles that the heads need."""
    case = make_case(4, tokens=2, heads=heads, width=64, page_size=16, kv_format=kv_format)
    padded = make_case(4, tokens=2, heads=64, width=64, page_size=16, kv_format=kv_format)
    counts = []
    for each in (case, padded):
        with executor() as runs:
            out, _ = run_case(each, num_splits=1)
        assert each.compare(out)
        counts.append(sum(launch["mma_total"] for launch in runs.stats[0]))
    assert counts[0] * 4 <= counts[1] * -(-heads // 16)


REFUSED = [  # what is wrong, the argument's name, what the text says of value and choice
    (dict(num_heads=129), "num_heads", ["1 to 128", "129"]),
    (dict(num_heads=0), "num_heads", ["1 to 128", "0"]),
    (dict(width=0), "width", ["expected 1 to", "0"]),
    (dict(page_size=-4), "page_size", ["expected 1 to", "-4"]),
    (dict(kv_format="v4"), "kv_format", ["'dsv4'", "'glm'", "'v4'"]),
    (dict(page_stride=37448), "page_stride", ["multiple of 16", "37448", "37456"]),
    (dict(num_splits=0), "num_splits", ["1 to", "0"]),
    (dict(kernel="trtllm"), "kernel", ["'decode'", "'trtllm'"]),
    (dict(compute="int8"), "compute", ["'bf16'", "'int8'"]),
    (dict(target="sm_89"), "target", ["'sm_120a'", "'sm_89'"]),
]


@pytest.mark.parametrize(("changes", "name", "parts"), REFUSED, ids=[name for _, name, _ in REFUSED])
def test_c11_a_miss_names_argument_value_and_choice(changes, name, parts):
    """The same text when asked at start-up, without arrays."""
    problem = SHAPE | dict(kv_format="dsv4") | changes
    support = mlatile.supported(**problem)
    with pytest.raises(mlatile.ArgumentError) as caught:
        mlatile.plan(**problem)
    assert not support.ok and support.reason == str(caught.value)
    assert f"`{name}`" in support.reason
    for part in parts:
        assert part in support.reason


@each_layout
@pytest.mark.parametrize("page_size", [32, 64, 128])
def test_c15_the_page_size_is_an_argument_of_the_call(check_case, kv_format, page_size):
    """One kernel for all of them."""
    check_case(make_case(5, tokens=2, heads=8, width=100, page_size=page_size, kv_format=kv_format), num_splits=1)
    names = {
        mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=kv_format, page_size=size, num_splits=1))).name
        for size in (32, 64, 128, page_size)
    }
    assert len(names) == 1


@each_layout
@pytest.mark.parametrize(("first", "second"), [(128, 512), (192, 640 - 192), (1, 63), (64, 1)])
def test_c16_one_list_or_two(run_case, kv_format, first, second):
    """A window and a selection, merged, or their joint list: the same answer."""
    case = make_case(6, tokens=2, heads=8, width=first + second, page_size=64, kv_format=kv_format)
    whole = run_case(case)
    assert case.compare(*whole)
    parts = [call(case, indices=np.ascontiguousarray(part)) for part in np.split(case.indices, [first], axis=1)]
    joined = merged([out for out, _ in parts], [lse for _, lse in parts], "2")
    assert case.compare(joined)


@every_format
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
def test_c17_every_format_is_taken(kv_format, target):
    """Nothing depends on the name of a card or of a model."""
    support = mlatile.supported(**SHAPE | dict(kv_format=kv_format, target=target))
    assert support.ok and support.reason == ""


def test_c17_what_is_declined_says_why():
    """Every kernel's reason."""
    support = mlatile.supported(**SHAPE | dict(kv_format="dsv4_nvfp4", compute="fp8"))
    for kernel in KERNELS:
        assert f"{kernel}: compute `fp8` is refused for `dsv4_nvfp4`" in support.reason


# ---- strides, views, layouts -----------------------------------------------


@each_layout
@pytest.mark.parametrize("rows", [24, 64, 65, 66])
def test_c20_narrow_part_of_a_persistent_buffer(run_case, kv_format, rows):
    """Row stride 7936, flat and as [rows / r, r, W]: the same bits, at any number of rows."""
    width = 96
    case = make_case(7, tokens=rows, heads=2, width=width, page_size=64, kv_format=kv_format)
    store = np.full((rows, 7936), 2**31 - 1, np.int32)
    store[:, 1000 : 1000 + width] = case.indices
    plain = run_case(case)
    case.indices = store[:, 1000 : 1000 + width]
    assert same_bits(plain, run_case(case))
    group = next(r for r in (4, 5, 3, 2) if rows % r == 0)
    ids = np.lib.stride_tricks.as_strided(case.indices, (rows // group, group, width), (4 * 7936 * group, 4 * 7936, 4))
    framed = call(case, q=case.q.reshape(rows // group, group, *case.q.shape[1:]), indices=ids)
    assert same_bits(plain, framed)
    assert case.compare(*plain)


@each_layout
@pytest.mark.parametrize("extra", [16, 576, 65536])
def test_c23_page_strides_are_honoured(run_case, kv_format, extra):
    """Bytes between pages are never read: NaN, or another layer's."""
    case = make_case(8, tokens=2, heads=4, width=90, page_size=32, kv_format=kv_format)
    plain = run_case(case)
    pages, tight = case.pool.pages.shape
    store = np.full((pages, tight + extra), 0xFF, np.uint8)
    store[:, :tight] = case.pool.pages
    for view in (store, store[:, :tight]):
        assert same_bits(plain, run_case(case, kv_cache=view))
    assert same_bits(plain, run_case(case, kv_cache=store[:, :tight], page_stride=tight + extra))


@pytest.mark.parametrize(("page_size", "page_bytes"), [(2, 1728), (32, 19008), (64, 37440), (256, 149760)])
def test_c25_pages_as_engines_lay_them_out(page_size, page_bytes):
    """Footer at page_size * 576, page rounded up to a multiple of 576: bytes written by hand, exact values out."""
    pages = np.full((3, page_bytes), 0xFF, np.uint8)
    want = {}
    for page, offset in ((0, 0), (1, page_size - 1), (2, page_size // 2)):
        row, scale = offset * 576, page_size * 576 + offset * 8
        exponents = np.arange(7) - 3 + page
        pages[page, row : row + 448] = 0x38 + offset % 2 * 4  # e4m3: 1 or 1.5
        pages[page, row + 448 : row + 576] = np.full(64, 0.75 + page, ml_dtypes.bfloat16).view(np.uint8)
        pages[page, scale : scale + 7] = 127 + exponents
        nope = np.repeat((1.5 if offset % 2 else 1.0) * 2.0**exponents, 64)
        want[page * page_size + offset] = np.concatenate([nope, np.full(64, 0.75 + page)])
    q = np.ones((len(want), 1, 512), ml_dtypes.bfloat16)
    indices = np.array(list(want), np.int32)[:, None]
    out = mlatile.sparse_mla(q, pages, indices, kv_format="dsv4", page_size=page_size, sm_scale=0.01)
    assert np.array_equal(out[:, 0].astype(np.float64), np.stack(list(want.values())))


def test_c27_overlapping_views_are_refused():
    """Index units of 64 elements over rows that overlap: never read as token ids."""
    store = np.zeros(1 << 16, ml_dtypes.bfloat16)
    q, ids = np.zeros((1, 8, 512), ml_dtypes.bfloat16), np.zeros((1, 9), np.int32)
    view = np.lib.stride_tricks.as_strided(store, (500, 1, 576), (128, 128, 2))
    with pytest.raises(mlatile.ArgumentError, match="`kv_cache`.*bfloat16"):
        mlatile.sparse_mla(q, view, ids, kv_format="dsv4", page_size=1, sm_scale=1.0)
    view = np.lib.stride_tricks.as_strided(store.view(np.uint8), (500, 592), (128, 1))
    with pytest.raises(mlatile.ArgumentError, match="`kv_cache`.*overlap"):
        mlatile.sparse_mla(q, view, ids, kv_format="dsv4", page_size=1, sm_scale=1.0)


@each_layout
@pytest.mark.parametrize("splits", [1, 3])
def test_c28_out_is_a_slice(run_case, kv_format, splits):
    """out[:n], out[n:m], with heads behind ours: nothing else is written, on either half of a batch."""
    case = make_case(9, tokens=6, heads=5, width=70, page_size=16, kv_format=kv_format, lengths=True)
    plain = run_case(case, num_splits=splits)
    d_v = case.pool.format.d_v
    store, lse = np.full((9, 8, d_v), 7, ml_dtypes.bfloat16), np.full((9, 8), 7, np.float32)
    for rows in (slice(0, 2), slice(2, 6)):
        mlatile.sparse_mla(**case.arguments(**rows_of(case, rows)), out=store[rows, :5], lse=lse[rows, :5],
                           num_splits=splits)
    assert same_bits(plain, (store[:6, :5], lse[:6, :5]))
    store[:6, :5], lse[:6, :5] = 7, 7
    assert (store == 7).all() and (lse == 7).all()


@each_layout
@pytest.mark.parametrize(("pages", "page_size"), [(1, 64), (1, 1), (40, 1), (1, 7)])
def test_c2b_single_pages_and_single_slots(run_case, kv_format, pages, page_size):
    """2-D, 3-D and both 4-D orders, where an axis of one could be either: page_size says which."""
    case = make_case(10, tokens=2, heads=3, width=20, page_size=page_size, pages=pages, kv_format=kv_format)
    f = case.pool.format
    plain = run_case(case)
    assert case.compare(*plain)
    record = f.data_row + f.scale_row
    stride = case.pool.pages.strides[0]
    for shape, strides in (
        ((page_size, record), (record, 1)),
        ((page_size, 1, record), (record, record, 1)),
        ((1, page_size, record), (page_size * record, record, 1)),
    ):
        view = np.lib.stride_tricks.as_strided(case.pool.pages, (pages, *shape), (stride, *strides))
        assert same_bits(plain, run_case(case, kv_cache=view, page_stride=stride)), shape
    with pytest.raises(mlatile.ArgumentError):
        call(case, kv_cache=view, page_size=page_size + 1, page_stride=stride)
