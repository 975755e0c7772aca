# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problems in processes of their own: one that crashes or hangs is a failure of its problem."""

import json
import pathlib
import re
import selectors
import shlex
import subprocess
import sys
import time
from collections import Counter

import check
import draw

MOST_FAILURES = 10


def main(options, arguments):
    variants = draw.built(options.format, options.kernel, options.compute, options.extra)
    if not variants:
        print("mlatile: error: the library has nothing of what is asked for", file=sys.stderr)
        return 2
    if options.case is not None:
        return one(options, variants)
    if options.worker is not None:
        return worker(options, variants)
    return Run(options, variants, arguments).main()


def one(options, variants):
    problem = draw.draw(options.seed, options.case, variants, options.work)
    print(problem.text())
    wrong = check.check(problem, path=options.kernel_file, checked=options.checked)
    print(_wrong(wrong) if wrong else "ok")
    return 1 if wrong else 0


def worker(options, variants):
    """Blocks of problems, every jobs-th one, a line of JSON before and after each."""
    end = time.monotonic() + options.seconds
    case = options.first
    while time.monotonic() < end and (options.cases is None or case < options.cases):
        if case // draw.BLOCK % options.jobs == options.worker:
            problem = draw.draw(options.seed, case, variants, options.work)
            say(begin=case)
            say(end=case, wrong=check.check(problem, path=options.kernel_file, checked=options.checked))
            case += 1
        else:
            case += draw.BLOCK - case % draw.BLOCK
    return 0


def say(**values):
    print(json.dumps(values), flush=True)


class Worker:
    def __init__(self, run, number, first):
        self.run, self.number = run, number
        self.case, self.since, self.next = None, time.monotonic(), first
        left = max(0.1, run.end - time.monotonic())
        job = [sys.executable, str(pathlib.Path(__file__).parent), *run.arguments, f"--seconds={left}",
               f"--worker={number}", f"--first={first}"]
        self.process = subprocess.Popen(job, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def line(self, values):
        self.since = time.monotonic()
        if "begin" in values:
            self.case = values["begin"]
        else:
            self.run.done(values["end"], values["wrong"])
            self.case, self.next = None, values["end"] + 1

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
        self.run.done(self.case, wrong)
        if time.monotonic() >= self.run.end or self.run.enough():
            return None
        return Worker(self.run, self.number, self.case + 1)


class Run:
    def __init__(self, options, variants, arguments):
        self.options, self.variants, self.arguments = options, variants, arguments
        self.end = time.monotonic() + options.seconds
        self.cases, self.failures = [], 0

    def main(self):
        start = time.monotonic()
        names = [_name(v.kernel, v.compute, v.kv_format, v.extra_format) for v in self.variants]
        print(f"seed {self.options.seed}, {len(names)} variants: {', '.join(names)}", flush=True)
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
        print(histogram([draw.draw(self.options.seed, c, self.variants, self.options.work) for c in self.cases]))
        print(f"{len(self.cases)} problems in {seconds:.1f} s ({len(self.cases) / seconds:.1f} a second), "
              f"{self.failures} wrong")
        if not self.cases:
            print("mlatile: error: not one problem was run", file=sys.stderr)
            return 2
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

    def done(self, case, wrong):
        self.cases.append(case)
        if wrong:
            self.failures += 1
            print(f"{_wrong(wrong)}\n  {self.reproducer(case)}", flush=True)

    def reproducer(self, case):
        problem = draw.draw(self.options.seed, case, self.variants, self.options.work)
        # The draw depends on the list of variants: this one alone.
        words = ["tools/fuzz", "--seed", self.options.seed, "--case", case, "--kernel", problem.kernel, "--compute",
                 problem.compute, "--format", problem.main.kv_format,
                 "--extra", problem.extra.kv_format if problem.extra else "none"]
        for name in ("work", "kernel_file"):
            value = getattr(self.options, name)
            if value not in (None, 1 << 18):
                words += [f"--{name.replace('_', '-')}", value]
        if self.options.checked:
            words.append("--checked")
        return shlex.join(map(str, words))


def _name(kernel, compute, kv_format, extra):
    return f"{kernel}/{compute}/{kv_format}" + (f"+{extra}" if extra else "")


def _wrong(text):
    return text if text.startswith("WRONG") else f"WRONG: {text}"


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
