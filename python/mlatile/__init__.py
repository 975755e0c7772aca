# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sparse-MLA attention from kernels that are generated for the problem.

`sparse_mla` runs one call; `plan`, `supported` and `compile` show what it would
do. `load` takes a kernel file of one's own. See docs/HostApi.md.
"""

import pkgutil

# In the build tree the extension stands in build/python/mlatile, the sources
# in python/mlatile.
__path__ = pkgutil.extend_path(__path__, __name__)

from ._mlatile import ArgumentError, CompileError, Error, LaunchError, UnsupportedError  # noqa: E402
from ._mlatile import KernelSource, Plan, Support, formats, targets  # noqa: E402
from .device import preload  # noqa: E402
from .kernels import Kernel, compile, load  # noqa: E402
from .operation import sparse_mla  # noqa: E402
from .planning import plan, supported  # noqa: E402
from .refinement import refine, refine_by, use_refinement  # noqa: E402

__all__ = [
    "ArgumentError", "CompileError", "Error", "Kernel", "KernelSource", "LaunchError", "Plan", "Support",
    "UnsupportedError", "compile", "formats", "load", "merge_states", "plan", "preload", "refine", "refine_by",
    "sparse_mla", "supported", "targets", "use_refinement",
]


def __getattr__(name):
    # The only one that needs NumPy at once.
    if name == "merge_states":
        from .merging import merge_states

        return merge_states
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
