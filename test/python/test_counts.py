# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the loops over candidates of every kernel, format and pair do, counted in their PTX."""

import re
import subprocess
import sys

import pytest
from lowered_kernels import SOURCE
from second_caches import KERNELS, MAIN, PAIRS

from mlatile.testing import FORMATS, counts

CACHES = [*((name, None) for name in MAIN), *PAIRS]


@pytest.mark.parametrize(("kv_format", "extra"), CACHES, ids=lambda name: str(name))
def test_barriers_in_the_loops(kv_format, extra):
    """In swapab a warp has whole candidate tiles of its heads, and what belongs to them. The other kernels exchange maxima
    and probabilities, and some factors."""
    for kernel in KERNELS:
        for heads in counts.HEADS if kernel == "swapab" else (64,):
            found = list(counts.loops(kernel, kv_format, heads, extra))
            assert len(found) == (2 if extra else 1)
            for loop in found:
                barriers = loop.barriers * loop.candidates / counts.CANDIDATES
                assert loop.mma > 0 and barriers in ({0} if kernel == "swapab" else range(2, 7)), loop


def test_counts_are_those_of_the_products():
    """Of all heads of a tile, 2048 an mma; some compute scores, or values of 4 bits, in two warps and more."""
    for kernel in KERNELS:
        for kv_format, sizes in FORMATS.items():
            if kv_format in MAIN:
                (loop,) = counts.loops(kernel, kv_format, 32)
                scores, values = (loop.heads * counts.CANDIDATES * size // 2048 for size in (sizes.d_qk, sizes.d_v))
                assert loop.mma >= scores + values, loop
                if kv_format != "dots3_swa" and (kernel == "swapab" or sizes.payload == "e4m3"):
                    assert loop.mma == scores + values, loop


def test_the_page_is_what_is_measured():
    """`python -m mlatile.testing.counts` prints the table of docs/Measurements.md."""
    result = subprocess.run([sys.executable, "-m", "mlatile.testing.counts"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    for kernel in KERNELS:
        for kv_format in FORMATS:
            assert any(line.startswith(f"| {kernel} | {kv_format} |") for line in printed)
    page = (SOURCE / "docs" / "Measurements.md").read_text()
    lines = re.findall(rf"^(?:\| (?:{'|'.join(KERNELS)}) \| (?:{'|'.join(FORMATS)}) \| \d+ x \d+ \(.*)$", page, flags=re.MULTILINE)
    assert lines == printed[2:]
