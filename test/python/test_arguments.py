# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong arguments: one typed error each, that names the argument; never a crash."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mlatile
from mlatile.testing import make_case

CASE = make_case(1, tokens=3, heads=5, width=40, page_size=16)
PROBLEM = dict(num_tokens=3, num_heads=5, width=40, kv_format="dsv4", page_size=16, target="sm_120a")


def call(**changes):
    return mlatile.sparse_mla(**CASE.arguments(**changes))


def test_errors_are_value_errors():
    for name in ("ArgumentError", "UnsupportedError", "CompileError", "LaunchError"):
        assert issubclass(getattr(mlatile, name), mlatile.Error)
    assert issubclass(mlatile.Error, ValueError)


WRONG = [
    ("q", dict(q=CASE.q.astype(np.float32)), "expected bfloat16, got float32"),
    ("q", dict(q=CASE.q[0]), r"expected \[T, H, d_qk\]"),
    ("q", dict(q=CASE.q[:, :, :500]), "expected d_qk 512"),
    ("q", dict(q=CASE.q[:, :0]), "expected 1 to 128 heads, got 0"),
    ("q", dict(q=np.zeros((3, 129, 512), ml_dtypes.bfloat16)), "got 129"),
    ("q", dict(q=np.asfortranarray(CASE.q)), "contiguous last dimension"),
    ("q", dict(q=[1, 2, 3]), r"expected an array \(NumPy, DLPack or __cuda_array_interface__\), got list"),
    ("kv_cache", dict(kv_cache=CASE.pool.pages.astype(np.int8)), "expected uint8"),
    ("kv_cache", dict(kv_cache=CASE.pool.pages[:, :9000]), "expected at least 9344 bytes a page"),
    ("kv_cache", dict(kv_cache=CASE.pool.pages.reshape(-1)), "expected .pages, page_bytes."),
    ("kv_cache", dict(kv_cache=np.zeros((4, 9376), np.uint8)[:, 8:]), "multiple of 16"),
    ("indices", dict(indices=CASE.indices.astype(np.int64)), "expected int32, got int64"),
    ("indices", dict(indices=CASE.indices[:2]), r"expected shape \[3, W\]"),
    ("indices", dict(indices=CASE.indices[:, :0]), "expected a width"),
    ("indices", dict(indices=CASE.indices.astype(">i4")), "native byte order"),
    ("indices", dict(indices=np.asfortranarray(CASE.indices)), "contiguous last dimension"),
    ("kv_format", dict(kv_format="v4"), "expected 'dsv3_2'"),
    ("kv_format", dict(kv_format="dsv4_1_fp4"), "extra cache"),
    ("kv_format", dict(kv_format=None), "expected a string"),
    ("page_size", dict(page_size=0), "expected 1 to 2147483647, got 0"),
    ("page_size", dict(page_size=2**31), "expected 1 to 2147483647, got 2147483648"),
    ("page_stride", dict(page_stride=2**63 - 1), r"got 9223372036854775807$"),
    ("page_size", dict(page_size=16.0), "expected an integer"),
    ("page_size", dict(page_size=True), "expected an integer"),
    ("sm_scale", dict(sm_scale=np.nan), "finite"),
    ("sm_scale", dict(sm_scale="1"), "expected a number"),
    ("sm_scale", dict(sm_scale=1e300), "finite float32"),
    ("sm_scale", dict(sm_scale=np.ones(1)), "expected a number"),
    ("topk_length", dict(topk_length=np.ones(4, np.int32)), r"expected shape \[3\]"),
    ("topk_length", dict(topk_length=np.ones((3, 1), np.int32)), r"expected shape \[3\]"),
    ("topk_length", dict(topk_length=np.ones(3, np.int64)), "expected int32, got int64"),
    ("attn_sink", dict(attn_sink=np.ones(4, np.float32)), r"expected shape \[5\]"),
    ("attn_sink", dict(attn_sink=np.ones(5)), "expected float32, got float64"),
    ("extra_indices", dict(extra_kv_cache=CASE.pool.pages, extra_page_size=16), "expected an array"),
    ("extra_page_size", dict(extra_kv_cache=CASE.pool.pages, extra_indices=CASE.indices), "expected a value"),
    ("extra_indices", dict(extra_indices=CASE.indices), "without extra_kv_cache"),
    ("extra_topk_length", dict(extra_topk_length=np.ones(3, np.int32)), "without extra_kv_cache"),
    ("extra_kv_format", dict(extra_kv_format="dsv4"), "without extra_kv_cache"),
    ("out", dict(out=np.zeros((3, 5, 512), np.float32)), "expected bfloat16"),
    ("out", dict(out=np.zeros((3, 6, 512), ml_dtypes.bfloat16)), r"expected shape \[3, 5, 512\]"),
    ("out", dict(out=np.broadcast_to(CASE.q[:1], (3, 5, 512))), "writable"),
    ("out", dict(out=np.lib.stride_tricks.as_strided(np.zeros(9999, ml_dtypes.bfloat16), (3, 5, 512), (512, 512, 2))),
     "do not overlap"),
    ("lse", dict(lse=np.zeros((3, 5))), "expected float32, got float64"),
    ("lse", dict(lse=np.zeros((5, 3), np.float32)), r"expected shape \[3, 5\]"),
    ("lse_base", dict(lse_base="10"), "expected '2' or 'e'"),
    ("lse_base", dict(lse_base=2), "expected a string"),
    ("return_lse", dict(return_lse="yes"), "expected True or False"),
    ("kernel", dict(kernel="fast"), "expected 'auto', 'decode', 'prefill' or 'swapab'"),
    ("compute", dict(compute="fp4"), "expected 'auto', 'bf16', 'fp8' or 'fp8_fast'"),
    ("num_splits", dict(num_splits=0), "expected 1 to"),
    ("num_splits", dict(num_splits=2**31 - 1), "expected at most"),
    ("num_splits", dict(num_splits=2**70), "64-bit"),
    ("page_stride", dict(page_stride=9346), "next good one is 9360"),
    ("page_stride", dict(page_stride=9360), "expected 9344, the stride"),
    ("row_stride", dict(row_stride=576), "inline scales"),
    ("workspace", dict(workspace=np.zeros(16, np.uint8), num_splits=2), "workspace_bytes"),
    ("workspace", dict(workspace=np.zeros(1 << 20, np.float32), num_splits=2), "expected uint8"),
    ("stream", dict(stream=0), "executor has no streams"),
    ("stream", dict(stream="x"), "stream"),
    ("device", dict(device="gpu"), "expected 'sim' or 'cuda'"),
    ("device", dict(device="cuda"), "expected device arrays"),
]


