# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel files of one's own: other formulas without a line of C++."""

import difflib
import pathlib

import pytest

import mlatile
from mlatile.testing import make_case

DECODE = pathlib.Path(__file__).parents[2] / "kernels" / "decode.mlir"


def soft_capped(cap):
    """decode.mlir with logits cap * tanh(logit / cap): the logit is natural-log there, so the
    factor log2(e) moves behind the cap."""
    text = DECODE.read_text()
    scale = "  %scale2_ = arith.mulf %sm_scale, %log2e : f32\n"
    full = "  %scale2 = tile.full %scale2_ : f32 -> !s\n"
    use = "    %s2 = arith.mulf %s1, %scale2 : !s\n"
    assert text.count(scale) == text.count(full) == text.count(use) == 1
    text = text.replace(
        scale,
        f"  %cap = arith.constant {cap:.8e} : f32\n"
        "  %scale2_ = arith.divf %sm_scale, %cap : f32\n"
        "  %back_ = arith.mulf %cap, %log2e : f32\n"
        "  %back = tile.full %back_ : f32 -> !s\n",
    )
    return text.replace(
        use,
        "    %sc = arith.mulf %s1, %scale2 : !s\n"
        "    %th = math.tanh %sc : !s\n"
        "    %s2 = arith.mulf %th, %back : !s\n",
    )


@pytest.mark.parametrize("splits", [1, 3])
def test_logit_soft_cap(tmp_path, check_case, run_case, splits):
    cap = 2.0
    text = soft_capped(cap)
    changed = [
        line for line in difflib.ndiff(DECODE.read_text().splitlines(), text.splitlines()) if line[0] == "+"
    ]
    assert len(changed) < 10
    path = tmp_path / "soft_cap.mlir"
    path.write_text(text)
    kernel = mlatile.load(path)

    case = make_case(1, tokens=3, heads=11, width=100, page_size=16, sink=True, q_spread=3.0)
    out, lse = run_case(case, kernel=kernel, num_splits=splits)
    comparison = case.compare(out, lse, reference_options=dict(soft_cap=cap))
    assert comparison, comparison.text
    # The cap matters, and the built-in kernel is still itself.
    assert not case.compare(out, lse)
    check_case(case, num_splits=splits)


def test_an_error_names_file_and_line(tmp_path):
    path = tmp_path / "broken.mlir"
    lines = DECODE.read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if "%s2 = arith.mulf %s1, %scale2" in line)
    lines[number] = lines[number].replace("%scale2", "%missing")
    path.write_text("\n".join(lines))
    with pytest.raises(mlatile.CompileError, match=rf"broken\.mlir:{number + 1}:"):
        mlatile.load(path)


def test_a_parameter_of_the_authors(tmp_path):
    path = tmp_path / "tiles.mlir"
    path.write_text(DECODE.read_text())
    with pytest.raises(mlatile.CompileError, match="a candidate tile is whole mma rows"):
        mlatile.load(path, params={"BN": 24})
    with pytest.raises(mlatile.CompileError):
        mlatile.load(path, params={"NO_SUCH": 1})


def test_a_wider_candidate_tile(tmp_path, check_case):
    path = tmp_path / "tiles.mlir"
    path.write_text(DECODE.read_text())
    case = make_case(2, tokens=2, heads=5, width=100, page_size=16)
    check_case(case, kernel=mlatile.load(path, params={"BN": 16}), num_splits=1)


@pytest.mark.parametrize("path", [None, 0, 1.5])
def test_load_takes_a_path(path):
    """An integer would be read as the number of an open file."""
    with pytest.raises(mlatile.ArgumentError, match="`path`: expected a path, got"):
        mlatile.load(path)


def test_load_of_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"\xff\xfe\0")
    with pytest.raises(mlatile.ArgumentError, match="`path`: expected a text file"):
        mlatile.load(path)


@pytest.mark.parametrize("params", [dict(FMT="glm"), dict(LSE=2), dict(SPLIT=True), dict(HAS_SINK=False)])
def test_what_the_call_binds_cannot_be_bound(params):
    """It would silently give another result than the call asks for."""
    with pytest.raises(mlatile.ArgumentError, match=f"`params`: .* got `{list(params)[0]}`"):
        mlatile.load(DECODE, params=params)


def test_params_are_a_dictionary():
    with pytest.raises(mlatile.ArgumentError, match="`params`: expected a dictionary"):
        mlatile.load(DECODE, params=["BN"])
