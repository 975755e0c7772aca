# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems in processes of their own: one that crashes or hangs is a failure of its problem."""

import json
import math
import pathlib
import re
import selectors
import shlex
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict

import check
import draw
import sweep

MOST_FAILURES = 10


class Drawn:
    """Random problems without an end."""

    count = math.inf

    def __init__(self, seed, variants, work=None):
        self.seed, self.variants, self.work = seed, variants, work or 1 << 18

    def problem(self, case):
        return draw.draw(self.seed, case, self.variants, self.work)


def main(options, arguments):
    variants = draw.built(options.format, options.kernel, options.compute, options.extra)
    if not variants:
        print("mlatile: error: the library has nothing of what is asked for", file=sys.stderr)
        return 2
    if options.sweep:
        source = sweep.Sweep(options.seed, variants, options.sweep, options.work)
    else:
        source = Drawn(options.seed, variants, options.work)
    source.count = min(source.count, options.cases or math.inf)
    if options.case is not None:
        return one(options, source)
    if options.worker is not None:
        return worker(options, source)
    return Run(options, variants, source, arguments).main()


def one(options, source):
    if options.case >= source.count:
        print(f"mlatile: error: --case: expected less than {source.count}, got {options.case}", file=sys.stderr)
        return 2
    problem = source.problem(options.case)
    print(problem.text())
    outcome = checked(options, problem)
    print(_wrong(outcome.wrong) if outcome.wrong else f"ok: error {outcome.error:.2e}, cosine {outcome.cosine:.6f}, "
          f"lse {outcome.lse:.3f} of its bound")
    return 1 if outcome.wrong else 0


def checked(options, problem):
    return check.check(problem, path=options.kernel_file, checked=options.checked, orders=options.orders)


def worker(options, source):
    """Blocks of problems, every jobs-th one, a line of JSON before and after each."""
    end = time.monotonic() + options.seconds
    case = options.first
    while time.monotonic() < end and case < source.count:
        if case // draw.BLOCK % options.jobs == options.worker:
            say(begin=case)
            say(end=case, **asdict(checked(options, source.problem(case))))
            case += 1
        else:
            case += draw.BLOCK - case % draw.BLOCK
    return 0


def say(**values):
    print(json.dumps(values), flush=True)


class Worker:
    def __init__(self, run, number, first):
        self.run, self.number = run, number
        self.case, self.since = None, time.monotonic()
        left = max(0.1, run.end - time.monotonic())
        job = [sys.executable, str(pathlib.Path(__file__).parent), *run.arguments, f"--seconds={left}",
               f"--worker={number}", f"--first={first}"]
        self.process = subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self, values):
        self.since = time.monotonic()
        if "begin" in values:
            self.case = values["begin"]
        else:
            self.run.done(values.pop("end"), check.Outcome(**values))
            self.case = None

    def finish(self, hung=False):
        """After its output ended, or when it takes too long: another one goes on behind its problem."""
        if hung:
            self.process.kill()
        errors = self.process.stderr.read()
        status = self.process.wait()
        if self.case is None and status == 0:
            return None
        last = " | ".join(errors.strip().splitlines()[-3:])
        if self.case is None:
            raise SystemExit(f"mlatile: error: a worker ended between problems, status {status}: {errors.strip()}")
        wrong = f"no end after {self.run.options.limit:g} s" if hung else f"the process ended with status {status}: {last}"
        self.run.done(self.case, check.Outcome(wrong))
        if time.monotonic() >= self.run.end or self.run.enough():
            return None
        return Worker(self.run, self.number, self.case + 1)


