# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of the second level: layouts drawn bit by bit, buffers, mbarriers, gathers, dots."""

from generate import FLOATS, INTEGERS, Writer

BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "i8": 1, "f8E4M3FN": 1, "f8E8M0FNU": 1}
WARP_BITS = 2
MMA_LANES = [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]
# format: bytes of a row that are copied, payload, groups, bytes of a footer row (0: none)
ROWS = {"dsv4": (576, 448, 7, 8), "dsv4_1": (512, 512, 16, 16), "glm": (656, 512, 4, 0), "glm53_nope": (528, 512, 4, 0)}


class Layout:
    """Bases (tuples of coordinates) of registers, lanes and warps, and repetitions."""

    def __init__(self, reg, lane, warp, reps):
        self.bases, self.reps = (list(reg), list(lane), list(warp)), tuple(reps)
        self.rank = len(self.reps)

    def text(self):
        shown = ["[" + ", ".join(str(list(base)) for base in bases) + "]" for bases in self.bases]
        return "#tilegpu.layout<reg = {}, lane = {}, warp = {}, reps = {}>".format(*shown, list(self.reps))

    def shape(self):
        size = list(self.reps)
        for base in {base for bases in self.bases for base in bases}:
            for d, step in enumerate(base):
                size[d] *= 2 if step else 1
        return tuple(size)

    def key(self):
        return self.shape(), self


