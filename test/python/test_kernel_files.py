# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel files of one's own: other formulas without a line of C++."""

import difflib
import re

import pytest
from lowered_kernels import ATTEND, DECODE, KERNEL_FOLDER, edited, line_of

import mlatile
from mlatile.testing import make_case


def soft_capped(folder, cap):
    """decode.mlir with logits cap * tanh(logit / cap): the logit is natural-log there, so the
    factor log2(e) moves behind the cap."""
    return edited(folder, {ATTEND: {
        "  %scale2_ = arith.mulf %sm_scale, %log2e : f32\n":
        f"  %cap = arith.constant {cap:.8e} : f32\n"
        "  %scale2_ = arith.divf %sm_scale, %cap : f32\n"
        "  %back_ = arith.mulf %cap, %log2e : f32\n"
        "  %back = tile.full %back_ : f32 -> !s\n",
        "    %s2 = arith.mulf %s1, %scale2 : !s\n":
        "    %sl = arith.mulf %s1, %scale2 : !s\n"
        "    %th = math.tanh %sl : !s\n"
        "    %s2 = arith.mulf %th, %back : !s\n",
    }})


@pytest.mark.parametrize("splits", [1, 3])
def test_logit_soft_cap(tmp_path, check_case, run_case, splits):
    cap = 2.0
    kernel = mlatile.load(soft_capped(tmp_path, cap))
    texts = [(folder / ATTEND).read_text().splitlines() for folder in (KERNEL_FOLDER, tmp_path)]
    assert len([line for line in difflib.ndiff(*texts) if line[0] == "+"]) <= 10

    case = make_case(1, tokens=3, heads=11, width=100, page_size=16, sink=True, q_spread=3.0)
    out, lse = run_case(case, kernel=kernel, num_splits=splits)
    comparison = case.compare(out, lse, reference_options=dict(soft_cap=cap))
    assert comparison, comparison.text
    # The cap matters, and the built-in kernel is still itself.
    assert not case.compare(out, lse)
    check_case(case, num_splits=splits)


def test_an_error_names_file_and_line(tmp_path):
    path = edited(tmp_path, {"decode.mlir": {"arith.minsi %stop, %length :": "arith.minsi %stop, %missing :"}})
    with pytest.raises(mlatile.CompileError, match=rf"decode\.mlir:{line_of(path, '%missing')}:"):
        mlatile.load(path)


def test_what_is_derived_of_roles_is_not_given():
    with pytest.raises(mlatile.ArgumentError, match="`params`: .*parameter CONVERTS is derived as ROLES.converts and cannot be given"):
        mlatile.load(DECODE, params={"CONVERTS": True})
    mlatile.load(DECODE, params={"ROLES": "4c+4+8", "BH": 16, "BN": 16})


def test_a_parameter_of_the_authors(tmp_path):
    path = tmp_path / "tiles.mlir"
    path.write_text(DECODE.read_text())
    with pytest.raises(mlatile.ArgumentError, match=r"`params`: .*tiles\.mlir:\d+:\d+: error: requirement violated: "
                       r"a candidate tile is whole mma rows \(BN = 24\)"):
        mlatile.load(path, params={"BN": 24})
    with pytest.raises(mlatile.ArgumentError, match=r"`params`: expected parameters of kernel `decode` of .*tiles\.mlir, "
                       "`FMT`, .*got `NO_SUCH`"):
        mlatile.load(path, params={"NO_SUCH": 1})
    with pytest.raises(mlatile.ArgumentError, match="`params`: .*parameter BN: expected an integer from 0 to .*, got 'wide'"):
        mlatile.load(path, params={"BN": "wide"})


def changed(tmp_path, *pairs):
    """decode.mlir with every old text replaced by its new one."""
    text = DECODE.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "changed.mlir"
    path.write_text(text)
    return path


REQUIRE = '  tile.require affine_set<(n) : (n mod 16 == 0, n - 16 >= 0)>(BN)'


def test_what_a_kernel_requires_of_the_call(tmp_path, run_case):
    """Nothing is bound when the file is loaded: a kernel may be for some formats and options alone."""
    path = changed(tmp_path, (REQUIRE, '  tile.require affine_set<(f) : (f - 1 == 0)>(SCALE_E4M3), "made for e4m3 scales"\n'
                              f'  tile.require affine_set<(l) : (l - 1 == 0)>(HAS_LENGTH), "made for lengths"\n{REQUIRE}'))
    kernel = mlatile.load(path)
    good = make_case(1, tokens=2, heads=5, width=40, page_size=16, kv_format="dsv4_nvfp4", lengths=True)
    out, lse = run_case(good, kernel=kernel)
    assert good.compare(out, lse)
    for options, message in ((dict(kv_format="dsv4", lengths=True), r"made for e4m3 scales \(SCALE_E4M3 = 0\)"),
                             (dict(kv_format="dsv4_nvfp4"), r"made for lengths \(HAS_LENGTH = 0\)")):
        case = make_case(1, tokens=2, heads=5, width=40, page_size=16, **options)
        with pytest.raises(mlatile.ArgumentError, match=rf"`kernel`: (.|\n)*changed\.mlir:\d+:\d+: error: requirement violated: {message}"):
            run_case(case, kernel=kernel)


@pytest.mark.parametrize(("pairs", "message"), [
    ([("%sm_scale", "%scale_of_logits")], "kernel `decode`: nothing to pass for `scale_of_logits`; there are .*`sm_scale`"),
    ([("!vrow = !tile.view<[H], f32>", "!vrow = !tile.view<[H], bf16>")], "`sink`: the kernel expects rank 1 of bf16, got rank 1 of f32"),
    ([("%num_splits : index", "%num_splits : f32")], "`num_splits`: the kernel expects f32, got an integer"),
    ([("@decode", "@attention")], "expected a kernel `decode`, got `attention`, `merge`"),
], ids=["name", "element", "scalar", "kernel"])
def test_what_a_call_cannot_pass_is_told_by_load(tmp_path, pairs, message):
    """By name of the file and of the argument; bodies that no longer fit are taken away."""
    path = changed(tmp_path, *pairs)
    text = re.sub(r"(%num_splits : (?:index|f32)\)) \{.*?^\}", r"\1 {\n  tile.return\n}", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    path.write_text(text)
    with pytest.raises(mlatile.CompileError, match=rf"changed\.mlir: {message}"):
        mlatile.load(path)


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
