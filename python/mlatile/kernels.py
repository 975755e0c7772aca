# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels, and kernel files of one's own."""

import json
import os

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
        """registers, spill_bytes, shared_bytes, buffers {name: [offset, bytes]}, threads, seconds {stage: s}."""
        return json.loads(self._part.report_json)

    def __repr__(self):
        return f"<mlatile.Kernel {self.name}>"


def compile(plan, target=None):
    """The `Kernel` of a plan, for its own target or another one.

    Raises CompileError with the compiler's or ptxas's log.
    """
    if not isinstance(plan, _mlatile.Plan):
        raise wrong("plan", f"expected a Plan, got {plan!r}")
    if optional_text("target", target) is not None:
        problem = plan.problem
        problem.target = target
        # The same work on another target: splits are not planned again.
        problem.num_splits = plan.num_splits
        plan = _mlatile.plan(problem)
    parts = _mlatile.kernels_of(plan)
    if not parts:
        raise wrong("plan", "expected a plan with rows, got one without a launch")
    for part in parts:
        part.ptx  # errors come from here, not from the first use
    return Kernel(parts)


def load(path, params=None):
    """A kernel file of one's own, for `kernel=` of `sparse_mla` and `plan`.

    The file has the kernels of kernels/decode.mlir (`decode`, and `merge` where
    the splits are used) with the same arguments; `params` binds further
    parameters of `decode`. It is parsed, verified and compiled once: CompileError
    tells the line. OSError where the file cannot be read.
    """
    try:
        path = os.fspath(path)  # an integer would be an open file's number
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except TypeError:
        raise wrong("path", f"expected a path, got {path!r}") from None
    except UnicodeDecodeError as error:
        raise wrong("path", f"expected a text file, got {path!r}: {error}") from None
    if not isinstance(params or {}, dict):
        raise wrong("params", f"expected a dictionary, got {params!r}")
    bound = {str(name): _parameter(name, value) for name, value in (params or {}).items()}
    source = _mlatile.KernelSource(os.fsdecode(path), text, bound)
    problem = _mlatile.Problem()
    problem.num_tokens = problem.num_heads = problem.width = problem.page_size = 1
    problem.kv_format = "dsv4"
    problem.source = source
    compile(_mlatile.plan(problem))
    return source


def _parameter(name, value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, str)):
        return str(value)
    raise wrong("params", f"expected a number, a string or a boolean for `{name}`, got {value!r}")
