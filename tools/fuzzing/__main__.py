# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command line of tools/fuzz."""

import argparse
import math
import sys


def positive(text):
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, got {text}")
    return number


def parse(arguments):
    p = argparse.ArgumentParser(
        prog="tools/fuzz",
        description="Random problems over everything that is built, on the executor, against the float64 reference; "
        "with --sweep problems in which the values of any two or three factors meet; with --ir mutated and random IR against "
        "parser, verifier and passes. Exit 1 on any failure. Same seed, same problems (with --ir: as long as kernels and "
        "tests are the same; the file that is kept shows a crash for good).",
    )
    p.add_argument("--seconds", type=positive, help="how long (default 60; a sweep: to its end)")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=1, help="processes")
    p.add_argument("--cases", type=int, help="stop after so many problems or batches, whatever the time")
    p.add_argument("--case", type=int, help="this problem or batch alone, in this process")
    p.add_argument("--keep-going", action="store_true", help="go on after failures (default: stop after ten)")
    problems = p.add_argument_group("problems")
    problems.add_argument("--format", action="append", help="only this format of the main pool (repeatable)")
    problems.add_argument("--kernel", action="append", help="only this kernel of the library (repeatable)")
    problems.add_argument("--compute", action="append", help="only this compute mode (repeatable)")
    problems.add_argument("--extra", action="append", help="only this format of the second pool, or `none` (repeatable)")
    problems.add_argument("--kernel-file", help="a kernel file of one's own in the place of the library's")
    problems.add_argument("--sweep", type=int, choices=[2, 3], help="every value of any 2 or 3 of formats, sizes and options together")
    problems.add_argument("--work", type=int, help="largest rows x heads x width (default 2^18; a sweep: all)")
    problems.add_argument("--limit", type=positive, default=300, help="seconds until a problem counts as hanging")
    problems.add_argument("--checked", action="store_true", help="the executor's checked mode for all problems")
    problems.add_argument("--orders", type=int, default=1, help="orders of warps in which a problem runs, each with the same bits (default 1)")
    ir = p.add_argument_group("IR")
    ir.add_argument("--ir", action="store_true", help="mutated and random IR")
    ir.add_argument("--opt", help="mlatile-opt to run (default: of the build that Python finds, then build/bin)")
    ir.add_argument("--batch", type=int, default=40, help="mutants a process (default 40)")
    ir.add_argument("--out", help="folder of reproducers (default: build/fuzz)")
    p.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    p.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = p.parse_args(arguments)
    for name, least in (("jobs", 1), ("cases", 1), ("case", 0), ("seed", 0), ("work", 4096), ("batch", 1), ("orders", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            p.error(f"--{name}: expected at least {least}, got {value}")
    if options.ir and options.sweep:
        p.error("--sweep: expected problems, got --ir")
    if options.seconds is None:
        options.seconds = math.inf if options.sweep else 60
    return options


def main(arguments):
    options = parse(arguments)
    if options.ir:
        import ir

        return ir.main(options)
    import pool_of_workers

    return pool_of_workers.main(options, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
