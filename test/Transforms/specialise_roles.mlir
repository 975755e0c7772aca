// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is derived of roles.
// RUN: mlatile-opt %s -tile-specialise="params=ROLES=4c+4+8,WARPS=16" | FileCheck %s --check-prefix=ONCE
// RUN: mlatile-opt %s -tile-specialise="params=ROLES=4c:40+4:152+8:160@3,WARPS=16" | FileCheck %s --check-prefix=ONCE
// RUN: mlatile-opt %s -tile-specialise="params=ROLES=4+4+8,WARPS=16" | FileCheck %s --check-prefix=EACH
// RUN: mlatile-opt %s -tile-specialise="params=ROLES=none" | FileCheck %s --check-prefix=EACH
// RUN: mlatile-opt %s -tile-specialise | FileCheck %s --check-prefix=EACH
// RUN: not mlatile-opt %s -tile-specialise="params=CONVERTS=true" 2>&1 | FileCheck %s --check-prefix=GIVEN
// RUN: not mlatile-opt %s -tile-specialise="params=ROLES=4c+4+8,WARPS=16,FP8=1" 2>&1 | FileCheck %s --check-prefix=REFUSED

// GIVEN: error: 'tile.kernel' op parameter CONVERTS is derived as ROLES.converts and cannot be given
// ONCE: tile.bound = {CONVERTS = true,
// ONCE: math.exp2
// ONCE-NOT: math.log2
// EACH: tile.bound = {CONVERTS = false,
// EACH-NOT: math.exp2
// EACH: math.log2
tile.kernel @k params(ROLES : roles = none, CONVERTS : i1 = ROLES.converts, FP8 : index = 0, WARPS : index = 4) warps(WARPS) roles(ROLES)
    (%x : f32, %v : !tile.view<[N], f32>) {
  // REFUSED: error: requirement violated: not both (FP8 = 1, CONVERTS = 1)
  tile.require affine_set<(x, c) : (2 - 2 * c - x >= 0)>(FP8, CONVERTS), "not both"
  %c0 = arith.constant 0 : index
  %once = tile.param CONVERTS : i1
  %y = scf.if %once -> f32 {
    %a = math.exp2 %x : f32
    scf.yield %a : f32
  } else {
    %a = math.log2 %x : f32
    scf.yield %a : f32
  }
  tile.store %y, %v[%c0] : f32, !tile.view<[N], f32>
  tile.return
}
