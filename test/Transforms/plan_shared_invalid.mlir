// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s --tilegpu-plan-shared --verify-diagnostics
// RUN: mlatile-opt %s --tilegpu-plan-shared=target=sm_90a | FileCheck %s
// RUN: not mlatile-opt %s --tilegpu-plan-shared=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET

// The limit is the target's.
// CHECK: tilegpu.shared_bytes = 101392 : i64
// TARGET: error: unknown target `sm_75`

// expected-error@+1 {{expected at most 101376 bytes of shared memory on sm_120a, got 101392}}
tile.kernel @large warps(1) () {
  // expected-note@+1 {{buffer `keys`: 65536 bytes at 0}}
  %a = tilegpu.alloc "keys" : !tilegpu.buffer<64x512xbf16>
  // expected-note@+1 {{buffer `rows`: 35840 bytes at 65536}}
  %b = tilegpu.alloc "rows" : !tilegpu.ring<2, !tilegpu.buffer<17920xi8>>
  // expected-note@+1 {{buffer `full`: 16 bytes at 101376}}
  %c = tilegpu.alloc "full" : !tilegpu.mbarriers<2>
  tile.return
}