def drawn(rng, shape):
    """Any layout of a shape: its bits in any order over lanes, warps, then registers; what is left holds copies."""
    reps = []
    for size in shape:
        block = size & -size
        while block > 1 and rng.random() < 0.3:
            block //= 2
        reps.append(size // block)
    bits = [tuple(1 << b if i == d else 0 for i in range(len(shape))) for d in range(len(shape))
            for b in range((shape[d] // reps[d]).bit_length() - 1)]
    rng.shuffle(bits)
    none = (0,) * len(shape)
    lane = [bits.pop() if bits and rng.random() < 0.9 else none for _ in range(5)]
    warp = [bits.pop() if bits and rng.random() < 0.7 else none for _ in range(WARP_BITS)]
    return Layout(bits, lane, warp, reps)


def accumulator(m, n, packed=False):
    """Of an mma, the warps along n; `packed`: columns in the order of 8-bit elements that are read 16 bits at once."""
    if packed:
        return Layout([(0, 2), (8, 0), (0, 1)], [(0, 4), (0, 8), *MMA_LANES[2:]], [(0, 16), (0, 32)], (m // 16, n // 64))
    return Layout([(0, 1), (8, 0)], MMA_LANES, [(0, 8), (0, 16)], (m // 16, n // 32))


def operand(m, k):
    """The first operand that fits it."""
    return Layout([(0, 1), (8, 0), (0, 8)], MMA_LANES, [(0, 0)] * WARP_BITS, (m // 16, k // 16))


def pieces(m, n):
    """16 bytes of 16-bit elements a thread, neighbours along a row, each element once."""
    columns = [(0, 8 << b) for b in range((n // 8).bit_length() - 1)]
    rows = [(1 << b, 0) for b in range(5 + WARP_BITS - len(columns))]
    bits = columns + rows
    return Layout([(0, 1), (0, 2), (0, 4)], bits[:5], bits[5:], (m >> len(rows), 1))


def over_threads(rows):
    """Neighbouring threads share a row: up to 128 rows, a power of two."""
    bits = [(0,)] * (7 - (rows.bit_length() - 1)) + [(1 << b,) for b in range(rows.bit_length() - 1)]
    return Layout([], bits[:5], bits[5:], (1,))


def dropped(layout, axis):
    """Without a dimension."""
    cut = lambda base: tuple(x for d, x in enumerate(base) if d != axis)  # noqa: E731
    reg = [cut(base) for base in layout.bases[0] if any(cut(base))]
    return Layout(reg, map(cut, layout.bases[1]), map(cut, layout.bases[2]), cut(layout.reps))


class Kernel(Writer):
    """A key is (shape, layout)."""

    def __init__(self, rng):
        super().__init__(rng)
        self.layouts = {}  # text: name
        self.buffers = []  # (name, shape, element, stride in bytes)
        self.bars = []  # (name, count)
        self.allocated = 0
        self.pool = rng.choice(list(ROWS))
        self.in_role = False

    def operations(self):
        every = [self.full, self.iota, self.load, self.load, self.store, self.place, self.place, self.to_shared, self.to_shared,
                 self.from_shared, self.from_shared, self.from_peers, self.cluster, self.sync, self.barrier, self.barrier, self.gather, self.copy, self.dot, self.dot,
                 self.dot, self.quantised_dot, self.reduce, self.reduce, self.slice, self.convert, self.convert, self.pack_columns, self.broadcast,
                 self.scale, self.transpose,
                 self.view, self.runtime, self.elementwise, self.elementwise, self.elementwise]
        return every + ([self.loop, self.condition] if self.indent < 3 else [])

    def typed(self, key, element):
        if key is None:
            return element
        shape, layout = key
        name = self.layouts.setdefault(layout.text(), f"#l{len(self.layouts)}")
        return f"tensor<{''.join(f'{n}x' for n in shape)}{element}, {name}>"

    def define(self, key, element, text):
        result = self.typed(key, element)
        self.line(f"{self.new(key, element, result)} = {text} {result}")
        return self.values[result][-1], result

    def shape(self):
        if self.chance(0.3):
            return (self.rng.choice([16, 32, 64, 8, 1, 48, 128]),)
        return self.rng.choice([16, 32, 64, 16, 8, 1]), self.rng.choice([16, 32, 64, 32, 128, 4, 7])

    def key(self):
        shape = self.shape()
        if len(shape) == 2 and shape[0] % 16 == 0 and shape[1] % 32 == 0 and self.chance(0.5):
            return accumulator(*shape).key()
        return drawn(self.rng, shape).key()

    def tile(self, key, element):
        text = self.typed(key, element)
        if not self.values.get(text):
            self.define(key, element, f"tile.full {self.scalar(element)} : {element} ->")
        return self.rng.choice(self.values[text]), text

    def full(self):
        self.tile(self.key(), self.rng.choice([*FLOATS, *INTEGERS]))

    def iota(self):
        self.define(drawn(self.rng, (self.rng.choice([16, 32, 64, 8]),)).key(), "i32", "tile.iota :")

    def view_of(self, element):
        return {"f32": "%f", "bf16": "%h", "i32": "%n"}[element], f"!tile.view<[T, W], {element}>"

    def load(self):
        element = self.rng.choice(["f32", "bf16", "i32"])
        name, text = self.view_of(element)
        limit = f" limit {self.scalar('index')}" if self.chance(0.3) else ""
        self.define(self.key(), element, f"tile.load {name}[{self.scalar('index')}, {self.scalar('index')}]{limit} : {text} ->")

    def store(self):
        value = self.some(lambda key, element: key is not None and element in ("f32", "bf16", "i32"))
        if value:
            name, text = self.view_of(self.types[value[1]][1])
            self.line(f"tile.store {value[0]}, {name}[{self.scalar('index')}, {self.scalar('index')}] : {value[1]}, {text}")

    # Shared memory.

    def buffer_type(self, shape, element, stride):
        return f"!tilegpu.buffer<{'x'.join(map(str, shape))}x{element}, stride = {stride}>"

    def place(self, shape=None, element=None):
        """A buffer, or a stage of a ring of them."""
        shape = shape or self.shape()
        element = element or self.rng.choice(["bf16", "bf16", "f32", "i32", "i8", "f16"])
        stride = -(-shape[-1] * BYTES[element] // 16) * 16 + self.rng.choice([0, 16, 16, 32])
        if len(shape) == 1:
            stride = shape[0] * BYTES[element]
        text, name = self.buffer_type(shape, element, stride), f"%s{self.count}"
        self.count += 1
        stages = self.rng.choice([0, 0, 2, 3])
        whole = f"!tilegpu.ring<{stages}, {text}>" if stages else text
        offset = f" {{offset = {self.allocated} : i64}}"  # of those that are not planned anew
        self.allocated += -(-max(1, stages) * stride * (shape[0] if len(shape) == 2 else 1) // 16) * 16
        self.line(f'{name} = tilegpu.alloc "s{self.count}"{offset if self.chance(0.2) else ""} : {whole}')
        if stages:
            self.line(f"{name}s = tilegpu.stage {name}[{self.index(stages)}] : {whole} -> {text}")
            name += "s"
        self.buffers.append((name, shape, element, stride))
        return name, text

    def index(self, count):
        """A number below count; sometimes any."""
        if self.chance(0.02):
            return self.scalar("i32")
        self.line(f"{self.new(None, 'i32', 'i32')} = arith.constant {self.rng.randrange(count)} : i32")
        return self.values["i32"][-1]

    def view(self):
        found = [b for b in self.buffers if len(b[1]) == 2 and b[3] >= 32]
        if found:
            name, shape, element, stride = self.rng.choice(found)
            offset = self.rng.choice([0, 16, 16, 32])
            new = self.rng.choice(["bf16", "i8", "f8E4M3FN", "f32", element])
            room = (shape[1] * BYTES[element] - offset) // BYTES[new]
            size = (shape[0], max(1, self.rng.choice([room, room // 2, 16])))
            text = self.buffer_type(size, new, stride)
            self.line(f"%s{self.count} = tilegpu.view {name} + {offset} : {self.buffer_type(shape, element, stride)} -> {text}")
            self.buffers.append((f"%s{self.count}", size, new, stride))
            self.count += 1

    def to_shared(self):
        value = self.some(lambda key, element: key is not None and element in BYTES)
        if value:
            (shape, _), element = self.types[value[1]]
            found = [b for b in self.buffers if b[1:3] == (shape, element)]
            name, text = (found[-1][0], self.buffer_type(*found[-1][1:])) if found else self.place(shape, element)
            self.line(f"tilegpu.store_shared {value[0]}, {name} : {value[1]}, {text}")
            if self.chance(0.5):
                self.sync()

    def from_shared(self):
        found = [b for b in self.buffers if b[2] in FLOATS + INTEGERS]
        if found:
            name, shape, element, stride = self.rng.choice(found)
            self.define(drawn(self.rng, shape).key(), element, f"tilegpu.load_shared {name} : {self.buffer_type(shape, element, stride)} ->")

    def from_peers(self):
        found = [b for b in self.buffers if b[2] in FLOATS + INTEGERS]
        if found:
            name, shape, element, stride = self.rng.choice(found)
            window = tuple(self.rng.choice([size, 1, 16, 32]) for size in shape)
            at = ", ".join(self.scalar("index") for _ in shape)
            self.define(drawn(self.rng, window).key(), element, f"tilegpu.load_peer {name} of {self.scalar('index')}[{at}] : "
                        f"{self.buffer_type(shape, element, stride)} ->")

    def cluster(self):
        if not self.in_role:
            self.line("tilegpu.cluster_arrive")
            self.line("tilegpu.cluster_wait")

    def sync(self):
        everybody = "role" if self.in_role else "cta"
        fence = " {proxy_fence}" if self.chance(0.2) else ""
        self.line(f"tilegpu.sync {self.rng.choice([everybody, everybody, 'warp'])}{fence}")

    def barrier(self):
        """Arrives or waits; initialises where there is no mbarrier."""
        if not self.bars or self.chance(0.2):
            self.mbarriers(128)
        name, count = self.rng.choice(self.bars)
        index, parity = self.index(count), self.index(2)
        text = f"{name}[{index}]" + self.rng.choice(["", f", {parity}"])
        by_warp = " {by_warp}" if "," not in text and self.chance(0.3) else ""
        self.line(f"tilegpu.mbarrier_{'wait' if ',' in text else 'arrive'} {text}{by_warp} : !tilegpu.mbarriers<{count}>")

    def mbarriers(self, arrivals):
        name, count = f"%b{self.count}", self.rng.choice([1, 2, 2, 4])
        self.count += 1
        self.line(f'{name} = tilegpu.alloc "b{self.count}" : !tilegpu.mbarriers<{count}>')
        self.line(f"tilegpu.mbarrier_init {name} {{count = {arrivals} : i32}} : !tilegpu.mbarriers<{count}>")
        self.bars.append((name, count))
        return name, count

    def gather(self):
        """A stage of rows, and its payload as 16 bits."""
        copied, payload, groups, footer = ROWS[self.pool]
        rows = self.rng.choice([16, 32, 32, 64])
        ids, ids_type = self.define(over_threads(rows).key(), "i32", f"tile.load %n[{self.scalar('index')}, {self.scalar('index')}] : "
                                    "!tile.view<[T, W], i32> ->")
        data, data_type = self.place((rows, copied), "i8")
        if footer:
            scales, scales_type = self.place((rows, footer), "i8")
        else:
            stride = self.buffers[-1][3]
            scales, scales_type = f"{data}c", self.buffer_type((rows, groups), "f32", stride)
            self.line(f"{scales} = tilegpu.view {data} + {payload} : {data_type} -> {scales_type}")
        slots, slots_type = self.place((rows,), "i32")
        bars, count = self.mbarriers(256)
        index = self.index(count)
        bulk = " {bulk}" if self.chance(0.4) else ""
        self.line(f"tilegpu.gather_async %kv[{ids}] into {data}, {scales}, {slots} signal {bars}[{index}]{bulk} : "
                  f'!tile.pool<"{self.pool}">, {ids_type}, {data_type}, {scales_type}, {slots_type}, !tilegpu.mbarriers<{count}>')
        parity = self.index(2)
        self.line(f"tilegpu.mbarrier_wait {bars}[{index}], {parity} : !tilegpu.mbarriers<{count}>")
        stride = next(b for b in self.buffers if b[0] == data)[3]
        part = self.buffer_type((rows, payload), "f8E4M3FN", stride)
        keys, keys_type = self.place((rows, payload), "bf16")
        self.line(f"{data}p = tilegpu.view {data} + 0 : {data_type} -> {part}")
        unscaled = " {unscaled}" if self.chance(0.4) or not footer else ""
        if not unscaled and self.chance(0.5):  # factors of the kernel's own
            scales, scales_type = self.place((rows, self.rng.choice([groups, -(-groups // 8) * 8])), "bf16")
        self.line(f'tilegpu.dequant "{self.pool}" {data}p, {scales} -> {keys}{unscaled} : {part}, {scales_type} -> {keys_type}')

    def copy(self):
        """A tile of a view, by copies."""
        shape = 16, self.rng.choice([64, 128])
        buffer, buffer_type = self.place(shape, "bf16")
        bars, count = self.mbarriers(256)
        index = self.index(count)
        by = pieces(*shape).text().removeprefix("#tilegpu.layout")
        self.line(f"tilegpu.copy_async %h[{self.scalar('index')}, {self.scalar('index')}] into {buffer} signal {bars}[{index}] by {by} : "
                  f"!tile.view<[T, W], bf16>, {buffer_type}, !tilegpu.mbarriers<{count}>")
        parity = self.index(2)
        self.line(f"tilegpu.mbarrier_wait {bars}[{index}], {parity} : !tilegpu.mbarriers<{count}>")

    # Registers.

    def dot(self):
        m, n, k = self.rng.choice([16, 16, 32]), self.rng.choice([32, 64, 128]), self.rng.choice([16, 32, 64])
        c, c_type = self.tile(accumulator(m, n).key(), "f32")
        element = self.rng.choice(["bf16", "bf16", "f16"])
        flags = []
        if self.chance(0.5):
            a, a_type = self.tile(operand(m, k).key(), element)
        else:
            turned = self.chance(0.3)
            a, a_type = self.place((k, m) if turned else (m, k), element)
            flags += ["a_transposed"] if turned else []
        turned = self.chance(0.5)
        b, b_type = self.place((n, k) if turned else (k, n), element)
        flags += ["b_transposed"] if turned else []
        attributes = f" {{{', '.join(flags)}}}" if flags else ""
        self.define(accumulator(m, n).key(), "f32", f"tilegpu.dot {a}, {b}, {c}{attributes} : {a_type}, {b_type},")

    def quantised(self, shape):
        """A buffer of 8-bit elements, and scales for it or none: as text, and as text of types."""
        name, text = self.place(shape, "f8E4M3FN")
        group = self.rng.choice([0, 16, 32, shape[1]])
        if not group or shape[1] % group:
            return name, text, "", ""
        scales, scales_type = self.place((shape[0], shape[1] // group), self.rng.choice(["f8E8M0FNU", "f8E4M3FN"]))
        return name, text, scales, scales_type

    def quantised_dot(self):
        """Of rows that run along K, or along the columns of the result."""
        m, n, k = self.rng.choice([16, 32]), self.rng.choice([64, 128]), self.rng.choice([16, 32, 64])
        along_k = self.chance(0.5)
        a, a_type = self.place((m, k), "bf16")
        c_key = accumulator(m, n, packed=not along_k).key()
        c, c_type = self.tile(c_key, "f32")
        b, b_type, scales, scales_type = self.quantised((n, k) if along_k else (k, n))
        if scales:
            b, b_type = f"{b} scaled by {scales}", f"{b_type} by {scales_type}"
        flag = " {b_transposed}" if along_k else ""
        self.define(c_key, "f32", f"tilegpu.dot {a}, {b}, {c}{flag} : {a_type}, {b_type},")
        if self.chance(0.2):
            shape = self.rng.choice([(16, 64), (32, 32)])
            rows, rows_type, scales, scales_type = self.quantised(shape)
            by, by_type = (f" by {scales}", f" by {scales_type}") if scales else ("", "")
            self.define(drawn(self.rng, shape).key(), "bf16", f"tilegpu.load_quantised {rows}{by} : {rows_type}{by_type} ->")

    def reduce(self):
        value = self.some(lambda key, element: key is not None and len(key[0]) == 2 and element in (*FLOATS, "i32"))
        if value:
            (_, layout), element = self.types[value[1]]
            axis = self.rng.randint(0, 1)
            kind = self.rng.choice(["maximumf", "minimumf", "addf"] if element in FLOATS else ["addi", "maxsi"])
            if any(base[axis] for base in layout.bases[2]):  # warps share it: a column for each stays
                line = lambda base, at: tuple(at if d == axis else x for d, x in enumerate(base))  # noqa: E731
                reg = [line(base, 0) for base in layout.bases[0] if base[1 - axis]]
                column = 1
                warp = []
                for base in layout.bases[2]:
                    warp.append(line(base, column if base[axis] else 0))
                    column *= 2 if base[axis] else 1
                result = Layout(reg, [line(base, 0) for base in layout.bases[1]], warp, line(layout.reps, 1))
            else:
                result = dropped(layout, axis)
            self.define(result.key(), element, f"tilegpu.reduce_warp {kind} {value[0]} along {axis} : {value[1]} ->")

    def slice(self):
        """A window of whole repetitions, taken out and put back."""
        value = self.some(lambda key, element: key is not None and any(r > 1 for r in key[1].reps))
        if value:
            (shape, layout), element = self.types[value[1]]
            axis = next(d for d, r in enumerate(layout.reps) if r > 1)
            reps = tuple(1 if d == axis else r for d, r in enumerate(layout.reps))
            window = Layout(*layout.bases, reps)
            step = shape[axis] // layout.reps[axis]
            at = [step * self.rng.randrange(layout.reps[axis]) if d == axis else 0 for d in range(len(shape))]
            part, part_type = self.define(window.key(), element, f"tilegpu.extract_slice {value[0]}{at} : {value[1]} ->")
            self.line(f"{self.new((shape, layout), element, value[1])} = tilegpu.insert_slice {part} into {value[0]}{at} : "
                      f"{part_type} into {value[1]}")

    def convert(self):
        value = self.some(lambda key, element: key is not None)
        if value:
            (shape, layout), element = self.types[value[1]]
            if len(shape) == 2 and shape[0] % 16 == 0 and shape[1] % 16 == 0 and self.chance(0.3):
                new = operand(*shape)
            elif self.chance(0.8):  # registers only: their bits in another order
                reg = list(layout.bases[0])
                self.rng.shuffle(reg)
                new = Layout(reg, layout.bases[1], layout.bases[2], layout.reps)
            else:
                new = drawn(self.rng, shape)
            self.define(new.key(), element, f"tilegpu.convert_layout {value[0]} : {value[1]} ->")

    def pack_columns(self):
        """Bits of the columns in the order of `ldmatrix`: those of a pair, of a step's half, of the lanes."""
        pack = self.rng.choice([1, 1, 2])
        shape = self.rng.choice([16, 32, 64]), self.rng.choice([32, 64, 128])
        layout = accumulator(*shape) if self.chance(0.3) else drawn(self.rng, shape)
        places = {1: [0, 3, 1, 2], 2: [0, 3, 4, 1, 2]}[pack]

        def moved(column):
            low = sum(1 << place for bit, place in enumerate(places) if column >> bit & 1)
            return column >> len(places) << len(places) | low

        packed = Layout(*[[(row, moved(column)) for row, column in bases] for bases in layout.bases], layout.reps)
        value, text = self.tile(layout.key(), self.rng.choice(FLOATS))
        self.define(packed.key(), self.types[text][1], f"tilegpu.pack_columns {value} {{pack = {pack} : i64}} : {text} ->")

    def broadcast(self):
        value = self.some(lambda key, element: key is not None and len(key[0]) == 2)
        if value:  # from a slice of a layout to the layout
            (shape, layout), element = self.types[value[1]]
            axis = self.rng.randint(0, 1)
            row, row_type = self.tile(dropped(layout, axis).key(), element)
            self.define((shape, layout), element, f"tile.broadcast {row} along {axis} : {row_type} ->")

    def scale(self):
        value = self.some(lambda key, element: key is not None and len(key[0]) == 2 and element == "f32")
        if value:
            (shape, layout), element = self.types[value[1]]
            axis = self.rng.randint(0, 1)
            row, row_type = self.tile(dropped(layout, axis).key(), element)
            self.line(f"{self.new((shape, layout), element, value[1])} = tilegpu.scale {value[0]} by {row} along {axis} : {value[1]}, {row_type}")

    def transpose(self):
        value = self.some(lambda key, element: key is not None and len(key[0]) == 2)
        if value:
            (_, layout), element = self.types[value[1]]
            turned = Layout(*[[base[::-1] for base in bases] for bases in layout.bases], layout.reps[::-1])
            self.define(turned.key(), element, f"tile.transpose {value[0]} : {value[1]} ->")

    def runtime(self):
        text = self.rng.choice(["tile.program_id 0 :", "tile.num_programs 0 :", "tile.dim %f, 1 : !tile.view<[T, W], f32>", f'tile.slots %kv : !tile.pool<"{self.pool}">'])
        self.line(f"{self.new(None, 'index', 'index')} = {text}" + (" index" if text.endswith(":") else ""))

    def block(self, *arguments):
        places = len(self.buffers), len(self.bars)
        super().block(*arguments)
        del self.buffers[places[0] :], self.bars[places[1] :]


    def roles(self):
        """Two of them, each of as many warps as the layouts have; the second one sends, at times by copies."""
        key = accumulator(16, 32).key()
        talks = self.chance(0.7)
        copies = self.chance(0.4)
        element = "bf16" if copies else "f32"
        channel = f"!tilegpu.channel<{self.rng.choice([1, 2])}, [tensor<16x32x{element}>]>"
        if talks:
            self.line(f'%c = tilegpu.channel "c" : {channel}')
        self.line("tilegpu.roles")
        self.in_role = True
        for role in "ab":
            self.line(f'role "{role}" warps({1 << WARP_BITS}) registers(128) {{')
            self.indent += 1
            if talks and role == "a":
                result = self.typed(key, element)
                self.line(f"{self.new(key, element, result)} = tilegpu.receive %c : {channel} -> {result}")
            elif talks and copies:
                at = f"{self.scalar('index')}, {self.scalar('index')}"
                self.line(f"tilegpu.send_copy %h[{at}] to %c : !tile.view<[T, W], bf16> to {channel}")
            elif talks:
                value, text = self.tile(key, element)
                self.line(f"tilegpu.send {value} to %c : {text} to {channel}")
            self.body(self.rng.randint(2, 12))
            self.store()
            self.line("tilegpu.role_end")
            self.indent -= 1
            self.line("}")
            self.values, self.buffers, self.bars = {}, [], []


def kernel(rng):
    k = Kernel(rng)
    with_roles = k.chance(0.15)
    if with_roles:
        k.roles()
    else:
        k.body(rng.randint(4, 30))
        for _ in range(4):
            k.store()
    return "\n".join([
        *(f"{name} = {text}" for text, name in k.layouts.items()),
        f"tile.kernel @k warps({(2 if with_roles else 1) << WARP_BITS}) cluster({rng.choice([1, 2, 8])})",
        f'    (%f : !tile.view<[T, W], f32>, %h : !tile.view<[T, W], bf16>, %n : !tile.view<[T, W], i32>, %kv : !tile.pool<"{k.pool}">) {{',
        *k.lines, "  tile.return", "}",
    ])
