// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps with different work, and what they hand to each other.
#ifndef MLATILE_DIALECT_TILEGPU_IR_ROLEOPS_TD
#define MLATILE_DIALECT_TILEGPU_IR_ROLEOPS_TD
include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.td"

def TileGPU_RolesOp : TileGPU_Op<"roles"> {
  let summary = "warps with different work";
  let description = [{
    Each region is run by its own warps, which follow each other in the order of
    the regions, from warp 0 of the CTA on. Inside a region warps and threads
    are numbered from the role's first one, and layouts are over its warps. The
    regions run at the same time; they synchronise by mbarriers (channels)
    alone. A region begins with `setmaxnreg` to its registers a thread.

    Constraints:
    * roles_c1: 2 to 15 regions, with one distinct name, number of warps and
      number of registers each.
    * roles_c2: the warps of a role are a power of two and at least 4
      (`setmaxnreg` is for aligned groups of four); its first one is a multiple
      of their number.
    * roles_c3: it stands in the body of a kernel, which has as many warps as
      all roles together.
    * roles_c4: registers are multiples of 8 from 24 to 256.
    * roles_c5: registers of all warps together are no more than the launch
      allocates: for each warp 65,536 / threads, rounded down to a multiple of 8.
    * roles_c6: no tiles with layouts go into a region, apart from constants.

    Example:
    ```mlir
    tile.kernel @two warps(8) () {
      tilegpu.roles
      role "first" warps(4) registers(208) {
        tilegpu.sync role
        tilegpu.role_end
      } role "second" warps(4) registers(40) {
        tilegpu.role_end
      }
      tile.return
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI64ArrayAttr:$warps, DenseI64ArrayAttr:$registers);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // Regions have an empty block each.
    OpBuilder<(ins "::llvm::ArrayRef<::llvm::StringRef>":$names, "::llvm::ArrayRef<int64_t>":$warps,
                   "::llvm::ArrayRef<int64_t>":$registers)>];
  let extraClassDeclaration = [{
    /// The first warp of role `i`.
    int64_t getFirstWarp(unsigned i);
    /// The role around `op`, if it stands in one: its operation and number.
    static ::std::optional<::std::pair<RolesOp, unsigned>> around(::mlir::Operation *op);
    static ::std::optional<::std::pair<RolesOp, unsigned>> around(::mlir::Block *block);
  }];
}

def TileGPU_RoleEndOp : TileGPU_Op<"role_end", [Pure, Terminator, HasParent<"RolesOp">]> {
  let summary = "end of a role";
  let description = [{
    Ends a region of `tilegpu.roles`.

    Example:
    ```mlir
    tile.kernel @two warps(8) () {
      tilegpu.roles
      role "first" warps(4) registers(128) {
        tilegpu.role_end
      } role "second" warps(4) registers(128) {
        tilegpu.role_end
      }
      tile.return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def TileGPU_ChannelOp : TileGPU_Op<"channel"> {
  let summary = "a queue of records between roles";
  let description = [{
    One role sends, one or several others receive, each of them every record.
    The name appears in reports and errors.

    Example:
    ```mlir
    %c = tilegpu.channel "first" : !tilegpu.channel<2, [tensor<64x32xbf16>, tensor<64xf32>]>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs TileGPU_Channel:$result);
  let assemblyFormat = "$name attr-dict `:` qualified(type($result))";
}

def TileGPU_SendOp : TileGPU_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "puts a record into a channel";
  let description = [{
    Waits until the channel has a free place. Gathered rows are those of a
    `tile.gather` in the same block; they are sent as soon as their copies are
    on the way.

    Constraints:
    * send_c1: the values are of the channel's types (layouts do not count).

    Example:
    ```mlir
    tilegpu.send %sums, %vector to %c
      : tensor<16x64xf32>, tensor<16xf32> to !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, TileGPU_Channel:$channel);
  let assemblyFormat = "$values `to` $channel attr-dict `:` type($values) `to` qualified(type($channel))";
  let hasVerifier = 1;
}

def TileGPU_SendCopyOp : TileGPU_Op<"send_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sends a tile of a view, which its copy brings";
  let description = [{
    Waits until the channel has a free place, and starts the copy of the tile of
    the view's trailing dimensions at the indices (`tilegpu.copy_async`). The
    record can be received when it has landed; nothing of it passes through the
    sender's registers.

    Constraints:
    * send_copy_c1: the view has one index a dimension, at least two.
    * send_copy_c2: a record of the channel is one tile of two dimensions, of the
      view's element type, whose rows are whole pieces of 16 bytes.

    Example:
    ```mlir
    tilegpu.send_copy %q[%b, %t, %h, %c0] to %c
      : !tile.view<[B, S, H, D], bf16> to !tilegpu.channel<1, [tensor<64x448xbf16>]>
    ```
  }];
  let arguments = (ins AnyType:$view, Variadic<Index>:$indices, TileGPU_Channel:$channel);
  let extraClassDeclaration = [{
    /// Whether a tile can be sent so.
    static bool takes(::mlir::RankedTensorType tile);
  }];
  let assemblyFormat = "$view `[` $indices `]` `to` $channel attr-dict `:` type($view) `to` qualified(type($channel))";
  let hasVerifier = 1;
}

def TileGPU_ReceiveOp : TileGPU_Op<"receive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes the next record of a channel";
  let description = [{
    Waits until there is one. Its place is free for the sender when all roles
    that receive have come to the end of the block in which they received it, or,
    where only loops of the block use it in the end, behind the last of these.

    Constraints:
    * receive_c1: the results are of the channel's types (layouts do not count).

    Example:
    ```mlir
    %sums, %vector = tilegpu.receive %c
      : !tilegpu.channel<2, [tensor<16x64xf32>, tensor<16xf32>]> -> tensor<16x64xf32>, tensor<16xf32>
    ```
  }];
  let arguments = (ins TileGPU_Channel:$channel);
  let results = (outs Variadic<AnyType>:$values);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel)) `->` type($values)";
  let hasVerifier = 1;
}
#endif
