# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that kernels share: one with two bindings, files of steps beside a kernel, what is said when one is wrong."""

import pathlib
import shutil

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import KERNEL_FOLDER, KernelError, Program, compile_kernel, edited, line_of

import mlatile
from mlatile.testing import decode_slots, make_case, write_pool

HERE = pathlib.Path(__file__).parent
TWO_POOLS = HERE / "kernels" / "two_pools.mlir"


@pytest.mark.parametrize(("first", "second"), [("dsv4", "dsv4_1"), ("dsv4_1", "dsv4"), ("dsv4", "dsv4"), ("dsv4", "dsv4_nvfp4"),
                                                ("dsv4_1_fp4", "glm")])
def test_one_step_for_two_formats(first, second):
    compiled = compile_kernel(TWO_POOLS, kernel="two_pools", FMT=first, EXTRA=second)
    program = Program(compiled.blobs["llvm"], compiled.meta)
    rng = np.random.default_rng(5)
    pools = [write_pool(rng, name, pages=8, page_size=16, slots=np.arange(128)) for name in (first, second)]
    for widths in [(1, 33), (40, 31), (64, 64)]:
        ids = [rng.integers(-1, 130, width).astype(np.int32) for width in widths]
        arrays = [np.full((w, pool.format.nope), np.nan, np.float32) for w, pool in zip(widths, pools)]
        program.launch(1, dict(kv=pools[0], extra=pools[1], first=ids[0], second=ids[1], one=arrays[0],
                               two=arrays[1]), seed=widths[0])
        for array, pool, slots, sign in zip(arrays, pools, ids, (1, -1)):
            valid = (slots >= 0) & (slots < 128)
            keys = decode_slots(pool, np.where(valid, slots, 0))[0][:, : pool.format.nope]
            expected = np.where(valid[:, None], keys, 0).astype(ml_dtypes.bfloat16).astype(np.float32)
            assert np.array_equal(array, sign * expected)


FINISH = "steps/finish.mlir"


def test_a_step_beside_the_file_comes_first_and_an_edited_one_is_another_kernel(tmp_path):
    """Same paths, sizes and times: the content is what counts, in one process and for both at once."""
    case = make_case(4, tokens=2, heads=3, width=40, page_size=16)
    right = mlatile.load(edited(tmp_path, {}))
    wrong = mlatile.load(edited(tmp_path, {FINISH: {"arith.addf %lm, %ez": "arith.subf %ez, %lm"}}))
    for _ in range(2):
        outs = [mlatile.sparse_mla(**case.arguments(), kernel=kernel).astype(np.float32) for kernel in (right, wrong)]
        assert case.compare(outs[0])
        assert np.array_equal(outs[1], -outs[0])  # without a sink the denominator only changes its sign


def test_built_in_steps_serve_a_file_of_ones_own(tmp_path, check_case):
    path = tmp_path / "decode.mlir"
    path.write_text((KERNEL_FOLDER / "decode.mlir").read_text())
    check_case(make_case(5, tokens=1, heads=3, width=40, page_size=16, sink=True), kernel=mlatile.load(path))


def use(path):
    case = make_case(1, tokens=1, heads=1, width=16, page_size=16)
    mlatile.sparse_mla(**case.arguments(), kernel=mlatile.load(path))


def test_an_error_in_a_step_names_its_file_and_line(tmp_path):
    path = edited(tmp_path, {FINISH: {"arith.addf %lm, %ez": "arith.addf %lm, %nothing"}})
    with pytest.raises(mlatile.CompileError, match=rf"steps/finish\.mlir:{line_of(tmp_path / FINISH, '%nothing')}:\d+: error: use of undeclared SSA"):
        use(path)


def test_an_error_of_a_parameter_shows_the_step_and_the_call(tmp_path):
    """Of a step called for another format, but not for its columns."""
    shutil.copytree(TWO_POOLS.parent / "steps", tmp_path / "steps")
    text, bound = TWO_POOLS.read_text(), "NOPE = EXTRA_NOPE, "
    assert text.count(bound) == 1
    path = tmp_path / "two_pools.mlir"
    path.write_text(text.replace(bound, ""))
    with pytest.raises(KernelError) as error:
        compile_kernel(path, kernel="two_pools", FMT="dsv4", EXTRA="dsv4_1")
    lines = str(error.value).splitlines()
    step = next(i for i, text in enumerate(lines) if "copy.mlir" in text)
    assert "error: " in lines[step]
    assert any("two_pools.mlir" in text and "called from" in text for text in lines[step:])


def test_a_step_that_no_file_defines(tmp_path):
    path = edited(tmp_path, {FINISH: {"@finish(": "@finished("}})
    path.write_text(path.read_text().replace("@finish", "@gone"))
    with pytest.raises(mlatile.CompileError, match=r"decode\.mlir:\d+:\d+: error: expected a definition of step @gone"):
        use(path)
