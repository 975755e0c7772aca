// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse MLA decode written by hand at the second level: format dsv4, 16 heads
// and 32 candidates a tile, four warps, no splits, no sink, no lse. Signature
// and formulas are those of kernels/decode.mlir; layouts, buffers, barriers and
// the gather pipeline are the author's own. Three things differ from what the
// passes make of kernels/decode.mlir:
//
//   * stage and parity come from the number of the tile (bits 0 and 1);
//   * each warp keeps the sums of its own candidates, and they meet once, after
//     the loop, so that an iteration has one exchange less;
//   * barriers stand where the comments say why. tilegpu-insert-syncs finds
//     nothing to add.
//
// RUN: mlatile-opt %s | FileCheck %s --check-prefix=SYNCS
// RUN: mlatile-opt %s --tilegpu-plan-shared --tilegpu-insert-syncs | FileCheck %s --check-prefix=SYNCS
// RUN: grep -v '^ *tilegpu.sync cta' %s > %t.mlir
// RUN: mlatile-opt %t.mlir --tilegpu-plan-shared --tilegpu-insert-syncs | FileCheck %s --check-prefix=FOUND
// RUN: mlatile-opt %s --mlatile-tilegpu-to-nvvm=target=sm_120a | FileCheck %s --check-prefix=NVVM
// RUN: mlatile-compile %s --target=sm_120a | FileCheck %s --check-prefix=PTX

// One before the loop, four in it, one after it, before and after the pass; and
// without them it finds all but the one for the mbarriers.
// SYNCS-COUNT-6: tilegpu.sync cta
// SYNCS-NOT: tilegpu.sync
// FOUND-COUNT-5: tilegpu.sync cta
// FOUND-NOT: tilegpu.sync
// NVVM: llvm.func @decode
// NVVM-SAME: nvvm.reqntid = array<i32: 128>
// NVVM-NOT: {{tile|tilegpu}}.{{[a-z_]+}} %
// PTX: .entry decode(
// PTX: cp.async
// PTX: mma.sync.aligned.m16n8k16

// ---- layouts --------------------------------------------------------------
// Accumulators of mma.m16n8, four warps side by side along the columns.
#acc_s    = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 1]>
#acc_nope = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 14]>
#acc_rope = #tilegpu.layout<reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]], reps = [1, 2]>
// A value a head, and a value a candidate: slices of #acc_s.
#head = #tilegpu.layout<reg = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[0], [0]], reps = [1]>
#cand = #tilegpu.layout<reg = [[1]], lane = [[2], [4], [0], [0], [0]], warp = [[8], [16]], reps = [1]>
// A value a head and warp: what a warp finds among its own candidates; and all
// four of them in every thread.
#part = #tilegpu.layout<reg = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 1], [0, 2]], reps = [1, 1]>
#all  = #tilegpu.layout<reg = [[0, 1], [0, 2], [8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]], reps = [1, 1]>
// Four neighbouring threads copy a row.
#ids = #tilegpu.layout<reg = [], lane = [[0], [0], [1], [2], [4]], warp = [[8], [16]], reps = [1]>
// 16-byte pieces of a query row.
#q_nope = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 7]>
#q_rope = #tilegpu.layout<reg = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], reps = [1, 1]>

// ---- types ----------------------------------------------------------------
!vq   = !tile.view<[B, S, H, DQK], bf16>
!vidx = !tile.view<[B, S, W], i32>
!vlen = !tile.view<[B, S, 1], i32>
!vrow = !tile.view<[H], f32>
!vout = !tile.view<[B, S, H, DV], bf16>
!vlse = !tile.view<[B, S, H], f32>
!po   = !tile.view<[R, P, H, DV], f16>
!pr   = !tile.view<[R, P, H], f32>

// Row strides are odd multiples of 16 bytes: ldmatrix meets no bank twice.
!rows   = !tilegpu.buffer<32x576xi8, stride = 592>
!scales = !tilegpu.buffer<32x8xi8>
!slots  = !tilegpu.buffer<32xi32>
!keys   = !tilegpu.buffer<32x448xbf16, stride = 912>
!rope   = !tilegpu.buffer<32x64xbf16, stride = 592>
!bq_n   = !tilegpu.buffer<16x448xbf16, stride = 912>
!bq_r   = !tilegpu.buffer<16x64xbf16, stride = 144>
!bp     = !tilegpu.buffer<16x32xbf16, stride = 80>
!bpart  = !tilegpu.buffer<16x4xf32>
!bars   = !tilegpu.mbarriers<2>

