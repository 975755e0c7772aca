# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of any signature on the executor: the compiler library's C calls (compiler_c.h), so that tests can
compile their own kernels, edit the LLVM IR and choose grid, seed and host threads."""

import ctypes
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

import mlatile

BUILD = pathlib.Path(mlatile._mlatile.__file__).resolve().parents[2]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
KERNEL_FOLDER = SOURCE / "kernels"
DECODE = KERNEL_FOLDER / "decode.mlir"
ATTEND = "steps/attend.mlir"
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


def edited(folder, changes, kernel="decode.mlir"):
    """kernels/ in a folder of its own, with changes {file: {old: new}}, each of which its file has once; gives the path
    of the kernel's file. Always of one time stamp."""
    for path in (KERNEL_FOLDER / kernel, *KERNEL_FOLDER.glob("steps/*.mlir")):
        name = str(path.relative_to(KERNEL_FOLDER))
        text = path.read_text()
        for old, new in changes.get(name, {}).items():
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    assert all((folder / name).exists() for name in changes), list(changes)
    return folder / kernel


def line_of(path, text):
    """The number of the line of a file that has the text."""
    lines = [i for i, line in enumerate(path.read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1, (path, text, lines)
    return lines[0]


def planned_params(kv_format, **problem):
    """The tile that a plan takes for a format: BH, BN and WARPS."""
    problem = dict(num_tokens=1, num_heads=16, width=64, page_size=64, num_splits=1, target="sm_120a", kernel="decode") | problem
    name = mlatile.plan(kv_format=kv_format, **problem).launches[0]["kernel"]
    return {key: int(value) for key, value in re.findall(r"-(BH|BN|WARPS)=(\d+)", name)}


def compile_kernel(source=None, kernel="decode", target="sm_120a", cubin=False, text=None, **params):
    """source: a path, with its steps beside it; None: the built-in kernels/decode.mlir of the checkout, or `text`."""
    path = pathlib.Path(source or DECODE)
    request = dict(source=text or path.read_text(), source_name="text" if text else path.name, kernel=kernel, params=params, target=target,
                   cubin=cubin, steps={file.name: file.read_text() for file in path.parent.glob("steps/*.mlir")})
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
            if value is None:
                cells += [ctypes.c_void_p(0)] + [ctypes.c_int64(0)] * 4
                continue
            cells.append(ctypes.c_void_p(value.pages.ctypes.data))
            cells += [ctypes.c_int64(n) for n in (value.slots, value.page_size, value.pages.strides[0], value.row_stride)]
        else:
            cells.append(ctypes.c_float(value) if kind["element"] == "f32" else ctypes.c_int64(value))
    return cells


class Edited:
    """A kernel as lines of LLVM IR, to run with mistakes put into it on purpose."""

    def __init__(self, **params):
        self.meta = compile_kernel(**params).meta
        self.lines = llvm_text(**params).splitlines()

    def find(self, pattern):
        """Numbers of the lines that match."""
        return [i for i, line in enumerate(self.lines) if re.search(pattern, line)]

    def program(self, changes):
        """With other lines: {number: text, or None to drop it}."""
        lines = [changes.get(i, line) for i, line in enumerate(self.lines)]
        return Program("\n".join(line for line in lines if line is not None), self.meta)


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
