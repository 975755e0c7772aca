# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes of IR text, by tokens and by whole operations."""

import re

TOKEN = re.compile(r'\s+|"(?:[^"\\\n]|\\.)*"|[%@#!^][\w.$:]*[\w$]|\d[\w.+]*(?:e[-+]\d+)?|[A-Za-z_][\w.$]*|->|::|.', re.DOTALL)
NUMBERS = ["0", "1", "-1", "2", "3", "7", "16", "17", "31", "32", "33", "63", "64", "127", "128", "255", "256", "512", "513",
           "1024", "1025", "65535", "65536", "1048576", "2147483647", "2147483648", "-2147483648", "4294967295",
           "4294967296", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
           "99999999999999999999999", "0x7F800000", "0xFF800000", "1.0", "-0.0", "1e30", "?"]
TYPES = ["i1", "i8", "i16", "i32", "i64", "i128", "index", "f16", "bf16", "f32", "f64", "f8E4M3FN", "none", "vector<2xf16>",
         "vector<4xi32>", "tensor<*xf32>", "tensor<f32>", "tensor<0xf32>", "tensor<?xf32>", "tensor<16x16xf32>",
         "tensor<3x5xbf16>", "tensor<1048576x1048576xf32>", "memref<4xf32>", "tuple<i32>", "complex<f32>", "!llvm.ptr",
         "!llvm.ptr<3>", '!tile.pool<"dsv4">', '!tile.pool<"nothing">', "!tile.view<[], f32>", "!tile.view<[N], f32>",
         "!tilegpu.buffer<16xf32>", "!tilegpu.mbarriers<1>", "(i32) -> i32"]
PUNCTUATION = list("()[]{}<>,:=#%!@?-*") + ["->", "\n"]


def tokens(text):
    return TOKEN.findall(text)


def kind(token):
    first = token[0]
    if first in "%@#!^\"":
        return first
    if first.isdigit():
        return "number"
    if first.isalpha() or first == "_":
        return "operation" if "." in token else "word"
    return "space" if first.isspace() else "punctuation"


class Dictionary:
    """Words of all sources, by kind; lines to put elsewhere."""

    def __init__(self, texts):
        found = {}
        for text in texts:
            for token in tokens(text):
                found.setdefault(kind(token), set()).add(token)
        found["number"] = set(found.get("number", ())) | set(NUMBERS)
        self.words = {k: sorted(v) for k, v in found.items()}
        self.lines = sorted({line for text in texts for line in text.splitlines() if "=" in line or "(" in line})


def mutant(rng, text, dictionary, deep):
    """deep: changes that parser and verifier let through more often, so that passes see them."""
    for _ in range(rng.choice([1, 1, 2] if deep else [1, 1, 1, 2, 3])):
        text = rng.choice(_DEEP if deep else _CHANGES)(rng, text, dictionary) or text
    return text


def _pick(rng, parts, wanted):
    places = [i for i, part in enumerate(parts) if wanted(kind(part))]
    return rng.choice(places) if places else None


def _replace_token(rng, text, dictionary):
    """By another of its kind, of this text or of any."""
    parts = tokens(text)
    i = _pick(rng, parts, lambda k: k != "space")
    if i is None:
        return text
    k = kind(parts[i])
    if k == "punctuation":
        parts[i] = rng.choice(PUNCTUATION)
    elif k in "%#!^@" or rng.random() < 0.3:
        parts[i] = rng.choice([p for p in parts if kind(p) == k])
    else:
        parts[i] = rng.choice(dictionary.words[k])
    return "".join(parts)


