# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time from a problem that nobody asked for before to its PTX and its machine code.

Every measurement is a process of its own: it imports the package, then the clock
runs while it plans, opens the compiler and generates all kernels of the plan.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

# What an engine is told to expect (docs/Testing.md).
SECONDS_TO_PTX = 0.3
SECONDS_TO_CUBIN = 1.0

STAGES = ("parse", "select", "specialise", "staging", "placement", "conversion", "translate", "codegen", "count",
          "ptxas")


def processor_seconds():
    """Of this process and of those it has waited for: what the time would be on an idle machine."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def generate(problem, cubin):
    """In the child: seconds in all and by stage, and the kernels."""
    from mlatile import _mlatile, plan

    start, busy = time.perf_counter(), processor_seconds()
    parts = _mlatile.kernels_of(plan(**problem))
    for part in parts:
        part.cubin if cubin else part.ptx
    seconds, busy = time.perf_counter() - start, processor_seconds() - busy
    stages = {}
    for part in parts:
        times = json.loads(part.report_json)["seconds"] if cubin else json.loads(part.meta_json)["seconds"]
        for stage, value in times.items():
            stages[stage] = stages.get(stage, 0) + value
    return {"seconds": seconds, "processor": busy, "stages": stages, "kernels": [part.symbol for part in parts]}


def measure(problem, cubin, repeat):
    """The median run of `repeat` processes."""
    runs = []
    # Nothing that was generated before.
    fresh = {name: value for name, value in os.environ.items() if name not in ("MLATILE_KERNELS", "MLATILE_JIT")}
    for _ in range(repeat):
        command = [sys.executable, __file__, "--child", json.dumps({"problem": problem, "cubin": cubin})]
        with tempfile.TemporaryDirectory() as cache:
            fresh["MLATILE_CACHE_DIR"] = cache
            result = subprocess.run(command, capture_output=True, text=True, env=fresh)
        if result.returncode:
            sys.exit(f"bench-generation: error: {problem}: {result.stderr.strip().splitlines()[-1]}")
        runs.append(json.loads(result.stdout))
    middle = statistics.median_low(run["seconds"] for run in runs)
    return next(run for run in runs if run["seconds"] == middle)


def problems(formats, kernels, target):
    """For each format and kernel a problem with one split, and for decode one with several; whether it is supported."""
    import mlatile

    for name in formats or [f["name"] for f in mlatile.formats()]:
        for kernel in kernels or ["decode", "prefill", "swapab"]:
            for splits in [1, 5] if kernel == "decode" else [1]:
                problem = dict(
                    num_tokens=3, num_heads=22, width=1000, kv_format=name, page_size=48, kernel=kernel,
                    num_splits=splits, has_sink=True, has_topk_length=True, return_lse=True, target=target,
                )
                yield problem, mlatile.supported(**problem)


def share(run):
    """Percent of the time by stage; what is in none is planning and opening the compiler."""
    shares = {stage: run["stages"].get(stage, 0) / run["seconds"] for stage in STAGES}
    shares["open"] = 1 - sum(shares.values())
    return {stage: round(100 * value) for stage, value in shares.items()}


def main():
    parser = argparse.ArgumentParser(prog="bench-generation", description=__doc__.splitlines()[0])
    parser.add_argument("--formats", nargs="+", metavar="NAME", help="cache formats (default: all that are built)")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="kernels (default: all that are built)")
    parser.add_argument("--target", default="sm_120a", help="default: sm_120a")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="processes a number, of which the median (3)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--check", action="store_true",
                        help=f"exit 1 above {SECONDS_TO_PTX} s to PTX or {SECONDS_TO_CUBIN} s to cubins")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(generate(**json.loads(options.child))))
        return
    if options.repeat < 1:
        parser.error(f"--repeat: expected at least 1, got {options.repeat}")

    columns = ("open", *STAGES)
    rows, slow = [], 0
    reasons = []
    for problem, support in problems(options.formats, options.kernels, options.target):
        if not support:
            reasons.append(f"{problem['kv_format']} {problem['kernel']}: {support.reason}")
            continue
        if not rows and not options.json:
            print(f"{'':<27}{'to PTX, s':>16}{'to cubin, s':>16}{'share of the time to cubin, %':>36}")
            print(f"{'format':<12}{'kernels':<15}{'clock':>8}{'cpu':>8}{'clock':>8}{'cpu':>8}"
                  + "".join(f"{name:>11}" for name in columns))
        ptx = measure(problem, False, options.repeat)
        cubin = measure(problem, True, options.repeat)
        slow += ptx["seconds"] > SECONDS_TO_PTX or cubin["seconds"] > SECONDS_TO_CUBIN
        shares = share(cubin)
        rows.append({"problem": problem, "ptx": ptx, "cubin": cubin})
        if not options.json:
            print(f"{problem['kv_format']:<12}{'+'.join(cubin['kernels']):<15}{ptx['seconds']:>8.3f}"
                  f"{ptx['processor']:>8.3f}{cubin['seconds']:>8.3f}{cubin['processor']:>8.3f}"
                  + "".join(f"{shares[name]:>11}" for name in columns), flush=True)
    if not rows:
        sys.exit("bench-generation: error: nothing to generate:\n  " + "\n  ".join(dict.fromkeys(reasons)))
    if options.json:
        print(json.dumps(rows, indent=2))
    elif slow:
        print(f"{slow} of {len(rows)} above {SECONDS_TO_PTX} s to PTX or {SECONDS_TO_CUBIN} s to cubin")
    else:
        print(f"all within {SECONDS_TO_PTX} s to PTX and {SECONDS_TO_CUBIN} s to cubin")
    if options.check and slow:
        sys.exit(1)


if __name__ == "__main__":
    main()
