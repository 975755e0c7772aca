# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Public failures: shapes that had no kernel, and errors that do not say so (C01 to C17)."""

import numpy as np
import pytest
from public_cases import LAYOUTS, SHAPE, call, each_layout, every_format, every_kernel, merged
from second_caches import KERNELS, MAIN

import mlatile
from mlatile.testing import executor, make_case


@each_layout
@every_kernel
@pytest.mark.parametrize("rows", [5, 6, 12, 66])
@pytest.mark.parametrize("width", [131, 133, 192])
def test_c01_rows_and_widths_of_drafts(check_case, kv_format, kernel, rows, width):
    """k + 1 rows a request, window + k candidates, at more than 64 rows too."""
    check_case(make_case(rows, tokens=rows, heads=4, width=width, page_size=64, kv_format=kv_format), kernel=kernel)


@each_layout
@every_kernel
@pytest.mark.parametrize("heads", [32, 64])
def test_c04_wide_window(check_case, kv_format, kernel, heads):
    check_case(make_case(1, tokens=2, heads=heads, width=512, page_size=64, kv_format=kv_format), kernel=kernel)


@every_format
@pytest.mark.parametrize(("tokens", "heads", "width"), [(16, 64, 1152), (3, 8, 576), (2, 16, 2176), (1, 128, 896)])
def test_c05_widths_that_are_no_power_of_two(check_case, kv_format, tokens, heads, width):
    check_case(make_case(2, tokens=tokens, heads=heads, width=width, page_size=64, kv_format=kv_format))


@each_layout
@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize(("tokens", "heads", "width"), [(3, 64, 1152), (2, 11, 576)])
def test_c05_in_the_other_kernels(check_case, kv_format, kernel, tokens, heads, width):
    check_case(make_case(2, tokens=tokens, heads=heads, width=width, page_size=64, kv_format=kv_format), kernel=kernel)


@every_format
@pytest.mark.parametrize("heads", [8, 16, 32])
@pytest.mark.parametrize("page_size", [2, 32, 64, 100])
def test_c06_pages_of_every_size(check_case, kv_format, heads, page_size):
    check_case(make_case(3, tokens=2, heads=heads, width=128, page_size=page_size, kv_format=kv_format))


@each_layout
@pytest.mark.parametrize("kernel", KERNELS[1:])
@pytest.mark.parametrize("heads", [8, 16, 32])
@pytest.mark.parametrize("page_size", [2, 32, 64, 100])
def test_c06_in_the_other_kernels(check_case, kv_format, kernel, heads, page_size):
    check_case(make_case(3, tokens=2, heads=heads, width=128, page_size=page_size, kv_format=kv_format), kernel=kernel)


@pytest.mark.parametrize(("kv_format", "kernel"), [(f, k) for f in MAIN for k in KERNELS if k == "decode" or f in LAYOUTS])
@pytest.mark.parametrize("heads", [1, 7, 8, 11, 22])
def test_c10_heads_are_neither_padded_nor_paid_for(run_case, kv_format, kernel, heads):
    """Arrays with the real heads alone; the mma are those of the head tiles that the heads need."""
    case = make_case(4, tokens=2, heads=heads, width=64, page_size=16, kv_format=kv_format)
    padded = make_case(4, tokens=2, heads=64, width=64, page_size=16, kv_format=kv_format)
    counts = []
    for each in (case, padded):
        with executor() as runs:
            out, _ = run_case(each, kernel=kernel, num_splits=1)
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
@every_kernel
@pytest.mark.parametrize("page_size", [32, 64, 128])
def test_c15_the_page_size_is_an_argument_of_the_call(check_case, kv_format, kernel, page_size):
    """One kernel for all of them."""
    case = make_case(5, tokens=2, heads=8, width=100, page_size=page_size, kv_format=kv_format)
    check_case(case, kernel=kernel, num_splits=1)
    names = {
        mlatile.compile(mlatile.plan(**SHAPE | dict(kv_format=kv_format, page_size=size, kernel=kernel, num_splits=1))).name
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
@pytest.mark.parametrize("kernel", ["auto", *KERNELS])
@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
def test_c17_every_format_is_taken(kv_format, kernel, target):
    """Nothing depends on the name of a card or of a model."""
    support = mlatile.supported(**SHAPE | dict(kv_format=kv_format, target=target, kernel=kernel))
    assert support.ok and support.reason == ""


def test_c17_what_is_declined_says_why():
    """Every kernel's reason."""
    support = mlatile.supported(**SHAPE | dict(kv_format="dsv4_nvfp4", compute="fp8"))
    for kernel in KERNELS:
        assert f"{kernel}: compute `fp8` is refused for `dsv4_nvfp4`" in support.reason
