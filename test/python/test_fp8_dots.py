# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilegpu.dot` of two operands of f8E4M3FN, and of one that is made so (`narrow`), on the executor: warps, tiles, steps and
scales, against exact products of numbers that are decoded here."""

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import Program, compile_kernel
from second_level import accumulator, operand_a, operand_b, spread

E4M3 = ml_dtypes.float8_e4m3fn


def e4m3(data):
    return data.view(E4M3).astype(np.float64)


def some_bytes(rng, shape):
    data = rng.integers(0, 256, shape, np.uint8)
    return np.where((data & 0x7F) == 0x7F, data & 0xFE, data).astype(np.uint8)  # no NaN


class Text:
    """A kernel that brings views to shared memory, multiplies and stores."""

    def __init__(self, warps):
        self.warps, self.lines, self.layouts, self.views = warps, [], {}, {}

    def buffer(self, name, rows, cols, element, stride, stored="i8"):
        """A view `name` of `stored` numbers in a buffer, read as `element`."""
        tensor = f"tensor<{rows}x{cols}x{stored}, #{name}>"
        raw = f"!tilegpu.buffer<{rows}x{cols}x{stored}, stride = {stride}>"
        kind = f"!tilegpu.buffer<{rows}x{cols}x{element}, stride = {stride}>"
        self.layouts[name] = spread(rows, cols, self.warps)
        self.views[name] = stored
        self.lines += [f'%{name}_raw = tilegpu.alloc "{name}" : {raw}',
                       f"%{name}_tile = tile.load %{name}[%z, %z] : !tile.view<[R, C], {stored}> -> {tensor}",
                       f"tilegpu.store_shared %{name}_tile, %{name}_raw : {tensor}, {raw}",
                       f"%{name}_buffer = tilegpu.view %{name}_raw + 0 : {raw} -> {kind}"]
        return f"%{name}_buffer", kind

    def tensor(self, name, rows, cols, element, layout):
        self.layouts[name], self.views[name] = layout, element
        kind = f"tensor<{rows}x{cols}x{element}, #{name}>"
        self.lines.append(f"%{name}_tile = tile.load %{name}[%z, %z] : !tile.view<[R, C], {element}> -> {kind}")
        return f"%{name}_tile", kind

    def dot(self, a, b, m, n, flags, packs=(0, 0)):
        c, kind = self.tensor("c", m, n, "f32", accumulator(m, n, self.warps, *packs))
        self.views["out"] = "f32"
        self.lines += ["tilegpu.sync cta", f"%d = tilegpu.dot {a[0]}, {b[0]}, {c} {{{', '.join(flags)}}} : {a[1]}, {b[1]}, {kind}",
                       f"tile.store %d, %out[%z, %z] : {kind}, !tile.view<[R, C], f32>", "tile.return"]

    def run(self, data, **options):
        views = ", ".join(f"%{name}: !tile.view<[R, C], {element}>" for name, element in self.views.items())
        head = "".join(f"#{name} = {text}\n" for name, text in self.layouts.items())
        body = "".join(f"  {line}\n" for line in ["%z = arith.constant 0 : index", *self.lines])
        text = f"{head}tile.kernel @product warps({self.warps[0] * self.warps[1]}) ({views}) {{\n{body}}}\n"
        compiled = compile_kernel(text=text, kernel="product")
        out = np.full(data["c"].shape, np.nan, np.float32)
        Program(compiled.blobs["llvm"], compiled.meta).launch(1, {name: data[name] for name in self.views if name != "out"}
                                                              | dict(out=out), **options)
        return out


def close(out, a, b, c):
    """a [M, K] times b [K, N] plus c; the order of f32 sums is free."""
    products = a[:, :, None] * b[None]
    expected = c + products.sum(axis=1)
    bound = (a.shape[1] + 2) * 2.0**-23 * (np.abs(c) + np.abs(products).sum(axis=1))
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    good = ~np.isnan(expected)
    assert (np.abs(out[good] - expected[good]) <= bound[good]).all()


WARPS = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4)]
TILES = [(1, 1), (2, 1), (1, 2), (3, 5), (1, 3), (2, 4), (3, 2)]


def two_buffers(rng, warps, tiles, groups, group, scaled):
    """Rows of 8 bits on both sides; `scaled`: which have a scale for each `group` of columns."""
    m, n, k = 16 * warps[0] * tiles[0], 8 * warps[1] * tiles[1], groups * group
    text, data, operands, values = Text(warps), {}, [], []
    for side, rows in (("a", m), ("b", n)):
        data[side] = some_bytes(rng, (rows, k))
        name, kind = text.buffer(side, rows, k, "f8E4M3FN", k + 16)
        value = e4m3(data[side])
        if side in scaled:
            stride = -(-groups // 4) * 4
            data[f"s{side}"] = rng.integers(120, 134, (rows, groups)).astype(np.uint8)
            scale, scale_kind = text.buffer(f"s{side}", rows, groups, "f8E8M0FNU", stride)
            name, kind = f"{name} scaled by {scale}", f"{kind} by {scale_kind}"
            value = value * np.repeat(np.ldexp(1.0, data[f"s{side}"].astype(int) - 127), group, axis=1)
        operands.append((name, kind))
        values.append(value)
    text.dot(*operands, m, n, ["b_transposed"])
    data["c"] = rng.standard_normal((m, n)).astype(np.float32)
    return text, data, values


@pytest.mark.parametrize("scaled", ["", "a", "b", "ab"])
@pytest.mark.parametrize("number", range(7))
def test_two_buffers(number, scaled):
    rng = np.random.default_rng(number)
    groups, group = [(1, 32), (2, 32), (3, 64), (7, 64), (5, 32), (9, 32), (3, 128)][number]
    text, data, (a, b) = two_buffers(rng, WARPS[number], TILES[(number * 3 + len(scaled)) % 7], groups, group, scaled)
    close(text.run(data, seed=number), a, b.T, data["c"])


def test_nan_reaches_what_it_multiplies():
    text, data, _ = two_buffers(np.random.default_rng(1), (1, 2), (2, 2), 2, 64, "b")
    data["b"][3, 5], data["sb"][9, 1] = 0x7F, 255
    out = text.run(data)
    assert np.isnan(out[:, 3]).all() and np.isnan(out[:, 9]).all() and np.isnan(out).sum() == 2 * len(out)


def test_a_wrong_scale_is_found():
    text, data, (a, b) = two_buffers(np.random.default_rng(2), (2, 1), (1, 3), 5, 32, "ab")
    data["sb"][7, 3] += 1
    with pytest.raises(AssertionError):
        close(text.run(data), a, b.T, data["c"])


def narrow(rng, side, warps, tiles, k, other, group):
    """`side` is of f8E4M3FN, its columns along M (N); the other of f16, with factors for each `group` of them or none."""
    is_a = side == "a"
    m, n = 16 * warps[0] * tiles[0], (8 if is_a else 16) * warps[1] * tiles[1]
    wide, long = (n, m) if is_a else (m, n)
    text, data = Text(warps), dict(v=some_bytes(rng, (k, long)))
    stored = text.buffer("v", k, long, "f8E4M3FN", long + (-long) % 16 + 16)
    # As [rows, K] of the operand of f16, probabilities of any size, some too large for e4m3.
    p = (rng.standard_normal((wide, k)) * np.exp2(rng.integers(-12, 8, (wide, k)))).astype(np.float16)
    flags = ["narrow"]
    if other == "tensor":
        data["p"] = np.ascontiguousarray(p.T) if is_a else p
        rounded = text.tensor("p", *data["p"].shape, "f16", (operand_b if is_a else operand_a)(*data["p"].shape, warps))
    else:
        data["p"] = p if other == "rows" else np.ascontiguousarray(p.T)
        rounded = text.buffer("p", *data["p"].shape, "f16", 2 * data["p"].shape[1] + 16, stored="f16")
        if is_a == (other == "rows"):
            flags.append("b_transposed" if is_a else "a_transposed")
    if is_a:
        flags.append("a_transposed")
    factors = np.ones((1, k), np.float16)
    if group:
        factors = data["x"] = np.exp2(rng.integers(-3, 2, (long // group, k))).astype(np.float16)
        name, kind = text.buffer("x", long // group, k, "f16", 2 * k + 16, stored="f16")
        rounded = f"{rounded[0]} times {name}", f"{rounded[1]} times {kind}"
    text.dot(*((stored, rounded) if is_a else (rounded, stored)), m, n, flags, (1, 0) if is_a else (0, 1))
    data["c"] = rng.standard_normal((m, n)).astype(np.float32)
    return text, data, p, factors


@pytest.mark.parametrize("side", "ab")
@pytest.mark.parametrize("other", ["rows", "columns", "tensor"])
@pytest.mark.parametrize("number", range(6))
def test_narrow(number, other, side):
    rng = np.random.default_rng(10 + number)
    warps, tiles, k = WARPS[number + 1], TILES[(number * 2 + len(other)) % 7], [16, 32, 48, 64, 96, 80][number]
    block = 16 * (warps[0] if side == "a" else warps[1])
    group = block if (number + len(other)) % 2 else 0
    text, data, p, factors = narrow(rng, side, warps, tiles, k, other, group)
    out = text.run(data, seed=number)
    v = e4m3(data["v"])
    for i, x in enumerate(factors):
        with np.errstate(over="ignore"):
            scaled = np.clip((p * x).astype(np.float32), -448, 448).astype(E4M3).astype(np.float64)
        part = slice(i * group, (i + 1) * group) if group else slice(None)
        if side == "a":
            close(out[part], v[:, part].T, scaled.T, data["c"][part])
        else:
            close(out[:, part], scaled, v[:, part], data["c"][:, part])
