# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of second-level kernels: layouts of docs/Layouts.md, section 3, and of tiles that are only moved."""

import re


def _text(reg, lane, warp, reps):
    def bases(all_of_them):
        return "[" + ", ".join(f"[{row}, {col}]" for row, col in all_of_them) + "]"

    return f"#tilegpu.layout<reg = {bases(reg)}, lane = {bases(lane)}, warp = {bases(warp)}, reps = [{reps[0]}, {reps[1]}]>"


def _tiled(reg, lane, block, shape, warps, along):
    """Warps side by side, along N first; `along` = the dims of M and N, None for copies."""
    block, warp = list(block), []
    for count, dim in ((warps[1], along[1]), (warps[0], along[0])):
        for _ in range(count.bit_length() - 1):
            basis = [0, 0]
            if dim is not None:
                basis[dim] = block[dim]
                block[dim] *= 2
            warp.append(basis)
    assert shape[0] % block[0] == 0 and shape[1] % block[1] == 0, (shape, block)
    return _text(reg, lane, warp, (shape[0] // block[0], shape[1] // block[1]))


def accumulator(m, n, warps, pack_m=0, pack_n=0):
    def row(r):
        return r if pack_m == 0 else 1 if r == 8 else r << pack_m

    reg = [[row(r), c << pack_n] for r, c in ([0, 1], [8, 0])]
    reg += [[0, 1 << bit] for bit in range(pack_n)] + [[1 << bit, 0] for bit in range(1, pack_m)]
    lane = [[row(r), c << pack_n] for r, c in ([0, 2], [0, 4], [1, 0], [2, 0], [4, 0])]
    return _tiled(reg, lane, (8 << pack_m if pack_m else 16, 8 << pack_n), (m, n), warps, (0, 1))


def _along_k(pack):
    """Bases along K: the pair, the second half of a step, further steps of a word; the lanes; the whole block."""
    if pack == 0:
        return 1, 8, [], [2, 4], 16
    return 1, 2, [2 << bit for bit in range(1, pack)], [2 << pack, 4 << pack], 8 << pack


def operand_a(m, k, warps, pack=0):
    pair, half, steps, lanes, block = _along_k(pack)
    reg = [[0, pair], [8, 0], [0, half]] + [[0, step] for step in steps]
    lane = [[0, basis] for basis in lanes] + [[1, 0], [2, 0], [4, 0]]
    return _tiled(reg, lane, (16, block), (m, k), warps, (0, None))


def operand_b(k, n, warps, pack=0):
    pair, half, steps, lanes, block = _along_k(pack)
    reg = [[pair, 0], [half, 0]] + [[step, 0] for step in steps]
    lane = [[basis, 0] for basis in lanes] + [[0, 1], [0, 2], [0, 4]]
    return _tiled(reg, lane, (block, 8), (k, n), warps, (None, 1))


def pack_columns(layout, pack):
    """Of a layout's text: columns in the order of a quantised partner. Bits of a column are 1 + pack of a lane's elements
    and two of the lane; along k stand the pair, the lanes, the halves of a step, further steps."""
    places = {1: [0, 3, 1, 2], 2: [0, 3, 4, 1, 2]}[pack]

    def moved(basis):
        row, col = map(int, basis.groups())
        low = sum((col >> bit & 1) << place for bit, place in enumerate(places))
        return f"[{row}, {col >> len(places) << len(places) | low}]"

    bases, reps = layout.split(", reps")
    return re.sub(r"\[(\d+), (\d+)\]", moved, bases) + ", reps" + reps


def spread(rows, cols, warps):
    """Powers of two in columns, then rows, over lanes and warps; the rest are registers."""
    bases, sizes, done = [], (cols, rows), [1, 1]
    for which, size in enumerate(sizes):
        while size % (2 * done[which]) == 0 and len(bases) < 5 + (warps[0] * warps[1]).bit_length() - 1:
            bases.append([0, done[0]] if which == 0 else [done[1], 0])
            done[which] *= 2
    bases += [[0, 0]] * (5 + (warps[0] * warps[1]).bit_length() - 1 - len(bases))
    return _text([], bases[:5], bases[5:], (rows // done[1], cols // done[0]))
