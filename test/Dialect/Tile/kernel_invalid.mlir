// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// One case a constraint; the numbers are those of the op descriptions.

// kernel_c1
// expected-error@+1 {{parameter A is declared twice}}
tile.kernel @k params(A : index, A : i1) warps(1) () { tile.return }

// -----
// kernel_c2
// expected-error@+1 {{parameter N: expected a format parameter declared before it, got FMT}}
tile.kernel @k params(N : index = FMT.nope, FMT : format) warps(1) () { tile.return }

// -----
// kernel_c2
// expected-error@+1 {{parameter N: expected a format parameter declared before it, got A}}
tile.kernel @k params(A : index, N : index = A.nope) warps(1) () { tile.return }

// -----
// kernel_c2: what is derived of roles
// expected-error@+1 {{parameter C: expected a roles parameter declared before it, got FMT}}
tile.kernel @k params(FMT : format, C : i1 = FMT.converts) warps(1) () { tile.return }

// -----
// kernel_c2
// expected-error@+1 {{parameter C: expected a roles parameter declared before it, got R}}
tile.kernel @k params(C : i1 = R.converts, R : roles = none, W : index = 1) warps(W) roles(R) () { tile.return }

// -----
// kernel_c2: roles are no format
// expected-error@+1 {{parameter N: expected a format parameter declared before it, got R}}
tile.kernel @k params(R : roles = none, N : index = R.nope, W : index = 1) warps(W) roles(R) () { tile.return }

// -----
// kernel_c3
// expected-error@+1 {{expected 1 to 32 warps, got 33}}
tile.kernel @k warps(33) () { tile.return }

// -----
// kernel_c3
// expected-error@+1 {{expected warps to be an integer or an index parameter, got W}}
tile.kernel @k params(W : i1) warps(W) () { tile.return }

// -----
// kernel_c4
// expected-error@+1 {{argument 0: expected a view, a pool or a scalar, got 'tensor<4xf32>'}}
tile.kernel @k warps(1) (%x: tensor<4xf32>) { tile.return }

// -----
// kernel_c4
// expected-error@+1 {{expected no results; use tile.store}}
"tile.kernel"() <{sym_name = "k", function_type = () -> i32, params = [], num_warps = 1 : i64, arg_names = []}> ({
  "tile.return"() : () -> ()
}) : () -> ()

// -----
// kernel_c5
// expected-error@+1 {{expected one name an argument, 1, got 0}}
"tile.kernel"() <{sym_name = "k", function_type = (i32) -> (), params = [], num_warps = 1 : i64, arg_names = []}> ({
^bb0(%a: i32):
  "tile.return"() : () -> ()
}) : () -> ()

// -----
// kernel_c5
// expected-error@+1 {{expected an argument's name to be a letter or _, then letters, digits or _, got '0'}}
tile.kernel @k warps(1) (%0: i32) { tile.return }

// -----
// kernel_c5
// expected-error@+1 {{two arguments are named 'a'}}
"tile.kernel"() <{sym_name = "k", function_type = (i32, i32) -> (), params = [], num_warps = 1 : i64, arg_names = ["a", "a"]}> ({
^bb0(%a: i32, %b: i32):
  "tile.return"() : () -> ()
}) : () -> ()

// -----
// kernel_c6: at the op, with the names that would do
// expected-note@+1 {{its parameters: BH, FMT}}
tile.kernel @k params(BH : index, FMT : format) warps(1) () {
  // expected-error@+1 {{dimension BX is not a parameter of kernel @k}}
  %i = tile.iota : tensor<?xi32, #tile.dims<BX>>
  tile.return
}

// -----
// kernel_c6
tile.kernel @k params(FMT : format) warps(1) () {
  // expected-error@+1 {{dimension FMT: expected an index parameter, got format}}
  %i = tile.iota : tensor<?xi32, #tile.dims<FMT>>
  tile.return
}

