# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel that a plan can ask for, assembled: nothing spilled, and the arena fits."""

import concurrent.futures
import itertools

import pytest
from lowered_kernels import needs_ptxas

import mlatile

PROBLEM = dict(num_tokens=3, num_heads=11, width=192, kv_format="dsv4", page_size=48)
LSE = [dict(return_lse=False), dict(return_lse=True, lse_base="2"), dict(return_lse=True, lse_base="e")]
OPTIONS = [
    dict(num_splits=splits, has_topk_length=length, has_sink=sink, **lse)
    for splits, length, sink, lse in itertools.product((1, 4), (False, True), (False, True), LSE)
]


TARGETS = ["sm_120a", "sm_121a"]


def parts(target, options):
    return mlatile.compile(mlatile.plan(**PROBLEM, target=target, **options)).parts


@pytest.fixture(scope="module")
def reports():
    """{name: report} of the kernels of all problems; many share them."""
    kernels = {part.name: part for target in TARGETS for options in OPTIONS for part in parts(target, options)}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(kernels, pool.map(lambda part: part.report, kernels.values())))


@needs_ptxas
def test_these_are_all(reports):
    """12 kernels without splits, 2 with (a sink and the lse are the merge's), 6 merges, for each of two targets."""
    assert len(reports) == 2 * (12 + 2 + 6)


@needs_ptxas
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(str(value) for value in options.values()))
def test_nothing_spills(reports, target, options):
    kernels = parts(target, options)
    assert len(kernels) == (1 if options["num_splits"] == 1 else 2)
    for part in kernels:
        report = reports[part.name]
        assert report["spill_bytes"] == 0
        assert report["shared_bytes"] <= 101_376
        assert 0 < report["registers"] <= 255
