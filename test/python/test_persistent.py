# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that do several items (PERSISTENT=true of prefill, docs/Roles.md): right numbers on any grid, the same bits as
one program an item, and as many rows gathered."""

import numpy as np
import pytest
from lowered_kernels import KERNEL_FOLDER, Arrays, Program, compile_kernel, needs_ptxas
from second_caches import MAIN, PAIRS

from mlatile.testing import covering, make_case

BH = 16


def built(kv_format, *, roles="none", bulk=True, rows=16, extra=None, persistent=True, heads=BH, **options):
    if extra:
        options |= dict(HAS_EXTRA=True, EXTRA=extra)
    return compile_kernel(KERNEL_FOLDER / "prefill.mlir", kernel="prefill", FMT=kv_format, BH=heads, BN=rows, BULK=bulk, ROLES=roles, LSE=1,
                          PERSISTENT=persistent, **options)


def arguments_of(case, arrays):
    arguments = arrays.arguments()
    if case.extra_pool is not None:
        arguments |= dict(extra_kv=case.extra_pool, extra_indices=case.extra_indices[None],
                          extra_lengths=None if case.extra_topk_length is None else case.extra_topk_length[None, :, None])
    return arguments


def buffers(arguments):
    pages = {name: value.pages for name, value in arguments.items() if hasattr(value, "pages")}
    arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
    return [[value.ctypes.data, value.nbytes, name] for name, value in (arrays | pages).items()]


FACTORS = {
    "kv_format": MAIN,
    "extra": [None, *dict.fromkeys(extra for _, extra in PAIRS)],
    "roles": ["none", "4+4+4", "4c+4+4", "4c+4+8@3:1", "4+4+8@1:1"],
    "bulk": [False, True],
    "rows": [16, 32],
    "grid": [1, 2, 3, 5, 40],
    "heads": [1, 16, 37],
    "width": [1, 16, 31, 64, 163],
    "tokens": [1, 2, 4],
    "skip": [0, 0.15, 1],
    "lengths": [False, True],
    "sink": [False, True],
}


def allowed(part):
    kv_format, extra = part.get("kv_format"), part.get("extra")
    if kv_format and extra and (kv_format, extra) not in PAIRS:
        return False
    # What an item costs on the executor bounds their number.
    if "dots3_swa" in (kv_format, extra) and (part.get("rows") == 32 or part.get("heads") == 37 or part.get("width") == 163):
        return False
    return not (part.get("tokens") == 4 and part.get("heads") == 37)


SWEEP = covering(FACTORS, 2, allowed=allowed)


@pytest.mark.parametrize("number", range(len(SWEEP)))
def test_problems(number):
    """Checked, with slots of NaN that no row selects; rows may be empty, in one list or in both."""
    row = dict(SWEEP[number])
    kv_format, extra = row["kv_format"], row["extra"]
    program = built(kv_format, roles=row["roles"], bulk=row["bulk"], rows=row["rows"], extra=extra, target="sm_90a", HAS_SINK=row["sink"],
                    HAS_LENGTH=row["lengths"], HAS_EXTRA_LENGTH=row["lengths"])
    more = dict(extra_width=70, extra_page_size=8, extra_kv_format=extra, extra_lengths=row["lengths"]) if extra else {}
    case = make_case(number, tokens=row["tokens"], heads=row["heads"], width=row["width"], page_size=16, kv_format=kv_format,
                     skip=row["skip"], lengths=row["lengths"], sink=row["sink"], **more)
    arrays = Arrays(case)
    arguments = arguments_of(case, arrays)
    Program(program.blobs["llvm"], program.meta).launch(row["grid"], arguments, seed=number, checked=True, buffers=buffers(arguments))
    result = arrays.compare(lse=True)
    assert result, (row, result.text)


@pytest.mark.parametrize("roles", ["none", "4+4+4", "4c+4+4"])
def test_the_grid_and_the_order_of_warps_do_not_matter(roles):
    case = make_case(3, tokens=3, heads=20, width=75, page_size=16, skip=0.3, lengths=True)
    results, copies = set(), set()
    for persistent, grids in ((False, [6]), (True, [1, 2, 4, 6, 9])):
        program = built("dsv4", roles=roles, persistent=persistent, target="sm_90a")
        runs = Program(program.blobs["llvm"], program.meta)
        for grid in grids:
            for seed in range(3):
                arrays = Arrays(case)
                stats = runs.launch(grid, arrays.arguments(), seed=seed)
                assert arrays.compare(lse=True), arrays.compare(lse=True).text
                results.add(arrays.out.tobytes())
                copies.add(stats["bulk_copies"])
    assert len(results) == len(copies) == 1


@pytest.mark.parametrize("roles", ["4+4+4", "4c+4+8"])
def test_shared_memory_is_that_of_one_item(roles):
    """Rings of two lists of different rows share bytes as they do without the loop over items."""
    pairs = [("dsv4", None), ("dsv4", "dsv4"), ("dsv3_2", "glm")]
    if "c" in roles:  # else two payloads take the query in an order each
        pairs.append(("dsv4", "dsv4_nvfp4"))
    for kv_format, extra in pairs:
        bytes_of = [built(kv_format, roles=roles, extra=extra, persistent=persistent, target="sm_90a").meta["shared_bytes"]
                    for persistent in (False, True)]
        assert bytes_of[1] <= bytes_of[0] + 512, (kv_format, extra, bytes_of)  # maxima of the query's pieces


def test_loops_are_those_over_candidates():
    for roles in ("none", "4+4+4", "4c+4+4"):
        one, many = (built("dsv4", roles=roles, persistent=persistent, target="sm_90a").meta["loops"] for persistent in (False, True))
        assert len(one) == len(many) == 1
        assert many[0]["mma"] == one[0]["mma"] and many[0]["stages"] == one[0]["stages"]


@needs_ptxas
@pytest.mark.parametrize("target, heads, roles, more", [("sm_90a", 64, "4c:40+4:152+8:160", 600), ("sm_90a", 32, "4c:64+4:200+4:216", 16),
                                                        ("sm_90a", 32, "4+4+4", 0), ("sm_120a", 32, "4+4+4", 0)])
def test_registers(target, heads, roles, more):
    """Hardly more of them in memory than without the loop over items; with 64 heads while a query is read."""
    spills = [built("dsv4", roles=roles, rows=32, heads=heads, persistent=persistent, target=target, cubin=True).meta["ptxas"]["spill_stores"]
              for persistent in (False, True)]
    assert spills[1] <= spills[0] + more, spills
