# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device arrays of torch and CuPy on a CUDA card; skipped without one.

Shapes and kernels are those of named problems (gpu-problems.json), so that
prebuilt kernels of them ($MLATILE_KERNELS) are enough.
"""

import json
import pathlib

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

import mlatile  # noqa: E402
from mlatile.testing import make_case  # noqa: E402

pytestmark = pytest.mark.gpu

FORMATS = ("dsv4", "dsv4_1", "dsv3_2", "glm", "glm53_nope")
PROBLEMS = {p["name"]: p for p in json.loads(pathlib.Path(__file__).with_name("gpu-problems.json").read_text())}
# Lengths and a sink in all of them, lse in base 2.
ONE, THREE = "{}-unsplit", "{}-in-3-splits"
every_kind = pytest.mark.parametrize("name", [kind.format(f) for f in FORMATS for kind in (ONE, THREE)])


def case_of(name, seed=1):
    p = PROBLEMS[name]
    return make_case(
        seed, tokens=p["num_tokens"], heads=p["num_heads"], width=p["width"], page_size=p["page_size"],
        kv_format=p["kv_format"], lengths=True, sink=True,
    )


def to_torch(array, device="cuda"):
    """A NumPy array as a tensor; bf16 travels as its bits."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(array).to(device)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.view(torch.int16).cpu().numpy().view(ml_dtypes.bfloat16)
    return tensor.cpu().numpy()


class Device:
    """The arrays of a case on the card, and what a call fills."""

    def __init__(self, name, seed=1):
        self.name, self.case = name, case_of(name, seed)
        self.splits = PROBLEMS[name]["num_splits"]
        self.arrays = {k: to_torch(v) for k, v in self.case.arguments().items() if isinstance(v, np.ndarray)}
        rows, heads, _ = self.case.q.shape
        self.out = torch.full((rows, heads, self.case.pool.format.d_v), float("nan"), dtype=torch.bfloat16, device="cuda")
        self.lse = torch.full((rows, heads), float("nan"), device="cuda")
        self.workspace = torch.zeros(self.plan().workspace_bytes, dtype=torch.uint8, device="cuda")

    def plan(self):
        rows, heads, _ = self.case.q.shape
        return mlatile.plan(
            num_tokens=rows, num_heads=heads, width=self.case.indices.shape[1], kv_format=self.case.pool.kv_format,
            page_size=self.case.pool.page_size, num_splits=self.splits, has_topk_length=True, has_sink=True,
            return_lse=True,
        )

    def arguments(self, **changes):
        return self.case.arguments(**self.arrays) | dict(num_splits=self.splits) | changes

    def outputs(self):
        return dict(out=self.out, lse=self.lse, workspace=self.workspace)

    def call(self, **changes):
        """Allocates what it gives; the bits of (out, lse)."""
        out, lse = mlatile.sparse_mla(**self.arguments(**changes), return_lse=True)
        return bits(out, lse)

    def fill(self, **changes):
        mlatile.sparse_mla(**self.arguments(**self.outputs() | changes))

    def check(self, out, lse):
        comparison = self.case.compare(to_numpy(out), to_numpy(lse))
        assert comparison, comparison.text

    def filled(self):
        torch.cuda.synchronize()
        return bits(self.out, self.lse)


def bits(out, lse):
    return to_numpy(out).tobytes(), to_numpy(lse).tobytes()


class OnlyInterface:
    """An array of which nothing but __cuda_array_interface__ is seen."""

    def __init__(self, tensor, **changes):
        self.owner = tensor
        interface = dict(
            shape=tuple(tensor.shape), strides=tuple(n * tensor.element_size() for n in tensor.stride()), version=3,
            typestr={torch.bfloat16: "<V2", torch.float32: "<f4", torch.int32: "<i4", torch.uint8: "|u1"}[tensor.dtype],
            data=(tensor.data_ptr(), False), stream=None,
        )
        self.__cuda_array_interface__ = interface | changes


