# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be said of a card without it: what its kernels take, and what their times are predicted to be.

`python -m mlatile.testing.proof` assembles every kernel that a plan for sm_120a may take, for all formats and modes, and
prints the tables of kernels/README.md. Exit status 1: one spills, has no room, or stops all its warps in a loop of roles.
"""

import argparse
import concurrent.futures
import os
import sys
from dataclasses import dataclass

from .. import UnsupportedError, _mlatile, compile, plan, targets
from . import FORMATS
from .counts import caches

HEADS = (1, 8, 11, 16, 22, 64, 80, 128)
KERNELS = ("decode", "prefill", "swapab")
MODES = ("bf16", "fp8", "fp8_fast")

# Times that others reach on an RTX PRO 6000, us: (format, heads, width, {rows: us}).
TO_BEAT = [
    ("dsv4", 128, 1024, {1: 11.4, 64: 220, 128: 266, 2048: 3929}),
    ("dsv3_2", 64, 2048, {1: 10.7, 64: 220, 128: 160, 2048: 2159, 8192: 8608}),
    ("dsv3_2", 128, 2048, {1: 14.1, 64: 324, 128: 268, 2048: 3012, 8192: 11848}),
]


@dataclass(frozen=True)
class Taken:
    """What ptxas and the counts say of one kernel."""

    kernel: str
    kv_format: str
    compute: str
    tile: str
    roles: str
    registers: int
    spills: int
    shared: int
    cta_barriers: int

    def wrong(self, most):
        """What is not as it should be; empty where all is."""
        return [text for text, broken in (
            (f"{self.spills} bytes spilled", self.spills), (f"{self.shared} bytes of shared memory", self.shared > most),
            (f"{self.cta_barriers} barriers of the CTA in the loop", self.roles and self.cta_barriers)) if broken]


def problem_of(kv_format, **more):
    """A problem in which a format stands: alone, or second where it may not stand first."""
    main, extra = caches(kv_format)
    second = dict(extra_kv_format=extra, extra_width=2048, extra_page_size=64) if extra else {}
    return dict(width=2048, page_size=64, kv_format=main) | second | more


def ways(kv_format, target, heads=HEADS, modes=MODES, kernels=KERNELS):
    """Plans of every kernel, tile and mode that a plan of the format may take, whole and split, each kernel once."""
    found = {}
    for mode in modes:
        for count in heads:
            try:
                choice = plan(**problem_of(kv_format, num_tokens=64, num_heads=count, target=target, compute=mode))
            except UnsupportedError:  # a mode that the format has not
                continue
            for i, way in enumerate(choice.candidates):
                if way["kernel"] not in kernels or not way["head_tile"]:
                    continue
                if way["num_splits"] > 1 and way["merge"] != "dependent":
                    continue
                key = tuple(way[name] for name in ("kernel", "compute", "head_tile", "candidate_tile", "warps", "roles"))
                key += (way["num_splits"] > 1,)
                if key not in found:
                    found[key] = _mlatile.plan(_mlatile.asking(choice, i))
    return list(found.values())


def measure(planned, kv_format):
    """Compiles and assembles the attention kernel of a plan."""
    part = compile(planned).parts[0]
    report, meta, way = part.report, part.meta, planned.candidates[0]
    tile = f"{way['head_tile']} x {way['candidate_tile']} ({way['roles'] or way['warps']})"
    warps = report["threads"] // 32
    return Taken(
        way["kernel"], kv_format, way["compute"], tile, way["roles"] or "", report["registers"], report["spill_bytes"],
        report["shared_bytes"], -(-max(loop["cta_barriers"] for loop in meta["loops"]) // warps),
    )


def assemble(target, formats, **which):
    """Everything of `ways`, in parallel."""
    jobs = [(planned, kv_format) for kv_format in formats for planned in ways(kv_format, target, **which)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda job: measure(*job), jobs))


def resources(taken):
    """A line for each kernel, tile and mode: the most of all formats, split and not."""
    groups = {}
    for one in taken:
        groups.setdefault((one.kernel, one.tile, one.compute), []).append(one)
    lines = ["| kernel | tile | compute | formats | registers | spilled bytes | shared bytes | CTA barriers an iteration |",
             "|---|---|---|---|---|---|---|---|"]
    order = sorted(groups, key=lambda key: (KERNELS.index(key[0]), "+" in key[1], int(key[1].split()[0]), MODES.index(key[2])))
    for key in order:
        ones = groups[key]
        formats = list(dict.fromkeys(one.kv_format for one in ones))
        most = [max(getattr(one, name) for one in ones) for name in ("registers", "spills", "shared", "cta_barriers")]
        lines.append(f"| `{key[0]}` | {key[1]} | `{key[2]}` | {len(formats)} | {most[0]} | {most[1]} | {most[2]:,} | {most[3]} |")
    return lines


def way_text(planned):
    way = planned.candidates[0]
    splits = f", {way['num_splits']} splits" if way["num_splits"] > 1 else ""
    return f"{way['kernel']} {way['head_tile']} x {way['candidate_tile']} ({way['roles'] or way['warps']}){splits}"


def times(target):
    """Predicted times beside those to beat."""
    lines = ["| format | heads | width | rows | `bf16` | `auto` | | `fp8_fast` | to beat |", "|---|---|---|---|---|---|---|---|---|"]
    for kv_format, heads, width, rows in TO_BEAT:
        for tokens, us in rows.items():
            problem = dict(num_tokens=tokens, num_heads=heads, width=width, kv_format=kv_format, page_size=64, target=target)
            exact, free, fast = (plan(**problem, compute=mode) for mode in ("bf16", "auto", "fp8_fast"))
            lines.append(
                f"| `{kv_format}` | {heads} | {width} | {tokens} | {exact.predicted_us:.1f} | {free.predicted_us:.1f} | "
                f"`{free.compute}`: {way_text(free)} | {fast.predicted_us:.1f} | {us} |"
            )
    return lines


def main():
    parser = argparse.ArgumentParser(prog="python -m mlatile.testing.proof", description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="sm_120a", choices=targets())
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--times", action="store_true", help="print predicted times only, and assemble nothing")
    line = parser.parse_args()
    broken = []
    if not line.times:
        taken = assemble(line.target, line.formats)
        most = _mlatile.shared_limit(line.target)
        broken = [(one, one.wrong(most)) for one in taken if one.wrong(most)]
        print(f"{len(taken)} kernels.\n")
        print("\n".join(resources(taken)) + "\n")
    if line.target in ("sm_120a", "sm_121a"):
        print("\n".join(times(line.target)))
    for one, reasons in broken:
        print(f"{one.kernel} {one.tile} {one.kv_format} {one.compute}: {', '.join(reasons)}", file=sys.stderr)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