def _change_number(rng, text, _):
    parts = tokens(text)
    i = _pick(rng, parts, lambda k: k == "number")
    if i is None:
        return text
    head = re.match(r"\d+", parts[i])[0]
    value = int(head)
    if len(head) > 30:
        return text
    new = rng.choice([*NUMBERS, value + 1, value - 1, 2 * value, value // 2, -value])
    parts[i] = str(new) + parts[i][len(head) :]
    return "".join(parts)


def _change_type(rng, text, _):
    """A whole type, with its brackets."""
    places = [m.span() for m in re.finditer(r"![\w.]+<[^<>]*>|![\w.]+|tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>|\b(?:index|b?f16|f32|i\d+)\b", text)]
    if not places:
        return text
    a, b = rng.choice(places)
    c, d = rng.choice(places)
    return text[:a] + rng.choice([rng.choice(TYPES), text[c:d]]) + text[b:]


def _drop_tokens(rng, text, _):
    parts = tokens(text)
    i = rng.randrange(len(parts)) if parts else 0
    return "".join(parts[:i] + parts[i + rng.choice([1, 1, 2, 5]) :])


def _swap_tokens(rng, text, _):
    parts = tokens(text)
    i = _pick(rng, parts, lambda k: k != "space")
    if i is None:
        return text
    j = _pick(rng, parts, lambda k: k == kind(parts[i]))
    parts[i], parts[j] = parts[j], parts[i]
    return "".join(parts)


def _copy_tokens(rng, text, _):
    parts = tokens(text)
    if not parts:
        return text
    i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
    return "".join(parts[:j] + parts[i : i + rng.randint(1, 12)] + parts[j:])


def _drop_lines(rng, text, _):
    lines = text.splitlines()
    i = rng.randrange(len(lines)) if lines else 0
    return "\n".join(lines[:i] + lines[i + rng.choice([1, 1, 1, 3]) :])


def _move_line(rng, text, _):
    lines = text.splitlines()
    if not lines:
        return text
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _copy_line(rng, text, _):
    """An operation twice; its results get names of their own."""
    lines = text.splitlines()
    if not lines:
        return text
    line = rng.choice(lines)
    names = re.match(r"\s*((?:%\w+(?::\d+)?(?:, )?)+) =", line)
    if names:
        line = line.replace(names[1], re.sub(r"%(\w+)", rf"%\g<1>_{rng.randrange(1000)}", names[1]), 1)
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines)


def _foreign_line(rng, text, dictionary):
    """An operation of another file, on values of this one."""
    values = re.findall(r"%\w+", text)
    if not values:
        return text
    line = rng.choice(dictionary.lines)
    head, sep, tail = line.partition(" = ")
    if not sep:
        head, tail = "", line
    tail = re.sub(r"%\w+", lambda _: rng.choice(values), tail)
    lines = text.splitlines()
    lines.insert(rng.randrange(len(lines) + 1), re.sub(r"%(\w+)", r"%\1_foreign", head) + sep + tail)
    return "\n".join(lines)


def _other_operand(rng, text, _):
    """A use becomes another value, one of the same line's type as often as not."""
    places = [m.span() for m in re.finditer(r"%\w+", text)]
    if len(places) < 2:
        return text
    (a, b), (c, d) = rng.choice(places), rng.choice(places)
    return text[:a] + text[c:d] + text[b:]


def _negate_constant(rng, text, _):
    places = [m.span(1) for m in re.finditer(r"constant (\S+) :", text)]
    if not places:
        return text
    a, b = rng.choice(places)
    return text[:a] + rng.choice(NUMBERS) + text[b:]


def _everywhere(rng, text, _):
    """A number, a type or a name of a dimension, wherever it stands."""
    words = sorted(set(re.findall(r"\b(?:\d+(?=[x\]>,} ])|b?f16|f32|i\d+|index|[A-Z]\w*)(?![\w.])", text)))
    if not words:
        return text
    old = rng.choice(words)
    if old.isdigit():
        new = rng.choice([str(int(old) * 2), str(int(old) // 2), str(int(old) + 1), *NUMBERS[:24], rng.choice(words)])
    elif old[0].isupper():
        new = rng.choice([w for w in words if w[0].isupper()])
    else:
        new = rng.choice(["i1", "i8", "i16", "i32", "i64", "index", "f16", "bf16", "f32", "f64"])
    return re.sub(rf"(?<![\w.#%@]){old}(?![\w.])|(?<=x){old}(?![\w.])", new, text)


_ALIKE = [
    ["arith.addf", "arith.mulf", "arith.subf", "arith.divf", "arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.remf"],
    ["arith.addi", "arith.muli", "arith.subi", "arith.divui", "arith.divsi", "arith.remui", "arith.remsi", "arith.maxsi",
     "arith.minsi", "arith.andi", "arith.ori", "arith.xori", "arith.shli", "arith.shrui", "arith.ceildivui", "arith.floordivsi"],
    ["math.exp2", "math.exp", "math.log2", "math.log", "math.absf", "math.tanh", "math.sqrt", "math.erf", "math.sin", "arith.negf"],
    ["maximumf", "minimumf", "addf"], ["along 0", "along 1"], ["nope", "rope"], ["true", "false"], ["cta", "warp"],
    ["slt", "sgt", "eq", "ne", "ult", "uge"], ["stages = 2", "stages = 1", "stages = 3", "stages = 8", "stages = 1000"],
    ["warps(4)", "warps(1)", "warps(2)", "warps(8)", "warps(32)", "warps(3)"],
    ['"dsv4"', '"glm"', '"dsv3_2"', '"dsv4_1"', '"glm53_nope"', '"dots3_swa"', '"dsv4_nvfp4"'],
]


def _alike(rng, text, _):
    """Another operation or word of the same form, in one place."""
    places = [(m.span(), group) for group in _ALIKE for word in group for m in re.finditer(rf"(?<![\w.]){re.escape(word)}(?!\w)", text)]
    if not places:
        return text
    (a, b), group = rng.choice(places)
    return text[:a] + rng.choice(group) + text[b:]


def _alike_operand(rng, text, _):
    """A use of a value becomes another one whose line ends in the same type."""
    lines = text.splitlines()
    of_type = {}
    for line in lines:
        found = re.match(r"\s*(%\w+) = .*[ >]([!\w<>?#., ]+)$", line)
        if found:
            of_type.setdefault(found[2], []).append(found[1])
    groups = [group for group in of_type.values() if len(group) > 1]
    if not groups:
        return text
    group = rng.choice(groups)
    old, new = rng.sample(group, 2)
    uses = [m.span() for m in re.finditer(rf"{old}\b(?! =)", text)]
    if not uses:
        return text
    a, b = rng.choice(uses)
    return text[:a] + new + text[b:]


_CHANGES = [
    _replace_token, _replace_token, _change_number, _change_number, _change_type, _change_type, _drop_tokens,
    _swap_tokens, _copy_tokens, _drop_lines, _drop_lines, _move_line, _copy_line, _foreign_line, _other_operand,
    _other_operand, _negate_constant,
]
_DEEP = [_everywhere, _everywhere, _alike, _alike, _alike_operand, _alike_operand, _copy_line, _change_number, _negate_constant]
