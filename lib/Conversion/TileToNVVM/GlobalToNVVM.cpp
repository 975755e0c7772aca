// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.load and tile.store: tiles of strided views in global memory.
//
// Loads: by vectors or by scalars, one uniform branch for the op; elements out
// of range are replaced. Stores outside the box, and those of threads that hold
// copies, are jumped over; where lanes can exchange registers for longer
// vectors, they do. See TileAccess.h, LaneExchange.h.
#include "LaneExchange.h"
#include "TileAccess.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mlatile {
namespace {

/// Elements must be whole bytes.
bool isStorable(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits >= 8 && bits <= 64 && llvm::isPowerOf2_32(bits);
}

/// Splits behind the insertion point; what follows `op` goes into the result.
Block *splitBefore(ConversionPatternRewriter &rewriter, Operation *op) {
  return rewriter.splitBlock(op->getBlock(), Block::iterator(op));
}

/// Registers of a load, between memory and the end of the op. Elements below 4
/// bytes travel as words, if vectors can fill one: cheaper to choose between
/// and to carry into another block.
struct Words {
  Type element;
  int perWord; ///< registers a word, 1 = no words

  Words(Type element, int vectorWidth, int elementBytes)
      : element(element),
        perWord(elementBytes < 4 && vectorWidth * elementBytes >= 4
                    ? 4 / elementBytes
                    : 1) {}
  Type type(OpBuilder &b) const {
    return perWord > 1 ? b.getI32Type() : element;
  }
  Value make(OpBuilder &b, Location loc, ArrayRef<Value> elements) const {
    if (perWord == 1)
      return elements[0];
    return LLVM::BitcastOp::create(b, loc, b.getI32Type(),
                                   packVector(b, loc, elements));
  }
  void split(OpBuilder &b, Location loc, Value word,
             SmallVectorImpl<Value> &elements) const {
    if (perWord == 1) {
      elements.push_back(word);
      return;
    }
    Value vector = LLVM::BitcastOp::create(
        b, loc, VectorType::get(perWord, element), word);
    for (int i = 0; i < perWord; ++i)
      elements.push_back(
          LLVM::ExtractElementOp::create(b, loc, vector, constI32(b, loc, i)));
  }
};

/// The blocks of an access, in front of `after`: by vectors if all of them fit,
/// else by scalars. `emit(width, whole)` fills a block and ends it. Returns the
/// first one.
Block *emitPaths(ConversionPatternRewriter &b, Location loc, TileAccess &access,
                 Block *after, llvm::function_ref<void(int, bool)> emit) {
  auto path = [&](int width, bool whole) {
    Block *block = b.createBlock(after);
    access.startPath();
    emit(width, whole);
    return block;
  };
  int width = access.vectorWidth();
  if (width == 1)
    return path(1, /*whole=*/false);
  Block *first = b.createBlock(after);
  Value fit = access.vectorsFit(width);
  Block *vectors = path(width, /*whole=*/true);
  Block *scalars = path(1, /*whole=*/false);
  b.setInsertionPointToEnd(first);
  LLVM::CondBrOp::create(b, loc, fit, vectors, scalars);
  return first;
}

/// A load where `mask` is set, else `pad`. The machine's load is predicated: a
/// choice behind it would wait for it.
Value loadIf(ConversionPatternRewriter &b, Location loc, Value mask, Type type,
             Value pointer, unsigned alignment, Value pad) {
  Block *here = b.getInsertionBlock();
  Block *after = b.createBlock(here->getParent(),
                               std::next(here->getIterator()), type, loc);
  Block *load = b.createBlock(after);
  Value loaded = LLVM::LoadOp::create(b, loc, type, pointer, alignment);
  LLVM::BrOp::create(b, loc, loaded, after);
  b.setInsertionPointToEnd(here);
  LLVM::CondBrOp::create(b, loc, mask, load, ValueRange(), after, pad);
  b.setInsertionPointToEnd(after);
  return after->getArgument(0);
}

/// All registers as words, in the order of vectors, each of them by one load.
SmallVector<Value> emitLoads(ConversionPatternRewriter &b, Location loc,
                             TileAccess &access, const Words &words, int width,
                             bool whole, Value pad) {
  SmallVector<Value> results, elements;
  int wordsPerVector = std::max(1, width / words.perWord);
  Value padWord;
  for (int i = 0; i < access.registers(); i += width) {
    int reg = access.registerAt(i);
    Value mask = access.mask(reg, whole);
    // Ids, which loops load ahead.
    if (mask && access.registers() == 1 && words.perWord == 1) {
      results.push_back(loadIf(b, loc, mask, words.element, access.address(reg),
                               access.bytes(), pad));
      continue;
    }
    Type word = width == 1 ? words.element : words.type(b);
    Type type =
        wordsPerVector > 1 ? VectorType::get(wordsPerVector, word) : word;
    Value loaded = LLVM::LoadOp::create(
        b, loc, type, access.readable(reg, mask), width * access.bytes());
    if (mask && !padWord)
      padWord = width == 1 ? pad
                           : words.make(b, loc,
                                        SmallVector<Value>(words.perWord, pad));
    for (int i = 0; i < wordsPerVector; ++i) {
      Value value = loaded;
      if (wordsPerVector > 1)
        value =
            LLVM::ExtractElementOp::create(b, loc, loaded, constI32(b, loc, i));
      if (mask)
        value = LLVM::SelectOp::create(b, loc, mask, value, padWord);
      if (width > 1) {
        results.push_back(value);
        continue;
      }
      elements.push_back(value);
      if (static_cast<int>(elements.size()) == words.perWord) {
        results.push_back(words.make(b, loc, elements));
        elements.clear();
      }
    }
  }
  return results;
}

struct LoadPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
    auto layout = TileTypeConverter::layoutOf(op.getResult().getType());
    if (tensor && !layout)
      return op.emitOpError("expected a tensor with a layout of its shape");
    Type element = tensor ? types().elementType(tensor)
                          : types().convertType(op.getResult().getType());
    if (!element || !isStorable(element))
      return op.emitOpError("expected elements of 8 to 64 bits, got ")
             << op.getResult().getType();

