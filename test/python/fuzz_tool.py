# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/fuzz, as a program and as modules."""

import os
import subprocess
import sys

from lowered_kernels import SOURCE

FUZZ = SOURCE / "tools" / "fuzz"
SEED = os.environ.get("MLATILE_FUZZ_SEED", "1")

sys.path.insert(0, str(SOURCE / "tools" / "fuzzing"))


def fuzz(*arguments, command=None, timeout=1100, **changes):
    """Runs it, or the command line that it printed; a failure of the program is no error here."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | changes
    return subprocess.run(command or [FUZZ, *map(str, arguments)], cwd=SOURCE, capture_output=True, text=True,
                          env=environment, timeout=timeout)
