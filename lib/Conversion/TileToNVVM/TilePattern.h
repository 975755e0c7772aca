// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_TILEPATTERN_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_TILEPATTERN_H

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

namespace mlatile {

/// A pattern that packs and unpacks the registers of tiles.
template <typename Op>
struct TilePattern : mlir::ConvertOpToLLVMPattern<Op> {
  using mlir::ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;

protected:
  const TileTypeConverter &types() const {
    return *static_cast<const TileTypeConverter *>(this->getTypeConverter());
  }
};

} // namespace mlatile
#endif
