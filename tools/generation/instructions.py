# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the instructions that generating a kernel takes, under callgrind, and compares them with stored numbers.

Instructions, and not seconds, since they are the same on a busy machine. A number that
is too high by more than its tolerance is an error; one that is too low by more is one
too, so that a gain is kept: `--update` stores what was counted.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77  # to ctest


def count(program, arguments):
    """Instructions of one run of the compiler to PTX, start of the process included."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out", program, *arguments,
                   "-o", f"{folder}/kernel.ptx"]
        result = subprocess.run(command, capture_output=True, text=True)
        counted = re.search(r"Collected : (\d+)", result.stderr)
        if result.returncode or not counted:
            sys.exit(f"instructions: error: {' '.join(map(str, command))}\n{result.stderr}")
        if ".entry" not in (pathlib.Path(folder) / "kernel.ptx").read_text():
            sys.exit("instructions: error: the compiler wrote no PTX")
        return int(counted[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="mlatile-compile")
    parser.add_argument("stored", type=pathlib.Path, help="JSON file of the numbers")
    parser.add_argument("--update", action="store_true", help="store what is counted")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: no valgrind (tools/setup installs it)")
        sys.exit(SKIPPED)
    stored = json.loads(options.stored.read_text())
    tolerance = stored["tolerance"]
    wrong = 0
    for kernel in stored["kernels"]:
        counted, expected = count(options.program, kernel["arguments"]), kernel["instructions"]
        change = counted / expected - 1
        print(f"{' '.join(kernel['arguments'])}: {counted:,} instructions, {expected:,} stored, {change:+.1%}"
              f" (tolerance {tolerance:.0%})")
        wrong += abs(change) > tolerance
        kernel["instructions"] = counted
    if options.update:
        options.stored.write_text(json.dumps(stored, indent=2) + "\n")
    elif wrong:
        sys.exit("instructions: error: outside of the tolerance; docs/Testing.md, \"Time to generate\", says what to do")


if __name__ == "__main__":
    main()
