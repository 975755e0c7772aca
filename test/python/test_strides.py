# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strides are run-time arguments; framing of rows is inert; guard bytes stay."""

import ml_dtypes
import numpy as np
import pytest

import mlatile
from mlatile.testing import make_case


def test_rows_of_indices_in_a_longer_buffer(run_case):
    """[24, 2048] of row stride 7936, and viewed as [4, 6, 2048]: bitwise equal, no copy."""
    case = make_case(1, tokens=24, heads=2, width=2048, page_size=64, skip=0.4)
    storage = np.full((24, 7936), case.pool.slots // 2, np.int32)
    storage[:, :2048] = case.indices
    plain = run_case(case)
    case.indices = storage[:, :2048]
    assert case.indices.strides == (4 * 7936, 4)
    strided = run_case(case)
    framed = mlatile.sparse_mla(
        **case.arguments(
            q=case.q.reshape(4, 6, 2, 512),
            indices=np.lib.stride_tricks.as_strided(storage, (4, 6, 2048), (4 * 47616, 4 * 7936, 4)),
        ),
        return_lse=True,
    )
    assert framed[0].shape == (4, 6, 2, 512) and framed[1].shape == (4, 6, 2)
    for a, b, c in zip(plain, strided, framed):
        assert a.tobytes() == b.tobytes() == c.tobytes()
    assert case.compare(*plain)


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("frame", [(1, 12), (12, 1), (3, 4), (6, 2)])
def test_framing_is_inert(run_case, frame, splits):
    case = make_case(2, tokens=12, heads=5, width=70, page_size=16, lengths=True, sink=True)
    flat = run_case(case, num_splits=splits)
    framed = mlatile.sparse_mla(
        **case.arguments(
            q=case.q.reshape(*frame, 5, 512), indices=case.indices.reshape(*frame, 70),
            topk_length=case.topk_length.reshape(frame), num_splits=splits,
        ),
        return_lse=True,
    )
    for a, b in zip(flat, framed):
        assert a.tobytes() == b.tobytes()


def test_a_row_does_not_depend_on_the_others(run_case):
    case = make_case(3, tokens=7, heads=5, width=70, page_size=16, lengths=True)
    together = run_case(case, num_splits=2)
    for t in range(7):
        alone = mlatile.sparse_mla(
            **case.arguments(
                q=case.q[t : t + 1], indices=case.indices[t : t + 1], topk_length=case.topk_length[t : t + 1],
                num_splits=2,
            ),
            return_lse=True,
        )
        for a, b in zip(together, alone):
            assert a[t : t + 1].tobytes() == b.tobytes()


def test_runs_are_reproducible(run_case):
    from mlatile.testing import executor

    case = make_case(4, tokens=3, heads=20, width=100, page_size=16)
    first = run_case(case, num_splits=2)
    for seed in (1, 2):
        with executor(seed=seed):
            again = run_case(case, num_splits=2)
        for a, b in zip(first, again):
            assert a.tobytes() == b.tobytes()


def test_middle_axis_of_indices(run_case):
    case = make_case(5, tokens=4, heads=3, width=40, page_size=16)
    flat = run_case(case)
    out = mlatile.sparse_mla(**case.arguments(indices=case.indices[:, None, :]))
    assert out.tobytes() == flat[0].tobytes()


def test_every_stride_of_q(check_case):
    case = make_case(6, tokens=3, heads=5, width=40, page_size=16)
    storage = np.full((3, 9, 520), np.nan, ml_dtypes.bfloat16)
    storage[:, 2:7, :512] = case.q
    case.q = storage[:, 2:7, :512]
    check_case(case)
    # Odd row and head strides: nothing is aligned to more than an element.
    odd = np.full((3, 5, 515), np.nan, ml_dtypes.bfloat16)
    odd[:, :, 1:513] = case.q
    case.q = odd[:, :, 1:513]
    check_case(case)
    # Heads before rows.
    case.q = np.ascontiguousarray(case.q.transpose(1, 0, 2)).transpose(1, 0, 2)
    check_case(case)


def test_out_is_a_slice_of_a_larger_buffer(run_case):
    case = make_case(7, tokens=4, heads=5, width=40, page_size=16)
    plain, _ = run_case(case)
    storage = np.full((10, 8, 512), 7, ml_dtypes.bfloat16)
    mlatile.sparse_mla(**case.arguments(), out=storage[3:7, :5])
    assert storage[3:7, :5].tobytes() == plain.tobytes()
    storage[3:7, :5] = 7
    assert (storage == 7).all()


@pytest.mark.parametrize("kind", ["3-D", "NHD", "HND"])
def test_views_of_the_pool(run_case, kind):
    case = make_case(8, tokens=2, heads=3, width=60, page_size=64, page_stride=37440)
    plain = run_case(case)
    pages = case.pool.pages
    shape, strides = {
        "3-D": ((64, 584), (584, 1)),
        "NHD": ((64, 1, 584), (584, 584, 1)),
        "HND": ((1, 64, 584), (37376, 584, 1)),
    }[kind]
    view = np.lib.stride_tricks.as_strided(pages, (len(pages), *shape), (37440, *strides))
    for a, b in zip(plain, run_case(case, kv_cache=view)):
        assert a.tobytes() == b.tobytes()
    for a, b in zip(plain, run_case(case, kv_cache=view.view(ml_dtypes.float8_e4m3fn), page_stride=37440)):
        assert a.tobytes() == b.tobytes()


def test_no_rows():
    case = make_case(9, tokens=0, heads=5, width=40, page_size=16)
    out, lse = mlatile.sparse_mla(**case.arguments(), return_lse=True)
    assert out.shape == (0, 5, 512) and lse.shape == (0, 5)
    framed = case.arguments(q=case.q.reshape(0, 4, 5, 512), indices=case.indices.reshape(0, 4, 40))
    assert mlatile.sparse_mla(**framed).shape == (0, 4, 5, 512)


def test_workspace_of_the_caller(run_case):
    case = make_case(10, tokens=2, heads=5, width=100, page_size=16)
    plan = mlatile.plan(num_tokens=2, num_heads=5, width=100, kv_format="dsv4", page_size=16, num_splits=3,
                        target="sm_120a")
    plain = run_case(case, num_splits=3)
    storage = np.full(plan.workspace_bytes + 768, 0xFF, np.uint8)  # NaN: nothing may be read before it is written
    start = -storage.ctypes.data % 256 + 256
    workspace = storage[start : start + plan.workspace_bytes]
    workspace[: plan.counter_bytes] = 0
    for a, b in zip(plain, run_case(case, num_splits=3, workspace=workspace)):
        assert a.tobytes() == b.tobytes()
    assert (storage[:start] == 0xFF).all() and (storage[start + plan.workspace_bytes :] == 0xFF).all()


@pytest.mark.parametrize("gigabytes", [2, 4])
def test_slots_far_into_the_pool(check_case, gigabytes):
    """Addresses need 64 bits before the multiply; untouched pages of the pool take no memory."""
    case = make_case(11, tokens=1, heads=3, width=40, page_size=64, page_stride=37440, pages=4)
    far = (gigabytes << 30) // 37440
    try:
        pages = np.zeros((far + 5, 37440), np.uint8)
    except MemoryError:
        pytest.skip("no address space for the pool")
    pages[far : far + 4] = case.pool.pages
    valid = (case.indices >= 0) & (case.indices < case.pool.slots)
    case.pool.pages = pages
    # Zero pages between are finite, so a truncated address shows as a wrong result.
    case.indices = np.where(valid, case.indices + far * 64, -1).astype(np.int32)
    check_case(case)
