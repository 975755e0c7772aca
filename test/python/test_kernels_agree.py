# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decode, prefill and swapab: the same answers at every number of rows, for every format, with one cache or two."""

import re

import numpy as np
import pytest
from lowered_kernels import SOURCE
from public_cases import call, same_bits
from second_caches import EXTRA_ONLY, KERNELS, MAIN, PAIRS, reference_error

import mlatile
from mlatile.testing import FORMATS, executor, make_case

ROWS = [1, 63, 64, 65, 128]
OTHERS = KERNELS[1:]
PROBLEM = dict(num_heads=64, width=512, kv_format="dsv4", page_size=64, target="sm_120a", num_sms=188)


@pytest.mark.parametrize("tokens", ROWS)
@pytest.mark.parametrize("kv_format", MAIN)
def test_with_each_other_and_with_the_reference(check_case, kv_format, tokens):
    """The limits where the rows go from one kernel to another are nothing special."""
    case = make_case(tokens, tokens=tokens, heads=3, width=40, page_size=16, kv_format=kv_format, lengths=True, sink=True)
    results = {kernel: check_case(case, kernel=kernel) for kernel in KERNELS}
    for other in results.values():
        assert reference_error(results["decode"], other) <= 2e-2
        assert np.array_equal(np.isinf(other[1]), np.isinf(results["decode"][1]))


@pytest.mark.parametrize("tokens", ROWS)
@pytest.mark.parametrize("kernel", OTHERS)
@pytest.mark.parametrize(("kv_format", "extra"), [("dsv4", "dsv4"), ("dsv4_1", EXTRA_ONLY), ("dots3_swa", "dots3_swa")])
def test_with_two_caches(check_case, kernel, tokens, kv_format, extra):
    case = make_case(tokens, tokens=tokens, heads=9, width=33, page_size=16, kv_format=kv_format, extra_width=40,
                     extra_page_size=2, extra_kv_format=extra, extra_lengths=True, sink=True)
    results = [check_case(case, kernel=name) for name in ("decode", kernel)]
    assert reference_error(*results) <= 2e-2


@pytest.mark.parametrize("heads", [1, 7, 8, 9, 11, 16, 17, 22, 64, 80, 128])
@pytest.mark.parametrize("kernel", OTHERS)
def test_heads(check_case, kernel, heads):
    check_case(make_case(heads, tokens=2, heads=heads, width=65, page_size=16, sink=True), kernel=kernel)


@pytest.mark.parametrize("width", [1, 15, 31, 32, 33, 63, 64, 65, 192, 500, 513])
@pytest.mark.parametrize("kernel", OTHERS)
def test_widths(check_case, kernel, width):
    check_case(make_case(width, tokens=2, heads=5, width=width, page_size=48, lengths=True), kernel=kernel)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kv_format", MAIN)
def test_regrouped_rows(run_case, kernel, kv_format):
    """Whatever the framing, and whatever other rows stand in the call: the same bits."""
    case = make_case(1, tokens=6, heads=3, width=70, page_size=16, kv_format=kv_format, lengths=True, sink=True)
    splits = 2 if kernel == "decode" else None
    whole = run_case(case, kernel=kernel, num_splits=splits)
    for frame in ((1, 6), (2, 3), (6, 1)):
        framed = call(case, kernel=kernel, num_splits=splits, q=case.q.reshape(*frame, *case.q.shape[1:]),
                      indices=case.indices.reshape(*frame, 70), topk_length=case.topk_length.reshape(frame))
        assert same_bits(whole, framed), frame
    for t in (0, 5):
        row = call(case, kernel=kernel, num_splits=splits, q=case.q[t : t + 1], indices=case.indices[t : t + 1],
                   topk_length=case.topk_length[t : t + 1])
        assert same_bits([part[t : t + 1] for part in whole], row)


@pytest.mark.parametrize("kernel", KERNELS)
def test_orders_of_warps(run_case, kernel):
    case = make_case(2, tokens=2, heads=22, width=100, page_size=16, sink=True)
    first = run_case(case, kernel=kernel)
    for seed in (1, 2):
        with executor(seed=seed, checked=seed == 2):
            assert same_bits(first, run_case(case, kernel=kernel))


# ---- the choice ------------------------------------------------------------


def test_a_plan_says_what_became_of_every_way():
    plan = mlatile.plan(num_tokens=4, **PROBLEM)
    taken, *others = plan.candidates
    assert plan.kernel == taken["kernel"] == "decode" and taken["taken"] and taken["us"] == plan.predicted_us
    assert (taken["num_splits"], taken["merge"]) == (plan.num_splits, plan.merge)
    assert {c["kernel"] for c in plan.candidates} == set(KERNELS)
    assert [c["us"] for c in others] == sorted(c["us"] for c in others)
    for c in plan.candidates:
        assert f"- {c['kernel']} {c['head_tile']} x " in str(plan) and f"{c['us']:.1f} us" in str(plan)
        assert c["why"] == f"{'taken' if c['taken'] else 'passed over'}, predicted {c['us']:.1f} us"