// -----
// kernel_c6: in an argument of a block
// expected-note@+1 {{its parameters: none}}
tile.kernel @k warps(1) (%a: index) {
  // expected-error@+1 {{dimension BX is not a parameter of kernel @k}}
  scf.execute_region {
    scf.yield
  ^bb1(%x: tensor<?xi32, #tile.dims<BX>>):
    scf.yield
  }
  tile.return
}

// -----
// kernel_c6: a format
// expected-error@+2 {{format FMT is not a parameter of kernel @k}}
// expected-note@+1 {{its parameters: none}}
tile.kernel @k warps(1) (%kv: !tile.pool<FMT>) { tile.return }

// -----
// kernel_c6
// expected-error@+1 {{format A: expected a format parameter, got index}}
tile.kernel @k params(A : index) warps(1) (%kv: !tile.pool<A>) { tile.return }

// -----
// kernel_c6: names of view dimensions are free unless they are parameters
// expected-error@+1 {{dimension S: expected an index parameter, got i1}}
tile.kernel @k params(S : i1) warps(1) (%v: !tile.view<[T, S], f32>) { tile.return }

// -----
// kernel_c7
// expected-error@+1 {{expected the body to end in tile.return}}
tile.kernel @k warps(1) (%v: index) {
  "llvm.unreachable"() : () -> ()
}

// -----
// kernel_c8
// expected-error@+1 {{expected roles to be a roles parameter, got BH}}
tile.kernel @k params(BH : index = 16) warps(4) roles(BH) () {
  tile.return
}

// -----
// tile.return
func.func @f() {
  // expected-error@+1 {{expects parent op 'tile.kernel'}}
  "tile.return"() : () -> ()
}

// -----
// param_c1
// expected-note@+1 {{its parameters: B}}
tile.kernel @k params(B : index) warps(1) () {
  // expected-error@+1 {{parameter A is not a parameter of kernel @k}}
  %a = tile.param A : index
  tile.return
}

// -----
// param_c2
tile.kernel @k params(B : index) warps(1) () {
  // expected-error@+1 {{parameter B is index, got 'i1'}}
  %a = tile.param B : i1
  tile.return
}

// -----
// param_c2
tile.kernel @k params(FMT : format) warps(1) () {
  // expected-error@+1 {{parameter FMT is format, got 'index'}}
  %a = tile.param FMT : index
  tile.return
}

// -----
// require_c1
tile.kernel @k params(A : index) warps(1) () {
  // expected-error@+1 {{expected one parameter a dimension of the set and no symbols, got 1 parameters, 2 dimensions and 0 symbols}}
  tile.require affine_set<(a, b) : (a - b == 0)>(A), "no"
  tile.return
}

// -----
// require_c1
tile.kernel @k params(A : index) warps(1) () {
  // expected-error@+1 {{got 1 parameters, 1 dimensions and 1 symbols}}
  tile.require affine_set<(a)[b] : (a - b == 0)>(A), "no"
  tile.return
}

// -----
// require_c2
// expected-note@+1 {{its parameters: A}}
tile.kernel @k params(A : index) warps(1) () {
  // expected-error@+1 {{parameter B is not a parameter of kernel @k}}
  tile.require affine_set<(b) : (b - 1 == 0)>(B), "no"
  tile.return
}

// -----
// require_c2
tile.kernel @k params(F : format) warps(1) () {
  // expected-error@+1 {{expected index or i1 parameters, got format F}}
  tile.require affine_set<(b) : (b - 1 == 0)>(F), "no"
  tile.return
}

// -----
// require_c3
tile.kernel @k params(A : index) warps(1) () {
  // expected-error@+1 {{expected a message that says what is required}}
  tile.require affine_set<(b) : (b - 1 == 0)>(A), ""
  tile.return
}

// -----
// program_id_c1
func.func @f() {
  // expected-error@+1 {{attribute 'axis' failed to satisfy constraint}}
  %0 = tile.program_id 3 : index
  return
}

// -----
// num_programs_c1
func.func @f() {
  // expected-error@+1 {{attribute 'axis' failed to satisfy constraint}}
  %0 = tile.num_programs -1 : index
  return
}

// -----
// dim_c1
func.func @f(%v: !tile.view<[A, B], f32>) {
  // expected-error@+1 {{expected an axis of the view, 0 to 1, got 2}}
  %0 = tile.dim %v, 2 : !tile.view<[A, B], f32>
  return
}

// -----
// dim_c1
func.func @f(%v: !tile.view<[A, B], f32>) {
  // expected-error@+1 {{expected an axis of the view, 0 to 1, got -1}}
  %0 = tile.dim %v, -1 : !tile.view<[A, B], f32>
  return
}

// -----

// kernel_c8
// expected-error@+1 {{expected roles to be a roles parameter, got BH}}
tile.kernel @kernel_c8 params(BH : index = 16) warps(4) roles(BH) () {
  tile.return
}
