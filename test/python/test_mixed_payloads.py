# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two caches, one of 8 and one of 4 bits: sums go from the order of one payload to that of the other between the lists."""

import pytest
from second_caches import EXTRA_ONLY, KERNELS, PAIRS

from mlatile.testing import FORMATS, executor, make_case

MIXED = [pair for pair in PAIRS if len({FORMATS[name].payload for name in pair}) == 2]
kernels = pytest.mark.parametrize("kernel", KERNELS)
mixed = pytest.mark.parametrize(("kv_format", "extra"), MIXED)


def test_which_they_are():
    assert MIXED == [("glm53_nope", EXTRA_ONLY), ("dsv4", "dsv4_nvfp4"), ("dsv4_1", EXTRA_ONLY), ("dsv4_nvfp4", "dsv4")]


@kernels
@mixed
@pytest.mark.parametrize("heads", [1, 8, 17, 64])
def test_heads_and_splits(check_case, kernel, kv_format, extra, heads):
    """A row without a second list, and one without a first."""
    case = make_case(heads, tokens=3, heads=heads, width=130, page_size=16, kv_format=kv_format, extra_kv_format=extra,
                     extra_width=65, extra_page_size=48, sink=True)
    case.extra_indices[1] = case.indices[2] = -1
    for splits in (1, 3) if kernel == "decode" else (None,):
        check_case(case, kernel=kernel, num_splits=splits)


@kernels
@mixed
@pytest.mark.parametrize(("width", "extra_width"), [(1, 1), (16, 1), (33, 500), (513, 31)])
def test_widths_in_checked_mode(check_case, kernel, kv_format, extra, width, extra_width):
    case = make_case(width, tokens=2, heads=9, width=width, page_size=32, kv_format=kv_format, extra_kv_format=extra,
                     extra_width=extra_width, extra_page_size=2, extra_lengths=True)
    with executor(seed=width, checked=True):
        check_case(case, kernel=kernel)