@pytest.mark.parametrize("name,changes,text", WRONG, ids=[f"{i}-{w[0]}" for i, w in enumerate(WRONG)])
def test_wrong_argument(name, changes, text):
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        call(**changes)
    assert f"argument `{name}`: " in str(caught.value)


@pytest.mark.parametrize(
    "changes,text",
    [
        (dict(kernel="prefill", num_splits=2), "prefill: num_splits 2 is asked for"),
        (dict(kernel="swapab", num_splits=2), "swapab: num_splits 2 is asked for"),
    ],
)
def test_unsupported(changes, text):
    with pytest.raises(mlatile.UnsupportedError, match=text):
        call(**changes)


@pytest.mark.parametrize("compute", ["fp8", "fp8_fast"])
def test_fp8_is_refused_for_four_bits(compute):
    case = make_case(1, tokens=2, heads=3, width=9, page_size=4, kv_format="dsv4_nvfp4")
    with pytest.raises(mlatile.UnsupportedError, match=f"compute `{compute}` is refused for `dsv4_nvfp4`: its scales are e4m3"):
        mlatile.sparse_mla(**case.arguments(compute=compute))
    support = mlatile.supported(**PROBLEM | dict(kv_format="dsv4_nvfp4", compute=compute))
    assert not support.ok and f"compute `{compute}` is refused" in support.reason


def test_odd_pages_of_584_bytes():
    pages = np.zeros((4, 584), np.uint8)
    with pytest.raises(mlatile.ArgumentError, match="got 584; the next good one is 592"):
        call(kv_cache=pages, page_size=1)


def test_overlapping_pools():
    storage = np.zeros(100_000, np.uint8)
    view = np.lib.stride_tricks.as_strided(storage, (10, 9344), (1152, 1))
    with pytest.raises(mlatile.ArgumentError, match="pages overlap"):
        call(kv_cache=view)
    view = np.lib.stride_tricks.as_strided(storage.view(ml_dtypes.bfloat16), (10, 576), (128, 2))
    with pytest.raises(mlatile.ArgumentError, match="`kv_cache`: expected uint8 .*, got bfloat16"):
        call(kv_cache=view)


