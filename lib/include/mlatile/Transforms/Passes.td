// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TRANSFORMS_PASSES_TD
#define MLATILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignRoles : Pass<"tile-assign-roles", "::mlir::ModuleOp"> {
  let summary = "partition a kernel over warps that gather and warps of two products";
  let description = [{
    For kernels with the attribute `tile.roles` (a bound parameter of kind
    `roles`); others stay as they are. docs/Roles.md has the rules: a product one
    of whose factors depends on another product is a second one; operations
    follow the products that they depend on; what belongs to neither is done by
    whoever needs it; values that cross go through channels.

    Before:
    ```mlir
    scf.for %n = %b to %e step %c32 iter_args(%o) {
      %rows, %ok = tile.gather %pool[%ids] ...
      %s = tile.dot %q, %keys, %zero ...
      %p = math.exp2 %s ...
      %o1 = tile.dot %p, %values, %o ...
    }
    ```
    After:
    ```mlir
    tilegpu.roles
    role "second" ... { scf.for iter_args(%o) { %rows, %ok = tilegpu.receive %c0 ; %p = tilegpu.receive %c1 ; tile.dot } }
    role "first" ... { scf.for { %rows, %ok = tilegpu.receive %c0 ; tile.dot ; math.exp2 ; tilegpu.send %p to %c1 } }
    role "gather" ... { scf.for { tile.gather ; tilegpu.send %rows, %ok to %c0 } }
    ```
    One loop over items may stand around the loops with a gather; every role then
    has a copy of it too, and makes for itself what it needs of its body.
    Precondition: the kernel is specialised. A kernel that has nothing to
    partition is an error that says why.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect", "::mlir::scf::SCFDialect"];
}

def LowerChannels : Pass<"tilegpu-lower-channels", "::mlir::ModuleOp"> {
  let summary = "channels between roles become rings of buffers with mbarriers";
  let description = [{
    A channel becomes a ring of buffers a value (of gathered rows: those of
    `tilegpu.gather_async`) and the mbarriers `full` and `empty`. `tilegpu.send`
    waits for `empty`, stores and arrives at `full`; `tilegpu.receive` waits for
    `full`, reads, and arrives at `empty` at the end of its block, or behind the
    last loop of it that uses the record. `tilegpu.send_copy` waits for `empty`
    and starts a `tilegpu.copy_async`. Every role counts for itself which place is
    next: its loops carry the stage and the parity. The slot ids of a gather in a loop are loaded an iteration ahead.
    Preconditions: `tile-assign-layouts`. Postcondition: no `tilegpu.channel`,
    `send`, `send_copy`, `receive`.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AssignLayouts : Pass<"tile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "give every tensor value of a specialised kernel a layout";
  let description = [{
    Values that an elementwise operation, a select, or a loop ties together form
    a class and share one layout. A class that holds the accumulator of a
    `tile.dot` or `tile.dot_scaled` takes that dot's accumulator layout; a class reached from a laid
    out one by `tile.reduce`, `tile.broadcast` or `tile.transpose` takes the
    derived layout; the slot ids of a `tile.gather` take the layout in which
    neighbouring threads share a row; all others are spread in 16-byte pieces.
    Where two classes meet with different layouts a `tilegpu.convert_layout` is
    inserted; where an accumulator goes from one loop into another that packs it
    differently (lists of 8-bit and of 4-bit candidates), before the second.
    Operands of dots are left to `tile-to-tilegpu`.

    Before:
    ```mlir
    %s = tile.dot %q, %k, %zero : tensor<16x448xbf16>, tensor<448x32xbf16>, tensor<16x32xf32>
    %m = tile.reduce maximumf %s along 1 : tensor<16x32xf32> -> tensor<16xf32>
    ```
    After (`#acc` is the accumulator layout of four warps along N):
    ```mlir
    %s = tile.dot %q, %k, %zero : ..., tensor<16x32xf32, #acc>
    %m = tile.reduce maximumf %s along 1 : tensor<16x32xf32, #acc> -> tensor<16xf32, #slice>
    ```
    Precondition: kernels are specialised (static shapes). Postcondition: every
    tensor value inside a kernel carries `#tilegpu.layout`.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect"];
}

def TileToTileGPU : Pass<"tile-to-tilegpu", "::mlir::ModuleOp"> {
  let summary = "place dot operands, gathered rows and cross-warp values in shared memory";
  let description = [{
    `tile.dot` becomes `tilegpu.dot`. An operand that was read from a buffer is
    read there, a `tilegpu.load_quantised` in its 8 or 4 bits, with its scales; a
    `tile.transpose` turns into a transposed operand; registers that hold an
    operand in place (after moves of registers or `movmatrix`) stay; others are
    stored to a buffer; what is made, element by element, of a record that came by
    a `tilegpu.copy_async` takes its place. `tile.dot_scaled` becomes one `tilegpu.dot` a block: its
    sums are multiplied by their scales (blocks along K), or the other operand is
    multiplied by them in registers and rounded (along N or M). `tile.reduce`
    becomes a warp reduction and, where warps share the dimension, an exchange
    through a scratch buffer; but what follows from loads of a few numbers, which
    the kernel does not store, every warp loads and reduces for itself. A `tilegpu.convert_layout` that needs more than
    that becomes a store and a load.
    Preconditions: `tile-assign-layouts`, `tilegpu-pipeline-gathers`.
    Postcondition: no `tile.dot`, `tile.dot_scaled`, `tile.reduce`,
    `tilegpu.load_quantised`.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def HoldOperands : Pass<"tilegpu-hold-operands", "::mlir::ModuleOp"> {
  let summary = "keep columns of an operand that a role's loop does not change in registers";
  let description = [{
    In a role, a first factor that was put into a buffer before the loop (a query)
    is read again in every iteration. The loop may stand in one more of the role,
    which fills the buffer anew. As many of its
    columns as the role's registers have room for are read once, before the
    loop; shared memory then serves the rest. Room is what is left of the role's
    registers after `kRoleWorkingRegisters` and what its loops carry.

    Before:
    ```mlir
    scf.for ... { %s = tilegpu.dot %q, %k, %c {b_transposed} : !tilegpu.buffer<64x448xf16>, ... }
    ```
    After:
    ```mlir
    %q0 = tilegpu.load_shared %q[:, 0:256] : ..., tensor<64x256xf16, #operandA>
    scf.for ... {
      %s0 = tilegpu.dot %q0, %k[:, 0:256], %c {b_transposed}
      %s = tilegpu.dot %q[:, 256:448], %k[:, 256:448], %s0 {b_transposed} }
    ```
    (windows are `tilegpu.view`). Only where both operands are 16-bit buffers
    with their columns along K. Sums are formed in the same order.
    Precondition: `tile-to-tilegpu`.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect"];
}

def PipelineGathers : Pass<"tilegpu-pipeline-gathers", "::mlir::ModuleOp"> {
  let summary = "issue gathers ahead of their use through a ring of stages";
  let description = [{
    A gather inside a loop marked `{tile.pipeline = #tile.pipeline<stages = N>}`
    writes stage `i mod N` of a ring. Its copies are issued `N - 1` iterations
    before they are waited for, its slot ids are loaded one iteration earlier
    still. `full` mbarriers count landed copies, `empty` ones the threads that
    have read a stage; no barrier of the whole CTA is involved. A gather outside
    such a loop is issued and waited for in place.

    A `tile.dequant` of its rows becomes a read of the stage. A quantised field
    all of whose uses are operands of dots that can take it as it is, becomes a
    `tilegpu.load_quantised`; one with another use, with f32 scales, whose
    product has another quantised operand, or whose columns, or blocks of
    scales, are not whole tiles of all warps, is converted once, into a buffer of
    16 bits, by `tilegpu.dequant`.

    Before:
    ```mlir
    scf.for %n = %b to %e step %c32 {
      %ids = tile.load %indices[%t, %n] ...
      %rows, %ok = tile.gather %pool[%ids] ...
    } {tile.pipeline = #tile.pipeline<stages = 2>}
    ```
    After:
    ```mlir
    scf.if (first in range) { tilegpu.gather_async ... stage 0 }
    %ids1 = tile.load ... second tile
    scf.for ... iter_args(%ids = %ids1, %stage, %phase) {
      scf.if (next in range) { tilegpu.mbarrier_wait %empty ; tilegpu.gather_async %pool[%ids] ... next stage }
      %ids2 = tile.load ... tile after the next
      tilegpu.mbarrier_wait %full[%stage], %phase
      ...
      tilegpu.mbarrier_arrive %empty[%stage]
    }
    ```
    Loops around carry stage and phase on: the copies before the loop then go to
    the stages from the carried one on, and wait for `empty` too. So does a loop
    that follows another one with the same stages of the same rows, where no loop
    stands around the two and no other one of a gather between them: it takes its
    ring and goes on where that stopped. Where the first of them has
    no iterations the copies of the second are sent in its place, before whatever
    stands in front of it:
    ```mlir
    scf.if (first list has a tile) { gather_async %pool[%ids] ... stage 0 }
    scf.if (second list has one, and the first none) { gather_async %pool2[%ids2] ... stage 0 }
    ... the query
    %r:2 = scf.for ... // the first list; stage and phase
    scf.if (both have) { mbarrier_wait %empty[%r#0] ; gather_async %pool2[%ids2] ... stage %r#0 }
    scf.for ... iter_args(%stage = %r#0, %phase = %r#1) // the second list
    ```

    The upper bound of a loop plus as many steps as stages must not wrap around.
    The slot ids may depend on the loop only through its induction variable, and
    nothing in the loop may write the views that they are loaded from (two
    arguments of a kernel are different arrays); else the gather is an error.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LowerPeers : Pass<"tilegpu-lower-peers", "::mlir::ModuleOp"> {
  let summary = "tiles that blocks of a cluster read of each other become buffers";
  let description = [{
    The operand of a `tile.load_peer` is stored to a buffer, at the latest before
    the first read of it, or before the loop or branch that holds that read, in
    the block where the tile is made. All tiles of a block that are there by then
    are stored together, and one barrier of the cluster follows. Another one
    begins behind the last read and is waited for at the end of the kernel, since
    a block that has ended takes its shared memory with it. A rank that is not known to be one of the cluster's is
    reduced modulo its size.

    Before, in a kernel of `cluster(4)`:
    ```mlir
    %y = tile.load_peer %x of %i[%r, %c] : tensor<16x64xf32, #acc> -> tensor<1x64xf32, #row>
    tile.store %y, ...
    tile.return
    ```
    After:
    ```mlir
    tilegpu.store_shared %x, %peers : ...
    tilegpu.cluster_arrive
    tilegpu.cluster_wait
    %rank = arith.remui %i, %c4 : index
    %y = tilegpu.load_peer %peers of %rank[%r, %c] : !tilegpu.buffer<16x64xf32, stride = 288> -> tensor<1x64xf32, #row>
    tilegpu.cluster_arrive
    tile.store %y, ...
    tilegpu.cluster_wait
    tile.return
    ```
    Precondition: `tile-assign-layouts`. Postcondition: no `tile.load_peer`. Roles
    around the tile or the read are an error, since the barrier counts all
    threads.
  }];
  let dependentDialects = ["::mlatile::tilegpu::TileGPUDialect", "::mlir::arith::ArithDialect"];
}

def BatchExchanges : Pass<"tilegpu-batch-exchanges", "::mlir::ModuleOp"> {
  let summary = "warps meet once for exchanges that do not depend on each other";
  let description = [{
    A reduction across warps, or a small tile that changes its layout, goes
    through shared memory. Its second half, which reads what the warps have
    stored, moves to its first use. First halves of others then stand before it,
    and one barrier, which `tilegpu-insert-syncs` puts before the first read,
    serves all.

    Before:
    ```mlir
    tilegpu.store_shared %a_of_warp, %scratch0 : ...
    %a_all = tilegpu.load_shared %scratch0 : ...
    %a = tilegpu.reduce_warp maximumf %a_all along 1 : ...
    tilegpu.store_shared %b_of_warp, %scratch1 : ...
    %b_all = tilegpu.load_shared %scratch1 : ...
    %b = tilegpu.reduce_warp maximumf %b_all along 1 : ...
    %both = arith.maximumf %a, %b
    ```
    After:
    ```mlir
    tilegpu.store_shared %a_of_warp, %scratch0 : ...
    tilegpu.store_shared %b_of_warp, %scratch1 : ...
    %a_all = tilegpu.load_shared %scratch0 : ...
    %a = tilegpu.reduce_warp maximumf %a_all along 1 : ...
    %b_all = tilegpu.load_shared %scratch1 : ...
    %b = tilegpu.reduce_warp maximumf %b_all along 1 : ...
    %both = arith.maximumf %a, %b
    ```
    Only within a block, and only of buffers of 4 KiB at most that one store
    fills.
    A buffer keeps its bytes until then, also through a loop that stands between.
    Precondition: `tile-to-tilegpu`. Barriers that stand already stay.
  }];
}

def PlanShared : Pass<"tilegpu-plan-shared", "::mlir::ModuleOp"> {
  let summary = "give every shared buffer its place in the arena";
  let description = [{
    Buffers whose live ranges (in program order; a buffer used in a loop it does
    not belong to lives through the whole loop, unless each iteration fills it
    before reading it: by a store, or by copies ahead of an inner loop; one that
    other CTAs read lives to the end of the kernel) do not overlap may share bytes;
    small ones only where the arena would not fit otherwise, because accesses to
    shared bytes need barriers between them.
    Sets `offset` on `tilegpu.alloc` and `tilegpu.shared_bytes` on the kernel. An
    arena over the target's limit is an error that lists the buffers.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_120a\"", "target whose limit holds">
  ];
}

def InsertSyncs : Pass<"tilegpu-insert-syncs", "::mlir::ModuleOp"> {
  let summary = "separate conflicting accesses to shared memory by barriers";
  let description = [{
    Walks each kernel in program order, loop bodies twice, and keeps the accesses
    to shared memory since the last barrier. Before an access that conflicts with
    one of them (same bytes, at least one a write) it inserts `tilegpu.sync`: of
    the warp where every element is touched by one warp only on both sides, of
    the CTA otherwise. What a loop needs only of accesses before it is inserted
    before it. Asynchronous copies are guarded by mbarriers and take no part.
    Before a `tilegpu.gather_async {bulk}` whose rows share bytes with a buffer
    that was stored to, or whose mbarriers were initialised, the barrier has a
    `proxy_fence`, unless one has stood since.
    Precondition: `tilegpu-plan-shared` (buffers that share bytes conflict).
  }];
}

#endif
