# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages that `mlatile_docs` makes of the dialects: every operation, type and attribute says what it is and has
an example that parses and verifies, and every numbered constraint has a case in test/Dialect that breaks it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
DIALECTS = {"tile": "Tile", "tilegpu": "TileGPU"}
PAGES = {dialect: (BUILD / "docs" / f"{page}.md").read_text() for dialect, page in DIALECTS.items()}
PASSES = (BUILD / "docs" / "Passes.md").read_text()
KINDS = ("Operations", "Attributes", "Types")


class Entry:
    """One operation, attribute or type of a page."""

    def __init__(self, dialect, kind, text):
        self.dialect, self.kind = dialect, kind
        head, _, self.body = text.partition("\n")
        self.name = head.strip("` ")
        self.summary = re.search(r"^_(.+)_$", self.body, re.M)
        # What the author wrote: behind the summary and the syntax, before what TableGen knows itself.
        own = self.body[self.summary.end() :] if self.summary else ""
        own = re.sub(r"^Syntax:\n+```\n.*?```\n", "", own.strip("\n") + "\n", count=1, flags=re.S)
        own = re.split(r"^(?:#### |Traits: |Interfaces: |Effects: )", own, maxsplit=1, flags=re.M)[0]
        self.examples = re.findall(r"^```mlir\n(.*?)^```$", own, flags=re.M | re.S)
        own = re.sub(r"^```.*?^```$", "", own, flags=re.M | re.S)
        self.constraints = re.findall(r"^\* (\w+_c\d+):", own, flags=re.M)
        self.prose = re.split(r"^(?:Constraints:|Examples?[:,])", own, maxsplit=1, flags=re.M)[0].strip()

    def __repr__(self):
        return f"{self.dialect}-{self.name}"

    @property
    def word(self):
        """As it stands in a file, `tile.gather`, `#tile.dims` or `!tile.view`."""
        if self.kind == "Operations":
            return self.name
        found = [re.search(rf"[#!]{self.dialect}\.\w+", example) for example in self.examples]
        return found[0][0]


def entries(dialect):
    sections = re.split(r"^## (\w+)\n", PAGES[dialect], flags=re.M)
    for kind, text in zip(sections[1::2], sections[2::2]):
        if kind in KINDS:
            for entry in re.split(r"^### ", text, flags=re.M)[1:]:
                yield Entry(dialect, kind, entry)


ENTRIES = [entry for dialect in DIALECTS for entry in entries(dialect)]
OPERATIONS = [entry for entry in ENTRIES if entry.kind == "Operations"]
# A keyword of an operation is described by the operation and by its list of cases.
DESCRIBED = [entry for entry in ENTRIES if entry.kind == "Operations" or "an enum of type" not in entry.body]


