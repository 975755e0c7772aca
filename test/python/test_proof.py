# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m mlatile.testing.proof`: kernels with roles assemble for SM120 as the others do (test_assembled.py), and the
predicted times of kernels/README.md are those of the planner."""

import pathlib
import subprocess
import sys

import pytest
from lowered_kernels import needs_ptxas

from mlatile import _mlatile
from mlatile.testing import FORMATS, proof

LIMIT = _mlatile.shared_limit("sm_120a")
WITHOUT_ROLES = ["dsv4_1_fp4"]  # no plan takes them
README = pathlib.Path(__file__).parents[2] / "kernels" / "README.md"


@needs_ptxas
@pytest.mark.parametrize("kv_format", [name for name in FORMATS if name not in WITHOUT_ROLES])
def test_roles_neither_spill_nor_stop_all_warps(kv_format):
    """Those of decode; prefill has the same loop."""
    plans = [planned for planned in proof.ways(kv_format, "sm_120a", heads=(16, 128), modes=("bf16", "fp8"), kernels=("decode",))
             if planned.roles]
    assert len(plans) == (4 if FORMATS[kv_format].payload == "e4m3" else 2)  # whole and split, in each mode
    for planned in plans:
        taken = proof.measure(planned, kv_format)
        assert not taken.wrong(LIMIT) and 0 < taken.registers <= 168, taken


def test_formats_without_roles():
    for kv_format in WITHOUT_ROLES:
        assert not any(planned.roles for planned in proof.ways(kv_format, "sm_120a", heads=(16, 128)))


def test_what_is_wrong_is_said():
    assert LIMIT == 101_376
    good = proof.Taken("decode", "dsv4", "bf16", "32 x 32 (4+4+4)", "4+4+4", 168, 0, 80_000, 0)
    assert good.wrong(LIMIT) == []
    bad = proof.Taken("decode", "dsv4", "bf16", "32 x 32 (4+4+4)", "4+4+4", 168, 8, 101_377, 2)
    assert bad.wrong(LIMIT) == ["8 bytes spilled", "101377 bytes of shared memory", "2 barriers of the CTA in the loop"]
    assert proof.Taken("decode", "dsv4", "bf16", "16 x 32 (4)", "", 168, 0, 80_000, 2).wrong(LIMIT) == []
    assert proof.resources([good, bad])[2] == "| `decode` | 32 x 32 (4+4+4) | `bf16` | 1 | 168 | 8 | 101,377 | 2 |"


def test_the_page_is_what_is_predicted():
    result = subprocess.run([sys.executable, "-m", "mlatile.testing.proof", "--times"], capture_output=True, text=True, check=True)
    assert result.stdout.count("\n") == 2 + sum(len(rows) for *_, rows in proof.TO_BEAT)
    assert result.stdout in README.read_text(), "python -m mlatile.testing.proof --times"
