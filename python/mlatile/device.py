# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays and streams of the libraries that callers have: torch, CuPy, NumPy. None of them is imported for it."""

import operator
import sys

from . import _mlatile
from .arguments import integer, wrong


def preload(plan, device=0):
    """Compiles, or finds prebuilt, all kernels of a plan and loads them on a CUDA device.

    After it a call with that plan, `out`, `lse` and `workspace` given, can be captured
    into a graph. Raises ArgumentError where the plan is for another target,
    UnsupportedError where there is no such device.
    """
    if not isinstance(plan, _mlatile.Plan):
        raise wrong("plan", f"expected a Plan, got {plan!r}")
    device = integer("device", device)
    if not 0 <= device < 2**31:
        raise wrong("device", f"expected the number of a CUDA device, got {device}")
    _mlatile.preload(plan, device)


def bytes_of_float8(array):
    """Float8 tensors of torch as bytes: not every torch shares them by DLPack."""
    torch = _loaded("torch")
    if torch is not None and isinstance(array, torch.Tensor) and "float8" in str(array.dtype):
        return array.view(torch.uint8)
    return array


def empty_like(name, q, shape, dtype):
    """An array of q's library on q's device for the argument `name`; dtype None: q's."""
    torch, cupy = _loaded("torch"), _loaded("cupy")
    if torch is not None and isinstance(q, torch.Tensor):
        return torch.empty(tuple(shape), dtype=getattr(torch, dtype) if dtype else q.dtype, device=q.device)
    if cupy is not None and isinstance(q, cupy.ndarray):
        with q.device:
            return cupy.empty(tuple(shape), dtype=dtype or q.dtype)
    import numpy

    if isinstance(q, numpy.ndarray):
        return numpy.empty(shape, dtype=dtype or q.dtype)
    raise wrong(name, f"expected an array, since {type(q).__name__} is of a library that cannot be allocated from here")


def stream_handle(stream, q):
    """CUstream as an integer, also of CUDA Python's protocol (`__cuda_stream__`).

    None: the current stream of q's library, else 0, the legacy default stream.
    """
    if stream is None:
        return _current_stream(q)
    handle = getattr(stream, "cuda_stream", stream)
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    try:
        handle = operator.index(handle)
    except TypeError:
        raise wrong("stream", f"expected an integer or an object with .cuda_stream, got {stream!r}") from None
    if not 0 <= handle < 2**64:
        raise wrong("stream", f"expected a stream handle, got {handle}")
    return handle


def _current_stream(q):
    torch, cupy = _loaded("torch"), _loaded("cupy")
    if torch is not None and isinstance(q, torch.Tensor):
        return torch.cuda.current_stream(q.device).cuda_stream if q.is_cuda else 0
    if cupy is not None and isinstance(q, cupy.ndarray):
        return cupy.cuda.get_current_stream(q.device.id).ptr
    return 0


def _loaded(name):
    """A module that somebody imported; None while its import is still under way."""
    module = sys.modules.get(name)
    return module if hasattr(module, {"torch": "Tensor", "cupy": "ndarray"}[name]) else None
