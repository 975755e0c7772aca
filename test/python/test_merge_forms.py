# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forms in which splits are joined, on the executor: a second launch, a dependent one, slices in the same launch,
clusters. All have the same bits; counters reset themselves; a missing wait and a grid that cannot run at once are reported."""

import functools

import lowered_kernels
import numpy as np
import pytest
from lowered_kernels import Arrays, KernelError

from mlatile.testing import make_case

COUNTERS = 64


@functools.cache
def program(kernel, **params):
    compiled = lowered_kernels.compile_kernel(kernel=kernel, **params)
    return lowered_kernels.Program(compiled.blobs["llvm"], compiled.meta)


class Splits:
    """A case in some splits, with the memory that its launches share."""

    def __init__(self, case, splits, counters=None, **tile):
        rows, heads, _ = case.q.shape
        self.case, self.splits = case, splits
        self.rows, self.heads, self.d_v = rows, heads, case.pool.format.d_v
        self.tile = dict(FMT=case.pool.kv_format, HAS_LENGTH=case.topk_length is not None, **tile)
        self.results = dict(HAS_SINK=case.attn_sink is not None, LSE=1)
        self.grid = rows * -(-heads // 16) * splits
        nan = lambda *shape: np.full(shape, np.nan, np.float32)  # noqa: E731
        self.parts = dict(part_o=nan(splits, rows, heads, self.d_v), part_m=nan(splits, rows, heads),
                          part_l=nan(splits, rows, heads))
        self.counters = np.zeros(COUNTERS, np.int32) if counters is None else counters

    def launch(self, kernel, grid, params, pending=(), checked=False, **options):
        arrays = Arrays(self.case)
        arguments = arrays.arguments() | self.parts | dict(num_splits=self.splits, counters=self.counters)
        arguments["lse"] = arrays.lse[None]
        if checked:
            written = {"out", "lse", "counters", *self.parts}
            options |= dict(checked=True, buffers=[
                [value.ctypes.data, value.nbytes, name, name in written, name in pending]
                for name, value in arguments.items() if isinstance(value, np.ndarray)])
            pages = self.case.pool.pages
            options["buffers"].append([pages.ctypes.data, pages.nbytes, "kv", False])
        program(kernel, **params).launch(grid, arguments, **options)
        return np.array(arrays.out).view(np.uint16), arrays.lse, arrays

    def decode(self, **options):
        self.launch("decode", self.grid, self.tile | dict(SPLIT=True), **options)

    def merge(self, dependent=False, pending=(), **options):
        # Two tiles: the results do not depend on it.
        params = self.results | dict(DEPENDENT=dependent, BH=4 if dependent else 1, BD=128 if dependent else 512)
        grid = self.rows * -(-self.heads // params["BH"]) * -(-self.d_v // params["BD"])
        return self.launch("merge", grid, params, pending=pending, **options)

    def slices(self, **options):
        return self.launch("decode", self.grid, self.tile | self.results | dict(SPLIT=True, SLICES=True), **options)


    def cluster(self, **options):
        """Without the memory that the other forms share, since it is not needed."""
        tile = dict(JOIN=-(-16 // self.splits)) | self.tile | self.results | dict(CLUSTER=self.splits)
        parts, counters = self.parts, self.counters
        self.parts = {name: part[:0] for name, part in parts.items()}
        self.counters = counters[:0]
        try:
            return self.launch("decode", self.grid, tile, **options)
        finally:
            self.parts, self.counters = parts, counters


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
        assert (other[0] == out).all() and (other[1] == lse).all()
    assert not work.counters.any()


@pytest.mark.parametrize("kv_format", ["dsv3_2", "dots3_swa", "glm53_nope"])
def test_formats(kv_format):
    tile = lowered_kernels.planned_params(kv_format)
    case = case_of(22, 2, kv_format=kv_format, width=150)
    work = Splits(case, 5, MERGE_BD=128 * tile["WARPS"], **tile)
    work.decode()
    out, lse, arrays = work.merge()
    assert arrays.compare(lse=True)
    other = work.slices()
    assert (other[0] == out).all() and (other[1] == lse).all()


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
def test_clusters_have_the_same_bits(splits):
    work = Splits(case_of(33, 2, width=300), splits)
    work.decode()
    out, lse, arrays = work.merge()
    assert arrays.compare(lse=True)
    for options in (dict(), dict(seed=3, host_threads=1), dict(seed=6, host_threads=3)):
        other = work.cluster(**options)
        assert (other[0] == out).all() and (other[1] == lse).all()


@pytest.mark.parametrize("kv_format", ["dsv3_2", "dots3_swa", "glm53_nope", "dsv4_nvfp4"])
def test_clusters_of_formats(kv_format):
    tile = lowered_kernels.planned_params(kv_format)
    for splits in (4, 7):
        work = Splits(case_of(22, 2, kv_format=kv_format, width=150), splits, MERGE_BD=128 * tile["WARPS"], **tile)
        work.decode()
        out, lse, arrays = work.merge()
        assert arrays.compare(lse=True)
        other = work.cluster()
        assert (other[0] == out).all() and (other[1] == lse).all()


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("width", [1, 40, 130])
def test_clusters_with_empty_splits_and_rows(sink, width):
    # More splits than tiles, lengths down to zero, ids that are skipped.
    case = case_of(16, 4, width=width, sink=sink)
    case.topk_length[0] = 0
    case.indices[2:] = -1
    work = Splits(case, 6)
    work.decode()
    out, lse, arrays = work.merge()
    assert arrays.compare(lse=True)
    other = work.cluster(checked=True)
    assert (other[0] == out).all() and (other[1] == lse).all()


def test_clusters_join_parts_of_any_size():
    case = case_of(20, 1)
    expected = Splits(case, 3).slices()[0]
    for heads in (1, 3, 5, 16):
        for columns in (64, 512):
            assert (Splits(case, 3, MERGE_BD=columns, JOIN=heads).cluster()[0] == expected).all()


@pytest.mark.parametrize("seed", [0, 5])
def test_clusters_are_clean_in_checked_mode(seed):
    work = Splits(case_of(17, 2), 5)
    expected = work.slices()
    other = work.cluster(checked=True, seed=seed)
    assert (other[0] == expected[0]).all() and (other[1] == expected[1]).all()


def test_a_cluster_runs_at_once():
    work = Splits(case_of(3, 1), 4)
    with pytest.raises(KernelError, match="a cluster of 4 CTAs does not run at once: 3 at most do"):
        work.cluster(resident_ctas=3)
    assert work.cluster(resident_ctas=4)[2].compare()
    with pytest.raises(KernelError, match="expected a grid of whole clusters, a multiple of 4, got 3"):
        work.grid = 3
        work.cluster()
