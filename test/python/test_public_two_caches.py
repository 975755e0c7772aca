# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures about a second cache and about the limit between decode and prefill (C04, C06, C16, C20, C5A)."""

import dataclasses

import numpy as np
import pytest
from public_cases import call, merged, same_bits
from second_caches import KERNELS, MAIN, PAIRS, reference_error

import mlatile
from mlatile.testing import executor, make_case

kernels = pytest.mark.parametrize("kernel", KERNELS)
pairs = pytest.mark.parametrize(("kv_format", "extra"), PAIRS)


@kernels
@pytest.mark.parametrize("heads", [32, 64])
@pytest.mark.parametrize(("width", "extra_width"), [(512, 128), (512, 64)])
def test_c04_wide_window_and_a_second_list(check_case, kernel, heads, width, extra_width):
    """A main list of 512 beside an extra one on pages of two tokens."""
    case = make_case(1, tokens=2, heads=heads, width=width, page_size=64, extra_width=extra_width, extra_page_size=2)
    check_case(case, kernel=kernel)


@kernels
@pytest.mark.parametrize("heads", [8, 16, 32])
@pytest.mark.parametrize("page_size", [2, 32, 64, 100])
def test_c06_extra_pages_of_every_size(check_case, kernel, heads, page_size):
    case = make_case(2, tokens=2, heads=heads, width=128, page_size=64, extra_width=512, extra_page_size=page_size,
                     extra_lengths=True)
    check_case(case, kernel=kernel)


@pairs
def test_c06_page_sizes_share_a_kernel(kv_format, extra):
    shape = dict(num_tokens=2, num_heads=8, width=128, page_size=64, kv_format=kv_format, extra_kv_format=extra, num_splits=1,
                 target="sm_120a")
    for width in (512, 128, 64, 2051):  # the mode may depend on it
        names = {mlatile.plan(**shape, extra_width=width, extra_page_size=size).launches[0]["kernel"] for size in (32, 2, 2304, 1)}
        assert len(names) == 1
    names = {mlatile.plan(**shape, compute="bf16", extra_width=width, extra_page_size=size).launches[0]["kernel"]
             for width, size in ((512, 32), (128, 2), (64, 2304), (2051, 1))}
    assert len(names) == 1


@kernels
@pytest.mark.parametrize("kv_format", MAIN)
@pytest.mark.parametrize(("first", "second"), [(128, 512), (192, 640 - 192)])
def test_c16_one_list_two_lists_or_two_calls(run_case, kernel, kv_format, first, second):
    """Whichever width is called the main one, joint or merged by lse: the same answer."""
    case = make_case(3, tokens=2, heads=8, width=first + second, page_size=64, kv_format=kv_format)
    whole = run_case(case, kernel=kernel)
    window, selection = case.indices[:, :first], case.indices[:, first:]
    assert case.compare(*whole)
    for main, other in ((window, selection), (selection, window)):
        two = dataclasses.replace(case, indices=main, extra_pool=case.pool, extra_indices=other)
        assert case.compare(*run_case(two, kernel=kernel))
    parts = [call(case, indices=ids, kernel=kernel) for ids in (window, selection)]
    assert case.compare(merged([out for out, _ in parts], [lse for _, lse in parts], "2"))


@kernels
@pytest.mark.parametrize("rows", [24, 64, 65, 66])
def test_c20_narrow_part_of_a_persistent_extra_buffer(run_case, kernel, rows):
    """Row stride 7936, flat and as [rows / r, r, W]: the same bits, at any number of rows, and no copy."""
    width = 96
    case = make_case(4, tokens=rows, heads=2, width=33, page_size=64, extra_width=width, extra_page_size=2)
    plain = run_case(case, kernel=kernel)
    assert case.compare(*plain)
    store = np.full((rows, 7936), 2**31 - 1, np.int32)
    store[:, 1000 : 1000 + width] = case.extra_indices
    view = store[:, 1000 : 1000 + width]
    assert same_bits(plain, run_case(case, kernel=kernel, extra_indices=view))
    group = next(r for r in (4, 5, 3, 2) if rows % r == 0)
    frame = (rows // group, group)
    ids = np.lib.stride_tricks.as_strided(view, (*frame, width), (4 * 7936 * group, 4 * 7936, 4))
    framed = call(case, kernel=kernel, q=case.q.reshape(*frame, 2, 512), indices=case.indices.reshape(*frame, 33),
                  extra_indices=ids)
    assert same_bits(plain, framed)


@pytest.mark.parametrize("extra", [None, "dsv4"])
@pytest.mark.parametrize("other", KERNELS[1:])
def test_c5a_decode_on_one_side_and_another_kernel_on_the_other(other, extra):
    """63, 64 and 65 rows: each side of the limit within the bound, whichever kernel has it."""
    more = dict(extra_width=31, extra_page_size=2, extra_kv_format=extra) if extra else {}
    case = make_case(5, tokens=65, heads=4, width=64, page_size=64, sink=True, **more)
    whole = {name: call(case, kernel=name) for name in ("decode", other)}
    for rows in (63, 64, 65):
        first = dataclasses.replace(
            case, q=case.q[:rows], indices=case.indices[:rows],
            extra_indices=None if extra is None else case.extra_indices[:rows],
        )
        for name in ("decode", other):
            part = call(first, kernel=name, num_splits=1)
            assert first.compare(*part), (rows, name)
        assert reference_error([whole["decode"][0][:rows]], part) <= 2e-2
    with executor(checked=True):
        assert same_bits(whole[other], call(case, kernel=other))
