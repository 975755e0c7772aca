// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All ops, for TableGen; by topic in the files below.
#ifndef MLATILE_DIALECT_TILE_IR_TILEOPS_TD
#define MLATILE_DIALECT_TILE_IR_TILEOPS_TD

include "mlatile/Dialect/Tile/IR/TileCallOps.td"
include "mlatile/Dialect/Tile/IR/TileClusterOps.td"
include "mlatile/Dialect/Tile/IR/TileCounterOps.td"
include "mlatile/Dialect/Tile/IR/TileKernelOps.td"
include "mlatile/Dialect/Tile/IR/TileLaunchOps.td"
include "mlatile/Dialect/Tile/IR/TileMathOps.td"
include "mlatile/Dialect/Tile/IR/TileMemoryOps.td"

#endif
