# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilegpu.dot` with a quantised operand, on the executor: every operand and orientation, number format and kind of
scale, against exact products of numbers that are decoded here."""

import itertools

import ml_dtypes
import numpy as np
import pytest
from lowered_kernels import Program, compile_kernel
from second_level import accumulator, operand_a, operand_b, pack_columns, spread

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
WIDE = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
TYPES = {"e4m3": "f8E4M3FN", "e2m1": "f4E2M1FN", "ue8m0": "f8E8M0FNU"}


def numbers(kind, data):
    """Rows of bytes as f32."""
    if kind == "e2m1":
        nibbles = np.stack([data & 15, data >> 4], axis=-1).reshape(len(data), -1)
        return E2M1[nibbles & 7] * np.where(nibbles & 8, -1, 1).astype(np.float32)
    if kind == "ue8m0":
        return np.where(data == 255, np.nan, np.ldexp(np.float32(1), data.astype(np.int32) - 127)).astype(np.float32)
    return data.view(ml_dtypes.float8_e4m3fn).astype(np.float32)


class Case:
    """One product. `side`: which operand is quantised; `along_k`: its columns run along K; `other`: where the other
    one comes from: "rows" (a buffer with K along the columns), "packed" (the same in packed order), "columns" (with K along
    the rows) or "tensor". `factors`: the other one is multiplied by factors, a row for so many tiles of the quantised one."""

    def __init__(self, side, along_k, payload, scale, wide="bf16", warps=(1, 1), tiles=(1, 1), steps=1, other="rows", group=0,
                 scale_align=4, factors=0):
        self.side, self.along_k, self.payload, self.scale = side, along_k, payload, scale
        self.wide, self.warps, self.other = wide, warps, other
        pack = 2 if payload == "e2m1" else 1
        self.pack_k = pack if along_k else 0
        self.pack_m = pack if not along_k and side == "a" else 0
        self.pack_n = pack if not along_k and side == "b" else 0
        self.m = tiles[0] * warps[0] * (8 << self.pack_m if self.pack_m else 16)
        self.n = tiles[1] * warps[1] * (8 << self.pack_n)
        self.k = steps * (8 << self.pack_k if self.pack_k else 16)
        outer = self.m if side == "a" else self.n
        self.rows, self.cols = (outer, self.k) if along_k else (self.k, outer)
        self.bytes = self.cols // (2 if payload == "e2m1" else 1)
        self.group = group or min(self.cols & -self.cols, 64)
        self.groups = self.cols // self.group
        self.scale_stride = -(-self.groups // scale_align) * scale_align
        self.factor_group = factors * (max(8 << self.pack_m, 16) if side == "a" else 8 << self.pack_n)
        self.factor_rows = outer // self.factor_group if factors else 0

    def kernel(self):
        """The text: payload, scales and the other operand go to shared memory as bytes and numbers; then the dot."""
        warps, wide = self.warps, self.wide
        m, n, k = self.m, self.n, self.k
        is_a = self.side == "a"
        stride = -(-self.bytes // 16) * 16 + 16
        quantised = f"!tilegpu.buffer<{self.rows}x{self.cols}x{TYPES[self.payload]}, stride = {stride}>"
        lines, layouts = [], {"acc": accumulator(m, n, warps, self.pack_m, self.pack_n)}

        def buffer(name, rows, cols, element, stride, pack=0):
            """A view's tile in a buffer."""
            layouts[name] = spread(rows, cols, warps)
            tensor = f"tensor<{rows}x{cols}x{element}, #{name}>"
            kind = f"!tilegpu.buffer<{rows}x{cols}x{element}, stride = {stride}>"
            lines.append(f'%{name}_buffer = tilegpu.alloc "{name}" : {kind}')
            lines.append(f"%{name}_tile = tile.load %{name}[%z, %z] : !tile.view<[R, C], {element}> -> {tensor}")
            if pack:
                layouts[f"{name}Packed"] = pack_columns(layouts[name], pack)
                packed = tensor.replace(f"#{name}", f"#{name}Packed")
                lines.append(f"%{name}_packed = tilegpu.pack_columns %{name}_tile {{pack = {pack} : i64}} : {tensor} -> {packed}")
                lines.append(f"tilegpu.store_shared %{name}_packed, %{name}_buffer : {packed}, {kind}")
                return kind
            lines.append(f"tilegpu.store_shared %{name}_tile, %{name}_buffer : {tensor}, {kind}")
            return kind

        raw = buffer("payload", self.rows, self.bytes, "i8", stride)
        lines.append(f"%q = tilegpu.view %payload_buffer + 0 : {raw} -> {quantised}")
        by = scaled = ""
        if self.scale:
            raw = buffer("scales", self.rows, self.groups, "i8", self.scale_stride)
            scales = f"!tilegpu.buffer<{self.rows}x{self.groups}x{TYPES[self.scale]}, stride = {self.scale_stride}>"
            lines.append(f"%s = tilegpu.view %scales_buffer + 0 : {raw} -> {scales}")
            scaled, by = " scaled by %s", f" by {scales}"
        flags = []
        if is_a != self.along_k:
            flags.append("a_transposed" if is_a else "b_transposed")
        if self.other == "tensor":
            shape = (k, n) if is_a else (m, k)
            layouts["other"] = operand_b(k, n, warps, self.pack_k) if is_a else operand_a(m, k, warps, self.pack_k)
            other = f"tensor<{shape[0]}x{shape[1]}x{wide}, #other>"
            lines.append(f"%x = tile.load %other[%z, %z] : !tile.view<[R, C], {wide}> -> {other}")
        else:
            outer = n if is_a else m
            in_rows = self.other != "columns"
            rows, cols = (outer, k) if in_rows else (k, outer)
            other = buffer("other", rows, cols, wide, 2 * cols + 16, self.pack_k if self.other == "packed" else 0)
            lines.append("%x = tilegpu.view %other_buffer + 0 : " + f"{other} -> {other}")
            if is_a == in_rows:
                flags.append("b_transposed" if is_a else "a_transposed")
            if self.other == "packed":
                flags.append("b_packed" if is_a else "a_packed")
        times = of = ""
        if self.factor_rows:
            times, of = " times %factors_buffer", " times " + buffer("factors", self.factor_rows, k, wide, 2 * k + 16)
        operands = f"%q{scaled}, %x{times}" if is_a else f"%x{times}, %q{scaled}"
        types = f"{quantised}{by}, {other}{of}" if is_a else f"{other}{of}, {quantised}{by}"
        c = f"tensor<{m}x{n}xf32, #acc>"
        lines += ["tilegpu.sync cta", f"%c0 = tile.load %c[%z, %z] : !tile.view<[R, C], f32> -> {c}",
                  f"%d = tilegpu.dot {operands}, %c0 {{{', '.join(flags)}}} : {types}, {c}",
                  f"tile.store %d, %out[%z, %z] : {c}, !tile.view<[R, C], f32>", "tile.return"]
        views = ", ".join(f"%{name}: !tile.view<[R, C], {element}>" for name, element in
                          dict(payload="i8", scales="i8", other=wide, factors=wide, c="f32", out="f32").items())
        head = "".join(f"#{name} = {text}\n" for name, text in layouts.items())
        body = "".join(f"  {line}\n" for line in ["%z = arith.constant 0 : index", *lines])
        return f"{head}tile.kernel @product warps({warps[0] * warps[1]}) ({views}) {{\n{body}}}\n"

    def inputs(self, rng):
        data = dict(payload=rng.integers(0, 256, (self.rows, self.bytes), np.uint8))
        if self.payload == "e4m3":
            data["payload"] &= np.where((data["payload"] & 0x7F) == 0x7F, 0xFE, 0xFF).astype(np.uint8)  # no NaN
        data["scales"] = rng.integers(120, 134, (self.rows, self.groups)).astype(np.uint8)
        if self.scale == "e4m3":
            data["scales"] = rng.integers(1, 0x7F, (self.rows, self.groups)).astype(np.uint8)
        # As K x N or M x K, then as it stands in memory.
        logical = (self.k, self.n) if self.side == "a" else (self.m, self.k)
        data["matrix"] = rng.standard_normal(logical).astype(WIDE[self.wide])
        columns_along_k = self.other in ("rows", "packed")
        turned = self.other != "tensor" and columns_along_k == (self.side == "a")
        data["other"] = np.ascontiguousarray(data["matrix"].T if turned else data["matrix"])
        data["c"] = rng.standard_normal((self.m, self.n)).astype(np.float32)
        data["factors"] = rng.standard_normal((max(self.factor_rows, 1), self.k)).astype(WIDE[self.wide])
        return data

    def run(self, data, **options):
        compiled = compile_kernel_text(self.kernel())
        out = np.full((self.m, self.n), np.nan, np.float32)
        program = Program(compiled.blobs["llvm"], compiled.meta)
        program.launch(1, {name: data[name] for name in ("payload", "scales", "other", "factors", "c")} | dict(out=out), **options)
        return out

    def check(self, data, out):
        with np.errstate(over="ignore", invalid="ignore"):
            quantised = numbers(self.payload, data["payload"])
            if self.scale:
                quantised = quantised * np.repeat(numbers(self.scale, data["scales"]), self.group, axis=1)
            quantised = quantised.astype(WIDE[self.wide]).astype(np.float64)  # rounded once
            if self.along_k != (self.side == "a"):
                quantised = quantised.T
            matrix = data["matrix"].astype(np.float64)
            a, b = (quantised, matrix) if self.side == "a" else (matrix, quantised)
            assert a.shape == (self.m, self.k) and b.shape == (self.k, self.n)
            products = a[:, :, None] * b[None]
            if self.factor_rows:
                factors = np.repeat(data["factors"].astype(np.float64), self.factor_group, axis=0)  # [M or N, K]
                if self.side == "b":
                    own = (a[:, :, None] * factors.T[None]).astype(np.float32).astype(WIDE[self.wide]).astype(np.float64)
                    products = own * b[None]
                else:
                    own = (factors[:, :, None] * b[None]).astype(np.float32).astype(WIDE[self.wide]).astype(np.float64)
                    products = a[:, :, None] * own
            expected = data["c"] + products.sum(axis=1)
            bound = (self.k + 2) * 2.0**-23 * (np.abs(data["c"]) + np.abs(products).sum(axis=1))
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
        np.testing.assert_array_equal(out[~finite], expected[~finite].astype(np.float32))
        assert (np.abs(out[finite] - expected[finite]) <= bound[finite]).all()
        return expected


