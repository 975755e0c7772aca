// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.load and tile.store: tiles of strided views in global memory.
//
// What is in range is a box: along tile dim d the elements lo_d .. hi_d - 1 of
// the tile, the same for all threads. From it follow, once for each op,
//   - whether anything is in range (else nothing is done at all),
//   - the first element in range: a load of an element outside is sent there
//     and its value replaced, so that loads need no branch of their own and
//     never leave the view,
//   - whether vectors can be used: whole in the last dim, and the start and all
//     strides aligned. Alignment is known at run time only, hence a vector and
//     a scalar form behind one uniform branch.
// Stores outside the box, and those of threads that hold copies, are jumped
// over.
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;

namespace mlatile {
namespace {

using Coords = DistributedLayout::Coords;

/// Integer arithmetic at the insertion point.
struct Arith {
  ConversionPatternRewriter &b;
  Location loc;

  static bool isZero(Value x) { return matchPattern(x, m_Zero()); }
  Value i32(int64_t v) { return constI32(b, loc, v); }
  Value i64(int64_t v) { return constI64(b, loc, v); }
  Value sub(Value x, Value y) {
    return isZero(y) ? x : Value(LLVM::SubOp::create(b, loc, x, y));
  }
  Value mul(Value x, Value y) { return LLVM::MulOp::create(b, loc, x, y); }
  Value min(Value x, Value y) { return LLVM::SMinOp::create(b, loc, x, y); }
  Value max(Value x, Value y) { return LLVM::SMaxOp::create(b, loc, x, y); }
  Value bitOr(Value x, Value y) { return LLVM::OrOp::create(b, loc, x, y); }
  Value wide(Value x) {
    return LLVM::SExtOp::create(b, loc, b.getI64Type(), x);
  }
  Value narrow(Value x) {
    return LLVM::TruncOp::create(b, loc, b.getI32Type(), x);
  }
  /// Both, where either may be null for "true".
  Value both(Value x, Value y) {
    return !x ? y : !y ? x : Value(LLVM::AndOp::create(b, loc, x, y));
  }
  Value test(LLVM::ICmpPredicate predicate, Value x, Value y) {
    return LLVM::ICmpOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return LLVM::SelectOp::create(b, loc, condition, x, y);
  }
};

/// Addresses and masks of one load or store. `layout` is empty for a scalar.
class TileAccess {
public:
  TileAccess(ConversionPatternRewriter &builder, Location loc, Value view,
             ValueRange indices, Value limit,
             std::optional<DistributedLayout> tileLayout, Type element)
      : a{builder, loc}, view(builder, loc, view), layout(tileLayout),
        element(element), rank(layout ? layout->rank() : 0),
        lead(this->view.rank() - rank),
        elementBytes(element.getIntOrFloatBitWidth() / 8) {
    if (layout)
      coords.emplace(builder, loc, *layout);
    findBox(indices, limit);
    findStart(indices);
  }

  int registers() const { return layout ? layout->numRegs() : 1; }
  int bytes() const { return elementBytes; }

  /// Registers of one vector, at most 16 bytes of them.
  int vectorWidth() const {
    if (rank == 0 || layout->vectorWidth(rank - 1) == 1)
      return 1;
    return std::min(layout->vectorWidth(rank - 1), 16 / elementBytes);
  }

  /// i1, uniform: some element is in range.
  Value anyInRange() {
    Value any = leadInRange;
    for (int d = 0; d < rank; ++d)
      any = a.both(any, a.test(LLVM::ICmpPredicate::sgt, span[d], a.i32(0)));
    return any;
  }

  /// i1, uniform: vectors of `width` are aligned and whole.
  Value vectorsFit(int width) {
    Value bits = LLVM::PtrToIntOp::create(a.b, a.loc, a.b.getI64Type(), start);
    for (int d = lead; d + 1 < view.rank(); ++d)
      bits = a.bitOr(bits, a.mul(view.stride(d), a.i64(elementBytes)));
    Value low = LLVM::AndOp::create(a.b, a.loc, bits,
                                    a.i64(int64_t(width) * elementBytes - 1));
    Value aligned = a.test(LLVM::ICmpPredicate::eq, low, a.i64(0));
    Value whole =
        a.test(LLVM::ICmpPredicate::eq, span[rank - 1],
               a.i32(layout->shape()[rank - 1]));
    return a.both(aligned, whole);
  }

