# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of compiled kernels, predicted times, and dumps of the IR."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import mlatile

PROBLEM = dict(num_tokens=4, num_heads=32, width=512, kv_format="dsv4", page_size=64, target="sm_120a", kernel="decode")
PTXAS = os.environ.get("MLATILE_PTXAS") or shutil.which("ptxas")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="no ptxas")
CARDS = {"rtx_5090", "rtx_pro_6000", "gb10", "h200"}
LIMITERS = {"launch", "memory", "l2", "mma", "shared", "conversion", "issue", "latency"}


def kernel(**options):
    return mlatile.compile(mlatile.plan(**PROBLEM | options))


@needs_ptxas
def test_keys_of_a_report():
    decode, merge = (part.report for part in kernel(num_splits=4, num_sms=1).parts)
    for report in decode, merge:
        assert {"registers", "spill_bytes", "shared_bytes", "buffers", "threads", "seconds", "per_tile",
                "predicted"} <= set(report)
        assert set(report["predicted"]) == CARDS
        for prediction in report["predicted"].values():
            assert set(prediction) == {"us", "limiter"}
            assert 1 < prediction["us"] < 1e4 and prediction["limiter"] in LIMITERS
        assert {"parse", "codegen", "ptxas"} <= set(report["seconds"])
        assert report["predicted_for"]["num_splits"] == 4 and report["predicted_for"]["width"] == 512
    assert set(decode["per_tile"]) == {"mma", "conversions", "ldmatrix", "async_copies", "bulk_copies", "cta_barriers",
                                       "named_barriers"}
    assert merge["per_tile"] is None, "a merge has no loop over candidates"


