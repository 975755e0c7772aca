# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests of kernels need: caches, random problems, covering arrays, a float64 reference, the error metric.

Nothing here reads the library's table of formats: the bytes are written and
decoded by code of its own.
"""

from .cases import Case, make_case
from .covering import covering, uncovered
from .execution import executor, guarded
from .metric import BOUNDS, Comparison, compare
from .pools import FORMATS, Pool, write_pool
from .reference import Reference, decode_slots, reference

__all__ = [
    "BOUNDS", "Case", "Comparison", "FORMATS", "Pool", "Reference", "compare", "covering", "decode_slots", "executor",
    "guarded", "make_case", "reference", "uncovered", "write_pool",
]
