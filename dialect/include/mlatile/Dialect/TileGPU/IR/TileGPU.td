// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_DIALECT_TILEGPU_IR_TILEGPU_TD
#define MLATILE_DIALECT_TILEGPU_IR_TILEGPU_TD
include "mlatile/Dialect/TileGPU/IR/TileGPUDialect.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUAttrs.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUTypes.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUSharedOps.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUAsyncOps.td"
include "mlatile/Dialect/TileGPU/IR/TileGPUComputeOps.td"
include "mlatile/Dialect/TileGPU/IR/TileGPURoleOps.td"
#endif
