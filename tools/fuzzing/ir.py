# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutated and random IR against mlatile-opt: whatever it is given, it ends by itself with status 0 or 1.

A batch is a number of mutants of one piece of IR, or of random kernels of one
level, some of them mutated too, under one pass or pipeline, in one process
(-split-input-file). A batch that crashes or hangs is halved until one mutant is
left, which is then made as small as it can be.
"""

import hashlib
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import generate_tile
import generate_tilegpu
import mutate

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 20  # until one mutant counts as hanging
MEMORY = 4 << 30
OURS = r"^ +--((?:tile|tilegpu|convert-tile|mlatile|select-kernel|attach)[\w-]*) "
# MLIR's own parser dies of these (mlir-opt too): dense arrays of what is neither an integer nor a float, and positions in
# a struct of which 32 bits are one of its elements and the whole is not.
NOT_OURS = [re.compile(r"array\s*<(?!\s*(?:i\d+|f16|bf16|f32|f64)\b)"), re.compile(r"(?:extract|insert)value[^\[\n]*\[[^\]]*\d{10}")]
UPSTREAM = [["--verify-roundtrip"], ["--canonicalize", "--cse"], ["--inline", "--canonicalize"]]
RANDOM = {  # what it is: (how it is made, the pipelines that take it)
    "random kernels of the author's level": (generate_tile.kernel, ("mlatile-tile-to-", "tile-specialise")),
    "random kernels of the second level": (generate_tilegpu.kernel, ("mlatile-tilegpu-to-", "tilegpu-", "convert-tile")),
}
PARAMS = {"index": ["16", "32", "8", "1"], "i1": ["true", "false"],
          "format": ["dsv4", "dsv3_2", "dsv4_1", "glm53_nope", "dots3_swa", "dsv4_nvfp4"]}


def find_opt(options):
    if options.opt:
        return pathlib.Path(options.opt)
    try:
        import mlatile

        beside = pathlib.Path(mlatile._mlatile.__file__).parents[2] / "bin" / "mlatile-opt"
        if beside.exists():
            return beside
    except ImportError:
        pass
    return ROOT / "build" / "bin" / "mlatile-opt"


class Piece:
    """A module to start from, and where it comes from."""

    def __init__(self, text, origin):
        self.text, self.origin = text, origin
        self.kernels = {  # name: [(parameter, type)] that have no default
            name: re.findall(r"(\w+) : (format|index|i1)(?= *(?:,|$))", params or "")
            for name, params in re.findall(r"tile\.kernel @(\w+)(?: params\(([^()]*)\))?", text)
        }


def pieces(opt):
    """Every kernel and test, cut where -split-input-file and split-file cut, and what passes make of the kernels."""
    found = []
    for file in sorted([*(ROOT / "kernels").rglob("*.mlir"), *(ROOT / "test").rglob("*.mlir")]):
        for number, part in enumerate(re.split(r"^// -----.*$|^//--- .*$", file.read_text(), flags=re.MULTILINE)):
            text = "\n".join(line for line in re.sub(r"//.*", "", part).splitlines() if line.strip())
            if text:
                found.append(Piece(text, f"{file.relative_to(ROOT)}#{number}"))
    for piece in [p for p in found if p.origin.startswith("kernels/")]:
        for name, needed in piece.kernels.items():
            bound = ",".join(f"{parameter}={PARAMS[kind][0]}" for parameter, kind in needed)
            for stage in ("tile-specialise", "mlatile-tile-to-tilegpu"):
                job = [opt, f"--{stage}={_bind(name, bound)}"]
                result = subprocess.run(job, input=piece.text, capture_output=True, text=True)
                if result.returncode == 0:
                    found.append(Piece(result.stdout, f"{piece.origin} @{name} {stage}"))
    return found


def _bind(kernel, params):
    return f"kernel={kernel}" + (f" params={params}" if params else "")


def passes(opt):
    text = subprocess.run([opt, "--help"], capture_output=True, text=True, check=True).stdout
    names = sorted(set(re.findall(OURS, text, flags=re.MULTILINE)))
    if len(names) < 5:
        raise SystemExit(f"mlatile: error: {opt} lists only the passes {names}")
    return names


class Tool:
    def __init__(self, opt, folder, program):
        self.opt, self.folder, self.program = opt, folder, program
        self.environment = os.environ | {"LLVM_DISABLE_SYMBOLIZATION": "1"}

    def run(self, flags, texts, seconds=None):
        """None where it ended well; else what happened, and a signature of the place."""
        job = [self.program, "-split-input-file", *flags, "-o", "/dev/null"]
        try:
            result = subprocess.run(
                job, input="\n// -----\n".join(texts).encode(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                env=self.environment, timeout=seconds or SECONDS + len(texts), preexec_fn=_limits,
            )
        except subprocess.TimeoutExpired:
            return "hangs", "hangs " + " ".join(flags)
        errors = result.stderr.decode(errors="replace")
        fatal = re.search(r"(LLVM ERROR: .*|UNREACHABLE executed.*|Assertion .*)", errors)
        if result.returncode in (0, 1) and not fatal:
            return None
        frames = re.findall(r"\((\S*\+0x[0-9a-f]+)\)", errors)
        what = f"status {result.returncode}" + (f", {fatal[1]}" if fatal else "")
        return what, f"{result.returncode} " + " ".join(frames[3:11])

    def first_bad(self, flags, texts):
        """The first mutant of a bad batch that is bad alone: (text, what, signature), or None."""
        while len(texts) > 1:
            half = texts[: len(texts) // 2]
            if self.run(flags, half):
                texts = half
            elif self.run(flags, texts[len(half) :]):
                texts = texts[len(half) :]
            else:
                return None  # only together
        found = self.run(flags, texts, SECONDS)
        return (texts[0], *found) if found else None

    def reduced(self, flags, text, what):
        """Lines, then tokens, dropped in ever smaller runs while the same thing happens."""
        end = time.monotonic() + 40
        limit = SECONDS if what == "hangs" else None
        if what == "hangs":
            end += 60

        def same(candidate):
            found = self.run(flags, [candidate], limit)
            return bool(found) and found[0] == what

        for split, join in ((str.splitlines, "\n".join), (mutate.tokens, "".join)):
            parts = split(text)
            size = max(1, len(parts) // 2)
            while size and time.monotonic() < end:
                start = 0
                while start < len(parts) and time.monotonic() < end:
                    shorter = parts[:start] + parts[start + size :]
                    if same(join(shorter)):
                        parts = shorter
                    else:
                        start += size
                size //= 2
            text = join(parts)
        return text


def _limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Batch:
    def __init__(self, seed, number, size, sources, names, dictionary):
        rng = random.Random(f"{seed}/{number}")
        if rng.random() < 0.4:
            self._random(rng, size, names, dictionary)
        else:
            self._mutants(rng, size, sources, names, dictionary)
        self.texts = [t for t in self.texts if not any(known.search(t) for known in NOT_OURS)] or [self.piece.text]

    def _random(self, rng, size, names, dictionary):
        origin = rng.choice(sorted(RANDOM))
        self.texts = [RANDOM[origin][0](rng) for _ in range(max(4, size // 2))]
        self.piece = Piece(self.texts[0], origin)  # all have its name and parameters
        # Most passes take nothing but what those before them made.
        whole = [name for name in names if name.startswith(RANDOM[origin][1])]
        self.flags = self._flags(rng, whole if rng.random() < 0.7 else names)
        self.texts = [mutate.mutant(rng, t, dictionary, deep=True) if rng.random() < 0.3 else t for t in self.texts]

    def _mutants(self, rng, size, sources, names, dictionary):
        # Short pieces more often: a mutant of the decode kernel takes as long as fifty of them.
        weights = [(0.3 if "invalid" in p.origin else 1) / (2000 + len(p.text)) for p in sources]
        self.piece = rng.choices(sources, weights)[0]
        self.flags = self._flags(rng, names)
        count = max(4, min(size, 400_000 // (len(self.piece.text) + 1)))
        deep = self.flags[0] != UPSTREAM[0][0]
        self.texts = [mutate.mutant(rng, self.piece.text, dictionary, deep and rng.random() < 0.7) for _ in range(count)]

    def _flags(self, rng, names):
        if rng.random() < 0.25:
            return list(rng.choice(UPSTREAM))
        name = rng.choice(names)
        takes = {"tile-specialise": "params", "select-kernel": "kernel", "attach-ptx": "target"}.get(name)
        if name.startswith("mlatile-tile-to"):
            takes = "params"
        if takes == "target" or (takes is None and name in ("convert-tile-to-nvvm", "tilegpu-plan-shared")):
            return [f"--{name}=target={rng.choice(['sm_120a', 'sm_121a', 'sm_90a'])}"]
        if name == "mlatile-tilegpu-to-nvvm" and rng.random() < 0.5:
            return [f"--{name}", "--attach-ptx"]  # code generation too
        if takes is None or not self.piece.kernels:
            return [f"--{name}"]
        kernel = rng.choice(sorted(self.piece.kernels))
        if takes == "kernel":
            return [f"--{name}=kernel={kernel}"]
        bound = ",".join(f"{p}={rng.choice(PARAMS[kind])}" for p, kind in self.piece.kernels[kernel])
        return [f"--{name}={_bind(kernel, bound)}"]


def main(options):
    opt = find_opt(options)
    if not opt.exists():
        print(f"mlatile: error: no {opt}", file=sys.stderr)
        return 2
    folder = pathlib.Path(options.out or ROOT / "build" / "fuzz")
    with tempfile.TemporaryDirectory() as copy:  # the same program for the whole run, whoever builds meanwhile
        return run(options, Tool(opt, folder, shutil.copy2(opt, copy)))


def run(options, tool):
    opt = tool.program
    sources, names = pieces(opt), passes(opt)
    dictionary = mutate.Dictionary([p.text for p in sources])
    print(f"seed {options.seed}: {len(sources)} pieces, {len(names)} passes and pipelines", flush=True)
    start, counts, known = time.monotonic(), Counter(), {}

    def batch(number):
        if time.monotonic() - start > options.seconds and options.case is None:
            return None
        b = Batch(options.seed, number, options.batch, sources, names, dictionary)
        return number, b, tool.run(b.flags, b.texts)

    numbers = [options.case] if options.case is not None else range(options.cases or 1 << 40)
    with ThreadPoolExecutor(options.jobs) as threads:
        for done in _in_order(threads, batch, numbers, 2 * options.jobs):
            number, b, bad = done
            counts["all"] += len(b.texts)
            counts[f"  {b.flags[0].split('=')[0]}"] += len(b.texts)
            counts[f"  {b.piece.origin if b.piece.origin in RANDOM else 'mutants'}"] += len(b.texts)
            if not bad:
                continue
            signature = bad[1]
            if signature in known:
                known[signature] += 1
                continue
            known[signature] = 1
            report(options, tool, number, b, bad)
            if len(known) >= 10 and not options.keep_going:
                break
    seconds = time.monotonic() - start
    print("pieces of IR:\n" + "\n".join(f"{k}: {v}" for k, v in sorted(counts.items()) if k != "all"))
    print(f"{counts['all']} pieces of IR in {seconds:.1f} s ({counts['all'] / seconds:.0f} a second), "
          f"{len(known)} failures, {sum(known.values())} with repetitions")
    if not counts["all"]:
        print("mlatile: error: nothing was run", file=sys.stderr)
        return 2
    return 1 if known else 0


def _in_order(threads, function, numbers, ahead):
    """Results in order, `ahead` of them under way; ends at the first None."""
    waiting, numbers = [], iter(numbers)
    while True:
        while len(waiting) < ahead and (number := next(numbers, None)) is not None:
            waiting.append(threads.submit(function, number))
        if not waiting or (result := waiting.pop(0).result()) is None:
            return
        yield result


def report(options, tool, number, batch, bad):
    text, what = "\n// -----\n".join(batch.texts), bad[0]
    alone = tool.first_bad(batch.flags, batch.texts)
    if alone:
        text, what = tool.reduced(batch.flags, alone[0], alone[1]), alone[1]
    tool.folder.mkdir(parents=True, exist_ok=True)
    file = tool.folder / f"ir-{hashlib.sha256(text.encode()).hexdigest()[:12]}.mlir"
    file.write_text(text + "\n")
    extra = [] if options.batch == 40 else ["--batch", options.batch]
    again = shlex.join(map(str, ["tools/fuzz", "--ir", "--seed", options.seed, "--case", number, *extra]))
    job = shlex.join([str(tool.opt), *([] if alone else ["-split-input-file"]), *batch.flags, str(file)])
    print(f"WRONG: {what} ({batch.piece.origin})\n  {job}\n  {again}", flush=True)