def compile_kernel_text(text):
    """A kernel from text instead of from a file."""
    return compile_kernel(text=text, kernel="product")


ORIENTATIONS = list(itertools.product("ab", (True, False), ("e4m3", "e2m1"), (None, "ue8m0", "e4m3")))
WARPS = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (2, 4), (1, 8)]
TILES = [(1, 1), (2, 1), (1, 2), (3, 5), (1, 3), (2, 4), (3, 2)]
STEPS = [1, 2, 3, 4, 5, 7]
OTHERS = ["rows", "columns", "tensor"]


@pytest.mark.parametrize("number", range(2 * len(ORIENTATIONS)))
def test_products(number):
    """Every orientation as bf16 and as f16, with other arrangements of warps, numbers of tiles and steps."""
    i = number * 7 + 3
    case = Case(*ORIENTATIONS[number % 24], wide=("bf16", "f16")[number // 24], warps=WARPS[i % 8], tiles=TILES[i // 2 % 7],
                steps=STEPS[i // 3 % 6], other=OTHERS[(number + number // 24) % 3], scale_align=(1, 4, 8, 16)[number % 4])
    data = case.inputs(np.random.default_rng(number))
    expected = case.check(data, case.run(data, seed=number))
    assert np.isfinite(expected).all() or case.wide == "f16"


@pytest.mark.parametrize("number", range(16))
def test_packed_partners(number):
    """Columns of the other operand stored in the order of the quantised one."""
    side, payload = "ab"[number % 2], ("e4m3", "e2m1")[number // 2 % 2]
    case = Case(side, True, payload, (None, "e4m3")[number // 4 % 2], wide=("bf16", "f16")[number // 8], warps=WARPS[number % 8],
                tiles=TILES[number % 7], steps=STEPS[number % 6], other="packed")
    data = case.inputs(np.random.default_rng(number))
    case.check(data, case.run(data, seed=number))


@pytest.mark.parametrize("other", [*OTHERS, "packed"])
@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("payload", ["e4m3", "e2m1"])
@pytest.mark.parametrize("side", "ab")
def test_factors(side, payload, wide, other):
    """A row of factors for one, two or four tiles; every arrangement of warps meets every orientation."""
    along_k = other == "packed"
    for number, (warps, factors) in enumerate([((1, 1), 1), ((2, 2), 2), ((1, 4), 2)]):
        case = Case(side, along_k, payload, (None, "ue8m0")[number % 2], wide=wide, warps=warps, tiles=(4, 4), steps=1 + number,
                    other=other, factors=factors)
        data = case.inputs(np.random.default_rng(number))
        expected = case.check(data, case.run(data, seed=number))
        assert case.factor_rows > 1 and np.isfinite(expected).any()


@pytest.mark.parametrize("payload", ["e4m3", "e2m1"])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("side", "ab")
@pytest.mark.parametrize("scale", ["ue8m0", "e4m3"])
def test_many_groups(scale, side, along_k, payload):
    """Of 16 columns, and so many that a row of scales is more than one vector."""
    tiles = (1, 10) if side == "b" else (5, 1)
    case = Case(side, along_k, payload, scale, tiles=(1, 1) if along_k else tiles, steps=20 if along_k else 2,
                warps=(2, 1) if side == "a" else (1, 2), group=16, scale_align=16)
    assert case.groups >= 10
    data = case.inputs(np.random.default_rng(1))
    case.check(data, case.run(data))


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("payload", ["e4m3", "e2m1"])
@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("side", "ab")
def test_extreme_scales(side, along_k, payload, wide):
    """ue8m0 bytes 0 (2^-127), 1, 127 (one), 254 (2^127, times numbers that keep it finite or not) and 255 (NaN), each in a
    group of its own; results that they do not touch are as ever."""
    unit = 16 if payload == "e4m3" else 32  # columns of 16 bytes
    blocks = 160 // unit
    tiles = (1, 1) if along_k else (160 // max(unit, 16), 1) if side == "a" else (1, blocks)
    case = Case(side, along_k, payload, "ue8m0", wide=wide, tiles=tiles, steps=blocks if along_k else 2, group=32 if along_k else unit)
    assert case.groups >= 5
    data = case.inputs(np.random.default_rng(2))
    for i, byte in enumerate([0, 1, 127, 254, 255]):
        data["scales"][i, i] = byte
    data["scales"][6, 0 if along_k else 4] = 254
    at = 3 * case.group * case.bytes // case.cols
    data["payload"][3, at : at + case.group * case.bytes // case.cols] = 0x38 if payload == "e4m3" else 0x2A  # +1; -1, 1
    # Small enough that sums of finite products stay finite.
    for name in ("other", "matrix"):
        data[name] = (data[name].astype(np.float32) * 2.0**-12).astype(WIDE[wide])
    expected = case.check(data, case.run(data))
    touched = ~np.isfinite(expected)
    assert touched.any() and not touched.all()
    if wide == "bf16":
        assert (np.abs(expected[~touched]) > 2.0**100).any(), "a finite number of 2^127 is kept"


@pytest.mark.parametrize("along_k", [True, False])
@pytest.mark.parametrize("side", "ab")
def test_nan_payload(side, along_k):
    """Both NaN bytes of e4m3 reach what they are multiplied into, and nothing else."""
    case = Case(side, along_k, "e4m3", "ue8m0", tiles=(2, 4), steps=3)
    data = case.inputs(np.random.default_rng(3))
    data["payload"][1, 3], data["payload"][5, 30] = 0x7F, 0xFF
    expected = case.check(data, case.run(data))
    assert np.isnan(expected).sum() == 2 * (case.n if side == "a" else case.m)


def test_order_of_warps_and_seeds():
    """The same bits whatever the order in which warps run."""
    case = Case("b", False, "e4m3", "ue8m0", warps=(2, 4), tiles=(2, 3), steps=3, other="rows")
    data = case.inputs(np.random.default_rng(4))
    results = {case.run(data, seed=seed).tobytes() for seed in range(4)}
    assert len(results) == 1


def test_a_wrong_scale_is_found():
    """The comparison can fail: one scale of all is off by a factor of two."""
    case = Case("a", True, "e2m1", "ue8m0", tiles=(2, 2), steps=3)
    data = case.inputs(np.random.default_rng(5))
    out = case.run(data)
    case.check(data, out)
    data["scales"][7, 1] += 1
    with pytest.raises(AssertionError):
        case.check(data, out)