  /// Forgets what was computed in blocks that do not dominate the present one.
  void startPath() {
    rowPointers.clear();
    masks.clear();
    combined.clear();
    thread = Value();
    first = Value();
  }

  /// i1: this register is in range; `whole`: the last dim is known to be.
  /// Equal masks are the same value. Null for "true".
  Value mask(int reg, bool whole) {
    Coords offsets = offsetsOf(reg);
    int dims = whole ? rank - 1 : rank;
    Coords key(offsets.begin(), offsets.begin() + dims);
    if (!layout || dims == 0)
      return {};
    auto found = combined.find(key);
    if (found != combined.end())
      return found->second;
    Value all;
    for (int d = 0; d < dims; ++d) {
      Value &one = masks[{d, offsets[d]}];
      if (!one) {
        Value inBox = coords->coord(a.b, a.loc, reg, d);
        if (lo[d])
          inBox = a.sub(inBox, lo[d]);
        one = a.test(LLVM::ICmpPredicate::ult, inBox, span[d]);
      }
      all = a.both(all, one);
    }
    return combined[key] = all;
  }

  Value address(int reg) {
    if (!layout)
      return start;
    Coords offsets = offsetsOf(reg);
    if (!coords->adds()) {
      Value total = start;
      for (int d = 0; d < rank; ++d)
        total = moved(total, d, a.wide(coords->coord(a.b, a.loc, reg, d)));
      return total;
    }
    if (!thread) {
      thread = start;
      for (int d = 0; d < rank; ++d)
        thread = moved(thread, d, a.wide(coords->base(d)));
    }
    // Rows apart by run-time strides, then a constant along the row.
    Coords row(offsets.begin(), offsets.end() - (rank ? 1 : 0));
    Value &pointer = rowPointers[row];
    if (!pointer) {
      pointer = thread;
      for (auto [d, offset] : llvm::enumerate(row))
        if (offset)
          pointer = moved(pointer, d, a.i64(offset));
    }
    if (rank == 0 || offsets.back() == 0)
      return pointer;
    return LLVM::GEPOp::create(a.b, a.loc, pointer.getType(), element, pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(offsets.back())});
  }

  /// The first element in range; only where anyInRange().
  Value firstInRange() {
    if (!first) {
      first = start;
      for (int d = 0; d < rank; ++d)
        if (lo[d])
          first = moved(first, d, a.wide(lo[d]));
    }
    return first;
  }

  /// True in the threads that should store. Null for "all".
  Value mayStore() {
    if (layout)
      return firstHolder(a.b, a.loc, *layout);
    return a.test(LLVM::ICmpPredicate::eq, threadId(a.b, a.loc), a.i32(0));
  }

  Arith a;

private:
  Coords offsetsOf(int reg) const {
    return layout ? layout->regCoord(reg) : Coords();
  }

  /// `pointer` plus `count` (i64) steps along tile dim `dim`.
  Value moved(Value pointer, int dim, Value count) {
    if (Arith::isZero(count))
      return pointer;
    if (Value stride = view.stride(lead + dim))
      count = a.mul(count, stride);
    return LLVM::GEPOp::create(a.b, a.loc, pointer.getType(), element, pointer,
                               ArrayRef<LLVM::GEPArg>{count});
  }

  void findBox(ValueRange indices, Value limit) {
    for (int d = 0; d < view.rank(); ++d) {
      Value end = view.extent(d), index = indices[d];
      if (limit && d + 1 == view.rank())
        end = a.min(end, limit);
      if (d < lead) {
        // Unsigned, so that a negative index is out of range as well.
        if (limit && d + 1 == view.rank())
          end = a.max(end, a.i64(0));
        leadInRange = a.both(
            leadInRange, a.test(LLVM::ICmpPredicate::ult, index, end));
        continue;
      }
      Value size = a.i64(layout->shape()[d - lead]), zero = a.i64(0);
      Value high = a.narrow(a.max(a.min(a.sub(end, index), size), zero));
      APInt known;
      if (matchPattern(index, m_ConstantInt(&known)) && !known.isNegative()) {
        lo.push_back({});
        span.push_back(high);
        continue;
      }
      Value low = a.narrow(a.max(a.min(a.sub(zero, index), size), zero));
      lo.push_back(low);
      span.push_back(a.max(a.sub(high, low), a.i32(0)));
    }
  }

