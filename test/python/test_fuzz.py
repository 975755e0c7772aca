# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/fuzz: a short run of both kinds, and that it finds what is planted."""

import os
import random
import re
import subprocess

import pytest
from fuzz_tool import SEED, fuzz
from lowered_kernels import ATTEND, BUILD, DECODE, SOURCE, edited

import check
import draw
import generate_tile
import generate_tilegpu

SECONDS = int(os.environ.get("MLATILE_FUZZ_SECONDS", 6))


def test_problems():
    result = fuzz("--seconds", SECONDS, "--seed", SEED)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\d+ problems in .*, 0 wrong", result.stdout)


def test_ir(tmp_path):
    result = fuzz("--ir", "--seconds", SECONDS, "--seed", SEED, "--opt", BUILD / "bin" / "mlatile-opt", "--out", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\d+ pieces of IR in .*, 0 failures", result.stdout)


def drawn(seed, count=4000):
    variants = draw.built()
    return [draw.draw(seed, case, variants, 1 << 18) for case in range(count)]


def test_what_is_drawn():
    """A quarter wider than 512, a tenth of more than 8 rows, every bin of heads, the work bounded; same seed, same problems."""
    problems = drawn(7)
    share = lambda holds: sum(map(holds, problems)) / len(problems)  # noqa: E731
    assert share(lambda p: p.main.width > 512) >= 0.25
    assert share(lambda p: p.tokens > 8) >= 0.10
    for low, high in draw.HEAD_BINS:
        assert share(lambda p: low <= p.heads <= high) > 0.15
    for size in draw.PAGES:
        assert any(p.main.page_size == size for p in problems)
    assert {p.main.kv_format for p in problems} == {v.kv_format for v in draw.built()}
    assert any(p.splits and p.splits > -(-p.main.width // 32) for p in problems)  # some splits are empty
    work = [p.tokens * p.heads * p.main.width for p in problems]
    assert max(work) <= 1 << 18
    again = drawn(7, 100)
    assert again == problems[:100] and drawn(8, 100) != again


def test_random_kernels_have_every_operation():
    """Of both dialects, as their TableGen files list them; mutants take the rest from the tests."""
    defined = {
        f"{dialect}.{name}"
        for dialect, folder in (("tile", "Tile"), ("tilegpu", "TileGPU"))
        for file in (SOURCE / "dialect" / "include" / "mlatile" / "Dialect" / folder / "IR").glob("*.td")
        for name in re.findall(r'^def \w+ : \w+Op<"(\w+)"', file.read_text(), flags=re.MULTILINE)
    }
    assert len(defined) >= 32
    text = "\n".join(g.kernel(random.Random(i)) for g in (generate_tile, generate_tilegpu) for i in range(60))
    assert defined <= set(re.findall(r"\btile(?:gpu)?\.\w+", text))


@pytest.mark.parametrize("generate", [generate_tile, generate_tilegpu])
def test_random_kernels_are_kernels(generate):
    """Most pass the verifier, and a third goes through all passes: else they would test the parser."""
    flags = {generate_tile: "--mlatile-tile-to-nvvm=kernel=k params=FMT=dsv4", generate_tilegpu: "--mlatile-tilegpu-to-nvvm"}
    kernels = [generate.kernel(random.Random(i)) for i in range(24)]
    opt = [BUILD / "bin" / "mlatile-opt", "-o", os.devnull]
    good = [k for k in kernels if subprocess.run(opt, input=k, capture_output=True, text=True).returncode == 0]
    assert len(good) >= 16
    through = [subprocess.run([*opt, flags[generate]], input=k, capture_output=True, text=True).returncode for k in good]
    assert set(through) <= {0, 1} and through.count(0) >= 8


@pytest.mark.parametrize(("differs", "options", "message"), [
    (lambda p, first, checked: p.executor_seed != first, dict(orders=2), "lse differs between two orders of warps"),
    (lambda p, first, checked: not checked, dict(checked=True), "lse differs without checks"),
])
def test_every_order_gives_the_same_bits(monkeypatch, differs, options, message):
    """One bit of the lse, in a run that is not the first."""
    cases = (draw.draw(2, case, draw.built(), 4096) for case in range(1000))
    problem = next(p for p in cases if p.lse and not p.twice)
    assert check.check(problem, **options).wrong is None
    real = check.run

    def changed(p, data, path, checked):
        out, lse, wrong = real(p, data, path, checked)
        if differs(p, problem.executor_seed, checked):
            lse.view("u4")[0, 0] ^= 1
        return out, lse, wrong

    monkeypatch.setattr(check, "run", changed)
    assert check.check(problem, **options).wrong == message


PLANTED = [  # changes of the steps of decode.mlir
    (ATTEND, "arith.select %okb, %s2, %s_ninf :", "arith.select %okb, %s2, %s2 :"),  # skipped entries count
    ("steps/candidates.mlir", "arith.minsi %len0, %width :", "arith.minsi %width, %width :"),  # lengths do not
    (ATTEND, "%l1 = math.fma %l0, %ab, %pu", "%l1 = math.fma %l0, %l0, %pu"),  # sums are not rescaled
    ("decode.mlir", "%first0 = arith.subi %first, %tiles1", "%first0 = arith.subi %first, %c0"),  # a second list starts late
]


@pytest.mark.parametrize(("file", "old", "new"), PLANTED, ids=["skips", "lengths", "rescaling", "second list"])
def test_planted_mistakes_are_found(tmp_path, file, old, new):
    """Exit 1, and the line that it prints shows the same again."""
    path = edited(tmp_path, {file: {old: new}})
    result = fuzz("--seconds", 100, "--seed", 3, "--cases", 200, "--kernel-file", path)
    assert result.returncode == 1, result.stdout + result.stderr
    line = re.search(r"^  (tools/fuzz --seed 3 --case \d+ .*)$", result.stdout, flags=re.MULTILINE)[1]
    again = fuzz(command=line.split())
    assert again.returncode == 1 and "WRONG" in again.stdout
    sound = fuzz(command=line.split(" --kernel-file")[0].split())
    assert sound.returncode == 0 and "ok" in sound.stdout


FAKE_OPT = """#!/bin/sh
case "$*" in *--help*) exec {real} --help ;; esac
cat > {folder}/input.$$
if grep -q tile.kernel {folder}/input.$$; then rm {folder}/input.$$; {what}; fi
rm {folder}/input.$$
exit 1
"""


@pytest.mark.parametrize(("what", "seen"), [
    ("kill -SEGV $$", "status -11"), ("echo 'LLVM ERROR: oops' >&2; exit 1", "status 1, LLVM ERROR: oops"),
])
def test_a_crash_is_found_and_reduced(tmp_path, what, seen):
    """With a program that dies of any `tile.kernel`: that is all that is left of the mutant."""
    fake = tmp_path / "mlatile-opt"
    fake.write_text(FAKE_OPT.format(real=BUILD / "bin" / "mlatile-opt", folder=tmp_path, what=what))
    fake.chmod(0o755)
    out = tmp_path / "out"
    result = fuzz("--ir", "--seconds", 60, "--cases", 12, "--seed", 1, "--batch", 8, "--opt", fake, "--out", out)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"WRONG: {seen} " in result.stdout
    (file, *_) = sorted(out.iterdir(), key=lambda f: f.stat().st_size)
    assert file.read_text().strip() == "tile.kernel"


def test_a_problem_without_an_end_is_a_failure(tmp_path):
    """Its process is killed, and another one goes on behind it."""
    text = DECODE.read_text()
    end = "%end = arith.minsi %stop, %length : index"
    assert text.count(end) == 1
    path = tmp_path / "endless.mlir"
    path.write_text(text.replace(end, "%end = arith.constant 1099511627776 : index"))
    result = fuzz("--seconds", 60, "--seed", 1, "--cases", 2, "--limit", 2, "--kernel-file", path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "no end after 2 s" in result.stdout and "--case 1 " in result.stdout


def test_a_sweep_that_is_not_finished_is_an_error():
    result = fuzz("--sweep", 2, "--seconds", 0.5, "--work", 4096)
    assert result.returncode == 1 and re.search(r"\d+ problems of the sweep were not run", result.stderr)


def test_a_failure_is_one_line_that_shows_it_again(tmp_path):
    """Without the end that a length sets."""
    end = {"%len1 = arith.minsi %len0, %width : index": "%len1 = arith.minsi %width, %width : index"}
    path = edited(tmp_path, {"steps/candidates.mlir": end})
    result = fuzz("--sweep", 2, "--work", 4096, "--kernel-file", path)
    assert result.returncode == 1, result.stdout + result.stderr
    line = re.search(r"^  (tools/fuzz --seed 1 --case \d+ --sweep 2 --work 4096 .*)$", result.stdout, flags=re.MULTILINE)[1]
    again = fuzz(command=line.split())
    assert again.returncode == 1 and "WRONG" in again.stdout and "lengths=True" in again.stdout
    sound = fuzz(command=line.split(" --kernel-file")[0].split())
    assert sound.returncode == 0 and "ok: error" in sound.stdout


def test_wrong_arguments():
    assert fuzz("--seconds", "0").returncode == 2
    result = fuzz("--format", "nothing", "--seconds", "1")
    assert result.returncode == 2 and "nothing of what is asked for" in result.stderr