@every_kind
def test_torch_within_the_bounds(name):
    device = Device(name)
    out, lse = mlatile.sparse_mla(**device.arguments(), return_lse=True)
    assert out.dtype == torch.bfloat16 and out.device == lse.device == device.arrays["q"].device
    device.check(out, lse)
    device.fill()
    assert device.filled() == bits(out, lse)


@every_kind
def test_both_protocols_give_the_same_bits(name):
    device = Device(name)
    want = device.call()
    arrays = {key: OnlyInterface(tensor) for key, tensor in device.arrays.items()}
    outputs = {key: OnlyInterface(tensor) for key, tensor in device.outputs().items()}
    mlatile.sparse_mla(**device.arguments(**arrays, **outputs))
    assert device.filled() == want


@pytest.mark.parametrize("name", [ONE.format("dsv4"), THREE.format("glm")])
def test_cupy(name):
    cupy = pytest.importorskip("cupy")
    import ml_dtypes

    device = Device(name)
    want = device.call()
    arrays = {}
    for key, tensor in device.arrays.items():
        # Of torch's memory; bf16 is a type of CuPy's only by ml_dtypes.
        flat = cupy.from_dlpack(tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor)
        arrays[key] = flat.view(ml_dtypes.bfloat16) if tensor.dtype == torch.bfloat16 else flat
    out, lse = mlatile.sparse_mla(**device.arguments(**arrays), return_lse=True)
    assert isinstance(out, cupy.ndarray) and isinstance(lse, cupy.ndarray)
    assert (cupy.asnumpy(out.view(cupy.int16)).tobytes(), cupy.asnumpy(lse).tobytes()) == want
    with cupy.cuda.Stream(non_blocking=True) as stream:
        again, _ = mlatile.sparse_mla(**device.arguments(**arrays), return_lse=True)
        stream.synchronize()
        assert cupy.asnumpy(again.view(cupy.int16)).tobytes() == want[0]
        other, _ = mlatile.sparse_mla(**device.arguments(**arrays), return_lse=True, stream=stream)
        stream.synchronize()
        assert cupy.asnumpy(other.view(cupy.int16)).tobytes() == want[0]


def test_float8_pools_are_bytes():
    device = Device(ONE.format("dsv4"))
    pool = device.arrays["kv_cache"].view(torch.float8_e4m3fn)
    assert device.call(kv_cache=pool) == device.call()