!hf = tensor<16xf32, #head>
!hi = tensor<16xi1, #head>
!pf = tensor<16x4xf32, #part>
!sf = tensor<16x32xf32, #acc_s>
!on = tensor<16x448xf32, #acc_nope>
!or = tensor<16x64xf32, #acc_rope>

tile.kernel @decode warps(4)
    (%q : !vq, %kv : !tile.pool<"dsv4">, %indices : !vidx, %lengths : !vlen, %sink : !vrow, %out : !vout,
     %lse : !vlse, %part_o : !po, %part_u : !pr, %part_m : !pr, %part_l : !pr, %sm_scale : f32, %num_splits : index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c448 = arith.constant 448 : index
  %i0 = arith.constant 0 : i32
  %i1 = arith.constant 1 : i32
  %skip = arith.constant -1 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %fninf = arith.constant 0xFF800000 : f32
  %log2e = arith.constant 1.44269504 : f32

  %q_n = tilegpu.alloc "q nope" : !bq_n
  %q_r = tilegpu.alloc "q rope" : !bq_r
  %rows = tilegpu.alloc "rows" : !tilegpu.ring<2, !rows>
  %scales = tilegpu.alloc "scales" : !tilegpu.ring<2, !scales>
  %slots = tilegpu.alloc "slots" : !tilegpu.ring<2, !slots>
  %keys = tilegpu.alloc "keys" : !keys
  %p_buf = tilegpu.alloc "p" : !bp
  %max_buf = tilegpu.alloc "max" : !bpart
  %sum_buf = tilegpu.alloc "sum" : !bpart
  // full: a thread arrives when its copies have landed and at once; empty: when
  // it has read the stage.
  %full = tilegpu.alloc "full" : !bars
  %empty = tilegpu.alloc "empty" : !bars
  tilegpu.mbarrier_init %full {count = 256 : i32} : !bars
  tilegpu.mbarrier_init %empty {count = 128 : i32} : !bars

  // program = row * head tiles + head tile
  %S = tile.dim %q, 1 : !vq
  %H = tile.dim %q, 2 : !vq
  %W = tile.dim %indices, 2 : !vidx
  %pid = tile.program_id 0 : index
  %head_tiles = arith.ceildivui %H, %c16 : index
  %head_tile = arith.remui %pid, %head_tiles : index
  %row = arith.divui %pid, %head_tiles : index
  %b = arith.divui %row, %S : index
  %t = arith.remui %row, %S : index
  %h = arith.muli %head_tile, %c16 : index

  %q0 = tile.load %q[%b, %t, %h, %c0] : !vq -> tensor<16x448xbf16, #q_nope>
  tilegpu.store_shared %q0, %q_n : tensor<16x448xbf16, #q_nope>, !bq_n
  %q1 = tile.load %q[%b, %t, %h, %c448] : !vq -> tensor<16x64xbf16, #q_rope>
  tilegpu.store_shared %q1, %q_r : tensor<16x64xbf16, #q_rope>, !bq_r

  // The mbarriers are initialised before anyone uses them. (The queries are
  // visible after the barriers of the loop.)
  tilegpu.sync cta

  // Tile 0 is under way before the loop; the ids of tile 1 are in registers.
  %some = arith.cmpi slt, %c0, %W : index
  scf.if %some {
    %ids = tile.load %indices[%b, %t, %c0] limit %W else %skip : !vidx -> tensor<32xi32, #ids>
    %r = tilegpu.stage %rows[%i0] : !tilegpu.ring<2, !rows> -> !rows
    %c = tilegpu.stage %scales[%i0] : !tilegpu.ring<2, !scales> -> !scales
    %o = tilegpu.stage %slots[%i0] : !tilegpu.ring<2, !slots> -> !slots
    tilegpu.gather_async %kv[%ids] into %r, %c, %o signal %full[%i0]
      : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !rows, !scales, !slots, !bars
  }
  %ids1 = tile.load %indices[%b, %t, %c32] limit %W else %skip : !vidx -> tensor<32xi32, #ids>

  %ninf = tile.full %fninf : f32 -> !hf
  %zero = tile.full %f0 : f32 -> !hf
  %part_zero = tile.full %f0 : f32 -> !pf
  %s_zero = tile.full %f0 : f32 -> !sf
  %s_ninf = tile.full %fninf : f32 -> !sf
  %on_zero = tile.full %f0 : f32 -> !on
  %or_zero = tile.full %f0 : f32 -> !or
  %scale2 = arith.mulf %sm_scale, %log2e : f32
  %scale = tile.full %scale2 : f32 -> !sf
  %skips = tile.full %skip : i32 -> tensor<32xi32, #cand>

  %m, %l, %on, %or, %ids_end, %i_end = scf.for %n = %c0 to %W step %c32
      iter_args(%m0 = %ninf, %l0 = %part_zero, %on0 = %on_zero, %or0 = %or_zero, %ids = %ids1, %i = %i0)
      -> (!hf, !pf, !on, !or, tensor<32xi32, #ids>, i32) {
    // Tile i is in stage i mod 2, whose phases alternate: parity bit 1 of i.
    %stage = arith.andi %i, %i1 : i32
    %i_half = arith.shrui %i, %i1 : i32
    %parity = arith.andi %i_half, %i1 : i32

    // Tile i + 1 goes where tile i - 1 was, once all threads have read that: the
    // phase before, of the other parity (of a fresh mbarrier that is complete).
    %next = arith.addi %i, %i1 : i32
    %n1 = arith.addi %n, %c32 : index
    %more = arith.cmpi slt, %n1, %W : index
    scf.if %more {
      %next_stage = arith.andi %next, %i1 : i32
      %next_half = arith.shrui %next, %i1 : i32
      %next_parity = arith.andi %next_half, %i1 : i32
      %before = arith.xori %next_parity, %i1 : i32
      tilegpu.mbarrier_wait %empty[%next_stage], %before : !bars
      %r1 = tilegpu.stage %rows[%next_stage] : !tilegpu.ring<2, !rows> -> !rows
      %c1 = tilegpu.stage %scales[%next_stage] : !tilegpu.ring<2, !scales> -> !scales
      %o1 = tilegpu.stage %slots[%next_stage] : !tilegpu.ring<2, !slots> -> !slots
      tilegpu.gather_async %kv[%ids] into %r1, %c1, %o1 signal %full[%next_stage]
        : !tile.pool<"dsv4">, tensor<32xi32, #ids>, !rows, !scales, !slots, !bars
    }
    %n2 = arith.addi %n1, %c32 : index
    %ids2 = tile.load %indices[%b, %t, %n2] limit %W else %skip : !vidx -> tensor<32xi32, #ids>

    tilegpu.mbarrier_wait %full[%stage], %parity : !bars
    %r = tilegpu.stage %rows[%stage] : !tilegpu.ring<2, !rows> -> !rows
    %c = tilegpu.stage %scales[%stage] : !tilegpu.ring<2, !scales> -> !scales
    %o = tilegpu.stage %slots[%stage] : !tilegpu.ring<2, !slots> -> !slots
    %ids_here = tilegpu.load_shared %o : !slots -> tensor<32xi32, #cand>
    %ok = arith.cmpi sgt, %ids_here, %skips : tensor<32xi32, #cand>
    %payload = tilegpu.view %r + 0 : !rows -> !tilegpu.buffer<32x448xf8E4M3FN, stride = 592>
    %rope = tilegpu.view %r + 448 : !rows -> !rope

    // All warps have read the keys of the tile before.
    tilegpu.sync cta
    tilegpu.dequant "dsv4" %payload, %c -> %keys
      : !tilegpu.buffer<32x448xf8E4M3FN, stride = 592>, !scales -> !keys
    // The keys that other warps wrote are there.
    tilegpu.sync cta

    %s0 = tilegpu.dot %q_n, %keys, %s_zero {b_transposed} : !bq_n, !keys, !sf
    %s1 = tilegpu.dot %q_r, %rope, %s0 {b_transposed} : !bq_r, !rope, !sf
    %s2 = arith.mulf %s1, %scale : !sf
    %okb = tile.broadcast %ok along 0 : tensor<32xi1, #cand> -> tensor<16x32xi1, #acc_s>
    %s = arith.select %okb, %s2, %s_ninf : tensor<16x32xi1, #acc_s>, !sf

    // The maximum over the candidates of all warps.
    %mp = tilegpu.reduce_warp maximumf %s along 1 : !sf -> !pf
    tilegpu.store_shared %mp, %max_buf : !pf, !bpart
    tilegpu.sync cta
    %ma = tilegpu.load_shared %max_buf : !bpart -> tensor<16x4xf32, #all>
    %mt = tilegpu.reduce_warp maximumf %ma along 1 : tensor<16x4xf32, #all> -> !hf
    %m1 = arith.maximumf %m0, %mt : !hf
    %none = arith.cmpf oeq, %m1, %ninf : !hf
    %ref = arith.select %none, %zero, %m1 : !hi, !hf
    %dm = arith.subf %m0, %ref : !hf
    %a = math.exp2 %dm : !hf
    %refb = tile.broadcast %ref along 1 : !hf -> !sf
    %ds = arith.subf %s, %refb : !sf
    %p = math.exp2 %ds : !sf

    // The sum stays with its warp.
    %lp = tilegpu.reduce_warp addf %p along 1 : !sf -> !pf
    %ap = tile.broadcast %a along 1 : !hf -> !pf
    %la = arith.mulf %l0, %ap : !pf
    %l1 = arith.addf %la, %lp : !pf

    %p16 = arith.truncf %p : !sf to tensor<16x32xbf16, #acc_s>
    tilegpu.store_shared %p16, %p_buf : tensor<16x32xbf16, #acc_s>, !bp
    // Each warp multiplies the weights of all candidates with its own columns.
    tilegpu.sync cta
    %an = tile.broadcast %a along 1 : !hf -> !on
    %on1 = arith.mulf %on0, %an : !on
    %on2 = tilegpu.dot %p_buf, %keys, %on1 : !bp, !keys, !on
    %ar = tile.broadcast %a along 1 : !hf -> !or
    %or1 = arith.mulf %or0, %ar : !or
    %or2 = tilegpu.dot %p_buf, %rope, %or1 : !bp, !rope, !or
    tilegpu.mbarrier_arrive %empty[%stage] : !bars
    scf.yield %m1, %l1, %on2, %or2, %ids2, %next : !hf, !pf, !on, !or, tensor<32xi32, #ids>, i32
  }

  // The sums of the warps meet. A row without a valid candidate has sum 0 and
  // output 0.
  tilegpu.store_shared %l, %sum_buf : !pf, !bpart
  tilegpu.sync cta
  %lall = tilegpu.load_shared %sum_buf : !bpart -> tensor<16x4xf32, #all>
  %lsum = tilegpu.reduce_warp addf %lall along 1 : tensor<16x4xf32, #all> -> !hf
  %one = tile.full %f1 : f32 -> !hf
  %nothing = arith.cmpf oeq, %lsum, %zero : !hf
  %l2 = arith.select %nothing, %one, %lsum : !hi, !hf
  %factor = arith.divf %one, %l2 : !hf

  %fn = tile.broadcast %factor along 1 : !hf -> !on
  %yn = arith.mulf %on, %fn : !on
  %yn16 = arith.truncf %yn : !on to tensor<16x448xbf16, #acc_nope>
  tile.store %yn16, %out[%b, %t, %h, %c0] : tensor<16x448xbf16, #acc_nope>, !vout
  %fr = tile.broadcast %factor along 1 : !hf -> !or
  %yr = arith.mulf %or, %fr : !or
  %yr16 = arith.truncf %yr : !or to tensor<16x64xbf16, #acc_rope>
  tile.store %yr16, %out[%b, %t, %h, %c448] : tensor<16x64xbf16, #acc_rope>, !vout
  tile.return
}