@pytest.mark.parametrize("tokens,heads,kernel", [(4, 64, "decode"), (64, 16, "decode"), (400, 8, "swapab")])
def test_the_choice(tokens, heads, kernel):
    """By predicted time: few rows in splits, many rows where heads share them or fill their tile."""
    plan = mlatile.plan(num_tokens=tokens, **PROBLEM | dict(num_heads=heads))
    assert plan.kernel == kernel


def page_tiles():
    """{kernel: [(largest d_qk, [(heads, candidates, warps)])]} of docs/HostApi.md."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (.* x .*) \|$", (SOURCE / "docs" / "HostApi.md").read_text(), flags=re.MULTILINE)
    tables = {}
    for kernel, d_qk, tiles in rows:
        numbers = [tuple(map(int, tile)) for tile in re.findall(r"(\d+) x (\d+) \((\d+)\)", tiles)]
        tables.setdefault(kernel, []).append((int(d_qk), numbers))
    return tables


def page_roles(kernel, d_qk):
    """{(heads, candidates, roles)} of docs/HostApi.md."""
    rows = re.findall(rf"^\| `{kernel}` \| (\d+) \| (.* x .*) \|$", (SOURCE / "docs" / "HostApi.md").read_text(), flags=re.MULTILINE)
    tiles = next(tiles for most, tiles in rows if int(most) >= d_qk)
    return {(int(heads), int(rows), roles) for heads, rows, roles in re.findall(r"(\d+) x (\d+) \(([\dc:]+\+[\d:+]+)\)", tiles)}


@pytest.mark.parametrize("kv_format", MAIN)
def test_tiles_with_roles_are_those_of_the_page(kv_format):
    """All of them where there is room."""
    plan = mlatile.plan(**PROBLEM | dict(num_tokens=64, num_heads=128, kv_format=kv_format, target="sm_90a"))
    for kernel in ("decode", "prefill"):
        want = page_roles(kernel, FORMATS[kv_format].d_qk)
        assert want == {(c["head_tile"], c["candidate_tile"], c["roles"]) for c in plan.candidates if c["kernel"] == kernel and c["roles"]}
    (taken,) = (c for c in plan.candidates if c["taken"])
    assert taken["roles"] == plan.roles
    if plan.roles:
        assert f"kernel decode, roles {plan.roles}, " in str(plan) and f"({plan.roles})" in str(plan)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("kv_format", "extra"), [*((name, None) for name in MAIN), *PAIRS])
def test_the_tile_is_that_of_the_page(kernel, kv_format, extra):
    """The rules of docs/HostApi.md, "Tiles", read from there."""
    tiles = next(tiles for d_qk, tiles in page_tiles()[kernel] if d_qk >= FORMATS[kv_format].d_qk)
    if extra and FORMATS[kv_format].payload != FORMATS[extra].payload:
        tiles = [tile for tile in tiles if tile[0] <= 16]
    more = dict(extra_width=64, extra_page_size=64, extra_kv_format=extra) if extra else {}
    for heads in range(1, 129):
        padded = [-(-heads // tile[0]) * tile[0] for tile in tiles]
        want = [tile for tile, size in zip(tiles, padded) if 5 * size <= 8 * padded[0]][-1]
        problem = PROBLEM | dict(num_tokens=2, num_heads=heads, kv_format=kv_format, kernel=kernel)
        name = mlatile.plan(**problem, **more).launches[0]["kernel"]
        assert want == tuple(int(re.search(rf"-{key}=(\d+)-", name)[1]) for key in ("BH", "BN", "WARPS"))


@pytest.mark.parametrize("kernel", OTHERS)
def test_kernels_without_splits(kernel):
    for splits in (None, 1):
        plan = mlatile.plan(num_tokens=4, **PROBLEM, kernel=kernel, num_splits=splits)
        assert (plan.kernel, plan.num_splits, plan.workspace_bytes) == (kernel, 1, 0)
        assert mlatile.compile(plan).parts[0].symbol == kernel
    with pytest.raises(mlatile.UnsupportedError, match=f"{kernel}: num_splits 2 is asked for, and one CTA walks all"):
        mlatile.plan(num_tokens=4, **PROBLEM, kernel=kernel, num_splits=2)
    assert mlatile.plan(num_tokens=4096, **PROBLEM, num_splits=2).kernel == "decode"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kv_format,extra", [(None, None), *PAIRS])
def test_a_forced_kernel_is_taken(kernel, kv_format, extra):
    problem = PROBLEM | dict(num_tokens=4, kernel=kernel, kv_format=kv_format or "dsv4")
    if extra:
        problem |= dict(extra_width=7, extra_page_size=2, extra_kv_format=extra)
    assert mlatile.plan(**problem).kernel == kernel
