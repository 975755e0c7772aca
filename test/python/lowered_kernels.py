# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of any signature on the executor: the compiler library's C calls (compiler_c.h), so that tests can
compile their own kernels, edit the LLVM IR and choose grid, seed and host threads."""

import ctypes
import functools
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import mlatile

BUILD = pathlib.Path(mlatile._mlatile.__file__).resolve().parents[2]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DECODE = SOURCE / "kernels" / "decode.mlir"
PTXAS = os.environ.get("MLATILE_PTXAS") or shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="no ptxas")


class _Blob(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class _Compiled(ctypes.Structure):
    _fields_ = [("meta", ctypes.c_char_p), ("num_blobs", ctypes.c_size_t), ("blobs", ctypes.POINTER(_Blob))]


@functools.cache
def _library():
    library = ctypes.CDLL(str(BUILD / "lib" / "libmlatile_compiler.so"))
    library.mlatile_sim_launch.argtypes = [
        ctypes.c_void_p, *[ctypes.c_uint] * 4, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
        ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p),
    ]
    for name in ("mlatile_compiler_free_string", "mlatile_compiler_free_compiled", "mlatile_sim_free"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
        getattr(library, name).restype = None
    return library


def _take(pointer):
    text = ctypes.string_at(pointer).decode()
    _library().mlatile_compiler_free_string(pointer)
    return text


class KernelError(Exception):
    """The message of the compiler or of the executor."""


def _checked(status, error):
    if status:
        raise KernelError(_take(error))


class Compiled:
    """meta (compiler_c.h), and the blobs as bytes by name: "llvm" (bitcode), "ptx", "mlir"."""

    def __init__(self, meta, blobs):
        self.meta, self.blobs = meta, blobs


def compile_kernel(source=None, kernel="decode", target="sm_120a", cubin=False, **params):
    """source: a path; None: the built-in kernels/decode.mlir of the checkout."""
    path = pathlib.Path(source or DECODE)
    request = dict(source=path.read_text(), source_name=path.name, kernel=kernel, params=params, target=target,
                   cubin=cubin)
    result, error = ctypes.POINTER(_Compiled)(), ctypes.c_void_p()
    _checked(_library().mlatile_compiler_compile(json.dumps(request).encode(), ctypes.byref(result),
                                                 ctypes.byref(error)), error)
    compiled = result.contents
    blobs = {
        blob.name.decode(): ctypes.string_at(blob.data, blob.size) for blob in compiled.blobs[: compiled.num_blobs]
    }
    meta = json.loads(compiled.meta)
    _library().mlatile_compiler_free_compiled(result)
    return Compiled(meta, blobs)


def llvm_text(source=None, kernel="decode", target="sm_120a", **params):
    """The same kernel as `mlatile-compile --emit=llvm` prints it."""
    bound = [f"--param={name}={str(value).lower() if isinstance(value, bool) else value}"
             for name, value in params.items()]
    job = [BUILD / "bin" / "mlatile-compile", source or DECODE, f"--kernel={kernel}", f"--target={target}",
           "--emit=llvm", *bound]
    result = subprocess.run(job, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Program:
    """LLVM IR, text or bitcode, that the executor can run. Raises KernelError."""

    def __init__(self, ir, meta):
        ir = ir.encode() if isinstance(ir, str) else ir
        self.meta, self._handle, error = meta, ctypes.c_void_p(), ctypes.c_void_p()
        _checked(_library().mlatile_sim_load(ir, ctypes.c_size_t(len(ir)), meta["name"].encode(),
                                             ctypes.byref(self._handle), ctypes.byref(error)), error)

    def __del__(self):
        if self._handle:
            _library().mlatile_sim_free(self._handle)

    def launch(self, grid, arguments, **options):
        """arguments: by name; options: seed, host_threads. Gives the executor's counts."""
        cells = _pack(self.meta["args"], arguments)
        pointers = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(cell) for cell in cells])
        stats, error = ctypes.c_void_p(), ctypes.c_void_p()
        _checked(
            _library().mlatile_sim_launch(
                self._handle, grid, 1, 1, self.meta["threads"], self.meta["dynamic_shared_bytes"], pointers,
                len(cells), json.dumps(options).encode(), ctypes.byref(stats), ctypes.byref(error),
            ),
            error,
        )
        return json.loads(_take(stats))


def _pack(kinds, values):
    """docs/Pipeline.md, section 4; a missing array is null with no extent."""
    cells = []
    for kind in kinds:
        value = values.get(kind["name"])
        if kind["kind"] == "view":
            rank = kind["rank"]
            if value is None:
                cells += [ctypes.c_void_p(0)] + [ctypes.c_int64(0)] * (2 * rank - 1)
                continue
            assert value.ndim == rank, f"{kind['name']}: rank {value.ndim}, expected {rank}"
            strides = [stride // value.itemsize for stride in value.strides]
            cells.append(ctypes.c_void_p(value.ctypes.data))
            cells += [ctypes.c_int64(n) for n in (*value.shape, *strides[:-1])]
        elif kind["kind"] == "pool":
            pool = value
            cells.append(ctypes.c_void_p(pool.pages.ctypes.data))
            cells += [ctypes.c_int64(n) for n in (pool.slots, pool.page_size, pool.pages.strides[0], pool.row_stride)]
        else:
            cells.append(ctypes.c_float(value) if kind["element"] == "f32" else ctypes.c_int64(value))
    return cells


class Arrays:
    """The arguments of decode for a case without splits; `out` and `lse` hold NaN until they are written."""

    def __init__(self, case):
        import ml_dtypes

        rows, heads, _ = case.q.shape
        self.case = case
        self.out = np.full((rows, heads, case.pool.format.d_v), np.nan, ml_dtypes.bfloat16)
        self.lse = np.full((rows, heads), np.nan, np.float32)

    def arguments(self):
        case = self.case
        return dict(
            q=case.q[None], kv=case.pool, indices=case.indices[None], out=self.out[None], lse=self.lse[None],
            lengths=None if case.topk_length is None else case.topk_length[None, :, None], sink=case.attn_sink,
            sm_scale=case.sm_scale, num_splits=1,
        )

    def compare(self, lse=False, **options):
        return self.case.compare(self.out, self.lse if lse else None, **options)


def run(program, case, *, head_tile, **options):
    """One launch without splits: (Arrays, counts)."""
    arrays = Arrays(case)
    rows, heads, _ = case.q.shape
    stats = program.launch(rows * -(-heads // head_tile), arrays.arguments(), **options)
    return arrays, stats
