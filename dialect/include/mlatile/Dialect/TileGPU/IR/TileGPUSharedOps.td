// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places in shared memory, and moves between them and registers.
#ifndef MLATILE_DIALECT_TILEGPU_IR_SHAREDOPS_TD
#define MLATILE_DIALECT_TILEGPU_IR_SHAREDOPS_TD
include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.td"

def TileGPU_AllocOp : TileGPU_Op<"alloc"> {
  let summary = "a place in the arena of shared memory";
  let description = [{
    The name appears in reports and errors. `offset`, in bytes from the arena's
    start, is set by `tilegpu-plan-shared`; conversion needs it. Contents are
    undefined.

    Constraints:
    * alloc_c1: `offset` is a multiple of 16 and not negative.

    Example:
    ```mlir
    %keys = tilegpu.alloc "keys" {offset = 0 : i64} : !tilegpu.ring<2, !tilegpu.buffer<64x576xi8>>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<TileGPU_Shared, "", [MemAlloc<SharedMemory>]>:$result);
  let assemblyFormat = "$name attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes that the place takes.
    int64_t getNumBytes();
  }];
}

def TileGPU_StageOp : TileGPU_Op<"stage", [Pure]> {
  let summary = "one stage of a ring";
  let description = [{
    The buffer that holds stage `index`. An index outside 0 .. stages - 1 is
    undefined behaviour.

    Constraints:
    * stage_c1: the result is the ring's buffer type.
    * stage_c2: a constant index is less than the number of stages.

    Example:
    ```mlir
    %now = tilegpu.stage %keys[%i] : !tilegpu.ring<2, !tilegpu.buffer<64x576xi8>>
                                   -> !tilegpu.buffer<64x576xi8>
    ```
  }];
  let arguments = (ins TileGPU_Ring:$ring, I32:$index);
  let results = (outs TileGPU_Buffer:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($result))";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$ring, "::mlir::Value":$index), [{
      build($_builder, $_state, ::llvm::cast<RingType>(ring.getType()).getBuffer(), ring, index);
    }]>];
  let hasVerifier = 1;
}

def TileGPU_ViewOp : TileGPU_Op<"view", [Pure]> {
  let summary = "columns of a buffer from a byte offset on";
  let description = [{
    Same rows and row stride, any element type.

    Constraints:
    * view_c1: rank, rows and (with more than one row) row stride of source and
      result agree.
    * view_c2: the offset is a multiple of 16 and not negative.
    * view_c3: offset plus the result's row lies inside the source's row.

    Example:
    ```mlir
    %rope = tilegpu.view %row + 448 : !tilegpu.buffer<64x576xi8, stride = 592>
                                   -> !tilegpu.buffer<64x64xbf16, stride = 592>
    ```
  }];
  let arguments = (ins TileGPU_Buffer:$buffer, I64Attr:$offset);
  let results = (outs TileGPU_Buffer:$result);
  let assemblyFormat = "$buffer `+` $offset attr-dict `:` qualified(type($buffer)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def TileGPU_StoreSharedOp : TileGPU_SharedOp<"store_shared"> {
  let summary = "writes a tensor to a buffer, by layout";
  let description = [{
    Every element goes to its place in the buffer; of threads that hold copies
    one writes. Registers that are neighbours in a row move together, up to 16
    bytes at once, where the layout and the row stride allow it.

    Constraints:
    * store_shared_c1: tensor and buffer have the same shape.
    * store_shared_c2: they have the same element type.
    * store_shared_c3: it has at least 8 bits.

    Example:
    ```mlir
    tilegpu.store_shared %t, %buffer : tensor<16x64xbf16, #rows>, !tilegpu.buffer<16x64xbf16, stride = 144>
    ```
  }];
  let arguments = (ins TileGPU_AnyTile:$tile, Arg<TileGPU_Buffer, "", [SharedWrite]>:$buffer);
  let assemblyFormat = "$tile `,` $buffer attr-dict `:` type($tile) `,` qualified(type($buffer))";
  let hasVerifier = 1;
}

def TileGPU_LoadSharedOp : TileGPU_SharedOp<"load_shared"> {
  let summary = "reads a buffer into a tensor, by layout";
  let description = [{
    The mirror of `tilegpu.store_shared`: every thread reads the elements that
    the result's layout gives it.

    Constraints:
    * load_shared_c1: buffer and tensor have the same shape.
    * load_shared_c2: they have the same element type.
    * load_shared_c3: it has at least 8 bits.

    Example:
    ```mlir
    %t = tilegpu.load_shared %buffer : !tilegpu.buffer<16x64xbf16, stride = 144> -> tensor<16x64xbf16, #rows>
    ```
  }];
  let arguments = (ins Arg<TileGPU_Buffer, "", [SharedRead]>:$buffer);
  let results = (outs TileGPU_AnyTile:$tile);
  let assemblyFormat = "$buffer attr-dict `:` qualified(type($buffer)) `->` type($tile)";
  let extraClassDeclaration = [{
    /// The tile is a first operand of `mma` in 16 bits, read by `ldmatrix`.
    bool readsFragments();
  }];
  let hasVerifier = 1;
}

def TileGPU_LoadPeerOp : TileGPU_SharedOp<"load_peer"> {
  let summary = "reads a window of a buffer of another CTA of the cluster";
  let description = [{
    Every CTA of a cluster has the buffer at the same place of its own shared
    memory. The window starts at the indices in the one of the CTA whose rank in
    the cluster is `rank` (PTX ISA, `mapa` and `ld.shared::cluster`); every
    thread reads the elements that the result's layout gives it. Elements outside
    the buffer are zero. A rank that is not one of the cluster's is undefined
    behaviour. A barrier of the cluster stands between the stores of the other CTA
    and this op, and between this op and the end of the other CTA.

    Constraints:
    * load_peer_c1: one index a dimension of the buffer.
    * load_peer_c2: the result has the buffer's rank.
    * load_peer_c3: the result's element type is the buffer's.
    * load_peer_c4: it has at least 8 bits.

    Example:
    ```mlir
    %t = tilegpu.load_peer %buffer of %rank[%i, %j]
         : !tilegpu.buffer<64x128xbf16, stride = 272> -> tensor<16x64xbf16, #rows>
    ```
  }];
  let arguments = (ins Arg<TileGPU_Buffer, "", [SharedRead]>:$buffer, Index:$rank,
                       Variadic<Index>:$indices);
  let results = (outs TileGPU_AnyTile:$tile);
  let assemblyFormat = [{
    $buffer `of` $rank `[` $indices `]` attr-dict `:` qualified(type($buffer)) `->` type($tile)
  }];
  let hasVerifier = 1;
}

class TileGPU_ClusterBarrierOp<string mnemonic>
    : TileGPU_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TileGPU_ClusterArriveOp : TileGPU_ClusterBarrierOp<"cluster_arrive"> {
  let summary = "arrives at the barrier of the cluster";
  let description = [{
    Releases what the thread has done before to the threads of the cluster (PTX
    ISA, `barrier.cluster.arrive`). All threads execute it, and then, before
    they arrive again, `tilegpu.cluster_wait`.

    Constraints:
    * cluster_arrive_c1: no role stands around it.

    Example:
    ```mlir
    tilegpu.cluster_arrive
    tilegpu.cluster_wait
    ```
  }];
}

def TileGPU_ClusterWaitOp : TileGPU_ClusterBarrierOp<"cluster_wait"> {
  let summary = "waits at the barrier of the cluster";
  let description = [{
    Returns when all threads of the cluster that have not exited have executed
    `tilegpu.cluster_arrive` as often as this one; what they did before is
    visible (PTX ISA, `barrier.cluster.wait`).

    Constraints:
    * cluster_wait_c1: no role stands around it.

    Example:
    ```mlir
    tilegpu.cluster_arrive
    tilegpu.cluster_wait
    ```
  }];
}

def TileGPU_SyncOp : TileGPU_Op<"sync", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "barrier of the CTA, of a role or of each warp";
  let description = [{
    Earlier accesses of every participant are visible to all of them after it
    (PTX ISA, `barrier.sync` and `bar.warp.sync`). All threads of the CTA (of
    the role, of the warp) execute it.

    `proxy_fence`: before it, every thread orders its earlier accesses of shared
    memory against bulk copies that are issued after it (PTX ISA,
    `fence.proxy.async`). Bytes that ordinary stores have written need it before
    a bulk copy writes them; what was only read does not.

    Constraints:
    * sync_c1: `role` stands in a region of `tilegpu.roles`, `cta` does not.

    Example:
    ```mlir
    tilegpu.sync cta
    tilegpu.sync cta {proxy_fence}
    tilegpu.sync warp
    ```
  }];
  let hasVerifier = 1;
  let arguments = (ins SyncScopeAttr:$scope, UnitAttr:$proxy_fence);
  let assemblyFormat = "custom<SyncScope>($scope) attr-dict";
}
#endif
