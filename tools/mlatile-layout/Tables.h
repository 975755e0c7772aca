// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts as tables of text.
#ifndef MLATILE_LAYOUT_TABLES_H
#define MLATILE_LAYOUT_TABLES_H

#include "mlatile/Analysis/DistributedLayout.h"
#include "llvm/Support/raw_ostream.h"

namespace mlatile {

/// The attribute text, sizes, copies, vectors and exchanges.
void printSummary(llvm::raw_ostream &os, const DistributedLayout &layout);
/// One line a basis.
void printBases(llvm::raw_ostream &os, const DistributedLayout &layout);
/// One cell an element of the block (rank 1 or 2): warp:lane:register of the
/// first holder, and " xN" where N threads hold it.
void printElements(llvm::raw_ostream &os, const DistributedLayout &layout);
/// One line a lane of a warp, one column a register of the block.
void printThreads(llvm::raw_ostream &os, const DistributedLayout &layout,
                  int warp);
/// What a conversion from one layout to the other has to cross.
void printConversion(llvm::raw_ostream &os, const DistributedLayout &from,
                     const DistributedLayout &to);

} // namespace mlatile
#endif
