# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels, well typed for the most part: values by type, blocks that nest, elementwise operations."""

FLOATS, INTEGERS = ["f32", "bf16", "f16"], ["i32", "i64", "i8"]
PREDICATES = {True: ["oeq", "olt", "ogt", "une", "uno"], False: ["eq", "ne", "slt", "sge", "ult"]}
BINARY = {
    True: ["arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf", "arith.maxnumf"],
    False: ["arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi",
            "arith.divui", "arith.remui", "arith.shli", "arith.shrui"],
}
UNARY = ["math.exp2", "math.exp", "math.log2", "math.log", "math.absf", "math.tanh", "math.sqrt", "math.rsqrt", "arith.negf"]


class Writer:
    """Text of a body, and which values there are. A type is (shape key, element, text); a scalar's key is None."""

    def __init__(self, rng):
        self.rng, self.lines, self.count = rng, [], 0
        self.values = {}  # type text: names
        self.types = {}  # type text: (key, element)
        self.indent = 1

    def line(self, text):
        self.lines.append("  " * self.indent + text)

    def chance(self, share):
        return self.rng.random() < share

    def new(self, key, element, text):
        """Name of a value that the next line defines."""
        name = f"%v{self.count}"
        self.count += 1
        self.types[text] = (key, element)
        self.values.setdefault(text, []).append(name)
        return name

    def scalar(self, element):
        """A value of that scalar type; a constant where there is none, and often where there is."""
        if element not in self.values or self.chance(0.3):
            values = {"i1": ["true", "false"], "index": ["0", "1", "2", "3", "16", "32"], "i32": ["0", "1", "-1", "7"]}
            literal = self.rng.choice(values.get(element, ["0", "1", "5"] if element[0] == "i" else ["0.0", "1.5", "-2.0", "0.7"]))
            suffix = "" if element == "i1" else f" : {element}"
            self.line(f"{self.new(None, element, element)} = arith.constant {literal}{suffix}")
            return self.values[element][-1]
        return self.rng.choice(self.values[element])

    def some(self, wanted=lambda key, element: key is not None):
        """(name, type text) of a tile that fits; None where none does. Late values more often."""
        found = [t for t, names in self.values.items() if names and wanted(*self.types[t])]
        if not found:
            return None
        text = self.rng.choice(found)
        names = self.values[text]
        return (names[-1] if self.chance(0.5) else self.rng.choice(names)), text

    # Elementwise operations: `typed(key, element)` gives the text of a type.

    def elementwise(self):
        one = self.some(lambda key, element: element != "index" or key is None)
        if one is None:
            return
        name, text = one
        key, element = self.types[text]
        is_float = "f" in element
        kind = self.rng.choice(["binary", "binary", "unary", "select", "cast"])
        if kind == "unary" and is_float:
            op = self.rng.choice(UNARY)
            self.line(f"{self.new(key, element, text)} = {op} {name} : {text}")
        elif kind == "cast" and element != "index":
            self.cast(name, key, element, text)
        elif kind == "select":
            other = self.rng.choice(self.values[text])
            compare = "cmpf" if is_float else "cmpi"
            mask = self.typed(key, "i1")
            self.line(f"%c{self.count} = arith.{compare} {self.rng.choice(PREDICATES[is_float])}, {name}, {other} : {text}")
            condition = f"%c{self.count}"
            self.line(f"{self.new(key, element, text)} = arith.select {condition}, {name}, {other} : "
                      + (text if key is None else f"{mask}, {text}"))
        else:
            other = self.rng.choice(self.values[text])
            self.line(f"{self.new(key, element, text)} = {self.rng.choice(BINARY[is_float])} {name}, {other} : {text}")

    def cast(self, name, key, element, text):
        to, op = {
            "f32": self.rng.choice([("bf16", "truncf"), ("f16", "truncf"), ("i32", "fptosi")]), "bf16": ("f32", "extf"),
            "f16": ("f32", "extf"), "i32": self.rng.choice([("f32", "sitofp"), ("i64", "extsi"), ("i8", "trunci")]),
            "i64": ("i32", "trunci"), "i8": ("i32", "extui"), "i1": self.rng.choice([("i32", "extui"), ("f32", "uitofp")]),
        }[element]
        result = self.typed(key, to)
        self.line(f"{self.new(key, to, result)} = arith.{op} {name} : {text} to {result}")

    # Regions.

    def block(self, operations, header, footer, carried):
        """A region of random operations; what it defines is not seen behind it. carried: types that it yields."""
        outer = {text: list(names) for text, names in self.values.items()}
        self.line(header)
        self.indent += 1
        for name, text in carried[0]:
            self.values.setdefault(text, []).append(name)
        self.body(operations)
        yielded = [self.rng.choice(self.values[text]) for text in carried[1]]
        if yielded:
            self.line(f"scf.yield {', '.join(yielded)} : {', '.join(carried[1])}")
        self.indent -= 1
        self.line(footer)
        self.values = outer

    def results(self, types):
        """`%a, %b = ` for new values; they are seen from the next line on."""
        names = [f"%v{self.count + i}" for i in range(len(types))]
        self.count += len(types)
        return names, (", ".join(names) + " = " if names else "")

    def loop(self):
        start = [s for s in (self.some(lambda key, element: element != "index") for _ in range(self.rng.choice([0, 1, 2, 3]))) if s]
        low, high, step = (self.scalar("index") for _ in range(3))
        types = [text for _, text in start]
        names, assign = self.results(types)
        inner = [(f"%a{self.count}_{i}", text) for i, text in enumerate(types)]
        carried = ", ".join(f"{name} = {value}" for (name, _), (value, _) in zip(inner, start))
        header = f"{assign}scf.for %i{self.count} = {low} to {high} step {step}"
        if types:
            header += f" iter_args({carried}) -> ({', '.join(types)})"
        inner.append((f"%i{self.count}", "index"))
        self.count += 1
        stages = self.rng.choice([1, 2, 2, 3])
        pipelined = f" {{tile.pipeline = #tile.pipeline<stages = {stages}>}}" if self.chance(0.5) else ""
        self.types.setdefault("index", (None, "index"))
        self.block(self.rng.randint(2, 8), header + " {", "}" + pipelined, (inner, types))
        for name, text in zip(names, types):
            self.values[text].append(name)

    def condition(self):
        flag = self.scalar("i1")
        start = [s for s in (self.some(lambda key, element: True) for _ in range(self.rng.choice([0, 0, 1, 2]))) if s]
        types = [text for _, text in start]
        names, assign = self.results(types)
        arrow = f" -> ({', '.join(types)})" if types else ""
        self.block(self.rng.randint(1, 5), f"{assign}scf.if {flag}{arrow} {{", "} else {" if types else "}", ([], types))
        if types:
            self.lines[-1] = self.lines[-1].replace("} else {", "}")
            self.block(self.rng.randint(1, 3), "else {", "}", ([], types))
        for name, text in zip(names, types):
            self.values[text].append(name)

    def body(self, operations):
        for _ in range(operations):
            self.rng.choice(self.operations())()
