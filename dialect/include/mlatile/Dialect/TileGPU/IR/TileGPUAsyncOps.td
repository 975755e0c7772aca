// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous copies and the mbarriers that say when they have landed.
#ifndef MLATILE_DIALECT_TILEGPU_IR_ASYNCOPS_TD
#define MLATILE_DIALECT_TILEGPU_IR_ASYNCOPS_TD
include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.td"

def TileGPU_MBarrierInitOp : TileGPU_SharedOp<"mbarrier_init"> {
  let summary = "makes mbarriers that complete a phase after `count` arrivals";
  let description = [{
    One thread initialises all of them. A CTA barrier must stand between this
    and their first use, with `proxy_fence` where bulk copies use them.

    Constraints:
    * mbarrier_init_c1: 1 <= count < 2^20 (PTX ISA, `mbarrier.init`).

    Example:
    ```mlir
    tilegpu.mbarrier_init %full {count = 256 : i32} : !tilegpu.mbarriers<2>
    ```
  }];
  let arguments = (ins Arg<TileGPU_MBarriers, "", [SharedWrite]>:$bars, I32Attr:$count);
  let assemblyFormat = "$bars attr-dict `:` qualified(type($bars))";
  let hasVerifier = 1;
}

def TileGPU_MBarrierArriveOp : TileGPU_SharedOp<"mbarrier_arrive"> {
  let summary = "every thread, or every warp, arrives once";
  let description = [{
    Releases the thread's earlier accesses to whoever waits for the phase.
    `by_warp`: one lane of each warp arrives, after a barrier of the warp, for
    the accesses of all its lanes.

    Constraints:
    * mbarrier_arrive_c1: a constant index is less than the number of mbarriers.

    Example:
    ```mlir
    tilegpu.mbarrier_arrive %empty[%i] : !tilegpu.mbarriers<2>
    ```
  }];
  let arguments = (ins Arg<TileGPU_MBarriers, "", [SharedRead, SharedWrite]>:$bars, I32:$index,
                       UnitAttr:$by_warp);
  let assemblyFormat = "$bars `[` $index `]` attr-dict `:` qualified(type($bars))";
  let hasVerifier = 1;
}

def TileGPU_MBarrierWaitOp : TileGPU_SharedOp<"mbarrier_wait"> {
  let summary = "waits until the phase of a parity has completed";
  let description = [{
    `parity` is 0 or 1; the first phase has parity 0. A fresh mbarrier counts as
    having completed a phase of parity 1. Every phase must be waited for before
    the next but one begins.

    Constraints:
    * mbarrier_wait_c1: a constant index is less than the number of mbarriers.
    * mbarrier_wait_c2: a constant parity is 0 or 1.

    Example:
    ```mlir
    tilegpu.mbarrier_wait %full[%i], %parity : !tilegpu.mbarriers<2>
    ```
  }];
  let arguments = (ins Arg<TileGPU_MBarriers, "", [SharedRead, SharedWrite]>:$bars, I32:$index, I32:$parity);
  let assemblyFormat = "$bars `[` $index `]` `,` $parity attr-dict `:` qualified(type($bars))";
  let hasVerifier = 1;
}

