# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of the author's level."""

from generate import FLOATS, INTEGERS, Writer

SIZES = {"A": 16, "B": 32, "C": 8, "D": 64, "E": 1}
FIELDS = {"nope": "NOPE", "payload": "NOPE", "rope": "ROPE", "scale": "GROUPS"}
KINDS = ["maximumf", "minimumf", "addf"]
FORMATS = ["dsv4", "dsv4_1", "dsv3_2", "glm", "glm53_nope", "dots3_swa", "dsv4_nvfp4"]


class Kernel(Writer):
    """A key is the tuple of dimensions, each a parameter's name or a number."""

    def __init__(self, rng):
        super().__init__(rng)
        self.views = []  # (name, dims, element)
        self.pools = []  # (name, format text, sizes of the fields or None)
        self.rows = []  # (name, format text, rows dim), seen in the block that defines them
        self.loops, self.before = 0, set()  # around, and what was there before the outermost one

    def operations(self):
        every = [self.full, self.iota, self.load, self.load, self.store, self.gather, self.gather, self.dot, self.dot,
                 self.dot_scaled, self.dot_scaled, self.reduce, self.broadcast, self.transpose, self.runtime,
                 self.elementwise, self.elementwise, self.elementwise, self.helper, self.blocks, self.peer]
        return every + ([self.loop, self.condition] if self.indent < 3 else [])

    def dim(self):
        return self.rng.choice([*SIZES, "A", "B", "D", 16, 32, 64, 8]) if self.chance(0.97) else self.rng.choice([0, 1, 3, "NOPE"])

    def typed(self, key, element):
        if key is None:
            return element
        shape = "".join(("?" if isinstance(d, str) else str(d)) + "x" for d in key)
        named = any(isinstance(d, str) for d in key)
        return f"tensor<{shape}{element}" + (f", #tile.dims<{', '.join(map(str, key))}>>" if named else ">")

    def define(self, key, element, text):
        """A line that defines a value of this type."""
        result = self.typed(key, element)
        self.line(f"{self.new(key, element, result)} = {text} {result}")

    def tile(self, key, element):
        """A value of that type, made where there is none."""
        text = self.typed(key, element)
        if not self.values.get(text):
            value = self.scalar(element)
            self.define(key, element, f"tile.full {value} : {element} ->")
        return self.rng.choice(self.values[text]), text

    def full(self):
        element = self.rng.choice([*FLOATS, *INTEGERS, "i1"])
        self.tile(tuple(self.dim() for _ in range(self.rng.choice([1, 2, 2]))), element)

    def iota(self):
        self.define((self.dim(),), "i32", "tile.iota :")

    def at(self, rank):
        return "[" + ", ".join(self.scalar("index") for _ in range(rank)) + "]"

    def limit(self):
        return f" limit {self.scalar('index')}" if self.chance(0.3) else ""

    def load(self):
        name, dims, element = self.rng.choice(self.views)
        place = self.at(len(dims)) + self.limit()
        if self.chance(0.3):
            place += f" else {self.scalar(element)}"
        rank = self.rng.randint(0, min(2, len(dims)))
        key = tuple(self.dim() for _ in range(rank)) or None
        self.define(key, element, f"tile.load {name}{place} : {self.view(dims, element)} ->")

    def store(self):
        name, dims, element = self.rng.choice(self.views)
        value = self.some(lambda key, e: e == element and (key is None or len(key) <= len(dims)))
        if value:
            self.line(f"tile.store {value[0]}, {name}{self.at(len(dims))}{self.limit()} : {value[1]}, {self.view(dims, element)}")

    def view(self, dims, element):
        return f"!tile.view<[{', '.join(map(str, dims))}], {element}>"

    def gather(self):
        """Rows and one or more of their fields."""
        pool, fmt = self.rng.choice(self.pools)
        if self.chance(0.7):
            name, dims, element = next(v for v in self.views if v[2] == "i32")
            self.define((self.dim(),), "i32", f"tile.load {name}{self.at(len(dims))} : {self.view(dims, element)} ->")
        ids = self.some(lambda key, element: key is not None and len(key) == 1 and element == "i32")
        if not ids:
            return
        (n,) = key = self.types[ids[1]][0]
        mask = self.typed(key, "i1")
        rows, ok = f"%r{self.count}", self.new(key, "i1", mask)
        rows_type = f"!tile.rows<{fmt}, [{n}]>"
        bulk = " {bulk}" if self.chance(0.4) else ""
        self.line(f"{rows}, {ok} = tile.gather {pool}[{ids[0]}]{bulk} : !tile.pool<{fmt}>, {ids[1]} -> {rows_type}, {mask}")
        for field in self.rng.sample(sorted(FIELDS), self.rng.choice([1, 1, 2, 3])):
            size = FIELDS[field] if fmt == "FMT" else {"NOPE": 448, "ROPE": 64, "GROUPS": 7}[FIELDS[field]]
            element = {"rope": "bf16", "scale": "f32"}.get(field) or self.rng.choice(["bf16", "bf16", "f16", "f32"])
            if field == "payload" and element != "f32" and self.chance(0.5):
                factors, factors_type = self.tile((n, "GROUPS" if fmt == "FMT" else 7), element)
                self.define((n, size), element, f"tile.dequant {rows} payload times {factors} : {rows_type}, {factors_type} ->")
                continue
            self.define((n, size), element, f"tile.dequant {rows} {field} : {rows_type} ->")

    def matrix(self, elements):
        found = self.some(lambda key, element: key is not None and len(key) == 2 and element in elements)
        return found or self.tile((self.dim(), self.dim()), self.rng.choice(elements))

    def dot(self):
        b, b_type = self.matrix(["bf16", "f16"])
        (k, n), element = self.types[b_type]
        m = self.dim()
        a, a_type = self.tile((m, k), element)
        c, c_type = self.tile((m, n), "f32")
        self.define((m, n), "f32", f"tile.dot {a}, {b}, {c}{self.warps()} : {a_type}, {b_type},")

    def dot_scaled(self):
        b, b_type = self.matrix(["bf16"])
        (k, n), element = self.types[b_type]
        m, blocks = self.dim(), self.rng.choice([1, 2, 4, "GROUPS", "E"])
        along_k = self.chance(0.5)
        a, a_type = self.tile((m, k), element if along_k else "f32")
        scale, scale_type = self.tile((blocks, n) if along_k else (k, blocks), "f32")
        c, c_type = self.tile((m, n), "f32")
        self.define((m, n), "f32", f"tile.dot_scaled {a}, {b}, {scale}, {c}{self.warps()} : {a_type}, {b_type}, {scale_type},")

    def warps(self):
        return f" {{warps = array<i64: {self.rng.choice(['1, 4', '4, 1', '2, 2', '1, 1'])}>}}" if self.chance(0.2) else ""

    def reduce(self):
        value = self.some(lambda key, element: key is not None and (element in FLOATS or element in INTEGERS))
        if value:
            key, element = self.types[value[1]]
            axis = self.rng.randrange(len(key))
            kind = self.rng.choice(KINDS if element in FLOATS else ["addi", "maxsi"])
            rest = tuple(d for i, d in enumerate(key) if i != axis) or None
            self.define(rest, element, f"tile.reduce {kind} {value[0]} along {axis} : {value[1]} ->")

    def broadcast(self):
        value = self.some(lambda key, element: key is not None and len(key) == 1)
        if value:
            key, element = self.types[value[1]]
            axis = self.rng.randint(0, 1)
            key = (*key, self.dim()) if axis else (self.dim(), *key)
            self.define(key, element, f"tile.broadcast {value[0]} along {axis} : {value[1]} ->")

    def transpose(self):
        value = self.some(lambda key, element: key is not None and len(key) == 2)
        if value:
            key, element = self.types[value[1]]
            self.define(key[::-1], element, f"tile.transpose {value[0]} : {value[1]} ->")

    def runtime(self):
        name, dims, element = self.rng.choice(self.views)
        pool, fmt = self.rng.choice(self.pools)
        text = self.rng.choice([
            f"tile.program_id {self.rng.choice([0, 0, 1, 2])} :", f"tile.num_programs {self.rng.choice([0, 1, 2])} :", f"tile.dim {name}, {self.rng.randrange(len(dims))} : "
            f"{self.view(dims, element)} ->", f"tile.slots {pool} : !tile.pool<{fmt}> ->", f"tile.param {self.rng.choice([*SIZES])} :",
        ])
        if text.startswith(("tile.param", "tile.program_id", "tile.num_programs")):
            self.define(None, "index", text)
        else:
            self.line(f"{self.new(None, 'index', 'index')} = {text.removesuffix(' ->')}")

    def blocks(self):
        """What blocks and launches say to each other."""
        name, dims, element = self.rng.choice([view for view in self.views if view[2] == "i32"])
        counter, view = name + self.at(len(dims)), self.view(dims, element)
        self.line(self.rng.choice([
            "tile.launch_dependents", "tile.wait_dependencies", f"tile.wait_until {counter} at_least {self.scalar('index')} : {view}",
            f"tile.atomic_inc {self.rng.choice(['', 'relaxed '])}{counter} modulo {self.scalar('index')} : {view}",
        ]))

    def loop(self):
        if not self.loops:
            self.before = {name for names in self.values.values() for name in names}
        self.loops += 1
        super().loop()
        self.loops -= 1

    def peer(self):
        """A window of what another block has, of tiles that are made outside of loops."""
        value = self.some(lambda key, element: key is not None and element in (*FLOATS, *INTEGERS))
        if value and (not self.loops or value[0] in self.before):
            key, element = self.types[value[1]]
            window = tuple(self.rng.choice([d, self.dim()]) for d in key)
            self.define(window, element, f"tile.load_peer {value[0]} of {self.scalar('index')}{self.at(len(key))} : {value[1]} ->")

    def helper(self):
        """A call of @half, over the name A or what stands for it."""
        size = "A" if self.chance(0.4) else self.dim()
        value, text = self.tile((size,), "f32")
        name = self.new((size,), "f32", text)
        if size == "A" and self.chance(0.5):
            self.line(f"{name} = func.call @half({value}) : ({text}) -> {text}")
        else:
            bound = f" bind(A = {size})" if size != "A" or self.chance(0.2) else ""
            self.line(f"{name} = tile.call @half({value}){bound} : ({text}) -> {text}")


