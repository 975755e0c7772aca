# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results over parts of a candidate list, or of ranks, as one result."""

import sys

import numpy as np

from .arguments import text, wrong

_LN_2 = 0.6931471805599453


def merge_states(outs, lses, *, lse_base="2", attn_sink=None):
    """(out, lse) of candidate lists as one, from the (out, lse) of each.

    outs: arrays [T, H, d_v] (any leading axes, all of one shape), lses: float32
    [T, H]; NumPy arrays, or torch tensors of one device. lse_base: "2" or "e", of
    all of them and of the result.
    attn_sink: float32 [H], a natural-log logit as in `sparse_mla`, counted once
    here; then no part may have counted it. A part without a candidate (lse = -inf)
    has no weight. Raises ArgumentError.
    """
    if text("lse_base", lse_base) not in ("2", "e"):
        raise wrong("lse_base", f"expected '2' or 'e', got {lse_base!r}")
    outs, lses = _sequence("outs", outs), _sequence("lses", lses)
    if len(outs) != len(lses):
        raise wrong("lses", f"expected as many as outs, {len(outs)}, got {len(lses)}")
    numbers = _library("outs", outs)
    for name, arrays in (("lses", lses), ("attn_sink", [] if attn_sink is None else [attn_sink])):
        if arrays and _library(name, arrays) is not numbers:
            raise wrong(name, f"expected {numbers.kind}s, as outs are, got {type(arrays[0]).__name__}")
    _check_shapes(outs, lses, attn_sink)

    unit = _LN_2 if lse_base == "2" else 1.0  # of an lse, in natural logarithms
    logs = [numbers.wide(lse) * unit for lse in lses]
    if attn_sink is not None:
        logs.append(numbers.spread(attn_sink, logs[0]))
    return numbers.merge(outs, logs, unit)


def _sequence(name, arrays):
    """A tuple of arrays; an array is no sequence of parts, though it has a first axis."""
    if isinstance(arrays, (list, tuple)) and arrays:
        return tuple(arrays)
    raise wrong(name, f"expected a list or tuple of at least one array, got {type(arrays).__name__}")


def _check_shapes(outs, lses, sink):
    shape = tuple(outs[0].shape)
    if len(shape) < 2:
        raise wrong("outs", f"expected shapes [T, H, d_v], got {list(shape)}")
    for name, arrays, wanted in (("outs", outs, shape), ("lses", lses, shape[:-1])):
        for i, array in enumerate(arrays):
            if tuple(array.shape) != wanted:
                raise wrong(name, f"expected shape {list(wanted)}, got {list(array.shape)} at {i}")
    for i, lse in enumerate(lses):
        if "float32" not in str(lse.dtype):
            raise wrong("lses", f"expected float32, got {lse.dtype} at {i}")
    if sink is not None and tuple(sink.shape) != shape[-2:-1]:
        raise wrong("attn_sink", f"expected shape {list(shape[-2:-1])}, got {list(sink.shape)}")


class _NumPy:
    kind = "NumPy array"

    @staticmethod
    def wide(array):
        return np.asarray(array).astype(np.float64)

    @classmethod
    def spread(cls, array, like):
        return np.broadcast_to(cls.wide(array), like.shape)

    @classmethod
    def merge(cls, outs, logs, unit):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            logs = np.stack(logs)
            top = logs.max(axis=0)
            base = np.where(np.isinf(top), 0.0, top)
            weights = np.exp(logs - base)
            total = weights.sum(axis=0)
            lse = np.where(np.isinf(top), top, base + np.log(total))
            share = np.where((total == 0) | np.isinf(total), 0.0, weights / total)
        out = sum(part[..., None] * cls.wide(out) for part, out in zip(share, outs))
        return out.astype(outs[0].dtype), (lse / unit).astype(np.float32)


class _Torch:
    kind = "torch tensor"

    @staticmethod
    def wide(tensor):
        return tensor.double()

    @classmethod
    def spread(cls, tensor, like):
        return cls.wide(tensor).expand_as(like)

    @classmethod
    def merge(cls, outs, logs, unit):
        torch = sys.modules["torch"]
        logs = torch.stack(logs)
        top = logs.amax(dim=0)
        base = torch.where(top.isinf(), 0.0, top)
        weights = (logs - base).exp()
        total = weights.sum(dim=0)
        lse = torch.where(top.isinf(), top, base + total.log())
        share = torch.where((total == 0) | total.isinf(), 0.0, weights / total)
        out = sum(part[..., None] * cls.wide(out) for part, out in zip(share, outs))
        return out.to(outs[0].dtype), (lse / unit).float()


def _library(name, arrays):
    torch = sys.modules.get("torch")
    for kind, library in ((np.ndarray, _NumPy), (getattr(torch, "Tensor", ()), _Torch)):
        if all(isinstance(array, kind) for array in arrays):
            return library
    raise wrong(name, f"expected NumPy arrays or torch tensors, got {', '.join({type(a).__name__ for a in arrays})}")