  void findStart(ValueRange indices) {
    start = view.base();
    for (int d = 0; d < view.rank(); ++d)
      start = moved(start, d - lead, indices[d]);
  }

  ViewValue view;
  std::optional<DistributedLayout> layout;
  std::optional<ThreadCoords> coords;
  Type element;
  int rank, lead, elementBytes;
  Value leadInRange;            ///< i1 or null
  SmallVector<Value> lo, span;  ///< i32; lo is null where it is zero
  Value start, thread, first;   ///< pointers: tile, thread, box
  std::map<Coords, Value> rowPointers, combined;
  std::map<std::pair<int, int64_t>, Value> masks;
};

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
  Type type(OpBuilder &b) const { return perWord > 1 ? b.getI32Type() : element; }
  Value make(OpBuilder &b, Location loc, ArrayRef<Value> elements) const {
    if (perWord == 1)
      return elements[0];
    Value vector =
        LLVM::PoisonOp::create(b, loc, VectorType::get(perWord, element));
    for (auto [i, e] : llvm::enumerate(elements))
      vector = LLVM::InsertElementOp::create(b, loc, vector, e,
                                             constI32(b, loc, i));
    return LLVM::BitcastOp::create(b, loc, b.getI32Type(), vector);
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
      elements.push_back(LLVM::ExtractElementOp::create(b, loc, vector,
                                                        constI32(b, loc, i)));
  }
};

/// All registers as words, each vector by one load.
SmallVector<Value> emitLoads(TileAccess &access, const Words &words, int width,
                             bool whole, Value pad) {
  Arith &a = access.a;
  SmallVector<Value> results, elements;
  int wordsPerVector = std::max(1, width / words.perWord);
  Value padWord;
  for (int reg = 0; reg < access.registers(); reg += width) {
    Value mask = access.mask(reg, whole);
    Value pointer = access.address(reg);
    if (mask)
      pointer = a.select(mask, pointer, access.firstInRange());
    Type word = width == 1 ? words.element : words.type(a.b);
    Type type =
        wordsPerVector > 1 ? VectorType::get(wordsPerVector, word) : word;
    Value loaded = LLVM::LoadOp::create(a.b, a.loc, type, pointer,
                                        width * access.bytes());
    if (mask && !padWord)
      padWord = width == 1 ? pad
                           : words.make(a.b, a.loc,
                                        SmallVector<Value>(words.perWord, pad));
    for (int i = 0; i < wordsPerVector; ++i) {
      Value value = loaded;
      if (wordsPerVector > 1)
        value = LLVM::ExtractElementOp::create(a.b, a.loc, loaded, a.i32(i));
      if (mask)
        value = a.select(mask, value, padWord);
      if (width > 1) {
        results.push_back(value);
        continue;
      }
      elements.push_back(value);
      if (static_cast<int>(elements.size()) == words.perWord) {
        results.push_back(words.make(a.b, a.loc, elements));
        elements.clear();
      }
    }
  }
  return results;
}

