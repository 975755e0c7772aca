# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refinement by measurement: a small file of times that later plans use (docs/HostApi.md)."""

import os

from . import _mlatile
from .arguments import integer, real, wrong
from .operation import values_of
from .planning import problem_of


def use_refinement(path):
    """Plans of this process use the times of this file from now on; None: none.

    At first `$MLATILE_REFINEMENT` is used. A file that cannot be used never fails a plan: `str(plan)` says why it is
    ignored.
    """
    _mlatile.use_refinement("" if path is None else _file(path))


def refine(
    path, q, kv_cache, indices, *, kv_format, page_size, sm_scale, topk_length=None, extra_kv_cache=None,
    extra_indices=None, extra_topk_length=None, extra_page_size=None, extra_kv_format=None, attn_sink=None,
    return_lse=False, lse_base="2", kernel="auto", compute="auto", num_splits=None, page_stride=None,
    extra_page_stride=None, row_stride=None, stream=None, within=1.5, most=16,
):
    """Measures a call in the ways that are predicted to be near the fastest, and keeps their times in a file.

    Arrays and keywords are those of `sparse_mla`, on a CUDA device; outputs are allocated for it. within, most: ways
    of at most so many times the least predicted time, and so many of them. Compiles the kernels of each.

    Gives a list of dictionaries as `plan.candidates` has, fastest first, with `measured_us` or, where a way failed,
    `error`. ArgumentError while `stream` is captured; UnsupportedError for host arrays.
    """
    values = values_of(
        q, kv_cache, indices, kv_format=kv_format, page_size=page_size, sm_scale=sm_scale, topk_length=topk_length,
        extra_kv_cache=extra_kv_cache, extra_indices=extra_indices, extra_topk_length=extra_topk_length,
        extra_page_size=extra_page_size, extra_kv_format=extra_kv_format, attn_sink=attn_sink, out=None, lse=None,
        return_lse=return_lse, lse_base=lse_base, kernel=kernel, compute=compute, num_splits=num_splits,
        page_stride=page_stride, extra_page_stride=extra_page_stride, row_stride=row_stride, workspace=None,
        stream=stream, device=None,
    )
    return _mlatile.refine(values, _file(path), real("within", within), integer("most", most))


def refine_by(measure, path, *, card, within=1.5, most=16, **problem):
    """The same by a clock of the caller's: `measure(plan)` gives the microseconds of one call.

    card: name of the device, as its driver says. The other keywords are those of `plan`.
    """
    if not callable(measure):
        raise wrong("measure", f"expected a function of a plan, got {measure!r}")
    if not isinstance(card, str) or not card:
        raise wrong("card", f"expected the name of a device, got {card!r}")
    made = problem_of(**problem)
    made.card = card
    return _mlatile.refine_by(measure, _file(path), card, made, real("within", within), integer("most", most))


def _file(path):
    try:
        name = os.fsdecode(path)
    except TypeError:
        name = ""
    if not name:
        raise wrong("path", f"expected the path of a file, got {path!r}")
    return name
