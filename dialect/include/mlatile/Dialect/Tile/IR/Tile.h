// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `tile`: kernels, parameters, views, pools and tiles as the author
// writes them. Ops, types and attributes are described in the .td files here.
#ifndef MLATILE_DIALECT_TILE_IR_TILE_H
#define MLATILE_DIALECT_TILE_IR_TILE_H

#include "mlatile/Target/Format.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mlatile/Dialect/Tile/IR/TileDialect.h.inc"
#include "mlatile/Dialect/Tile/IR/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mlatile/Dialect/Tile/IR/TileAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "mlatile/Dialect/Tile/IR/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "mlatile/Dialect/Tile/IR/TileOps.h.inc"

#include "mlatile/Dialect/Tile/IR/Dims.h"

#endif
