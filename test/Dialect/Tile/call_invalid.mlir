// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// binding_c1
// expected-error@+1 {{expected a name: a letter or _, then letters, digits or _, got 'A.b'}}
module attributes {b = #tile.binding<A.b = 1>} {}

// -----
// binding_c1
// expected-error@+1 {{expected a name: a letter or _, then letters, digits or _, got 'FMT.nope'}}
module attributes {b = #tile.binding<A = FMT.nope>} {}

// -----
// binding_c2
// expected-error@+1 {{A: expected an integer from 0 to 2147483647, got -1}}
module attributes {b = #tile.binding<A = -1>} {}

// -----
// binding_c2
// expected-error@+1 {{A: unknown cache format "dsv5", expected one of dsv3_2, glm}}
module attributes {b = #tile.binding<A = "dsv5">} {}

// -----
// call_c1
tile.kernel @other warps(1) () { tile.return }
tile.kernel @k warps(1) () {
  // expected-error@+1 {{expected a function of the module, got @other}}
  tile.call @other() : () -> ()
  tile.return
}

// -----
// call_c2
// expected-note@+1 {{defined here}}
func.func private @step() {
  cf.br ^bb1
^bb1:
  return
}
tile.kernel @k warps(1) () {
  // expected-error@+1 {{expected @step to be one block that ends in func.return}}
  tile.call @step() : () -> ()
  tile.return
}

// -----
// call_c2
// expected-note@+1 {{defined here}}
func.func private @step() {
  llvm.unreachable
}
tile.kernel @k warps(1) () {
  // expected-error@+1 {{expected @step to be one block that ends in func.return}}
  tile.call @step() : () -> ()
  tile.return
}

// -----
// call_c3: also through func.call
func.func private @b() {
  func.call @c() : () -> ()
  return
}
func.func private @c() {
  // expected-error@+1 {{expected steps that do not call themselves, got @b -> @c -> @b}}
  tile.call @b() : () -> ()
  return
}

// -----
// call_c4
func.func private @step(!tile.pool<FMT>)
tile.kernel @k params(A : format) warps(1) (%kv: !tile.pool<A>) {
  // expected-error@+1 {{name FMT is bound twice}}
  tile.call @step(%kv) bind(FMT = A, FMT = A) : (!tile.pool<A>) -> ()
  tile.return
}

// -----
// call_c4: names of a step that it calls count, with what they are bound to there
func.func private @inner() {
  %n = tile.param N : index
  %m = tile.param M : index
  return
}
func.func private @step(%kv: !tile.pool<FMT>) {
  tile.call @inner() bind(M = L) : () -> ()
  return
}
tile.kernel @k params(A : format, N : index) warps(1) (%kv: !tile.pool<A>) {
  tile.call @step(%kv) bind(FMT = A, N = 1, L = 2) : (!tile.pool<A>) -> ()
  // expected-error@+1 {{expected names that @step uses (FMT, L, N), got M}}
  tile.call @step(%kv) bind(FMT = A, N = 1, L = 2, M = 3) : (!tile.pool<A>) -> ()
  tile.return
}

// -----
// call_c5
// expected-note@+1 {{declared here}}
func.func private @step(index)
tile.kernel @k warps(1) () {
  // expected-error@+1 {{expected 1 operands of @step, got 0}}
  tile.call @step() : () -> ()
  tile.return
}

// -----
// call_c5
// expected-note@+1 {{declared here}}
func.func private @step(index, tensor<?x?xf32, #tile.dims<BN, BH>>)
tile.kernel @k params(BM : index, BN : index, BH : index) warps(1) (%i: index) {
  %f = arith.constant 0.0 : f32
  %x = tile.full %f : f32 -> tensor<?x?xf32, #tile.dims<BN, BH>>
  // expected-error@+1 {{expected operand 1 of @step to be 'tensor<?x?xf32, #tile.dims<BM, BH>>' (BN bound to BM), got 'tensor<?x?xf32, #tile.dims<BN, BH>>'}}
  tile.call @step(%i, %x) bind(BN = BM) : (index, tensor<?x?xf32, #tile.dims<BN, BH>>) -> ()
  tile.return
}

// -----
// call_c5
// expected-note@+1 {{declared here}}
func.func private @step() -> !tile.rows<FMT, [BN]>
tile.kernel @k params(FMT : format, BN : index) warps(1) () {
  // expected-error@+1 {{expected result 0 of @step to be '!tile.rows<"dsv4", [16]>' (FMT bound to "dsv4", BN bound to 16), got '!tile.rows<FMT, [BN]>'}}
  %r = tile.call @step() bind(FMT = "dsv4", BN = 16) : () -> !tile.rows<FMT, [BN]>
  tile.return
}

// -----
// call_c6: at the call, with the kernel and the line of the step
func.func private @step() {
  // expected-note@+1 {{used here}}
  %i = tile.iota : tensor<?xi32, #tile.dims<BN>>
  return
}
// expected-note@+1 {{its parameters: BM}}
tile.kernel @k params(BM : index) warps(1) () {
  tile.call @step() bind(BN = BM) : () -> ()
  // expected-error@+1 {{in step @step: dimension BN is not a parameter of kernel @k}}
  tile.call @step() : () -> ()
  tile.return
}

// -----
// call_c6: through a step that it calls
func.func private @inner() {
  // expected-note@+1 {{used here}}
  %n = tile.param N : index
  return
}
func.func private @step() {
  func.call @inner() : () -> ()
  return
}
// expected-note@+1 {{its parameters: N}}
tile.kernel @k params(N : index) warps(1) () {
  tile.call @step() : () -> ()
  // expected-error@+1 {{in step @inner: parameter N, bound to M, is not a parameter of kernel @k}}
  tile.call @step() bind(N = M) : () -> ()
  tile.return
}

// -----
// call_c6: kinds of parameters
func.func private @step() {
  // expected-note@+1 {{used here}}
  %i = tile.iota : tensor<?xi32, #tile.dims<BN>>
  return
}
tile.kernel @k params(FMT : format, BN : index) warps(1) () {
  tile.call @step() : () -> ()
  // expected-error@+1 {{in step @step: dimension FMT: expected an index parameter, got format}}
  tile.call @step() bind(BN = FMT) : () -> ()
  tile.return
}

// -----
// call_c6
func.func private @step() {
  // expected-note@+1 {{used here}}
  %n = tile.param N : index
  return
}
tile.kernel @k params(ON : i1) warps(1) () {
  // expected-error@+1 {{in step @step: parameter ON is i1, got 'index'}}
  tile.call @step() bind(N = ON) : () -> ()
  tile.return
}

// -----
// call_c6: values, also where no kernel is
func.func private @step(%kv: !tile.pool<FMT>) {
  // expected-note@+1 {{used here}}
  %i = tile.iota : tensor<?xi32, #tile.dims<BN>>
  return
}
func.func private @caller(%kv: !tile.pool<FMT>) {
  // expected-error@+1 {{in step @step: dimension BN: expected an integer, got true}}
  tile.call @step(%kv) bind(BN = true) : (!tile.pool<FMT>) -> ()
  return
}

// -----
// call_c6
func.func private @step() {
  // expected-note@+1 {{used here}}
  %on = tile.param ON : i1
  return
}
func.func private @caller() {
  // expected-error@+1 {{in step @step: parameter ON: expected true or false, got 1}}
  tile.call @step() bind(ON = 1) : () -> ()
  return
}

// -----
// call_c6
func.func private @step() {
  // expected-note@+1 {{used here}}
  %n = tile.param N : index
  return
}
func.func private @caller() {
  // expected-error@+1 {{in step @step: parameter N: expected an integer, got "dsv4"}}
  tile.call @step() bind(N = "dsv4") : () -> ()
  return
}

// -----
// call_c6
// expected-note@+1 {{used here}}
func.func private @step(%kv: !tile.pool<FMT>) {
  return
}
func.func private @caller(%kv: !tile.pool<FMT>) {
  // expected-error@+1 {{in step @step: format FMT: expected a format in quotes, got 16}}
  tile.call @step(%kv) bind(FMT = 16) : (!tile.pool<FMT>) -> ()
  return
}

// -----
// call_c6: dequant_c3 of the kernel, when the format alone is bound
func.func private @step(%r: !tile.rows<FMT, [BN]>) {
  // expected-note@+1 {{used here}}
  %d = tile.dequant %r nope : !tile.rows<FMT, [BN]> -> tensor<?x?xbf16, #tile.dims<BN, NOPE>>
  return
}
tile.kernel @k params(FMT : format, EXTRA : format, BN : index, NOPE : index = 448,
                      EXTRA_NOPE : index = EXTRA.nope) warps(1) (%kv: !tile.pool<EXTRA>) {
  %ids = tile.iota : tensor<?xi32, #tile.dims<BN>>
  %r, %ok = tile.gather %kv[%ids] : !tile.pool<EXTRA>, tensor<?xi32, #tile.dims<BN>> -> !tile.rows<EXTRA, [BN]>, tensor<?xi1, #tile.dims<BN>>
  tile.call @step(%r) bind(FMT = EXTRA, NOPE = EXTRA_NOPE) : (!tile.rows<EXTRA, [BN]>) -> ()
  // expected-error@+1 {{in step @step: expected the second dimension to be a parameter derived as EXTRA.nope, got NOPE}}
  tile.call @step(%r) bind(FMT = EXTRA) : (!tile.rows<EXTRA, [BN]>) -> ()
  tile.return
}
