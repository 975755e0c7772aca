# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`sparse_mla`: checks and plans in C++, arrays of the caller's library."""

from . import _mlatile
from .arguments import (
    boolean, integer, kernel_and_source, optional_integer, optional_text, real, text, wrong,
)
from .device import bytes_of_float8, empty_like, stream_handle


class ExecutorOptions:
    """How the executor runs the calls of this process; `mlatile.testing.executor` sets it."""

    seed = 0
    checked = False
    stats = None  # a list: one JSON text a call


executor_options = ExecutorOptions()


def sparse_mla(
    q, kv_cache, indices, *, kv_format, page_size, sm_scale, topk_length=None, extra_kv_cache=None,
    extra_indices=None, extra_topk_length=None, extra_page_size=None, extra_kv_format=None, attn_sink=None,
    out=None, lse=None, return_lse=False, lse_base="2", kernel="auto", compute="auto", num_splits=None,
    page_stride=None, extra_page_stride=None, row_stride=None, workspace=None, stream=None, device=None,
):
    """Attention of every query row over its candidates in a paged latent cache.

    q: bfloat16 [T, H, d_qk] or [B, S, H, d_qk]; all per-row arrays have the same
        row axes, called T below. Any strides; last dimensions contiguous.
    kv_cache: uint8 [pages, page_bytes], or a 3-D or 4-D view of the pages.
    indices: int32 [T, W] or [T, 1, W]: slots (page * page_size + offset);
        negative or past the pool: skipped.
    topk_length: int32 [T]: candidates that count. attn_sink: float32 [H].
    extra_*: a second cache, whose candidates enter the same softmax; extra_kv_cache
        goes with extra_indices and extra_page_size. extra_kv_format: default kv_format.
    out: bfloat16 [T, H, d_v]. lse: float32 [T, H], base 2 or e (`lse_base`).
    kernel: a name, or a kernel file from `mlatile.load`.
    num_splits: any number >= 1; None: planned. Strides in bytes.
    workspace: uint8, `plan.workspace_bytes` at a multiple of 256 bytes.
    stream: an integer or an object with `.cuda_stream` or `__cuda_stream__`; None: the current stream
        of q's library (torch, CuPy), else the legacy default stream.
    device: "sim" or "cuda"; None: where the arrays are, which is one place for all.

    While the stream is captured into a graph nothing is allocated, compiled or
    loaded: out, lse and workspace must be given, and the kernels be there
    (`preload`, or an earlier call).

    Gives out, or (out, lse) with return_lse. Raises ArgumentError,
    UnsupportedError, CompileError or LaunchError, all before anything is written
    but the last.
    """
    return_lse = boolean("return_lse", return_lse)
    call = _mlatile.prepare(
        values_of(
            q, kv_cache, indices, kv_format=kv_format, page_size=page_size, sm_scale=sm_scale, topk_length=topk_length,
            extra_kv_cache=extra_kv_cache, extra_indices=extra_indices, extra_topk_length=extra_topk_length,
            extra_page_size=extra_page_size, extra_kv_format=extra_kv_format, attn_sink=attn_sink, out=out, lse=lse,
            return_lse=return_lse, lse_base=lse_base, kernel=kernel, compute=compute, num_splits=num_splits,
            page_stride=page_stride, extra_page_stride=extra_page_stride, row_stride=row_stride, workspace=workspace,
            stream=stream, device=device,
        )
    )
    if call.needs_out:
        out = _allocate("out", call, q, call.out_shape, None)
        call.set_out(out)
    if call.needs_lse:
        lse = _allocate("lse", call, q, call.lse_shape, "float32")
        call.set_lse(lse)
    options = executor_options
    stats = call.launch(options.seed, options.checked, options.stats is not None)
    if stats is not None:
        options.stats.append(stats)
    return (out, lse) if return_lse else out


def values_of(
    q, kv_cache, indices, *, kv_format, page_size, sm_scale, topk_length, extra_kv_cache, extra_indices,
    extra_topk_length, extra_page_size, extra_kv_format, attn_sink, out, lse, return_lse, lse_base, kernel, compute,
    num_splits, page_stride, extra_page_stride, row_stride, workspace, stream, device,
):
    """Arguments of a call as the extension takes them."""
    kernel, source = kernel_and_source(kernel)
    return dict(
        q=bytes_of_float8(q), kv_cache=bytes_of_float8(kv_cache), indices=indices,
        kv_format=text("kv_format", kv_format), page_size=integer("page_size", page_size),
        sm_scale=real("sm_scale", sm_scale), topk_length=topk_length,
        extra_kv_cache=bytes_of_float8(extra_kv_cache), extra_indices=extra_indices,
        extra_topk_length=extra_topk_length,
        extra_page_size=optional_integer("extra_page_size", extra_page_size),
        extra_kv_format=optional_text("extra_kv_format", extra_kv_format), attn_sink=attn_sink, out=out,
        lse=lse, return_lse=boolean("return_lse", return_lse), lse_base=text("lse_base", lse_base), kernel=kernel,
        source=source, compute=text("compute", compute), num_splits=optional_integer("num_splits", num_splits),
        page_stride=optional_integer("page_stride", page_stride),
        extra_page_stride=optional_integer("extra_page_stride", extra_page_stride),
        row_stride=optional_integer("row_stride", row_stride), workspace=workspace,
        has_stream=stream is not None, stream=stream_handle(stream, q), device=optional_text("device", device),
    )


def _allocate(name, call, q, shape, dtype):
    if call.captured:
        raise wrong(name, "expected an array while a stream is captured, where nothing may be allocated, got none")
    return empty_like(name, q, shape, dtype)
