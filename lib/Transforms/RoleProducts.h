// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the products of a role are done.
#ifndef MLATILE_LIB_TRANSFORMS_ROLEPRODUCTS_H
#define MLATILE_LIB_TRANSFORMS_ROLEPRODUCTS_H

#include "RolePartition.h"

namespace mlatile {

/// Of a first product whose rows are reduced: warps along the rows first, so
/// that reductions stay in a warp. Of a second one whose first factor
/// crosses: two row tiles a warp, which share each fragment of the second
/// factor; more of them would take registers for as many fragments of the
/// first one. What is left goes along the columns; others get what they get
/// unasked.
void arrangeProducts(Role role, int64_t warps, mlir::Block &block);

/// Sums that a loop carries and multiplies by factors, one a row or column, are
/// multiplied only where a factor is not one.
void scaleCarriedSums(mlir::Block &block);

} // namespace mlatile
#endif