def test_rows_in_frames_and_strides():
    """Indices of row stride 7936, rows framed [B, S], out and q slices of larger arrays."""
    device = Device(ONE.format("dsv4"))
    want = device.call()
    rows, width = device.case.indices.shape
    _, heads, d_qk = device.case.q.shape
    wide = torch.full((rows, 7936), 2**31 - 1, dtype=torch.int32, device="cuda")
    wide[:, :width] = device.arrays["indices"]
    q = torch.full((rows, heads + 3, d_qk), float("nan"), dtype=torch.bfloat16, device="cuda")
    q[:, 1 : 1 + heads] = device.arrays["q"]
    out = torch.full((rows, heads + 2, device.out.shape[2]), 7.0, dtype=torch.bfloat16, device="cuda")
    lse = torch.full((rows, heads + 2), 7.0, device="cuda")
    frame = (1, rows) if rows % 2 else (2, rows // 2)
    mlatile.sparse_mla(**device.arguments(
        q=q[:, 1 : 1 + heads].unflatten(0, frame), indices=wide[:, :width].unflatten(0, frame),
        topk_length=device.arrays["topk_length"].unflatten(0, frame), out=out[:, :heads].unflatten(0, frame),
        lse=lse[:, :heads].unflatten(0, frame),
    ))
    assert bits(out[:, :heads].contiguous(), lse[:, :heads].contiguous()) == want
    assert bool((out[:, heads:] == 7).all()) and bool((lse[:, heads:] == 7).all())


# ---- streams -----------------------------------------------------------------


@pytest.mark.parametrize("name", [ONE.format("dsv4"), THREE.format("dsv4_1")])
def test_streams(name):
    """Current, named, as an object and as an integer; work before the call is waited for."""
    device = Device(name)
    want = device.call()
    stream = torch.cuda.Stream()
    q = device.arrays["q"]
    late = torch.zeros_like(q)

    def slow_copy():
        torch.cuda._sleep(20_000_000)
        late.copy_(q)

    with torch.cuda.stream(stream):
        slow_copy()
        device.fill(q=late)
    stream.synchronize()
    assert device.filled() == want
    for named in (stream, stream.cuda_stream):
        late.zero_()
        torch.cuda.synchronize()
        slow_copy()  # in the default stream, which the named one must wait for
        device.fill(q=late, stream=named)
        stream.synchronize()
        assert device.filled() == want


def test_a_stream_in_the_interface_is_waited_for():
    device = Device(ONE.format("dsv4"))
    want = device.call()
    stream, q = torch.cuda.Stream(), device.arrays["q"]
    late = torch.zeros_like(q)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        late.copy_(q)
    device.fill(q=OnlyInterface(late, stream=stream.cuda_stream))
    assert device.filled() == want


# ---- graphs ------------------------------------------------------------------


@every_kind
def test_replay_with_indices_and_lengths_rewritten(name):
    """Captured once; every replay equals a call that was not captured, bit by bit."""
    device = Device(name)
    mlatile.preload(device.plan())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        device.fill()
    seen = set()
    for seed in range(4):
        generator = np.random.default_rng(seed)
        order = generator.permutation(device.case.indices.shape[0])
        device.arrays["indices"].copy_(to_torch(device.case.indices[order]))
        # As before or shorter: what stands past a length names slots of NaN.
        lengths = device.case.topk_length[order]
        shorter = generator.integers(0, np.clip(lengths, 0, device.case.indices.shape[1]) + 1)
        lengths = np.where(generator.random(len(order)) < 0.5, shorter, lengths)
        device.arrays["topk_length"].copy_(to_torch(lengths.astype(np.int32)))
        device.out.fill_(float("nan"))
        device.lse.fill_(float("nan"))
        device.workspace[device.plan().counter_bytes :].fill_(255)  # counters are as the last call left them
        graph.replay()
        replayed = device.filled()
        assert replayed == device.call()
        seen.add(replayed)
    assert len(seen) == 4


def test_nothing_is_allocated_in_a_capture():
    device = Device(THREE.format("dsv4"))
    mlatile.preload(device.plan())

    def allocations(work):
        torch.cuda.synchronize()
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            work()
        return torch.cuda.memory_stats()["allocation.all.allocated"] - before

    allocations(device.fill)
    # torch allocates for a capture itself.
    assert allocations(device.fill) == allocations(lambda: device.out.zero_())


@pytest.mark.parametrize("absent", ["out", "lse", "workspace"])
def test_a_capture_that_would_allocate_is_refused(absent):
    device = Device(THREE.format("dsv4"))
    mlatile.preload(device.plan())
    outputs = {key: value for key, value in device.outputs().items() if key != absent}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(mlatile.ArgumentError, match=f"`{absent}`: .*capture"):
            mlatile.sparse_mla(**device.arguments(**outputs), return_lse=True)
        device.fill()  # the capture goes on
    device.out.fill_(0)
    graph.replay()
    assert device.filled() == device.call()


def test_a_capture_that_would_load_is_refused():
    """In a process that has not used the kernels."""
    import subprocess
    import sys

    script = f"""
import sys
sys.path[:0] = {[str(pathlib.Path(__file__).parent), *sys.path]!r}
import torch, mlatile
from test_gpu_python import Device, THREE
device = Device(THREE.format("dsv4"))
graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        device.fill()
except mlatile.UnsupportedError as error:
    assert "not loaded" in str(error) and "preload" in str(error), error
    print("refused")
torch.cuda.synchronize()
device.check(*mlatile.sparse_mla(**device.arguments(), return_lse=True))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "refused" in done.stdout, done.stdout + done.stderr


# ---- merging ---------------------------------------------------------------------


@pytest.mark.parametrize("base", ["2", "e"])
def test_merged_tensors(base):
    log = torch.log2 if base == "2" else torch.log
    lses = [log(torch.full((1, 1), z, device="cuda")) for z in (2.0, 8.0)]
    outs = [torch.full((1, 1, 4), v, dtype=torch.bfloat16, device="cuda") for v in (1.0, 2.0)]
    out, lse = mlatile.merge_states(outs, lses, lse_base=base)
    assert out.dtype == torch.bfloat16 and out.is_cuda and abs(float(out[0, 0, 0]) - 1.8) < 0.01
    assert abs(float(lse) - float(log(torch.tensor(10.0)))) < 1e-6
    sink = torch.log(torch.full((1,), 6.0, device="cuda"))
    out, _ = mlatile.merge_states(outs, lses, lse_base=base, attn_sink=sink)
    assert abs(float(out[0, 0, 0]) - 18 / 16) < 0.01
    nothing = torch.full((1, 1), float("-inf"), device="cuda")
    out, lse = mlatile.merge_states(outs, [nothing, nothing], lse_base=base)
    assert float(out.abs().max()) == 0 and float(lse) == float("-inf")
    with pytest.raises(mlatile.ArgumentError, match="`lses`: expected torch tensors"):
        mlatile.merge_states(outs, [lse.cpu().numpy() for lse in lses])


# ---- places ------------------------------------------------------------------


@pytest.mark.parametrize("key", ["kv_cache", "indices", "topk_length", "attn_sink", "out", "lse", "workspace"])
def test_an_argument_on_the_host_is_refused(key):
    device = Device(THREE.format("dsv4"))
    arrays = device.arrays | device.outputs()
    with pytest.raises(mlatile.ArgumentError, match=f"`{key}`: expected an array on CUDA device 0.* got one on the host"):
        mlatile.sparse_mla(**device.arguments(**device.outputs() | {key: arrays[key].cpu()}))


def test_q_on_the_host_is_refused():
    device = Device(ONE.format("dsv4"))
    with pytest.raises(mlatile.ArgumentError, match="expected an array on the host.* got one on CUDA device 0"):
        mlatile.sparse_mla(**device.arguments(q=device.arrays["q"].cpu()))


def test_device_argument():
    device = Device(ONE.format("dsv4"))
    assert device.call(device="cuda") == device.call()
    with pytest.raises(mlatile.ArgumentError, match="`device`: expected host arrays for 'sim', got device arrays"):
        device.call(device="sim")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_another_device():
    device = Device(ONE.format("dsv4"))
    want = device.call()
    with pytest.raises(mlatile.ArgumentError, match="`indices`: expected an array on CUDA device 0"):
        device.call(indices=device.arrays["indices"].to("cuda:1"))
    # All on the second one, while the first is current.
    device.arrays = {key: tensor.to("cuda:1") for key, tensor in device.arrays.items()}
    assert device.call() == want and torch.cuda.current_device() == 0


def test_host_memory_in_the_interface_is_refused():
    device = Device(ONE.format("dsv4"))
    host = device.arrays["indices"].cpu()
    with pytest.raises(mlatile.ArgumentError, match="`indices`: expected the address of device memory"):
        device.call(indices=OnlyInterface(host))


def test_out_that_is_read_only_is_refused():
    device = Device(ONE.format("dsv4"))
    out = OnlyInterface(device.out, data=(device.out.data_ptr(), True))
    with pytest.raises(mlatile.ArgumentError, match="`out`: expected a writable array"):
        device.call(out=out)


def test_no_rows():
    device = Device(ONE.format("dsv4"))
    empty = {key: device.arrays[key][:0] for key in ("q", "indices", "topk_length")}
    out, lse = mlatile.sparse_mla(**device.arguments(**empty), return_lse=True)
    assert out.shape == (0, *device.out.shape[1:]) and lse.shape == (0, device.lse.shape[1])