    Value pad = adaptor.getPad();
    if (!pad)
      pad = LLVM::ConstantOp::create(rewriter, loc, element,
                                     rewriter.getZeroAttr(element));
    TileAccess access(rewriter, loc, adaptor.getView(), adaptor.getIndices(),
                      adaptor.getLimit(), layout, element);
    Words words(element, access.vectorWidth(), access.bytes());
    size_t count = access.registers() / words.perWord;

    // load, if anything is in range, by vectors or scalars; then join.
    Value any = access.anyInRange();
    Value padWord =
        words.make(rewriter, loc, SmallVector<Value>(words.perWord, pad));
    Block *before = op->getBlock();
    Block *after = splitBefore(rewriter, op);
    Block *join = rewriter.createBlock(
        after, SmallVector<Type>(count, words.type(rewriter)),
        SmallVector<Location>(count, loc));
    LLVM::BrOp::create(rewriter, loc, ValueRange(), after);
    Block *loads =
        emitPaths(rewriter, loc, access, join, [&](int width, bool whole) {
          SmallVector<Value> loaded =
              emitLoads(rewriter, loc, access, words, width, whole, pad);
          LLVM::BrOp::create(rewriter, loc, loaded, join);
        });
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, loc, any, loads, ValueRange(), join,
                           SmallVector<Value>(count, padWord));

    rewriter.setInsertionPoint(op);
    SmallVector<Value> ordered;
    for (Value word : join->getArguments())
      words.split(rewriter, loc, word, ordered);
    SmallVector<Value> regs(ordered.size());
    for (auto [i, value] : llvm::enumerate(ordered))
      regs[access.registerAt(i)] = value;
    rewriter.replaceOp(op, tensor ? types().pack(rewriter, loc, tensor, regs)
                                  : regs.front());
    return success();
  }
};

/// Stores of all registers; ends in a jump to `done`. Those with one mask share
/// a branch.
void emitStores(ConversionPatternRewriter &b, Location loc, TileAccess &access,
                ArrayRef<Value> regs, int width, bool whole, Block *done) {
  // Masks and pointers before the first branch, so that they may be shared.
  struct Access {
    int first; ///< in the order of vectors
    Value pointer;
  };
  llvm::MapVector<Value, SmallVector<Access>> byMask;
  for (int i = 0; i < access.registers(); i += width) {
    int reg = access.registerAt(i);
    Value mask = access.mask(reg, whole);
    byMask[mask].push_back({i, access.address(reg)});
  }
  for (auto &[mask, accesses] : byMask) {
    Block *next = nullptr;
    if (mask) {
      Block *here = b.getInsertionBlock();
      Block *guarded = b.createBlock(done);
      next = b.createBlock(done);
      b.setInsertionPointToEnd(here);
      LLVM::CondBrOp::create(b, loc, mask, guarded, next);
      b.setInsertionPointToEnd(guarded);
    }
    for (auto [first, pointer] : accesses) {
      SmallVector<Value> elements;
      for (int i = 0; i < width; ++i)
        elements.push_back(regs[access.registerAt(first + i)]);
      LLVM::StoreOp::create(b, loc, packVector(b, loc, elements), pointer,
                            width * access.bytes());
    }
    if (next) {
      LLVM::BrOp::create(b, loc, ValueRange(), next);
      b.setInsertionPointToEnd(next);
    }
  }
  LLVM::BrOp::create(b, loc, ValueRange(), done);
}

