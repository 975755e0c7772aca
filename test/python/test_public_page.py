# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/PublicCases.md and the tests of public failures: each has the other's."""

import fnmatch
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "PublicCases.md").read_text()
ROWS = re.findall(r"^\| (C[^|]+) \| [^|]+ \| ([^|]+) \|$", PAGE.partition("## Later")[0], flags=re.MULTILINE)


def test_names():
    """A test that the page names is there, and belongs to that row; one that is there is named."""
    files = ROOT.glob("test/python/test_public_*.py")
    defined = {name for file in files for name in re.findall(r"^def test_(c[0-9]\w_\w+)\(", file.read_text(), flags=re.MULTILINE)}
    named = set()
    for cases, tests in ROWS:
        for name in re.findall(r"`(c[0-9]\w_\w+)`", tests):
            if name in defined:
                assert name[:3].upper() in cases, (cases, name)
                named.add(name)
            else:  # of another file, which stands before it
                file = re.search(rf"`(test_\w+\.py)`: [^|]*`{name}`", tests)
                assert file and f"def test_{name}(" in (ROOT / "test" / "python" / file[1]).read_text(), (cases, name)
    assert named == defined


def test_files_and_problems():
    problems = [p["name"] for p in json.loads((ROOT / "test" / "Integration" / "gpu-problems.json").read_text())]
    for _, tests in ROWS:
        for path in re.findall(r"`(test[\w/]*(?:\.\w+)?)`", tests):
            assert any((ROOT / folder / path).exists() for folder in ("", "test/python", "test/Integration")), path
        for _, names in re.findall(r"(problems?) ((?:`[^`]+`[ ,]*(?:\([^)]*\))?[ ,]*)+)", tests):
            for name in re.findall(r"`([^`]+)`", names):
                assert fnmatch.filter(problems, name) or name.startswith("test_"), name