def TileGPU_GatherAsyncOp : TileGPU_SharedOp<"gather_async"> {
  let summary = "starts the copies of rows of a pool by slot id";
  let description = [{
    For every row r of the stage, with id = ids[r]: if 0 <= id < slots, the data
    row of that slot is copied to rows[r] and, in formats with a footer, its
    scale row to scales[r]; else these bytes become zero and no address of the
    slot is formed. slots[r] becomes id, or -1 for a skipped row.

    The copies are asynchronous, and all three buffers may be read by whoever has
    waited for the phase of `full[index]`, whose count is `arrivals`:

    * By `cp.async`, 16 bytes each. Every thread arrives twice: once when its own
      copies have landed, once at once, after its part of `slots` is stored. The
      count is 2 x threads.
    * `bulk`: the first thread of a row issues one `cp.async.bulk` for the data
      row, which completes so many transaction bytes of the mbarrier; a skipped
      row is zeroed by stores of its threads and `fence.proxy.async`. One lane of
      every warp arrives after a barrier of the warp and expects the bytes that
      its lanes copy. Scale rows of a footer have 8 to 32 bytes: they go by
      `cp.async` as above, and the first threads of rows arrive when theirs have
      landed. The count is one a warp and, with a footer, one more a first thread
      of rows.

    A stage that is issued again has been read, and its readers have arrived
    where the threads that issue have waited: reads need no `fence.proxy.async`
    before a bulk copy writes.

    Constraints:
    * gather_async_c1: the pool is bound to a known cache format.
    * gather_async_c2: `ids` is a tensor of i32 with one dimension, laid out by
      `rowsOverThreads`.
    * gather_async_c3: `rows` has 8-bit elements, one row an id, rows that start
      at multiples of 16 bytes and hold what the format uses of a data row.
    * gather_async_c4: `scales` has one row an id. In a format with a footer: of
      the scale row's bytes, 8-bit elements, rows that start at multiples of the
      copy size (16, or 8 where the scale row is not a multiple of 16). In an
      inline format: the view of `rows` that holds them (f32, one column a
      group, the row stride of `rows`); it is not written on its own.
    * gather_async_c5: `slots` is i32 with one element an id.
    * gather_async_c6: a constant index is less than the number of mbarriers.
    * gather_async_c7: `bulk` copies less than 2^20 bytes into a stage, what an
      mbarrier counts (PTX ISA, `mbarrier`, range of tx-count).

    Examples:
    ```mlir
    tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i]
      : !tile.pool<"dsv4">, tensor<64xi32, #ids>, !tilegpu.buffer<64x576xi8, stride = 592>,
        !tilegpu.buffer<64x8xi8>, !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<2>
    tilegpu.gather_async %pool[%ids] into %rows, %scales, %slots signal %full[%i] {bulk}
      : !tile.pool<"dsv4">, tensor<64xi32, #ids>, !tilegpu.buffer<64x576xi8, stride = 592>,
        !tilegpu.buffer<64x8xi8>, !tilegpu.buffer<64xi32>, !tilegpu.mbarriers<2>
    ```
  }];
  let arguments = (ins
    AnyType:$pool, TileGPU_Tile:$ids,
    Arg<TileGPU_Buffer, "", [SharedWrite]>:$rows,
    Arg<TileGPU_Buffer, "", [SharedWrite]>:$scales,
    Arg<TileGPU_Buffer, "", [SharedWrite]>:$slots,
    Arg<TileGPU_MBarriers, "", [SharedRead, SharedWrite]>:$full, I32:$index, UnitAttr:$bulk);
  let extraClassDeclaration = [{
    /// Threads that have the first bytes of a row, of `warps` warps that gather
    /// `rows` rows.
    static int64_t firstThreads(int64_t rows, int64_t warps);
    /// Arrivals at `full` of one such gather.
    static int64_t arrivals(const ::mlatile::CacheFormat &format, int64_t rows,
                            int64_t warps, bool bulk);
  }];
  let assemblyFormat = [{
    $pool `[` $ids `]` `into` $rows `,` $scales `,` $slots `signal` $full `[` $index `]` attr-dict
    `:` type($pool) `,` type($ids) `,` qualified(type($rows)) `,` qualified(type($scales)) `,` qualified(type($slots)) `,` qualified(type($full))
  }];
  let hasVerifier = 1;
}

def TileGPU_CopyAsyncOp : TileGPU_SharedOp<"copy_async"> {
  let summary = "starts the copy of a tile of a view";
  let description = [{
    The trailing two dimensions of the view are a tile that starts at the
    indices, as in `tile.load`: elements outside of the view become zero and are
    not read. It is copied to `buffer` by `cp.async`, 16 bytes each, or, where
    addresses or strides are no multiples of 16 bytes or a row ends inside, by
    loads and stores; `layout` says which thread copies what. The buffer may be
    read by whoever has waited for the phase of `full[index]`: every thread
    arrives twice, once when its own copies have landed, and once at once for
    what it stored. The count is 2 x threads.

    Constraints:
    * copy_async_c1: the view has one index a dimension, at least two.
    * copy_async_c2: `buffer` has two dimensions, the view's element type, and
      rows that start at multiples of 16 bytes.
    * copy_async_c3: `layout` is one of the buffer's shape, in which threads have
      whole pieces of 16 bytes, each element once.
    * copy_async_c4: a constant index is less than the number of mbarriers.

    Example:
    ```mlir
    tilegpu.copy_async %q[%b, %t, %h, %c0] into %buffer signal %full[%i]
      by <reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]],
          warp = [[4, 0], [8, 0]], reps = [4, 7]>
      : !tile.view<[B, S, H, D], bf16>, !tilegpu.buffer<64x448xbf16, stride = 912>, !tilegpu.mbarriers<1>
    ```
  }];
  let arguments = (ins
    AnyType:$view, Variadic<Index>:$indices,
    Arg<TileGPU_Buffer, "", [SharedWrite]>:$buffer,
    Arg<TileGPU_MBarriers, "", [SharedRead, SharedWrite]>:$full, I32:$index,
    LayoutAttr:$layout);
  let extraClassDeclaration = [{
    /// The layout of such a copy of `shape` by `warps` warps, where it has one.
    static ::std::optional<::mlatile::DistributedLayout> pieces(
        ::llvm::ArrayRef<int64_t> shape, ::mlir::Type element, int64_t warps);
    /// Arrivals at `full`.
    static int64_t arrivals(int64_t warps) { return 2 * 32 * warps; }
  }];
  let assemblyFormat = [{
    $view `[` $indices `]` `into` $buffer `signal` $full `[` $index `]` `by` $layout attr-dict
    `:` type($view) `,` qualified(type($buffer)) `,` qualified(type($full))
  }];
  let hasVerifier = 1;
}
#endif