struct StorePattern : TilePattern<tile::StoreOp> {
  using TilePattern::TilePattern;
  // The rest of a split store may be split again: it has fewer repetitions.
  void initialize() { setHasBoundedRewriteRecursion(); }
  LogicalResult
  matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto layout = TileTypeConverter::layoutOf(op.getValue().getType());
    if (layout && splitForExchange(rewriter, op, *layout))
      return success();
    SmallVector<Value> regs{adaptor.getValue()};
    if (isa<RankedTensorType>(op.getValue().getType())) {
      if (!layout)
        return op.emitOpError("expected a tensor with a layout of its shape");
      regs = TileTypeConverter::unpack(rewriter, loc, adaptor.getValue());
    }
    Type element = regs.front().getType();
    if (!element.isIntOrFloat() || !isStorable(element))
      return op.emitOpError("expected elements of 8 to 64 bits, got ")
             << op.getValue().getType();

    TileAccess access(rewriter, loc, adaptor.getView(), adaptor.getIndices(),
                      adaptor.getLimit(), layout, element);
    Value any = access.anyInRange();
    if (Value mine = access.mayStore())
      any = LLVM::AndOp::create(rewriter, loc, any, mine);
    Block *before = op->getBlock();
    Block *after = splitBefore(rewriter, op);
    std::optional<LaneExchange> exchange;
    if (layout)
      exchange = LaneExchange::plan(*layout, access.bytes());
    Block *stores;
    if (exchange) {
      rewriter.setInsertionPointToEnd(before);
      stores =
          emitExchanged(rewriter, op, adaptor, *exchange, access, regs, after);
    } else {
      stores =
          emitPaths(rewriter, loc, access, after, [&](int width, bool whole) {
            emitStores(rewriter, loc, access, regs, width, whole, after);
          });
    }
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, loc, any, stores, after);
    rewriter.eraseOp(op);
    return success();
  }

  /// Two stores in the place of one, where the repetitions of the first part
  /// can be exchanged for longer vectors than all of them.
  static bool splitForExchange(ConversionPatternRewriter &rewriter,
                               tile::StoreOp op,
                               const DistributedLayout &layout) {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    int dim = layout.rank() - 1;
    if (!isStorable(type.getElementType()))
      return false;
    int64_t even = LaneExchange::evenRepetitions(
        layout, static_cast<int>(type.getElementTypeBitWidth() / 8));
    if (!even)
      return false;
    Location loc = op.getLoc();
    int64_t split = even * layout.blockShape()[dim];
    int64_t size = type.getDimSize(dim);
    for (auto [from, to] :
         {std::pair<int64_t, int64_t>{0, split}, {split, size}}) {
      SmallVector<int64_t> shape(type.getShape()), offsets(layout.rank(), 0);
      shape[dim] = to - from;
      offsets[dim] = from;
      auto reps = layout.reps();
      reps[dim] = (to - from) / layout.blockShape()[dim];
      auto window = DistributedLayout::create(
          layout.regBases(), layout.laneBases(), layout.warpBases(), reps);
      if (!window)
        return false;
      auto part = RankedTensorType::get(
          shape, type.getElementType(),
          tilegpu::LayoutAttr::get(op.getContext(), *window));
      Value slice = tilegpu::ExtractSliceOp::create(rewriter, loc, part,
                                                    op.getValue(), offsets);
      SmallVector<Value> indices(op.getIndices());
      if (from)
        indices.back() = arith::AddIOp::create(
            rewriter, loc, indices.back(),
            arith::ConstantIndexOp::create(rewriter, loc, from));
      tile::StoreOp::create(rewriter, loc, slice, op.getView(), indices,
                            op.getLimit());
    }
    rewriter.eraseOp(op);
    return true;
  }

  /// As emitPaths: by vectors of exchanged registers, else by scalars of those
  /// that are there. At the insertion point, `wide` finds its place in the
  /// view.
  static Block *emitExchanged(ConversionPatternRewriter &rewriter,
                              tile::StoreOp op, OpAdaptor adaptor,
                              const LaneExchange &exchange, TileAccess &narrow,
                              ArrayRef<Value> regs, Block *after) {
    Location loc = op.getLoc();
    TileAccess wide(rewriter, loc, adaptor.getView(), adaptor.getIndices(),
                    adaptor.getLimit(), exchange.layout(),
                    regs.front().getType());
    Block *first = rewriter.createBlock(after);
    Value fit = wide.vectorsFit(wide.vectorWidth());
    Block *vectors = rewriter.createBlock(after);
    wide.startPath();
    emitStores(rewriter, loc, wide, exchange.apply(rewriter, loc, regs),
               wide.vectorWidth(), /*whole=*/true, after);
    Block *scalars = rewriter.createBlock(after);
    narrow.startPath();
    emitStores(rewriter, loc, narrow, regs, 1, /*whole=*/false, after);
    rewriter.setInsertionPointToEnd(first);
    LLVM::CondBrOp::create(rewriter, loc, fit, vectors, scalars);
    return first;
  }
};

} // namespace

void populateGlobalPatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns.add<LoadPattern, StorePattern>(types);
}

} // namespace mlatile
