# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of several kernels and of a second cache share: formats, legal pairs of them."""

import numpy as np

import mlatile
from mlatile.testing import FORMATS

KERNELS = ("decode", "prefill", "swapab")
SHAPE = dict(num_tokens=2, num_heads=8, width=64, page_size=64, target="sm_120a")


def parts(name):
    f = FORMATS[name]
    return f.nope, f.rope, f.rope_in_value


EXTRA_ONLY = "dsv4_1_fp4"
MAIN = [name for name in FORMATS if name != EXTRA_ONLY]
# A query meets the keys of both pools and one output adds their values: the parts must be the same.
PAIRS = [(main, extra) for main in MAIN for extra in FORMATS if parts(main) == parts(extra)]


def support(kernel, kv_format, extra=None):
    more = dict(extra_width=64, extra_page_size=64, extra_kv_format=extra) if extra else {}
    return mlatile.supported(**SHAPE, kernel=kernel, kv_format=kv_format, **more)


def reference_error(first, second):
    """Largest difference of two results over the largest value of the first."""
    a, b = (np.asarray(part[0]).astype(np.float64) for part in (first, second))
    return np.abs(a - b).max() / max(np.abs(a).max(), 2.0**-100)
