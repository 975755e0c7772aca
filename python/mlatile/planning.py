# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call would do, without arrays."""

from . import _mlatile
from .arguments import boolean, integer, kernel_and_source, optional_integer, optional_text, text, wrong


def _problem(
    num_tokens, num_heads, width, kv_format, page_size, extra_width, extra_page_size, extra_kv_format, has_sink,
    page_stride, row_stride, compute, kernel, num_splits, target, num_sms, has_topk_length, return_lse, lse_base,
    extra_page_stride, has_extra_topk_length, merge,
):
    p = _mlatile.Problem()
    p.num_tokens = integer("num_tokens", num_tokens)
    p.num_heads = integer("num_heads", num_heads)
    p.width = integer("width", width)
    p.kv_format = text("kv_format", kv_format)
    p.page_size = integer("page_size", page_size)
    p.extra_width = optional_integer("extra_width", extra_width)
    p.extra_page_size = optional_integer("extra_page_size", extra_page_size)
    p.extra_kv_format = optional_text("extra_kv_format", extra_kv_format)
    p.has_sink = boolean("has_sink", has_sink)
    p.page_stride = optional_integer("page_stride", page_stride)
    p.extra_page_stride = optional_integer("extra_page_stride", extra_page_stride)
    p.row_stride = optional_integer("row_stride", row_stride)
    p.compute = text("compute", compute)
    p.kernel, p.source = kernel_and_source(kernel)
    p.num_splits = optional_integer("num_splits", num_splits)
    p.merge = text("merge", merge)
    p.target = optional_text("target", target) or ""
    p.num_sms = optional_integer("num_sms", num_sms)
    p.has_topk_length = boolean("has_topk_length", has_topk_length)
    p.has_extra_topk_length = boolean("has_extra_topk_length", has_extra_topk_length)
    if text("lse_base", lse_base) not in ("2", "e"):
        raise wrong("lse_base", f"expected '2' or 'e', got {lse_base!r}")
    p.lse_base = lse_base if boolean("return_lse", return_lse) else None
    if target is None:
        _use_device(p)
    return p


def problem_of(
    *, num_tokens, num_heads, width, kv_format, page_size, extra_width=None, extra_page_size=None,
    extra_kv_format=None, has_sink=False, page_stride=None, row_stride=None, compute="auto", kernel="auto",
    num_splits=None, target=None, num_sms=None, has_topk_length=False, return_lse=False, lse_base="2",
    extra_page_stride=None, has_extra_topk_length=False, merge="auto",
):
    """The problem of the keywords of `plan`."""
    return _problem(**locals())


def _use_device(p):
    """The target and size of the CUDA device, where there is one of ours."""
    device = _mlatile.cuda_device(0)
    if device is None or not device["target"]:
        return
    p.target = device["target"]
    p.card = device["name"]
    if p.num_sms is None:
        p.num_sms = device["sms"]


def plan(
    *, num_tokens, num_heads, width, kv_format, page_size, extra_width=None, extra_page_size=None,
    extra_kv_format=None, has_sink=False, page_stride=None, row_stride=None, compute="auto", kernel="auto",
    num_splits=None, target=None, num_sms=None, has_topk_length=False, return_lse=False, lse_base="2",
    extra_page_stride=None, has_extra_topk_length=False, merge="auto",
):
    """The `Plan` of a problem; `str(plan)` explains it.

    num_tokens: query rows, T or B * S. width: candidates a row. extra_width: of the
    second cache; None: there is none. target: default the CUDA device's, else
    sm_120a. num_sms: default the device's, else the card table's. kernel,
    num_splits and merge ("launch", "dependent", "slices", "cluster"): default those of the
    least predicted time. Raises ArgumentError, or UnsupportedError with every
    kernel's reason.
    """
    return _mlatile.plan(_problem(**locals()))


def supported(
    *, num_tokens, num_heads, width, kv_format, page_size, extra_width=None, extra_page_size=None,
    extra_kv_format=None, has_sink=False, page_stride=None, row_stride=None, compute="auto", kernel="auto",
    num_splits=None, target=None, num_sms=None, has_topk_length=False, return_lse=False, lse_base="2",
    extra_page_stride=None, has_extra_topk_length=False, merge="auto",
):
    """`Support(ok, reason)` for the keywords of `plan`; the reason is the text of the error."""
    arguments = locals()
    try:
        problem = _problem(**arguments)
    except _mlatile.ArgumentError as error:
        return _mlatile.Support(False, str(error))
    return _mlatile.supported(problem)
