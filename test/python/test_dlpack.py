# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host arrays of other libraries by DLPack: both kinds of capsule, ownership, flags, what does not fit."""

import gc

import ml_dtypes
import numpy as np
import pytest
from device_arrays import CUDA, IS_COPIED, READ_ONLY, Older, Shared, capsule, freed

import mlatile
from mlatile.testing import make_case

CASE = make_case(3, tokens=4, heads=3, width=40, page_size=8, lengths=True, sink=True)
ARRAYS = {name: value for name, value in CASE.arguments().items() if isinstance(value, np.ndarray)}
BF16 = ml_dtypes.bfloat16


@pytest.fixture(scope="module")
def expected():
    out, lse = mlatile.sparse_mla(**CASE.arguments(), return_lse=True, num_splits=1)
    return out.tobytes(), lse.tobytes()


def shared_call(make=Shared, **options):
    arrays = {name: make(array, **options) for name, array in ARRAYS.items()}
    out, lse = np.zeros((4, 3, 512), BF16), np.zeros((4, 3), np.float32)
    given = mlatile.sparse_mla(
        **CASE.arguments(**arrays), out=make(out, **options), lse=make(lse, **options), num_splits=1
    )
    assert isinstance(given, make)
    return out.tobytes(), lse.tobytes()


@pytest.mark.parametrize("make", [Shared, Older])
@pytest.mark.parametrize("options", [
    dict(), dict(version=None), dict(version=(1, 7)), dict(compact=True), dict(offset=64),
    dict(version=None, offset=4096, compact=True), dict(device=(3, 0)),  # pinned host memory
], ids=str)
def test_capsules_of_every_kind(expected, make, options):
    assert shared_call(make, **options) == expected


def test_strided_arrays(expected):
    wide = np.full((4, 7936), 2**31 - 1, np.int32)
    wide[:, :40] = CASE.indices
    q = np.zeros((4, 9, 512), BF16)
    q[:, 2:5] = CASE.q
    out = mlatile.sparse_mla(**CASE.arguments(q=q[:, 2:5], indices=Shared(wide[:, :40])), num_splits=1)
    assert out.tobytes() == expected[0]


def test_what_a_library_is_asked():
    indices = Shared(CASE.indices)
    mlatile.sparse_mla(**CASE.arguments(indices=indices))
    assert indices.asked == [dict(max_version=(1, 0), copy=False)]


def test_tensors_are_freed_once():
    gc.collect()
    freed.clear()
    out = np.zeros((4, 3, 512), BF16)
    for version in (None, (1, 0)):
        mlatile.sparse_mla(**CASE.arguments(q=Shared(CASE.q, version=version)), out=Shared(out, version=version))
    gc.collect()
    assert sorted(freed) == ["dltensor"] * 2 + ["dltensor_versioned"] * 2
    freed.clear()
    with pytest.raises(mlatile.ArgumentError):
        mlatile.sparse_mla(**CASE.arguments(q=Shared(CASE.q), page_size=0))
    gc.collect()
    assert freed == ["dltensor_versioned"]


class Refusing(Shared):
    def __dlpack__(self, **keywords):
        raise BufferError("tensors that require a gradient cannot be shared")


class NoCapsule(Shared):
    def __dlpack__(self, **keywords):
        return 5


@pytest.mark.parametrize("name,array,text", [
    ("q", lambda a: Shared(a, version=(2, 0)), r"expected DLPack 1.x, got 2\.0"),
    ("q", lambda a: Shared(a, lanes=2), "expected bfloat16, got an unknown type"),
    ("q", lambda a: Shared(a, device=(8, 0)), "expected a host or CUDA array, got DLPack device type 8"),
    ("q", Refusing, "DLPack can share: BufferError: tensors that require a gradient"),
    ("q", NoCapsule, "expected a DLPack capsule, got 5"),
    ("indices", lambda a: Shared(a.astype(np.float32)), "expected int32, got float32"),
    ("kv_cache", lambda a: Shared(a[:, :4000]), "expected at least 4672 bytes a page"),
], ids=str)
def test_capsules_that_do_not_fit(name, array, text):
    arguments = CASE.arguments(**{name: array(ARRAYS[name])})
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        mlatile.sparse_mla(**arguments)
    assert f"argument `{name}`: " in str(caught.value)


@pytest.mark.parametrize("flags", [READ_ONLY, IS_COPIED])
def test_flags(flags):
    """Inputs may be read-only or copies; what is written may not."""
    out = np.zeros((4, 3, 512), BF16)
    mlatile.sparse_mla(**CASE.arguments(q=Shared(CASE.q, flags=flags)), out=Shared(out))
    with pytest.raises(mlatile.ArgumentError, match="`out`: expected a writable array"):
        mlatile.sparse_mla(**CASE.arguments(), out=Shared(out, flags=flags))


def test_float8_pools():
    class Float8(Shared):
        def __dlpack__(self, **keywords):
            return capsule(self.array.ctypes.data, self.array.shape, "float8_e4m3fn", owner=self.array)

    out = mlatile.sparse_mla(**CASE.arguments(kv_cache=Float8(CASE.pool.pages)))
    assert out.tobytes() == mlatile.sparse_mla(**CASE.arguments()).tobytes()


def test_a_library_that_cannot_be_allocated_from():
    with pytest.raises(mlatile.ArgumentError, match="`out`: expected an array, since Shared is of a library"):
        mlatile.sparse_mla(**CASE.arguments(q=Shared(CASE.q)))


def test_device_arrays_without_a_driver():
    if mlatile._mlatile.cuda_device(0):
        pytest.skip("there is a CUDA device")
    with pytest.raises(mlatile.UnsupportedError, match="device arrays cannot be used: there is no CUDA driver"):
        shared_call(device=(CUDA, 0))