@needs_ptxas
@pytest.mark.parametrize("kv_format", ["dsv4", "dsv3_2"])
@pytest.mark.parametrize("target", ["sm_120a", "sm_90a"])
def test_counts_of_the_loop(kv_format, target):
    """Of 16 heads and 64 candidates: 2 x 16 x 64 x (d_qk + d_v) FLOP, 4096 an mma, those of the rope part in bf16; for each
    product one conversion a pair of e4m3."""
    part = kernel(kv_format=kv_format, target=target, num_splits=1, width=96)  # too few tiles to gather in bulk
    sizes = next(f for f in mlatile.formats() if f["name"] == kv_format)
    tile, warps = part.report["per_tile"], part.report["threads"] // 32
    heads = part.meta["params"]["BH"]
    rope = (sizes["d_qk"] - sizes["nope"]) + (sizes["d_v"] - sizes["nope"])
    assert tile["mma"] == {"m16n8k16.f16": heads * 64 * sizes["nope"] // 1024, "m16n8k16.bf16": heads * 64 * rope // 2048}
    pairs = 64 * sizes["nope"] // 2
    assert 2 * pairs // 32 <= tile["conversions"] <= 2.2 * pairs // 32
    assert tile["named_barriers"] == 0
    assert tile["cta_barriers"] % warps == 0 and tile["ldmatrix"] > 0
    if part.meta["params"]["BULK"]:  # a row a lane, the rows of a tile over all warps
        assert tile["bulk_copies"] == warps * 64 // part.meta["params"]["BN"]
    else:  # 16 bytes a lane: what the format uses of a row, whole pieces only
        assert tile["bulk_copies"] == 0 and tile["async_copies"] >= 64 * (sizes["data_row"] // 16) // 32


@needs_ptxas
def test_prediction_follows_the_problem():
    def predicted(card="rtx_pro_6000", **options):
        return kernel(**options).report["predicted"][card]["us"]

    # Eight times the candidates in one CTA; four times the rows on SMs that are idle, then on none.
    assert 4 < predicted(num_splits=1, width=4096) / predicted(num_splits=1) < 9
    assert predicted(num_splits=1, num_tokens=16) == pytest.approx(predicted(num_splits=1), rel=0.05)
    assert 3 < predicted(num_splits=1, num_tokens=94 * 8) / predicted(num_splits=1, num_tokens=94 * 2) < 5
    # GeForce multiplies bf16 at half the rate.
    assert predicted("rtx_5090", num_splits=1) > predicted(num_splits=1)


def test_a_plan_prints_what_it_predicts():
    text = str(mlatile.plan(**PROBLEM, num_splits=4, num_sms=1))
    total, *parts = map(float, re.search(
        r"predicted ([\d.]+) us on rtx_pro_6000 with 1 SMs: decode ([\d.]+) us \(\w+\), merge ([\d.]+) us \(\w+\)", text).groups())
    assert total == pytest.approx(sum(parts), abs=0.11)
    assert "on gb10:" in str(mlatile.plan(**PROBLEM | dict(target="sm_121a")))
    assert "on rtx_pro_6000 with 20 SMs:" in str(mlatile.plan(**PROBLEM, num_sms=20))
    assert "predicted" not in str(mlatile.plan(**PROBLEM | dict(num_tokens=0)))


@needs_ptxas
def test_a_plan_predicts_about_what_the_report_does():
    plan = mlatile.plan(**PROBLEM, num_splits=1)
    estimated = float(re.search(r"predicted ([\d.]+) us", str(plan))[1])
    assert mlatile.compile(plan).report["predicted"]["rtx_pro_6000"]["us"] == pytest.approx(estimated, rel=0.1)


def test_the_ir_of_a_kernel_in_a_folder(tmp_path):
    for _ in range(2):  # also of a kernel that is there already
        folder = tmp_path / "dump"
        compiled = mlatile.compile(mlatile.plan(**PROBLEM, num_splits=2), dump_dir=folder)
        for part in compiled.parts:
            files = sorted(path.name for path in (folder / part.name).iterdir())
            assert files[0] == "00-select-kernel.mlir"
            assert any(re.fullmatch(r"\d\d-tile-specialise\.mlir", name) for name in files)
            assert any(re.fullmatch(r"\d\d-convert-tile-to-nvvm\.mlir", name) for name in files)
            assert (folder / part.name / files[-1]).read_text() == part.ptx
        shutil.rmtree(folder)


def test_the_page_names_files_that_are_there(tmp_path):
    page = pathlib.Path(__file__).parents[2] / "docs" / "WriteAKernel.md"
    named = set(re.findall(r"`(\d\d-[\w-]+\.mlir)`", page.read_text()))
    compiled = mlatile.compile(mlatile.plan(**PROBLEM, num_splits=1), dump_dir=tmp_path)
    written = {path.name for path in (tmp_path / compiled.parts[0].name).iterdir()}
    assert len(named) >= 4 and named <= written, named - written


def test_the_ir_of_all_kernels_of_a_process(tmp_path):
    script = f"import mlatile; mlatile.compile(mlatile.plan(**{PROBLEM!r}, num_splits=2, num_sms=1)).ptx"
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | {"MLATILE_DUMP_DIR": str(tmp_path)})
    assert sorted(path.name.split("-")[1] for path in tmp_path.iterdir()) == ["decode", "merge"]


@pytest.mark.parametrize("folder", [5, "", 1.5])
def test_a_folder_for_the_ir_is_a_path(folder):
    with pytest.raises(mlatile.ArgumentError, match="`dump_dir`: expected the path of a folder, got"):
        mlatile.compile(mlatile.plan(**PROBLEM), dump_dir=folder)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(mlatile.CompileError, match="cannot make the dump folder"):
        mlatile.compile(mlatile.plan(**PROBLEM), dump_dir=tmp_path / "file")


def test_the_report_of_a_prebuilt_kernel(tmp_path):
    if not PTXAS:
        pytest.skip("no ptxas")
    program = pathlib.Path(mlatile._mlatile.__file__).parents[2] / "bin" / "mlatile-compile"
    problems = tmp_path / "problems.json"
    problems.write_text(json.dumps([PROBLEM]))
    subprocess.run([program, "--problems", problems, "--out-dir", tmp_path / "kernels"], check=True, capture_output=True)
    script = ("import json, mlatile\n"
              f"report = mlatile.compile(mlatile.plan(**{PROBLEM!r})).report\n"
              "print(json.dumps(report))")
    result = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True,
                            env=os.environ | {"MLATILE_KERNELS": str(tmp_path / "kernels")})
    report = json.loads(result.stdout)
    index = json.loads((tmp_path / "kernels" / "index.json").read_text())
    assert report["origin"] == str(tmp_path / "kernels")
    (entry,) = [e for e in index if e["name"] == report["kernel"]]
    assert entry["predicted"] == report["predicted"] and entry["predicted_for"] == report["predicted_for"]
