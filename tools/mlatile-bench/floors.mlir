// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a card can do at best, for mlatile-bench (docs/Benchmark.md): gathered
// rows alone, mma alone; and a read that puts other bytes into L2.

// Gathers the rows of %ids, %per_program of them a program, and keeps a sum of
// their scales, so that every row is waited for.
!ids  = tensor<?xi32, #tile.dims<BN>>
!mask = tensor<?xi1, #tile.dims<BN>>
!row  = tensor<?xf32, #tile.dims<BN>>
!ks   = tensor<?x?xf32, #tile.dims<BN, GROUPS>>
!rows = !tile.rows<FMT, [BN]>
!vids = !tile.view<[R], i32>
!vsum = !tile.view<[P, N], f32>

tile.kernel @gather params(FMT : format, BN : index = 32, WARPS : index = 4, GROUPS : index = FMT.groups) warps(WARPS)
    (%pool : !tile.pool<FMT>, %ids : !vids, %sums : !vsum, %per_program : index) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %skip = arith.constant -1 : i32
  %BN = tile.param BN : index
  %pid = tile.program_id 0 : index
  %R = tile.dim %ids, 0 : !vids
  %begin = arith.muli %pid, %per_program : index
  %stop = arith.addi %begin, %per_program : index
  %end = arith.minsi %stop, %R : index
  %zero = tile.full %f0 : f32 -> !row
  %sum = scf.for %n = %begin to %end step %BN iter_args(%sum0 = %zero) -> (!row) {
    %slots = tile.load %ids[%n] limit %end else %skip : !vids -> !ids
    %rows, %ok = tile.gather %pool[%slots] : !tile.pool<FMT>, !ids -> !rows, !mask
    %scales = tile.dequant %rows scale : !rows -> !ks
    %one = tile.reduce addf %scales along 1 : !ks -> !row
    %sum1 = arith.addf %sum0, %one : !row
    scf.yield %sum1 : !row
  } {tile.pipeline = #tile.pipeline<stages = 2>}
  tile.store %sum, %sums[%pid, %c0] : !row, !vsum
  tile.return
}

// %steps times the same product, into accumulators that never leave registers.
!a   = tensor<?x?xbf16, #tile.dims<M, K>>
!b   = tensor<?x?xbf16, #tile.dims<N, K>>
!bT  = tensor<?x?xbf16, #tile.dims<K, N>>
!acc = tensor<?x?xf32, #tile.dims<M, N>>
!col = tensor<?xf32, #tile.dims<M>>
!va  = !tile.view<[MM, KK], bf16>
!vb  = !tile.view<[NN, KK], bf16>

tile.kernel @mma params(M : index = 128, N : index = 128, K : index = 32, WARPS : index = 4) warps(WARPS)
    (%a : !va, %b : !vb, %sums : !vsum, %steps : index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %pid = tile.program_id 0 : index
  %at = tile.load %a[%c0, %c0] : !va -> !a
  %bt = tile.load %b[%c0, %c0] : !vb -> !b
  %bT = tile.transpose %bt : !b -> !bT
  %zero = tile.full %f0 : f32 -> !acc
  %acc = scf.for %i = %c0 to %steps step %c1 iter_args(%acc0 = %zero) -> (!acc) {
    %acc1 = tile.dot %at, %bT, %acc0 : !a, !bT, !acc
    scf.yield %acc1 : !acc
  }
  %col = tile.reduce addf %acc along 1 : !acc -> !col
  tile.store %col, %sums[%pid, %c0] : !col, !vsum
  tile.return
}

// Reads all of %data, %per_program rows of it a program.
!line = tensor<?x?xf32, #tile.dims<ROWS, COLUMNS>>
!lsum = tensor<?xf32, #tile.dims<ROWS>>
!vdata = !tile.view<[R, C], f32>

tile.kernel @read params(ROWS : index = 8, COLUMNS : index = 512, WARPS : index = 8) warps(WARPS)
    (%data : !vdata, %sums : !vsum, %per_program : index) {
  %c0 = arith.constant 0 : index
  %f0 = arith.constant 0.0 : f32
  %ROWS = tile.param ROWS : index
  %pid = tile.program_id 0 : index
  %begin = arith.muli %pid, %per_program : index
  %end = arith.addi %begin, %per_program : index
  %zero = tile.full %f0 : f32 -> !line
  %sum = scf.for %i = %begin to %end step %ROWS iter_args(%sum0 = %zero) -> (!line) {
    %part = tile.load %data[%i, %c0] : !vdata -> !line
    %sum1 = arith.addf %sum0, %part : !line
    scf.yield %sum1 : !line
  }
  %line = tile.reduce addf %sum along 1 : !line -> !lsum
  tile.store %line, %sums[%pid, %c0] : !lsum, !vsum
  tile.return
}
