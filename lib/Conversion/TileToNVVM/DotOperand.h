// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of tilegpu.dot as fragments of mma.sync m16n8k16.
//
// A warp owns tiles (i, j) of c; per step of 16 along K an operand gives a
// fragment for each i (A) or j (B). Fragments come from tensors (registers in
// operand layout), from 16-bit buffers, or from quantised buffers, converted.
//
// Elements may be packed (DistributedLayout::mmaAccumulator): where a quantised
// operand has its columns along K, the lane holds 2 << packK neighbours of K,
// those of max(1, packK) steps, and the other operand does as well.
#ifndef MLATILE_LIB_CONVERSION_TILETONVVM_DOTOPERAND_H
#define MLATILE_LIB_CONVERSION_TILETONVVM_DOTOPERAND_H

#include "SharedAddress.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Instructions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <array>
#include <map>
#include <memory>

namespace mlatile {

inline constexpr isa::MmaShape kMma16 = isa::mmaShape(16);

/// What both operands need to know of the product.
struct DotTiles {
  tilegpu::WarpGrid grid;
  int tilesM, tilesN, steps; ///< of one warp
  int packK;
  DistributedLayout::Bases warps;

  DotTiles(const DistributedLayout &c, const tilegpu::WarpGrid &grid, int64_t k,
           int packK)
      : grid(grid),
        tilesM(static_cast<int>(c.reps()[0]) * tilesIn(grid.packM, true)),
        tilesN(static_cast<int>(c.reps()[1]) * tilesIn(grid.packN, false)),
        steps(static_cast<int>(k / kMma16.k)), packK(packK),
        warps(c.warpBases()) {}

  /// Tiles of the instruction in a block of the layout.
  static int tilesIn(int pack, bool alongM) {
    return 1 << (alongM ? std::max(pack - 1, 0) : pack);
  }
  /// Where the elements of a lane stand along K: the first of a step, the
  /// distance of the two pairs of a step, and that of the pairs of lanes.
  int64_t stepStart(int step) const {
    int together = std::max(packK, 1);
    return int64_t(step / together) * together * kMma16.k +
           4 * (step % together);
  }
  int64_t halfStep() const { return packK ? 2 : kMma16.k / 2; }
  int64_t pairStep() const { return int64_t(2) << packK; }
  /// The first register of tile (i, j) of c.
  int registerOf(int i, int j) const {
    int inM = tilesIn(grid.packM, true), inN = tilesIn(grid.packN, false);
    int block = (i / inM) * (tilesN / inN) + j / inN;
    return ((block * inM + i % inM) * inN + j % inN) * kMma16.regsC;
  }
};

/// Fragments of one operand, loaded when first asked for.
class DotOperandLoader {
public:
  using Fragment = llvm::SmallVector<mlir::Value, 4>;

  DotOperandLoader(mlir::OpBuilder &builder, mlir::Location loc,
                   const DotTiles &dot, bool isA, mlir::Type element)
      : builder(builder), loc(loc), dot(dot), isA(isA), element(element),
        tiles(isA ? dot.tilesM : dot.tilesN),
        fragmentRegs(isA ? kMma16.regsA : kMma16.regsB) {}
  virtual ~DotOperandLoader() = default;

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  /// The registers of the fragment of tile `tile` (i or j) and step `step`.
  llvm::ArrayRef<mlir::Value> fragment(int tile, int step) {
    Fragment &entry = fragments[{tile, step}];
    if (entry.empty())
      load(tile, step);
    return fragments[{tile, step}];
  }

protected:
  /// Puts at least that fragment into `fragments`.
  virtual void load(int tile, int step) = 0;

  /// An i32 or a pair of elements as the mma wants it: i32 for bf16, a vector
  /// for f16.
  mlir::Value asOperand(mlir::Value pair);
  mlir::Value i32(int64_t value) { return constI32(builder, loc, value); }
  /// `matrices` 8 x 8 matrices of 16 bits, one i32 each; `transposed`: rows of
  /// memory are columns of the fragment.
  llvm::SmallVector<mlir::Value> ldmatrix(mlir::Value address, int matrices,
                                          bool transposed);
  /// Byte offset, in the entry block, of what the thread's bits select:
  /// (outer, k) for each bit of the lane, (M, N) for each bit of the warp.
  mlir::Value threadOffset(llvm::ArrayRef<std::array<int64_t, 2>> laneBases,
                           tilegpu::BufferType buffer, bool rowsAreOuter,
                           const DistributedLayout::Bases &warpBases);
  mlir::Value threadOffset(llvm::ArrayRef<std::array<int64_t, 2>> laneBases,
                           tilegpu::BufferType buffer, bool rowsAreOuter) {
    return threadOffset(laneBases, buffer, rowsAreOuter, dot.warps);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const DotTiles &dot;
  bool isA;
  mlir::Type element; ///< of the fragments, bf16 or f16
  int tiles, fragmentRegs;
  std::map<std::pair<int, int>, Fragment> fragments;
};

/// The loader of an operand of `op`, whose converted value is `converted` and
/// whose converted scales, if any, are `scales`.
std::unique_ptr<DotOperandLoader>
makeDotOperand(mlir::OpBuilder &builder, tilegpu::DotOp op, const DotTiles &dot,
               bool isA, mlir::Type element, mlir::Value converted,
               mlir::Value scales);

/// Likewise of a buffer of 16 bits, `rowsAreOuter`: its columns run along K.
std::unique_ptr<DotOperandLoader>
makeBufferDotOperand(mlir::OpBuilder &builder, mlir::Location loc,
                     const DotTiles &dot, bool isA, tilegpu::BufferType buffer,
                     bool rowsAreOuter, mlir::Value pointer);

/// Likewise of a quantised buffer (DotQuantisedOperand.cpp).
std::unique_ptr<DotOperandLoader> makeQuantisedDotOperand(
    mlir::OpBuilder &builder, mlir::Location loc, const DotTiles &dot, bool isA,
    mlir::Type element, tilegpu::BufferType buffer, bool rowsAreOuter,
    mlir::Value pointer, tilegpu::BufferType scalesType, mlir::Value scales);

} // namespace mlatile
#endif