struct LoadPattern : ConvertOpToLLVMPattern<tile::LoadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const auto &types =
        *static_cast<const TileTypeConverter *>(getTypeConverter());
    auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
    auto layout = TileTypeConverter::layoutOf(op.getResult().getType());
    if (tensor && !layout)
      return op.emitOpError("expected a tensor with a layout of its shape");
    Type element = tensor ? types.elementType(tensor)
                          : types.convertType(op.getResult().getType());
    if (!element || !isStorable(element))
      return op.emitOpError("expected elements of 8 to 64 bits, got ")
             << op.getResult().getType();

    Value pad = adaptor.getPad();
    if (!pad)
      pad = LLVM::ConstantOp::create(rewriter, loc, element,
                                     rewriter.getZeroAttr(element));
    TileAccess access(rewriter, loc, adaptor.getView(), adaptor.getIndices(),
                      adaptor.getLimit(), layout, element);
    int width = access.vectorWidth();
    Words words(element, width, access.bytes());
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
    auto path = [&](int pathWidth, bool whole) {
      Block *block = rewriter.createBlock(join);
      access.startPath();
      SmallVector<Value> loaded =
          emitLoads(access, words, pathWidth, whole, pad);
      LLVM::BrOp::create(rewriter, loc, loaded, join);
      return block;
    };
    Block *loads;
    if (width > 1) {
      loads = rewriter.createBlock(join);
      Value fit = access.vectorsFit(width);
      Block *vectors = path(width, true);
      Block *scalars = path(1, false);
      rewriter.setInsertionPointToEnd(loads);
      LLVM::CondBrOp::create(rewriter, loc, fit, vectors, scalars);
    } else {
      loads = path(1, false);
    }
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, loc, any, loads, ValueRange(), join,
                           SmallVector<Value>(count, padWord));

    rewriter.setInsertionPoint(op);
    SmallVector<Value> regs;
    for (Value word : join->getArguments())
      words.split(rewriter, loc, word, regs);
    rewriter.replaceOp(op, tensor ? types.pack(rewriter, loc, tensor, regs)
                                  : regs.front());
    return success();
  }
};

/// Stores of all registers; ends in a jump to `done`. Those with one mask share
/// a branch.
void emitStores(TileAccess &access, ArrayRef<Value> regs, int width, bool whole,
                Block *done) {
  Arith &a = access.a;
  ConversionPatternRewriter &b = a.b;
  // Masks and pointers before the first branch, so that they may be shared.
  struct Access {
    int reg;
    Value pointer;
  };
  llvm::MapVector<Value, SmallVector<Access>> byMask;
  for (int reg = 0; reg < access.registers(); reg += width) {
    Value mask = access.mask(reg, whole);
    byMask[mask].push_back({reg, access.address(reg)});
  }
  for (auto &[mask, accesses] : byMask) {
    Block *next = nullptr;
    if (mask) {
      Block *here = b.getInsertionBlock();
      Block *guarded = b.createBlock(done);
      next = b.createBlock(done);
      b.setInsertionPointToEnd(here);
      LLVM::CondBrOp::create(b, a.loc, mask, guarded, next);
      b.setInsertionPointToEnd(guarded);
    }
    for (auto [reg, pointer] : accesses) {
      Value value = regs[reg];
      if (width > 1) {
        value = LLVM::PoisonOp::create(
            b, a.loc, VectorType::get(width, value.getType()));
        for (int e = 0; e < width; ++e)
          value = LLVM::InsertElementOp::create(b, a.loc, value, regs[reg + e],
                                                a.i32(e));
      }
      LLVM::StoreOp::create(b, a.loc, value, pointer, width * access.bytes());
    }
    if (next) {
      LLVM::BrOp::create(b, a.loc, ValueRange(), next);
      b.setInsertionPointToEnd(next);
    }
  }
  LLVM::BrOp::create(b, a.loc, ValueRange(), done);
}

struct StorePattern : ConvertOpToLLVMPattern<tile::StoreOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto layout = TileTypeConverter::layoutOf(op.getValue().getType());
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
    int width = access.vectorWidth();
    Value any = access.a.both(access.anyInRange(), access.mayStore());
    Block *before = op->getBlock();
    Block *after = splitBefore(rewriter, op);
    auto path = [&](int pathWidth, bool whole) {
      Block *block = rewriter.createBlock(after);
      access.startPath();
      emitStores(access, regs, pathWidth, whole, after);
      return block;
    };
    Block *stores;
    if (width > 1) {
      stores = rewriter.createBlock(after);
      Value fit = access.vectorsFit(width);
      Block *vectors = path(width, true);
      Block *scalars = path(1, false);
      rewriter.setInsertionPointToEnd(stores);
      LLVM::CondBrOp::create(rewriter, loc, fit, vectors, scalars);
    } else {
      stores = path(1, false);
    }
    rewriter.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(rewriter, loc, any, stores, after);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateGlobalPatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns.add<LoadPattern, StorePattern>(types);
}

} // namespace mlatile
