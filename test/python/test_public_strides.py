# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: strides, views and layouts (C20 to C2B)."""

import ml_dtypes
import numpy as np
import pytest
from public_cases import call, each_layout, every_kernel, every_way, rows_of, same_bits

import mlatile
from mlatile.testing import make_case


@each_layout
@every_kernel
@pytest.mark.parametrize("rows", [24, 64, 65, 66])
def test_c20_narrow_part_of_a_persistent_buffer(run_case, kv_format, kernel, rows):
    """Row stride 7936, flat and as [rows / r, r, W]: the same bits, at any number of rows."""
    width = 96
    case = make_case(7, tokens=rows, heads=2, width=width, page_size=64, kv_format=kv_format)
    store = np.full((rows, 7936), 2**31 - 1, np.int32)
    store[:, 1000 : 1000 + width] = case.indices
    plain = run_case(case, kernel=kernel)
    case.indices = store[:, 1000 : 1000 + width]
    assert same_bits(plain, run_case(case, kernel=kernel))
    group = next(r for r in (4, 5, 3, 2) if rows % r == 0)
    ids = np.lib.stride_tricks.as_strided(case.indices, (rows // group, group, width), (4 * 7936 * group, 4 * 7936, 4))
    framed = call(case, kernel=kernel, q=case.q.reshape(rows // group, group, *case.q.shape[1:]), indices=ids)
    assert same_bits(plain, framed)
    assert case.compare(*plain)


@each_layout
@every_kernel
@pytest.mark.parametrize("extra", [16, 576, 65536])
def test_c23_page_strides_are_honoured(run_case, kv_format, kernel, extra):
    """Bytes between pages are never read: NaN, or another layer's."""
    case = make_case(8, tokens=2, heads=4, width=90, page_size=32, kv_format=kv_format)
    plain = run_case(case, kernel=kernel)
    assert case.compare(*plain)
    pages, tight = case.pool.pages.shape
    store = np.full((pages, tight + extra), 0xFF, np.uint8)
    store[:, :tight] = case.pool.pages
    for view in (store, store[:, :tight]):
        assert same_bits(plain, run_case(case, kernel=kernel, kv_cache=view))
    assert same_bits(plain, run_case(case, kernel=kernel, kv_cache=store[:, :tight], page_stride=tight + extra))


@pytest.mark.parametrize(("page_size", "page_bytes"), [(2, 1728), (32, 19008), (64, 37440), (256, 149760)])
@every_kernel
def test_c25_pages_as_engines_lay_them_out(page_size, page_bytes, kernel):
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
    out = mlatile.sparse_mla(q, pages, indices, kv_format="dsv4", page_size=page_size, sm_scale=0.01, kernel=kernel)
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
@every_way
def test_c28_out_is_a_slice(run_case, kv_format, kernel, splits):
    """out[:n], out[n:m], with heads behind ours: nothing else is written, on either half of a batch."""
    case = make_case(9, tokens=6, heads=5, width=70, page_size=16, kv_format=kv_format, lengths=True)
    plain = run_case(case, kernel=kernel, num_splits=splits)
    assert case.compare(*plain)
    d_v = case.pool.format.d_v
    store, lse = np.full((9, 8, d_v), 7, ml_dtypes.bfloat16), np.full((9, 8), 7, np.float32)
    for rows in (slice(0, 2), slice(2, 6)):
        mlatile.sparse_mla(**case.arguments(**rows_of(case, rows)), out=store[rows, :5], lse=lse[rows, :5],
                           kernel=kernel, num_splits=splits)
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