def test_outputs_overlap_nothing():
    """Ranges that interleave without a common byte are all right."""
    rows = np.zeros((4, 5, 1024), ml_dtypes.bfloat16)
    rows[:3, :, :512] = CASE.q
    q = rows[:3, :, :512]
    for out in (rows[:3, :, 512:], rows[1:, :, 512:]):
        assert call(q=q, out=out).tobytes() == call().tobytes()

    pool = CASE.pool.pages.copy()
    inside = pool.reshape(-1)[: 3 * 5 * 1024].view(ml_dtypes.bfloat16).reshape(3, 5, 512)
    storage = np.zeros(3 * 5 * 512, ml_dtypes.bfloat16)
    numbers = storage.view(np.float32)
    scratch = np.zeros(1 << 17, np.uint8)
    scratch = scratch[-scratch.ctypes.data % 256 :]
    for argument, other, changes in [
        ("out", "q", dict(q=q, out=q)),
        ("out", "q", dict(q=q, out=rows[1:, :, :512])),
        ("out", "q", dict(q=q, out=rows[:3, :, 511:1023])),
        ("out", "kv_cache", dict(kv_cache=pool, out=inside)),
        ("lse", "out", dict(out=storage.reshape(3, 5, 512), lse=numbers[-15:].reshape(3, 5))),
        ("lse", "attn_sink", dict(attn_sink=numbers[:5], lse=numbers[:15].reshape(3, 5)[::-1])),
        ("lse", "topk_length", dict(topk_length=numbers[14:17].view(np.int32), lse=numbers[:15].reshape(3, 5))),
        ("workspace", "lse", dict(num_splits=2, workspace=scratch, lse=scratch[:60].view(np.float32).reshape(3, 5))),
    ]:
        with pytest.raises(mlatile.ArgumentError, match=f"argument `{argument}`: .* that overlaps `{other}`"):
            call(**changes)


def test_unknown_keyword():
    with pytest.raises(TypeError):
        call(scale=1.0)
    with pytest.raises(TypeError):
        mlatile.plan(**PROBLEM, tokens=3)
    with pytest.raises(TypeError):
        mlatile.supported(**PROBLEM, tokens=3)


def test_nothing_is_written_on_error():
    out = np.full((3, 5, 512), 7, ml_dtypes.bfloat16)
    with pytest.raises(mlatile.Error):
        call(out=out, num_splits=0)
    assert (out == 7).all()


class OnlyDLPack:
    """An array of a library that is neither NumPy nor torch."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_arrays_are_read():
    assert call(indices=OnlyDLPack(CASE.indices)).tobytes() == call().tobytes()
    with pytest.raises(mlatile.ArgumentError, match="`indices`: expected int32, got int64"):
        call(indices=OnlyDLPack(CASE.indices.astype(np.int64)))


# Sizes at and past every limit; one of three errors, or a plan that keeps its promises.
integers = st.one_of(st.integers(-3, 300), st.sampled_from([2**31 - 1, 2**31, 2**40, 2**63 - 1, -(2**63)]))
maybe = st.one_of(st.none(), integers)


@settings(max_examples=400, deadline=None)
@given(
    num_tokens=integers, num_heads=st.integers(-1, 130), width=integers, page_size=integers,
    kv_format=st.sampled_from([f["name"] for f in mlatile.formats()] + ["", "x"]), has_sink=st.booleans(),
    num_splits=maybe, num_sms=maybe, page_stride=maybe, row_stride=maybe, extra_width=maybe, extra_page_size=maybe,
    compute=st.sampled_from(["auto", "bf16", "fp8", "?"]), kernel=st.sampled_from(["auto", "decode", "prefill", "swapab", "?"]),
    target=st.sampled_from(["sm_120a", "sm_121a", "sm_90a", "sm_70"]),
)
def test_plan_of_anything(**problem):
    support = mlatile.supported(**problem)
    try:
        plan = mlatile.plan(**problem)
    except (mlatile.ArgumentError, mlatile.UnsupportedError) as error:
        assert not support.ok and support.reason == str(error)
        return
    assert support.ok and support.reason == ""
    assert plan.num_splits == (problem["num_splits"] or plan.num_splits) or problem["num_tokens"] == 0
    assert plan.workspace_bytes >= 0 and plan.workspace_bytes % 256 == 0
    assert (plan.workspace_bytes > 0) == (plan.num_splits > 1 and problem["num_tokens"] > 0)
    for step in plan.launches:
        assert 1 <= step["grid"] < 2**31
    assert problem["kv_format"] in str(plan)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(["q", "kv_cache", "indices", "topk_length", "attn_sink", "out", "lse", "workspace"]),
    shape=st.lists(st.integers(0, 6), max_size=5),
    dtype=st.sampled_from([np.uint8, np.int32, np.int64, np.float32, ml_dtypes.bfloat16, np.bool_, np.complex64]),
)
def test_arrays_of_anything(name, shape, dtype):
    """Small random arrays do not fit, but for a few that do."""
    array = np.zeros(shape, dtype)
    fitting = {
        "indices": dtype is np.int32 and shape[:1] == [3] and shape[1:-1] in ([], [1]) and shape[-1] > 0 and len(shape) > 1,
        "topk_length": dtype is np.int32 and shape == [3],
        "attn_sink": dtype is np.float32 and shape == [5],
        "lse": dtype is np.float32 and shape == [3, 5],
    }
    assume(not fitting.get(name, False))
    with pytest.raises(mlatile.ArgumentError):
        call(**{name: array}, num_splits=2)
