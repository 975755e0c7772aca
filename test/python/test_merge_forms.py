# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms in which splits are joined, on the executor: a second launch, a dependent one, slices in the same launch,
clusters. The first three have the same bits, and clusters those of partial outputs that nobody rounded; counters reset
themselves; a missing wait and a grid that cannot run at once are reported."""

import lowered_kernels
import numpy as np
import pytest
from lowered_kernels import KernelError
from split_forms import COUNTERS, Splits, near, same

from mlatile.testing import make_case

def case_of(heads, tokens, *, width=200, kv_format="dsv4", **options):
    options = dict(page_size=16, sink=True, lengths=True) | options
    return make_case(heads + tokens, kv_format=kv_format, tokens=tokens, heads=heads, width=width, **options)


@pytest.mark.parametrize("heads", [1, 17, 33])
@pytest.mark.parametrize("tokens", [1, 3])
@pytest.mark.parametrize("splits", [2, 7, 9, 17])
def test_all_forms_have_the_same_bits(heads, tokens, splits):
    work = Splits(case_of(heads, tokens), splits)
    work.decode()
    out, lse, arrays = work.merge()
    comparison = arrays.compare(lse=True)
    assert comparison, comparison.text
    for other in (work.merge(dependent=True), work.slices(), work.slices(seed=3, host_threads=1),
                  work.slices(seed=6, host_threads=3)):
        assert same(other, (out, lse))
    assert not work.counters.any()


# lib/Runtime/MergePlan.cpp: heads, columns, warps, most splits at once.
TILES = [(1, 128, 1, 8), (1, 128, 4, 32), (1, 256, 1, 4), (1, 256, 4, 16), (1, 512, 2, 4), (1, 512, 4, 8), (2, 512, 4, 8), (4, 512, 4, 2)]


@pytest.mark.parametrize("kv_format,splits", [("dsv4", 2), ("dsv4", 3), ("dsv4", 8), ("dsv4", 13), ("dsv4", 32), ("dots3_swa", 5)])
def test_all_tiles(kv_format, splits):
    """Splits that are all there at once are added in one order, however many places are left over and whoever adds them."""
    work = Splits(case_of(18, 2, kv_format=kv_format), splits, **lowered_kernels.planned_params(kv_format))
    work.decode()
    whole = []
    for heads, columns, warps, most in TILES:
        for count in (2, 4, 8, 16, 32):
            if count > most:
                continue
            form = work.merge_tile(heads, columns, WARPS=warps, AT_ONCE=count)
            comparison = form[2].compare(lse=True)
            assert comparison, (heads, columns, warps, count, comparison.text)
            if count >= splits:
                whole.append(form)
    # As a plan does: the wider the fewer splits there are.
    at_once = next(count for count in (2, 4, 8, 16, 32) if count >= splits)
    tile = lowered_kernels.planned_params(kv_format) | dict(AT_ONCE=at_once, MERGE_BD=4096 // max(at_once, 8))
    whole.append(Splits(work.case, splits, **tile).slices())
    assert len(whole) >= (6 if splits <= 8 else 2)
    for form in whole[1:]:
        assert same(form, whole[0])


@pytest.mark.parametrize("count", [1, 3, 5, 7, 31])
def test_any_number_at_once(count):
    work = Splits(case_of(5, 2), 9)
    work.decode()
    assert work.merge_tile(1, 256, AT_ONCE=count, checked=True)[2].compare(lse=True)


@pytest.mark.parametrize("kv_format", ["dsv3_2", "dots3_swa", "glm53_nope"])
def test_formats(kv_format):
    tile = lowered_kernels.planned_params(kv_format)
    case = case_of(22, 2, kv_format=kv_format, width=150)
    work = Splits(case, 5, MERGE_BD=min(256 * tile["WARPS"], case.pool.format.d_v), **tile)
    work.decode()
    out, lse, arrays = work.merge()
    assert arrays.compare(lse=True)
    assert same(work.slices(), (out, lse))


def test_counters_serve_launches_of_other_splits():
    counters = np.zeros(COUNTERS, np.int32)
    for heads, splits in [(17, 5), (40, 2), (3, 11), (17, 5)]:
        work = Splits(case_of(heads, 2), splits, counters)
        assert work.slices(seed=splits)[2].compare()
        assert not counters.any()


def test_slices_of_any_size():
    case = case_of(20, 1)
    expected = Splits(case, 3).slices()[0]
    for columns in [64, 128, 256, 1024]:
        assert (Splits(case, 3, MERGE_BD=columns).slices()[0] == expected).all()


def test_checked_mode_is_clean():
    work = Splits(case_of(17, 2), 5)
    work.decode(checked=True)
    expected = work.merge(dependent=True, checked=True, pending=work.parts)
    other = work.slices(checked=True)
    assert (other[0] == expected[0]).all()


def test_a_read_before_the_wait_is_reported():
    work = Splits(case_of(3, 1), 2)
    work.decode()
    with pytest.raises(KernelError, match="of 'part_.' before griddepcontrol.wait: the launch before writes it"):
        work.merge(dependent=False, checked=True, pending=work.parts)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_grid_that_cannot_run_at_once_is_reported(threads):
    work = Splits(case_of(3, 1), 4)
    with pytest.raises(KernelError, match="(?s)deadlock.*poll memory.*1 have not started: 3 at most run at the same time"):
        work.slices(resident_ctas=3, host_threads=threads)
    # The next launch finds what that one left of the counters; they are the caller's to clear.
    work.counters[:] = 0
    assert work.slices(resident_ctas=4, host_threads=threads)[2].compare()


@pytest.mark.parametrize("splits", range(2, 9))
def test_clusters(splits):
    work = Splits(case_of(33, 2, width=300), splits)
    work.decode()
    form = work.merge()
    first = work.cluster()
    assert form[2].compare(lse=True) and first[2].compare(lse=True)
    assert near(first, form)
    for options in (dict(seed=3, host_threads=1), dict(seed=6, host_threads=3)):
        assert same(work.cluster(**options), first)


@pytest.mark.parametrize("kv_format", ["dsv3_2", "dots3_swa", "glm53_nope", "dsv4_nvfp4"])
def test_clusters_of_formats(kv_format):
    tile = lowered_kernels.planned_params(kv_format)
    for splits in (4, 7):
        case = case_of(22, 2, kv_format=kv_format, width=150)
        work = Splits(case, splits, MERGE_BD=min(128 * tile["WARPS"], case.pool.format.d_v), **tile)
        work.decode()
        form, other = work.merge(), work.cluster()
        assert form[2].compare(lse=True) and other[2].compare(lse=True)
        assert near(other, form)


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("width", [1, 40, 130])
def test_clusters_with_empty_splits_and_rows(sink, width):
    # More splits than tiles, lengths down to zero, ids that are skipped.
    case = case_of(16, 4, width=width, sink=sink)
    case.topk_length[0] = 0
    case.indices[2:] = -1
    work = Splits(case, 6)
    work.decode()
    form, other = work.merge(), work.cluster(checked=True)
    assert form[2].compare(lse=True) and other[2].compare(lse=True)
    assert near(other, form)


def test_clusters_join_parts_of_any_size():
    case = case_of(20, 1)
    expected = Splits(case, 3).cluster()
    assert near(expected, Splits(case, 3).slices())
    for heads in (1, 3, 5, 16):
        for columns in (64, 512):
            assert same(Splits(case, 3, MERGE_BD=columns, JOIN=heads).cluster(), expected)


@pytest.mark.parametrize("seed", [0, 5])
def test_clusters_are_clean_in_checked_mode(seed):
    work = Splits(case_of(17, 2), 5)
    assert same(work.cluster(checked=True, seed=seed), work.cluster())


def test_a_cluster_runs_at_once():
    work = Splits(case_of(3, 1), 4)
    with pytest.raises(KernelError, match="a cluster of 4 CTAs does not run at once: 3 at most do"):
        work.cluster(resident_ctas=3)
    assert work.cluster(resident_ctas=4)[2].compare()
    with pytest.raises(KernelError, match="expected a grid of whole clusters, a multiple of 4, got 3"):
        work.grid = 3
        work.cluster()
