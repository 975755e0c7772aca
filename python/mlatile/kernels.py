# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels, and kernel files of one's own."""

import json
import os
import pathlib

from . import _mlatile
from .arguments import optional_text, wrong


class Kernel:
    """The kernel of a plan. Pieces are made when they are first read.

    `mlir` (specialised, before lowering) and `ptx` need no ptxas; `cubin` and
    `report` do. A plan with splits has more than one kernel: `parts` has all in
    the order of their launch, the main one first.
    """

    def __init__(self, parts, index=0):
        self._parts = parts
        self._part = parts[index]
        self._index = index

    @property
    def parts(self):
        return tuple(Kernel(self._parts, i) for i in range(len(self._parts)))

    @property
    def name(self):
        """File, symbol, parameters and target in one word."""
        return self._part.name

    @property
    def symbol(self):
        return self._part.symbol

    @property
    def target(self):
        return self._part.target

    @property
    def mlir(self):
        return self._part.mlir

    @property
    def ptx(self):
        return self._part.ptx

    @property
    def llvm(self):
        """Bitcode: what the executor runs and NVPTX translates."""
        return self._part.llvm

    @property
    def cubin(self):
        return self._part.cubin

    @property
    def meta(self):
        """What the compiler says of the kernel (threads, arguments, buffers, seconds)."""
        return json.loads(self._part.meta_json)

    @property
    def report(self):
        """What it takes, what its loop does, how long it will run, as docs/HostApi.md ("Report") lists it.

        registers, spill_bytes, shared_bytes, threads, buffers {name: [offset, bytes]}, seconds {stage: s},
        per_tile (warp instructions of the CTA for 64 candidates), predicted {card: {us, limiter}}.
        """
        return json.loads(self._part.report_json)

    def __repr__(self):
        return f"<mlatile.Kernel {self.name}>"


def compile(plan, target=None, dump_dir=None):
    """The `Kernel` of a plan, for its own target or another one.

    dump_dir: a folder; each kernel writes its IR after every pass, its LLVM IR and
    PTX to a folder of its name in it.

    Raises CompileError with the compiler's or ptxas's log.
    """
    if not isinstance(plan, _mlatile.Plan):
        raise wrong("plan", f"expected a Plan, got {plan!r}")
    if optional_text("target", target) is not None:
        plan = _on_target(plan, target)
    parts = _mlatile.kernels_of(plan)
    if not parts:
        raise wrong("plan", "expected a plan with rows, got one without a launch")
    folder = None if dump_dir is None else _folder("dump_dir", dump_dir)
    for part in parts:
        if folder is not None:
            _mlatile.dump_kernel(part, folder)
        part.ptx  # errors come from here, not from the first use
    return Kernel(parts)


def _on_target(plan, target):
    """The same work on another target: nothing is chosen again, unless what was taken cannot be there."""
    problem = plan.problem
    problem.target = target
    other = _mlatile.plan(problem)
    names = "kernel", "compute", "head_tile", "candidate_tile", "roles", "num_splits", "merge"
    way = [plan.candidates[0][name] for name in names]
    for i, candidate in enumerate(other.candidates):
        if way == [candidate[name] for name in names]:
            return _mlatile.plan(_mlatile.asking(other, i))
    problem.kernel = plan.kernel
    problem.num_splits = plan.num_splits
    return _mlatile.plan(problem)


def _folder(name, path):
    try:
        folder = os.fsdecode(path)
    except TypeError:
        folder = ""
    if not folder:
        raise wrong(name, f"expected the path of a folder, got {path!r}")
    return folder


def load(path, params=None):
    """A kernel file of one's own, for `kernel=` of `sparse_mla` and `plan`.

    The file has the kernels of kernels/decode.mlir (`decode`, and `merge` where
    the splits are used) with the same arguments, those of a second cache only if
    it has the parameter HAS_EXTRA; `params` binds further parameters of `decode`. Steps that
    it declares come from the files of `steps/` beside it, else from those built in. It is parsed and verified, and
    its kernels' arguments are compared with those of a call: CompileError tells the line. `params` are checked as far
    as they go, with what `decode` requires of them: ArgumentError. It is compiled, for the problem's format and
    options, when a call needs it. OSError where a file cannot be read.
    """
    try:
        path = os.fsdecode(os.fspath(path))  # an integer would be an open file's number
    except TypeError:
        raise wrong("path", f"expected a path, got {path!r}") from None
    text = _read(path)
    steps = {str(step): _read(step) for step in pathlib.Path(path).parent.glob("steps/*.mlir")}
    if not isinstance(params or {}, dict):
        raise wrong("params", f"expected a dictionary, got {params!r}")
    bound = {str(name): _parameter(name, value) for name, value in (params or {}).items()}
    source = _mlatile.KernelSource(path, text, bound, steps)
    problem = _mlatile.Problem()
    problem.num_tokens = problem.num_heads = problem.width = problem.page_size = 1
    problem.kv_format = "dsv4"
    problem.source = source
    _mlatile.plan(problem)  # refuses what the call binds
    _mlatile.check_source(source)
    return source


def _read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise wrong("path", f"expected a text file, got {str(path)!r}: {error}") from None


def _parameter(name, value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, str)):
        return str(value)
    raise wrong("params", f"expected a number, a string or a boolean for `{name}`, got {value!r}")
