# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/AddAFormat.md, done: one line in the table of formats, nothing else of the library.

The two shared libraries are linked again with that table. Kernels and compiler are the same.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs" / "AddAFormat.md"

CASES = """
from mlatile.testing import FORMATS, make_case
from mlatile.testing.pools import Format
import mlatile

{reference}

assert "half_window" in [f["name"] for f in mlatile.formats()]
for kernel in ("decode", "prefill", "swapab"):
    for extra in (None, "half_window"):
        second = dict(extra_width=33, extra_page_size=2, extra_kv_format=extra) if extra else {{}}
        case = make_case(7, tokens=3, heads=11, width=65, page_size=16, kv_format="half_window", lengths=True, sink=True, **second)
        out, lse = mlatile.sparse_mla(**case.arguments(), kernel=kernel, return_lse=True)
        comparison = case.compare(out, lse)
        assert comparison, (kernel, extra, comparison.text)
        print(kernel, extra, comparison.text)
"""


def fences(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    import mlatile._mlatile

    build = pathlib.Path(os.path.realpath(mlatile._mlatile.__file__)).parents[2]
    if not (build / "build.ninja").exists() or not shutil.which("ninja"):
        pytest.skip("needs the build tree and ninja")
    folder = tmp_path_factory.mktemp("ninth")
    table = (SOURCE / "lib/Target/Format.cpp").read_text()
    (line,) = fences("cpp")
    last = table.index("};\n// clang-format on")
    (folder / "Format.cpp").write_text(table[:last] + line + table[last:])

    def command(output):
        lines = subprocess.run(["ninja", "-C", str(build), "-t", "commands", output], capture_output=True, text=True, check=True)
        return lines.stdout.strip().splitlines()[-1]

    objects = [o for o in subprocess.run(["ninja", "-C", str(build), "-t", "targets", "all"], capture_output=True, text=True,
                                         check=True).stdout.split() if o.endswith("mlatile_target.dir/Format.cpp.o:")]
    compiled = command(objects[0].rstrip(":"))
    arguments = shlex.split(compiled)
    arguments[arguments.index("-o") + 1] = str(folder / "Format.o")
    arguments[-1] = str(folder / "Format.cpp")
    if "-MF" in arguments:
        arguments[arguments.index("-MF") + 1] = str(folder / "Format.d")
    subprocess.run(arguments, cwd=build, check=True)
    for name in ("libmlatile_compiler.so", "libmlatile_runtime.so"):
        # The table's object comes first; the archive's is then not asked for.
        link = command(f"lib/{name}").replace(f"-o lib/{name}", f"-o {folder / name} {folder / 'Format.o'}")
        subprocess.run(link, cwd=build, shell=True, check=True)
    return folder


def test_the_page_is_done_by_one_line(libraries):
    (reference,) = fences("python")
    environment = dict(os.environ, LD_LIBRARY_PATH=str(libraries),
                       MLATILE_COMPILER_LIBRARY=str(libraries / "libmlatile_compiler.so"))
    done = subprocess.run([sys.executable, "-c", CASES.format(reference=reference)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n") == 6
