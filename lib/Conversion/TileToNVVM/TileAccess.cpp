// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileAccess.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mlatile {
namespace {

/// Integer arithmetic at the insertion point.
struct Arith {
  OpBuilder &b;
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

} // namespace

TileAccess::TileAccess(ConversionPatternRewriter &builder, Location loc,
                       Value view, ValueRange indices, Value limit,
                       std::optional<DistributedLayout> tileLayout,
                       Type element)
    : builder(builder), loc(loc), view(builder, loc, view), layout(tileLayout),
      element(element), rank(layout ? layout->rank() : 0),
      lead(this->view.rank() - rank),
      elementBytes(element.getIntOrFloatBitWidth() / 8) {
  if (layout) {
    vectors = layout->vectors(rank - 1, 16 / elementBytes);
    coords.emplace(builder, loc, *layout);
  }
  findBox(indices, limit);
  start = this->view.base();
  for (int d = 0; d < this->view.rank(); ++d)
    start = moved(start, d - lead, indices[d]);
}

Value TileAccess::anyInRange() {
  Arith a{builder, loc};
  Value any = leadInRange;
  for (int d = 0; d < rank; ++d)
    any = a.both(any, a.test(LLVM::ICmpPredicate::sgt, span[d], a.i32(0)));
  return any;
}

Value TileAccess::vectorsFit(int width) {
  Arith a{builder, loc};
  Value bits =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI64Type(), start);
  for (int d = lead; d + 1 < view.rank(); ++d)
    bits = a.bitOr(bits, a.mul(view.stride(d), a.i64(elementBytes)));
  Value low = LLVM::AndOp::create(builder, loc, bits,
                                  a.i64(int64_t(width) * elementBytes - 1));
  Value aligned = a.test(LLVM::ICmpPredicate::eq, low, a.i64(0));
  Value whole = a.test(LLVM::ICmpPredicate::eq, span[rank - 1],
                       a.i32(layout->shape()[rank - 1]));
  return a.both(aligned, whole);
}

Value TileAccess::mayStore() {
  Arith a{builder, loc};
  if (layout)
    return firstHolder(builder, loc, *layout);
  return a.test(LLVM::ICmpPredicate::eq, threadId(builder, loc), a.i32(0));
}

void TileAccess::startPath() {
  rowPointers.clear();
  masks.clear();
  combined.clear();
  thread = Value();
  first = Value();
}

Value TileAccess::mask(int reg, bool whole) {
  Arith a{builder, loc};
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
    // Something is in range, so the only element is.
    if (layout->shape()[d] == 1)
      continue;
    Value &one = masks[{d, offsets[d]}];
    if (!one) {
      Value inBox = coords->coord(builder, loc, reg, d);
      if (lo[d])
        inBox = a.sub(inBox, lo[d]);
      one = a.test(LLVM::ICmpPredicate::ult, inBox, span[d]);
    }
    all = a.both(all, one);
  }
  return combined[key] = all;
}

Value TileAccess::address(int reg) {
  Arith a{builder, loc};
  if (!layout)
    return start;
  Coords offsets = offsetsOf(reg);
  if (!coords->adds()) {
    Value total = start;
    for (int d = 0; d < rank; ++d)
      total = moved(total, d, a.wide(coords->coord(builder, loc, reg, d)));
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
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(offsets.back())});
}

Value TileAccess::readable(int reg, Value mask) {
  Value pointer = address(reg);
  return mask ? LLVM::SelectOp::create(builder, loc, mask, pointer,
                                       firstInRange())
              : pointer;
}

Value TileAccess::firstInRange() {
  Arith a{builder, loc};
  if (!first) {
    first = start;
    for (int d = 0; d < rank; ++d)
      if (lo[d])
        first = moved(first, d, a.wide(lo[d]));
  }
  return first;
}

Value TileAccess::moved(Value pointer, int dim, Value count) {
  Arith a{builder, loc};
  if (Arith::isZero(count))
    return pointer;
  if (Value stride = view.stride(lead + dim))
    count = a.mul(count, stride);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{count});
}

void TileAccess::findBox(ValueRange indices, Value limit) {
  Arith a{builder, loc};
  for (int d = 0; d < view.rank(); ++d) {
    Value end = view.extent(d), index = indices[d];
    if (limit && d + 1 == view.rank())
      end = a.min(end, limit);
    if (d < lead) {
      // Unsigned, so that a negative index is out of range as well.
      if (limit && d + 1 == view.rank())
        end = a.max(end, a.i64(0));
      leadInRange =
          a.both(leadInRange, a.test(LLVM::ICmpPredicate::ult, index, end));
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

} // namespace mlatile
