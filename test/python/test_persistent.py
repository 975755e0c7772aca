# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that do several items (PERSISTENT=true of prefill, docs/Roles.md): right numbers on any grid, the same bits as
one program an item, and as many rows gathered; queries that are copied, wherever they stand and end."""

import functools

import ml_dtypes
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


def placed(query, *, head=0, token=0, first=0, columns=None, more_heads=0):
    """A query as part of larger memory, in which everything else is NaN: elements more from head to head, and from token
    to token, and before the first; of `columns` columns; heads behind the last. Gives the memory too."""
    tokens, heads, width = query.shape
    columns = columns or width
    stride = columns + head
    step = (heads + more_heads) * stride + token
    memory = np.full(first + tokens * step + 8, np.nan, query.dtype)
    assert memory.ctypes.data % 16 == 0
    size = query.itemsize
    view = np.lib.stride_tricks.as_strided(memory[first:], (tokens, heads, columns), (step * size, stride * size, size))
    view[:] = query[:, :, :columns]
    return view, memory


# What elements are copied in: pieces of 16 bytes, or one by one.
PLACES = {
    "pieces": dict(head=8, token=16, first=8),
    "a row is odd": dict(head=1),
    "a row is of 8 bytes": dict(head=4),
    "it begins at 2 bytes": dict(first=1),
    "it begins at 8 bytes": dict(first=4),
    "every second token": dict(token=4),  # pieces and elements in turn
    "every eighth token": dict(token=1),
}


@functools.cache
def converting(kv_format, *, roles="4c+4+8", heads=32, **options):
    compiled = built(kv_format, roles=roles, rows=32, heads=heads, target="sm_90a", **options)
    return Program(compiled.blobs["llvm"], compiled.meta)


def launched(program, case, query, memory, grid, *, checked=False, seed=1):
    """The arrays after one launch. In checked mode nothing but the query itself may be read of what it stands in; what
    shared memory was not given is never read either."""
    arrays = Arrays(case)
    arguments = arguments_of(case, arrays) | dict(q=query[None])
    options = {}
    if checked:
        others = {name: value for name, value in arguments.items() if name != "q"}
        begin = query.ctypes.data
        end = begin + sum((n - 1) * stride for n, stride in zip(query.shape, query.strides)) + query.itemsize
        assert memory.ctypes.data <= begin and end <= memory.ctypes.data + memory.nbytes
        options = dict(checked=True, buffers=[*buffers(others), [begin, end - begin, "q"]])
    program.launch(grid, arguments, seed=seed, **options)
    return arrays


@pytest.mark.parametrize("heads, extra, place", [
    *[(64, "dsv4", place) for place in PLACES],
    *[(32, extra, place) for extra in (None, "dsv4_nvfp4") for place in ("pieces", "a row is odd", "every second token")],
])
def test_copied_queries(heads, extra, place):
    """Three rows of two head tiles, the second of a few heads, by two programs; in checked mode the bits that a query has
    which stands alone."""
    program = converting("dsv4", heads=heads, extra=extra)
    more = dict(extra_width=40, extra_page_size=8, extra_kv_format=extra, extra_lengths=True) if extra else {}
    case = make_case(heads, tokens=3, heads=heads + 5, width=70, page_size=16, lengths=True, **more)
    alone = launched(program, case, case.q, case.q, 2)
    arrays = launched(program, case, *placed(case.q, more_heads=3, **PLACES[place]), 2, checked=True)
    result = arrays.compare(lse=True)
    assert result, result.text
    assert arrays.out.tobytes() == alone.out.tobytes() and arrays.lse.tobytes() == alone.lse.tobytes()


@pytest.mark.parametrize("heads, tile", [(1, 32), (17, 32), (37, 64), (64, 64), (65, 64)])
@pytest.mark.parametrize("place", ["pieces", "a row is odd"])
def test_heads_that_are_none(heads, tile, place):
    """A tile reaches past the last head, as far as to have none but one; what stands behind is not read."""
    program = converting("dsv4", heads=tile, HAS_SINK=True)
    case = make_case(heads, tokens=4, heads=heads, width=33, page_size=16, skip=0.3, sink=True, lengths=True)
    arrays = launched(program, case, *placed(case.q, more_heads=tile, **PLACES[place]), 3, checked=True)
    result = arrays.compare(lse=True)
    assert result, result.text


@pytest.mark.parametrize("columns", [512, 508, 504, 452, 448, 440, 7])
@pytest.mark.parametrize("head", [0, 1])
def test_queries_that_end_early(columns, head):
    """Columns past the last are zero: in a piece of the tile of one part, or the whole tile of the other."""
    program = converting("dsv4", HAS_LENGTH=False)
    case = make_case(columns, tokens=3, heads=37, width=40, page_size=16)
    case.q[:, :, columns:] = 0
    arrays = launched(program, case, *placed(case.q, head=head, columns=columns), 2, checked=True)
    result = arrays.compare(lse=True)
    assert result, result.text


@pytest.mark.parametrize("kv_format", ["dsv4", "dsv3_2", "glm"])
def test_copied_queries_in_any_order(kv_format):
    """However warps take turns, and whether a program does one item or all, unchecked and checked."""
    program = converting(kv_format)
    case = make_case(7, tokens=3, heads=40, width=70, page_size=16, kv_format=kv_format, skip=0.3, lengths=True)
    query, memory = placed(case.q, token=4, first=4)
    results = {launched(program, case, query, memory, grid, seed=seed).out.tobytes() for grid in (1, 2, 6) for seed in range(2)}
    results.add(launched(program, case, query, memory, 2, checked=True).out.tobytes())
    assert len(results) == 1


def test_heads_of_any_size():
    """From 2^3 down to 2^-27, and of one element or none: each head is divided by its own largest element."""
    program = converting("dsv4", HAS_LENGTH=False)
    case = make_case(8, tokens=2, heads=36, width=64, page_size=16)
    units = np.exp2(3.0 - 5 * (np.arange(36) % 7))
    case.q[:] = (case.q.astype(np.float32) * units[None, :, None]).astype(ml_dtypes.bfloat16)
    case.q[0, 3] = 0
    case.q[1, 5, :-1] = 0  # the one of the other part
    for place in ("pieces", "a row is odd"):
        arrays = launched(program, case, *placed(case.q, **PLACES[place]), 1, checked=True)
        result = arrays.compare(lse=True)
        assert result, result.text


def test_more_warps_that_convert():
    """A part of the query may have fewer pieces of 16 bytes than there are threads that copy it."""
    program = converting("dsv4", roles="8c+4+4", heads=BH, HAS_LENGTH=False)
    case = make_case(9, tokens=3, heads=20, width=70, page_size=16)
    arrays = launched(program, case, *placed(case.q), 2, checked=True)
    result = arrays.compare(lse=True)
    assert result, result.text