def kernel(rng):
    k = Kernel(rng)
    free = ["T", "W", "H", "A", "B", "D", 64]
    for number, element in enumerate(["i32", "f32", "bf16", rng.choice(["f16", "f32", "i8"])]):
        dims = tuple(rng.choice(free) for _ in range(rng.randint(1, 3)))
        k.views.append((f"%view{number}", dims, element))
    k.pools.append(("%kv", "FMT"))
    if rng.random() < 0.3:
        k.pools.append(("%other", '"dsv4"'))
    k.body(rng.randint(4, 30))
    if rng.random() < 0.3:
        k.line('tile.require affine_set<(a) : (a mod 16 == 0)>(A), "a tile is whole rows"')
    for _ in range(4):
        k.store()
    arguments = [f"{name} : {k.view(dims, element)}" for name, dims, element in k.views]
    arguments += [f"{name} : !tile.pool<{fmt}>" for name, fmt in k.pools]
    sizes = ", ".join(f"{name} : index = {rng.choice([size, size, 2 * size, 16])}" for name, size in SIZES.items())
    fields = ", ".join(f"{name} : index = FMT.{field}" for name, field in (("NOPE", "nope"), ("ROPE", "rope"), ("GROUPS", "groups")))
    half = k.typed(("A",), "f32")
    return "\n".join([
        f"func.func private @half(%x : {half}) -> {half} {{", f"  %y = arith.addf %x, %x : {half}", f"  func.return %y : {half}", "}",
        f"tile.kernel @k params(FMT : format, {sizes}, {fields}) warps({rng.choice([1, 2, 4, 4, 4, 8])})"
        + rng.choice(["", " cluster(2)", " cluster(8)", " cluster(E)"]),
        f"    ({', '.join(arguments)}) {{", *k.lines, "  tile.return", "}",
    ])