def opt(text):
    """The errors of mlatile-opt."""
    program = [BUILD / "bin" / "mlatile-opt", "-", "-o", "/dev/null"]
    result = subprocess.run(program, input=text, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 or "error:" in result.stderr, result.stderr
    return result.stderr if result.returncode else ""


def errors(entry, example):
    """Errors of an example, with the page's own definitions in front of it."""
    intro = PAGES[entry.dialect].split("\n## ")[0]
    prelude = "".join(re.findall(r"^```mlir\n(.*?)^```$", intro, flags=re.M | re.S))
    if entry.kind == "Operations":
        return errors_of_operations(example, prelude)
    lines = re.sub(r"\n\s+", " ", example).splitlines()
    assert lines
    return opt(prelude + "".join(f"{'#' if line[0] == '#' else '!'}x{i} = {line}\n" for i, line in enumerate(lines)))


def errors_of_operations(example, prelude=""):
    if re.match(r"(tile\.kernel|func\.func) ", example):
        return opt(prelude + example)
    # A few operations: what they use becomes arguments, whose types the parser tells one by one.
    defined = {name for line in re.findall(r"^(%.*?) = ", example, flags=re.M) for name in re.findall(r"%\w+", line)}
    types = {name: "none" for name in re.findall(r"%\w+", example) if name not in defined}
    while True:
        arguments = ", ".join(f"{name}: {type}" for name, type in types.items())
        text = opt(f"{prelude}func.func @example({arguments}) {{\n{example}  return\n}}\n")
        wrong = re.search(r"use of value '(%\w+)' expects different type than prior uses: '(.*)' vs 'none'", text)
        if not wrong:
            return text
        assert types[wrong[1]] == "none"
        types[wrong[1]] = wrong[2]


def test_pages_are_whole():
    assert len(OPERATIONS) > 30
    assert {entry.name for entry in OPERATIONS} >= {"tile.kernel", "tile.gather", "tilegpu.gather_async", "tilegpu.dot"}
    assert {entry.name for entry in ENTRIES} >= {"DimsAttr", "LayoutAttr", "ViewType", "BufferType"}
    for page in [*PAGES.values(), PASSES]:
        # Every entry of the list on top has its heading.
        links = re.findall(r"^\* \[`(.*?)`\]", page, flags=re.M)
        assert links == re.findall(r"^### `(.*?)`$", page, flags=re.M)
        assert links


@pytest.mark.parametrize("entry", DESCRIBED, ids=repr)
def test_described(entry):
    assert entry.summary, "expected a summary"
    assert entry.prose, "expected a description in words"
    assert entry.examples, "expected an example"
    if entry.kind == "Operations":
        assert any(re.search(rf"\b{re.escape(entry.name)}\b", example) for example in entry.examples)


@pytest.mark.parametrize("entry", DESCRIBED, ids=repr)
def test_examples_parse(entry):
    for example in entry.examples:
        assert errors(entry, example) == ""


def test_passes_are_described():
    sections = re.split(r"^### `", PASSES, flags=re.M)[1:]
    names = [section.split("`")[0] for section in sections]
    assert {"-tile-specialise", "-convert-tile-to-nvvm", "-attach-ptx"} <= set(names)
    whole = 0
    for name, section in zip(names, sections):
        own = section.split("#### Options")[0]
        assert re.search(r"^_(.+)_\n\n\S", own, re.M), f"{name}: expected a summary and a description"
        for example in re.findall(r"^```mlir\n(.*?)^```$", own, flags=re.M | re.S):
            if "..." not in example and "#" not in example:
                whole += 1
                assert errors_of_operations(example) == "", name
    assert whole


def test_a_wrong_example_is_found():
    entry = next(entry for entry in OPERATIONS if entry.name == "tile.transpose")
    (example,) = entry.examples
    assert errors(entry, example) == ""
    assert "transposed" in errors(entry, example.replace("tile.transpose", "tile.transposed"))
    assert "expected a result of dimensions" in errors(entry, example.replace("tile.dims<D, BN>", "tile.dims<D, D>"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_everything_goes_through_bytecode(dialect):
    """Each operation, type and attribute stands in a file of test/Dialect that is read back from bytecode."""
    files = [path.read_text() for path in (ROOT / "test" / "Dialect" / DIALECTS[dialect]).glob("*.mlir")]
    text = "".join(file for file in files if "-emit-bytecode | mlatile-opt | FileCheck" in file)
    words = {entry.word for entry in DESCRIBED if entry.dialect == dialect}
    missing = [word for word in sorted(words) if not re.search(rf"{re.escape(word)}\b", text)]
    assert not missing, f"expected in a file that goes through bytecode: {missing}"


def marked(dialect):
    """Constraints that a case of test/Dialect names, in which an error is expected."""
    found = set()
    for path in (ROOT / "test" / "Dialect" / DIALECTS[dialect]).glob("*.mlir"):
        for case in re.split(r"^// -----$", path.read_text(), flags=re.M):
            if re.search(r"expected-error|error:", case):
                found |= set(re.findall(r"[a-z0-9_]*?[a-z0-9]_c\d+", case))
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_constraint_has_a_case(dialect):
    known = [name for entry in ENTRIES if entry.dialect == dialect for name in entry.constraints]
    assert len(known) == len(set(known)) > 20
    for entry in ENTRIES:
        numbers = [int(name.rpartition("_c")[2]) for name in entry.constraints]
        assert numbers == list(range(1, len(numbers) + 1)), f"{entry}: {entry.constraints}"
    untested, unknown = set(known) - marked(dialect), marked(dialect) - set(known)
    assert not untested, f"constraints without a case: {sorted(untested)}"
    assert not unknown, f"cases of constraints that do not exist: {sorted(unknown)}"
