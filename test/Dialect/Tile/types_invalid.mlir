// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mlatile-opt %s -split-input-file -verify-diagnostics
// Attributes and types: one case a constraint.

// dims_c1
// expected-error@+1 {{expected a dimension to be a name or an integer from 0 to 2147483647, got '-1'}}
func.func private @f(tensor<?xf32, #tile.dims<-1>>)

// -----
// dims_c1
// expected-error@+1 {{expected a dimension: a name or an integer}}
func.func private @f(tensor<?xf32, #tile.dims<?>>)

// -----
// dims_c2
// expected-error@+1 {{expected #tile.dims to have one entry a dimension, 2, got 1}}
func.func private @f(tensor<?x?xf32, #tile.dims<BH>>)

// -----
// dims_c3
// expected-error@+1 {{expected dimension 1 to be ? because #tile.dims says BN, got 64}}
func.func private @f(tensor<?x64xf32, #tile.dims<BH, BN>>)

// -----
// dims_c3
// expected-error@+1 {{expected dimension 0 to be 512 because #tile.dims says 512, got ?}}
func.func private @f(tensor<?xf32, #tile.dims<512>>)

// -----
// pipeline_c1
// expected-error@+1 {{expected stages from 1 to 8, got 9}}
#p = #tile.pipeline<stages = 9>

// -----
// pipeline_c2
// expected-error@+1 {{'tile.pipeline' stands on scf.for only}}
func.func private @f() attributes {tile.pipeline = #tile.pipeline<stages = 2>}

// -----
func.func @f(%i: index) {
  // expected-error@+1 {{expected 'tile.pipeline' to be #tile.pipeline<stages = N>, got 2}}
  scf.for %j = %i to %i step %i {
  } {tile.pipeline = 2}
  return
}

// -----
// A misspelt attribute is not ignored.
func.func @f(%i: index) {
  // expected-error@+1 {{unknown attribute 'tile.pipelne'; expected tile.pipeline, tile.bound or tile.roles}}
  scf.for %j = %i to %i step %i {
  } {tile.pipelne = #tile.pipeline<stages = 2>}
  return
}

// -----
// expected-error@+1 {{'tile.bound' is a dictionary and stands on tile.kernel only}}
func.func private @f() attributes {tile.bound = {}}

// -----
// parameter_c1
// expected-error@+1 {{parameter A: expected a default of type index, got true}}
#p = #tile.parameter<A : index = true>

// -----
// parameter_c1
// expected-error@+1 {{parameter A: expected a default of type i1, got 1 : index}}
#p = #tile.parameter<A : i1 = 1>

// -----
// parameter_c1
// expected-error@+1 {{parameter A: expected a default of type format, got 1 : index}}
#p = #tile.parameter<A : format = 1>

// -----
// parameter_c1
// expected-error@+1 {{parameter A: expected a default from 0 to 2147483647, got -1}}
#p = #tile.parameter<A : index = -1>

// -----
// parameter_c1
// expected-error@+1 {{parameter A: unknown cache format "dsv5", expected one of dsv3_2, glm, glm53_nope, dsv4,}}
#p = #tile.parameter<A : format = "dsv5">

// -----
// parameter_c2
// expected-error@+1 {{parameter A: expected a field of a format (nope, rope, group, groups, dim_qk, dim_v, rope_in_value, scale_e4m3, scale_f32) or of roles (converts), got 'page'}}
#p = #tile.parameter<A : index = FMT.page>

// -----
// parameter_c2
// expected-error@+1 {{parameter A: field rope_in_value is i1, got index}}
#p = #tile.parameter<A : index = FMT.rope_in_value>

// -----
// expected-error@+1 {{expected format, index, i1 or roles, got i32}}
#p = #tile.parameter<A : i32 = 4>

// -----
// parameter_c2: what is derived of roles
// expected-error@+1 {{parameter A: field converts is i1, got index}}
#p = #tile.parameter<A : index = ROLES.converts>

// -----
// expected-error@+1 {{expected an integer, true, false, none, a format or roles in quotes, or PARAMETER.field, got dsv4}}
#p = #tile.parameter<A : format = dsv4>

// -----
// expected-error@+1 {{expected the default of the parameter}}
#p = #tile.parameter<A : index = >

// -----
// expected-error@+1 {{expected the name of a parameter, got 'A.B'}}
#p = #tile.parameter<A.B : index>

// -----
// view_c1
// expected-error@+1 {{expected a dimension: a name or an integer}}
func.func private @f(!tile.view<[], f32>)

// -----
// view_c1
// expected-error@+1 {{expected a dimension to be a name or an integer from 0 to 2147483647, got '-4'}}
func.func private @f(!tile.view<[A, -4], f32>)

// -----
// view_c2
// expected-error@+1 {{expected the element to be an integer of 8, 16, 32 or 64 bits or a float of at most 64, got 'i1'}}
func.func private @f(!tile.view<[A], i1>)

// -----
// view_c2
// expected-error@+1 {{expected the element to be an integer of 8, 16, 32 or 64 bits or a float of at most 64, got 'f80'}}
func.func private @f(!tile.view<[A], f80>)

// -----
// pool_c1
// expected-error@+1 {{unknown cache format "dsv5", expected one of dsv3_2,}}
func.func private @f(!tile.pool<"dsv5">)

// -----
// rows_c1
// expected-error@+1 {{unknown cache format "dsv5", expected one of dsv3_2,}}
func.func private @f(!tile.rows<"dsv5", [4]>)

// -----
// rows_c2
// expected-error@+1 {{expected one dimension, the number of rows, got [4, BN]}}
func.func private @f(!tile.rows<"dsv4", [4, BN]>)

// -----
// expected-error@+1 {{expected the name of a format parameter, got 'A.B'}}
func.func private @f(!tile.pool<A.B>)

// -----

// parameter_c1
// expected-error@+1 {{parameter ROLES: expected a default of type roles, got "4+4"}}
tile.kernel @roles params(ROLES : roles = "4+4") warps(4) () {
  tile.return
}

// -----

// expected-error@+1 {{'tile.roles' is a text like "4+4+8" and stands on tile.kernel only}}
tile.kernel @roles_of_a_bound_kernel warps(4) () attributes {tile.roles = "none"} {
  tile.return
}
