# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python values to what the extension takes; errors name the argument."""

import operator

from ._mlatile import ArgumentError, KernelSource


def wrong(name, problem):
    return ArgumentError(f"argument `{name}`: {problem}")


def integer(name, value):
    """An int that fits 64 bits; bool is none."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise wrong(name, f"expected an integer, got {value!r}") from None
    if not -(2**63) <= number < 2**63:
        raise wrong(name, f"expected a 64-bit integer, got {number}")
    return number


def optional_integer(name, value):
    return None if value is None else integer(name, value)


def text(name, value):
    if not isinstance(value, str):
        raise wrong(name, f"expected a string, got {value!r}")
    return value


def optional_text(name, value):
    return None if value is None else text(name, value)


def boolean(name, value):
    # numpy.bool_ has no common base with bool.
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise wrong(name, f"expected True or False, got {value!r}")


def real(name, value):
    """A host number; arrays are refused, even of one element."""
    if isinstance(value, (bool, str, bytes)) or getattr(value, "shape", ()) != ():
        raise wrong(name, f"expected a number, got {value!r}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise wrong(name, f"expected a number, got {value!r}") from None


def kernel_and_source(value):
    """`kernel=` is a name, or a kernel file from `load`: (name, source)."""
    if isinstance(value, KernelSource):
        return "decode", value
    return text("kernel", value), None
