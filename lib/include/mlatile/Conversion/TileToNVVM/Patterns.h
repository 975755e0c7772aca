// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The patterns of convert-tile-to-nvvm, one populate function an op family,
// each in the file of that name. All of them run in one full conversion: a
// pattern sees converted operands, reads layouts from the original op, and
// fails with an error on the op (emitOpError, then failure()) if it is asked
// something that the passes before should have removed.
#ifndef MLATILE_CONVERSION_TILETONVVM_PATTERNS_H
#define MLATILE_CONVERSION_TILETONVVM_PATTERNS_H

#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlatile/Target/Target.h"
#include "mlir/IR/PatternMatch.h"

namespace mlatile {

/// The arena of a kernel is an internal global of exactly its size,
/// addrspace(3), named so with the kernel's name behind it. Static, since both
/// ptxas and the driver take static arrays up to the opt-in limit (seen on an
/// H200 with 232,448 bytes and no dynamic size at launch).
inline constexpr llvm::StringLiteral kSharedArenaPrefix = "mlatile_shared_";
inline constexpr unsigned kSharedArenaAlignment = 1024;
/// On llvm.func: bytes of the arena (i64).
inline constexpr llvm::StringLiteral kSharedBytesAttr = "tilegpu.shared_bytes";
/// On llvm.func (unit): blocks wait for others of their launch, all of which
/// must be able to run at the same time.
inline constexpr llvm::StringLiteral kCoresidentAttr = "tilegpu.coresident";
/// On llvm.func: one dictionary a kernel argument (name, kind, rank, element).
inline constexpr llvm::StringLiteral kArgsAttr = "tilegpu.args";

/// ptr<3>: byte `offset` of the arena of the kernel around the insertion point.
/// Emits in the entry block.
mlir::Value arenaAddress(mlir::OpBuilder &builder, mlir::Location loc,
                         int64_t offset);

/// tile.kernel, tile.return.
void populateKernelPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tile.launch_dependents, tile.wait_dependencies.
void populateLaunchPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tile.atomic_inc, tile.wait_until.
void populateCounterPatterns(TileTypeConverter &, const Target &,
                             mlir::RewritePatternSet &);
/// tile.load, tile.store.
void populateGlobalPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// arith on laid-out tensors.
void populateElementwisePatterns(TileTypeConverter &, const Target &,
                                 mlir::RewritePatternSet &);
/// math on laid-out tensors and on scalars.
void populateMathPatterns(TileTypeConverter &, const Target &,
                          mlir::RewritePatternSet &);
/// tilegpu.reduce_warp.
void populateReducePatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tile.full, tile.iota, tile.broadcast, tile.transpose,
/// tilegpu.convert_layout, extract_slice, insert_slice.
void populateScalePatterns(TileTypeConverter &, const Target &,
                           mlir::RewritePatternSet &);
void populateLayoutPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tile.program_id, tile.num_programs, tile.dim, tile.slots.
void populateProgramPatterns(TileTypeConverter &, const Target &,
                             mlir::RewritePatternSet &);
/// tilegpu.convert_layout that transposes 8 x 8 matrices.
void populateMovmatrixPatterns(TileTypeConverter &, const Target &,
                               mlir::RewritePatternSet &);
/// tilegpu.dot.
void populateDotPatterns(TileTypeConverter &, const Target &,
                         mlir::RewritePatternSet &);
/// tilegpu.alloc, stage, view, store_shared, load_shared.
void populateSharedPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tilegpu.load_shared of fragments.
void populateFragmentLoadPatterns(TileTypeConverter &, const Target &,
                                  mlir::RewritePatternSet &);
/// tilegpu.load_peer, cluster_arrive, cluster_wait.
void populatePeerPatterns(TileTypeConverter &, const Target &,
                          mlir::RewritePatternSet &);
/// tilegpu.gather_async.
void populateGatherPatterns(TileTypeConverter &, const Target &,
                            mlir::RewritePatternSet &);
/// tilegpu.copy_async.
void populateCopyPatterns(TileTypeConverter &, const Target &,
                          mlir::RewritePatternSet &);
/// tilegpu.dequant.
void populateDequantPatterns(TileTypeConverter &, const Target &,
                             mlir::RewritePatternSet &);
/// tilegpu.mbarrier_*, tilegpu.sync.
void populateBarrierPatterns(TileTypeConverter &, const Target &,
                             mlir::RewritePatternSet &);

} // namespace mlatile
#endif
