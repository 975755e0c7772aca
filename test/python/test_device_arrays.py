# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device arrays by DLPack and __cuda_array_interface__, streams and captures, in
a process of its own where a driver and kernels made for tests stand in for a
card. On a card: test/Integration/test_gpu_python.py."""

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from device_arrays import CUDA, Card, DeviceArray, Interface

import mlatile
from mlatile.testing import make_case

FAKES = pathlib.Path(mlatile._mlatile.__file__).parents[2] / "test" / "unit"
ON_FAKE = "MLATILE_TEST_FAKE_DRIVER" in os.environ
on_device = pytest.mark.skipif(not ON_FAKE, reason="in the process of test_with_the_fake_driver")

CASE = make_case(3, tokens=4, heads=3, width=40, page_size=8, lengths=True, sink=True)
ARRAYS = {name: value for name, value in CASE.arguments().items() if isinstance(value, np.ndarray)}
BF16 = ml_dtypes.bfloat16


@pytest.mark.skipif(ON_FAKE, reason="runs in the first process")
def test_with_the_fake_driver():
    driver, compiler = FAKES / "fake-driver", FAKES / "libmlatile_fake_compiler.so"
    if not (driver / "libcuda.so.1").exists() or not compiler.exists():
        pytest.skip(f"no {driver}/libcuda.so.1: the unit tests are not built")
    environment = os.environ | dict(
        MLATILE_TEST_FAKE_DRIVER="1", MLATILE_COMPILER_LIBRARY=str(compiler), LD_LIBRARY_PATH=str(driver),
        FAKE_DEVICES="2",
    )
    # The environment that found the package here.
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__], env=environment,
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


# ---- on the device --------------------------------------------------------------


class Device:
    """The case on a device."""

    def __init__(self, ordinal=0, splits=3):
        self.card, self.splits, self.ordinal = Card(), splits, ordinal
        self.arrays = {name: self.place(array) for name, array in ARRAYS.items()}
        plan = self.plan()
        self.outputs = dict(
            out=self.place(np.zeros((4, 3, 512), BF16)), lse=self.place(np.zeros((4, 3), np.float32)),
            workspace=self.place(np.zeros(plan.workspace_bytes, np.uint8)),
        )

    def place(self, array):
        return DeviceArray(self.card, array, self.ordinal)

    def plan(self):
        return mlatile.plan(
            num_tokens=4, num_heads=3, width=40, kv_format="dsv4", page_size=8, num_splits=self.splits,
            has_topk_length=True, has_sink=True, return_lse=True,
        )

    def call(self, **changes):
        mlatile.sparse_mla(**CASE.arguments(**self.arrays) | self.outputs | dict(num_splits=self.splits) | changes)

    def clear(self):
        for name, array in self.outputs.items():
            filled = np.full(array.nbytes, 255, np.uint8)
            if name == "workspace":  # its counters are as the last call left them
                filled[: self.plan().counter_bytes] = 0
            array.write(filled)

    def results(self):
        self.card.use(self.ordinal)
        self.card.synchronize()
        self.card.use(0)
        out, lse = self.outputs["out"].read(), self.outputs["lse"].read()
        return out.tobytes(), lse.tobytes()

    def check(self):
        self.results()
        comparison = CASE.compare(self.outputs["out"].read(), self.outputs["lse"].read())
        assert comparison, comparison.text


@on_device
@pytest.mark.parametrize("ordinal", [0, 1])
def test_both_ways_give_the_same_bits(ordinal):
    device = Device(ordinal)
    device.call()
    device.check()
    want = device.results()
    device.clear()
    both = device.arrays | device.outputs
    device.call(**{name: array.interface() for name, array in both.items()})
    assert device.results() == want
    device.clear()
    strides = {name: tuple(np.empty(a.shape, a.dtype).strides) for name, a in both.items()}
    device.call(**{name: array.interface(strides=strides[name], version=2) for name, array in both.items()})
    assert device.results() == want


@on_device
def test_dlpack_is_told_the_stream():
    device = Device()
    stream = device.card.stream()

    class WithCudaStream:
        cuda_stream = stream

    class WithProtocol:
        def __cuda_stream__(self):
            return (0, stream)

    q = device.arrays["q"]
    for given, told in ((None, 1), (0, 1), (1, 1), (2, 2), (stream, stream), (WithCudaStream(), stream), (WithProtocol(), stream)):
        q.asked.clear()
        device.call(stream=given)
        assert q.asked == [dict(stream=told, max_version=(1, 0), copy=False)], given
    device.check()


@on_device
def test_the_interfaces_stream_is_waited_for():
    device = Device()
    device.call()
    want = device.results()
    mine, theirs = device.card.stream(), device.card.stream()
    late = device.place(np.zeros_like(CASE.q))
    q = device.arrays["q"]

    def copy_late():  # nothing is done before somebody waits
        late.write(np.zeros_like(CASE.q))
        device.clear()
        device.call(q=q, out=device.place(np.zeros((4, 3, 512), BF16)), stream=theirs)

    waits = device.card.count("wait")
    for number, stream, waited in ((theirs, mine, 1), (mine, mine, 0), (None, mine, 0), (1, None, 0), (1, 0, 0), (2, mine, 1)):
        copy_late()
        before = device.card.count("wait")
        device.call(q=q.interface(stream=number), stream=stream)
        assert device.card.count("wait") == before + waited, (number, stream)
        assert device.results() == want
    assert device.card.count("wait") > waits
    with pytest.raises(mlatile.ArgumentError, match="`q`: expected a stream of 1"):
        device.call(q=q.interface(stream=0))


@on_device
@pytest.mark.parametrize("changes,text", [
    (dict(typestr=">i4"), "expected native byte order, got '>i4'"),
    (dict(typestr="<c8"), "expected int32, got an unknown type"),
    (dict(typestr="i"), "expected a typestr"),
    (dict(mask=object()), "expected an array without a mask"),
    (dict(strides=(160,)), "expected as many strides as dimensions"),
    (dict(strides=(162, 4)), "expected strides of whole elements, got 162 bytes in dimension 0"),
    (dict(data=None), "expected __cuda_array_interface__ with shape, typestr and data"),
    (dict(shape=None), "expected __cuda_array_interface__ with shape, typestr and data"),
    (dict(shape="x"), "expected __cuda_array_interface__ with shape, typestr and data"),
    (dict(data=(ARRAYS["indices"].ctypes.data, False)), "expected the address of device memory"),
], ids=str)
def test_interfaces_that_do_not_fit(changes, text):
    device = Device()
    with pytest.raises(mlatile.ArgumentError, match=text) as caught:
        device.call(indices=device.arrays["indices"].interface(**changes))
    assert "argument `indices`: " in str(caught.value)


@on_device
def test_what_is_read_only_is_not_written():
    device = Device()
    out = device.outputs["out"]
    with pytest.raises(mlatile.ArgumentError, match="`out`: expected a writable array"):
        device.call(out=out.interface(data=(out.pointer, True)))
    q = device.arrays["q"]
    device.call(q=q.interface(data=(q.pointer, True)))
    device.check()


@on_device
def test_types_that_dlpack_cannot_share_go_the_other_way():
    class Both(Interface):
        def __dlpack_device__(self):
            return (CUDA, 0)

        def __dlpack__(self, **keywords):
            raise BufferError("bfloat16 is not supported")

    device = Device()
    device.call(q=Both(device.arrays["q"]))
    device.check()


@on_device
@pytest.mark.parametrize("name", ["kv_cache", "indices", "topk_length", "attn_sink", "out", "lse", "workspace"])
@pytest.mark.parametrize("where", ["the host", "CUDA device 1"])
def test_arguments_in_another_place(name, where):
    device = Device()
    array = (device.arrays | device.outputs)[name].read()
    if where != "the host":
        array = DeviceArray(device.card, array, 1)
    with pytest.raises(
        mlatile.ArgumentError, match=f"`{name}`: expected an array on CUDA device 0, where q is, got one on {where}"
    ):
        device.call(**{name: array})


@on_device
def test_device_argument():
    device = Device()
    device.call(device="cuda")
    device.check()
    with pytest.raises(mlatile.ArgumentError, match="`device`: expected host arrays for 'sim', got device arrays"):
        device.call(device="sim")


# ---- captures -------------------------------------------------------------------


@on_device
@pytest.mark.parametrize("share", [lambda a: a, Interface], ids=["dlpack", "interface"])
@pytest.mark.parametrize("splits", [1, 3])
def test_replays_with_candidates_rewritten(share, splits):
    device = Device(splits=splits)
    mlatile.preload(device.plan())
    stream = device.card.stream()
    arrays = {name: share(array) for name, array in (device.arrays | device.outputs).items()}
    for array in device.arrays.values():
        array.asked.clear()
    graph = device.card.capture(stream, lambda: device.call(stream=stream, **arrays))
    asked = device.arrays["q"].asked
    assert asked == ([dict(stream=-1, max_version=(1, 0), copy=False)] if asked else [])
    seen = set()
    for order in ([0, 1, 2, 3], [3, 2, 0, 1], [1, 1, 2, 0]):
        device.arrays["indices"].write(CASE.indices[order])
        device.arrays["topk_length"].write(CASE.topk_length[order])
        device.clear()
        device.call(stream=stream)
        want = device.results()
        device.clear()
        device.card.replay(graph, stream)
        assert device.results() == want
        seen.add(want)
    assert len(seen) == 3


@on_device
def test_a_capture_waits_for_no_other_stream():
    device = Device()
    mlatile.preload(device.plan())
    stream, other = device.card.stream(), device.card.stream()
    q = device.arrays["q"].interface(stream=other)
    waits = device.card.count("wait")
    graph = device.card.capture(stream, lambda: device.call(q=q, stream=stream))
    assert device.card.count("wait") == waits
    device.card.replay(graph, stream)
    device.check()


@on_device
@pytest.mark.parametrize("absent", ["out", "lse", "workspace"])
def test_captures_that_would_allocate_are_refused(absent):
    device = Device()
    mlatile.preload(device.plan())
    stream = device.card.stream()

    def refused():
        with pytest.raises(mlatile.ArgumentError, match=f"`{absent}`: expected an array .*captured"):
            device.call(**{absent: None}, return_lse=True, stream=stream)

    device.card.capture(stream, refused)
    graph = device.card.capture(stream, lambda: device.call(stream=stream))
    device.clear()
    device.card.replay(graph, stream)
    device.check()


@on_device
def test_captures_that_would_load_are_refused():
    device = Device(splits=1)
    stream = device.card.stream()
    kernel = dict(topk_length=None, stream=stream, return_lse=True)  # one that no other test uses

    def refused():
        with pytest.raises(mlatile.UnsupportedError, match="is not loaded on CUDA device 0.*preload"):
            device.call(**kernel)

    loads = device.card.count("load")
    device.card.capture(stream, refused)
    assert device.card.count("load") == loads
    device.call(**kernel)
    device.card.capture(stream, lambda: device.call(**kernel))


@on_device
def test_the_legacy_stream_during_a_capture():
    device = Device()
    mlatile.preload(device.plan())
    stream = device.card.stream()

    def refused():
        with pytest.raises(mlatile.ArgumentError, match="`stream`: expected the stream that is being captured"):
            device.call()

    device.card.capture(stream, refused)


@on_device
def test_preload():
    plan = Device().plan()
    mlatile.preload(plan, 1)
    for wrong, text in (("0", "expected an integer"), (-1, "expected the number of a CUDA device"), (2**40, "got 1099")):
        with pytest.raises(mlatile.ArgumentError, match=f"`device`: .*{text}"):
            mlatile.preload(plan, wrong)
    with pytest.raises(mlatile.ArgumentError, match="`plan`: expected a Plan"):
        mlatile.preload("plan")
    with pytest.raises(mlatile.UnsupportedError, match="expected a device of 0 to 1, got 2"):
        mlatile.preload(plan, 2)
