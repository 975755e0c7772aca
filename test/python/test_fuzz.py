# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/fuzz: a short run of both kinds, and that it finds what is planted."""

import os
import re
import subprocess
import sys

import pytest
from lowered_kernels import BUILD, DECODE, SOURCE

FUZZ = SOURCE / "tools" / "fuzz"
SECONDS = int(os.environ.get("MLATILE_FUZZ_SECONDS", 20))
SEED = os.environ.get("MLATILE_FUZZ_SEED", "1")


def fuzz(*arguments, command=None, **changes):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)} | changes
    return subprocess.run(command or [FUZZ, *map(str, arguments)], cwd=SOURCE, capture_output=True, text=True,
                          env=environment, timeout=600 + 4 * SECONDS)


def test_problems():
    result = fuzz("--seconds", SECONDS, "--seed", SEED)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\d+ problems in .*, 0 wrong", result.stdout)


def test_ir(tmp_path):
    result = fuzz("--ir", "--seconds", SECONDS, "--seed", SEED, "--opt", BUILD / "bin" / "mlatile-opt", "--out", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\d+ mutants in .*, 0 failures", result.stdout)


def drawn(seed, count=4000):
    sys.path.insert(0, str(SOURCE / "tools" / "fuzzing"))
    import draw

    variants = draw.built()
    return [draw.draw(seed, case, variants, 1 << 18) for case in range(count)], draw


def test_what_is_drawn():
    """A quarter wider than 512, a tenth of more than 8 rows, every bin of heads, the work bounded; same seed, same problems."""
    problems, draw = drawn(7)
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
    again, _ = drawn(7, 100)
    assert again == problems[:100] and drawn(8, 100)[0] != again


PLANTED = [  # changes of decode.mlir
    ("arith.select %okb, %s2, %s_ninf :", "arith.select %okb, %s2, %s2 :", 1),  # skipped entries count
    ("%len1 = arith.minsi %len0, %W : index", "%len1 = arith.minsi %W, %W : index", 1),  # lengths do not
    ("%la = arith.mulf %l0, %a : !row", "%la = arith.mulf %l0, %l0 : !row", 1),  # sums are not rescaled
]


@pytest.mark.parametrize(("old", "new", "count"), PLANTED, ids=["skips", "lengths", "rescaling"])
def test_planted_mistakes_are_found(tmp_path, old, new, count):
    """Exit 1, and the line that it prints shows the same again."""
    text = DECODE.read_text()
    assert text.count(old) == count
    path = tmp_path / "broken.mlir"
    path.write_text(text.replace(old, new))
    result = fuzz("--seconds", 100, "--seed", 3, "--cases", 48, "--kernel-file", path)
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
    result = fuzz("--seconds", 60, "--seed", 1, "--cases", 2, "--limit", 4, "--kernel-file", path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "no end after 4 s" in result.stdout and "--case 1 " in result.stdout


def test_wrong_arguments():
    assert fuzz("--seconds", "0").returncode == 2
    result = fuzz("--format", "nothing", "--seconds", "1")
    assert result.returncode == 2 and "nothing of what is asked for" in result.stderr