class Run:
    def __init__(self, options, variants, source, arguments):
        self.options, self.variants, self.source, self.arguments = options, variants, source, arguments
        self.end = time.monotonic() + options.seconds
        self.outcomes, self.failures = {}, 0

    def main(self):
        start = time.monotonic()
        names = [_name(v.kernel, v.compute, v.kv_format, v.extra_format) for v in self.variants]
        rows = f", {self.source.count} problems with every {self.options.sweep} factors" if self.options.sweep else ""
        print(f"seed {self.options.seed}, {len(names)} variants: {', '.join(names)}{rows}", flush=True)
        workers = selectors.DefaultSelector()
        for number in range(self.options.jobs):
            self.start(workers, Worker(self, number, 0))
        while workers.get_map() and not self.enough():
            for key, _ in workers.select(timeout=1):
                line = key.fileobj.readline()
                if line:
                    key.data.line(json.loads(line))
                else:
                    self.replace(workers, key.data)
            for key in list(workers.get_map().values()):
                if key.data.case is not None and time.monotonic() - key.data.since > self.options.limit:
                    self.replace(workers, key.data, hung=True)
        for key in list(workers.get_map().values()):
            key.data.process.kill()
            key.data.process.wait()
        seconds = time.monotonic() - start
        problems = [self.source.problem(case) for case in self.outcomes]
        print(histogram(problems))
        print(worst(problems, self.outcomes.values()))
        print(f"{len(problems)} problems in {seconds:.1f} s ({len(problems) / seconds:.1f} a second), {self.failures} wrong")
        if not problems:
            print("mlatile: error: not one problem was run", file=sys.stderr)
            return 2
        if self.options.sweep and len(problems) < self.source.count:
            print(f"mlatile: error: {self.source.count - len(problems)} problems of the sweep were not run", file=sys.stderr)
            return 1
        return 1 if self.failures else 0

    def start(self, workers, worker):
        workers.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def replace(self, workers, worker, hung=False):
        workers.unregister(worker.process.stdout)
        again = worker.finish(hung)
        if again is not None:
            self.start(workers, again)

    def enough(self):
        return self.failures >= MOST_FAILURES and not self.options.keep_going

    def done(self, case, outcome):
        self.outcomes[case] = outcome
        if outcome.wrong:
            self.failures += 1
            print(f"{_wrong(outcome.wrong)}\n  {self.reproducer(case)}", flush=True)

    def reproducer(self, case):
        """The problem depends on the list of variants: a drawn one is asked for with its own alone."""
        options, p = self.options, self.source.problem(case)
        words = ["tools/fuzz", "--seed", options.seed, "--case", case]
        lists = dict(kernel=options.kernel, compute=options.compute, format=options.format, extra=options.extra)
        if options.sweep:
            words += ["--sweep", options.sweep]
        else:
            extra = p.extra.kv_format if p.extra else "none"
            lists = dict(kernel=[p.kernel], compute=[p.compute], format=[p.main.kv_format], extra=[extra])
        for name, values in lists.items():
            for value in values or []:
                words += [f"--{name}", value]
        for name, default in (("work", None), ("kernel_file", None), ("orders", 1)):
            value = getattr(options, name)
            if value != default:
                words += [f"--{name.replace('_', '-')}", value]
        if options.checked:
            words.append("--checked")
        return shlex.join(map(str, words))


def _name(kernel, compute, kv_format, extra):
    return f"{kernel}/{compute}/{kv_format}" + (f"+{extra}" if extra else "")


def _wrong(text):
    return text if text.startswith("WRONG") else f"WRONG: {text}"


def worst(problems, outcomes):
    """The worst values of every mode and format."""
    groups = {}
    for p, outcome in zip(problems, outcomes):
        groups.setdefault((p.compute, p.main.kv_format), []).append(outcome)
    lines = [
        f"  {compute} {kv_format}: {len(group)} problems, error {max(o.error for o in group):.2e}, "
        f"cosine {min(o.cosine for o in group):.6f}, lse {max(o.lse for o in group):.3f} of its bound"
        for (compute, kv_format), group in sorted(groups.items())
    ]
    return "worst:\n" + "\n".join(lines)


def histogram(problems):
    """Shares of what was drawn, a line each axis."""
    total = max(1, len(problems))

    def line(name, values):
        counts = Counter(values)
        keys = sorted(counts, key=lambda k: (isinstance(k, str), _first_number(k), k))
        return f"  {name}: " + ", ".join(f"{k} {100 * counts[k] / total:.0f}%" for k in keys)

    bins = {range(a, b + 1): f"{a}-{b}" for a, b in draw.HEAD_BINS}
    caches = [p.main for p in problems]
    parts = [
        line("variant", [_name(p.kernel, p.compute, p.main.kv_format, p.extra and p.extra.kv_format) for p in problems]),
        line("width", [_bin(c.width, [1, 16, 32, 64, 128, 512, 1024, 2048, 8192]) for c in caches]),
        line("width > 512", [c.width > 512 for c in caches]),
        line("T > 8", [p.tokens > 8 for p in problems]),
        line("T", [_bin(p.tokens, [1, 2, 4, 8, 16, 64, 128, 1024]) for p in problems]),
        "  H: " + ", ".join(
            f"{name} {100 * sum(p.heads in r for p in problems) / total:.0f}%" for r, name in bins.items()),
        line("page size", [_bin(c.page_size, [1, 2, 16, 32, 64, 128, 256, 2304]) for c in caches]),
        line("splits", ["planned" if p.splits is None else _bin(p.splits, [1, 2, 7, 16, 64, 512]) for p in problems]),
        line("skips", [c.pattern for c in caches]), line("lengths", [str(c.lengths) for c in caches]),
        line("sink", [p.sink for p in problems]), line("lse", [str(p.lse) for p in problems]),
        line("logits", [p.logits for p in problems]), line("content", [c.content for c in caches]),
        line("frame", [p.frame for p in problems]), line("strided", [str(p.strided) for p in problems]),
    ]
    return "drawn:\n" + "\n".join(parts)


def _first_number(key):
    found = re.match(r"\d+", str(key))
    return int(found[0]) if found else 0


def _bin(value, edges):
    low = 1
    for edge in edges:
        if value <= edge:
            return f"{low}" if low == edge else f"{low}-{edge}"
        low = edge + 1
    return f">{edges[-1]}"
