// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.gather_async by cp.async.
//
// Threads that follow each other share a row: with `share` of them, thread t
// takes the 16-byte pieces t % share, t % share + share, ... of its row, so
// that all pieces but the first are constant offsets from one address at either
// end. Where the pieces do not divide evenly, the last ones are behind a
// condition; the scales and the slot id go to the thread whose turn is next.
#include "SharedAddress.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

constexpr int kPiece = 16;

/// Copies `bytes` (8 or 16); those from `valid` on become zero.
void copyAsync(OpBuilder &builder, Location loc, Value to, Value from,
               int bytes, Value valid) {
  // .cg, which skips L1, exists for 16 bytes only.
  NVVM::CpAsyncOp::create(builder, loc, to, from, bytes,
                          bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                                      : NVVM::LoadCacheModifierKind::CA,
                          valid);
}

/// One row of a stage, as its threads see it.
struct Row {
  Value valid;    ///< i1: the id names a slot
  Value data;     ///< ptr<1>: the data row of the slot
  Value scales;   ///< ptr<1>: its scale row; null in inline formats
  Value slot;     ///< i32: the id, or -1
  int64_t number; ///< of the row, without the thread's part
};

class Gather {
public:
  Gather(ConversionPatternRewriter &rewriter, GatherAsyncOp op,
         GatherAsyncOp::Adaptor operands, const CacheFormat &format)
      : rewriter(rewriter), loc(op.getLoc()), op(op), operands(operands),
        format(format), pool(rewriter, loc, operands.getPool()),
        layout(LayoutAttr::of(op.getIds().getType()).getDistributed()) {
    share = layout.numThreads() /
            std::min<int64_t>(layout.numThreads(), layout.blockShape()[0]);
    ThreadCoords coords(rewriter, loc, layout);
    OpBuilder::InsertionGuard guard(rewriter);
    Value thread = threadId(rewriter, loc);
    setToEntry(rewriter, coords.base(0));
    threadRow = coords.base(0);
    if (share > 1) {
      part = LLVM::AndOp::create(rewriter, loc, thread,
                                 constI32(rewriter, loc, share - 1));
      partBytes = wide(mul(part, constI32(rewriter, loc, kPiece)));
    }
  }

  void emit() {
    SmallVector<Value> ids =
        TileTypeConverter::unpack(rewriter, loc, operands.getIds());
    pageSize = LLVM::TruncOp::create(rewriter, loc, rewriter.getI32Type(),
                                     pool.pageSize);
    for (auto [i, id] : llvm::enumerate(ids))
      copyRow(resolve(id, layout.regCoord(static_cast<int>(i))[0]));
    Value bar = mbarrierAddress(rewriter, loc, operands.getFull(),
                                op.getIndex(), operands.getIndex());
    NVVM::CpAsyncMBarrierArriveOp::create(rewriter, loc, bar, /*noinc=*/true);
    NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(), bar,
                                   /*count=*/Value());
  }

private:
  bool footer() const { return format.place == ScalePlace::Footer; }

  Value mul(Value a, Value b) {
    return LLVM::MulOp::create(rewriter, loc, a, b);
  }
  Value wide(Value value) { // ids and page sizes are not negative
    return LLVM::ZExtOp::create(rewriter, loc, rewriter.getI64Type(), value);
  }

  Row resolve(Value id, int64_t number) {
    Row row;
    row.number = number;
    // A negative id is large without its sign.
    Value signedId =
        LLVM::SExtOp::create(rewriter, loc, rewriter.getI64Type(), id);
    row.valid = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ult,
                                     signedId, pool.slots);
    auto orElse = [&](int64_t other) -> Value {
      return LLVM::SelectOp::create(rewriter, loc, row.valid, id,
                                    constI32(rewriter, loc, other));
    };
    row.slot = orElse(-1);
    // A skipped row points to the pool's first slot, of which nothing is read.
    Value slot = orElse(0);
    Value page = LLVM::UDivOp::create(rewriter, loc, slot, pageSize);
    Value inPage =
        LLVM::SubOp::create(rewriter, loc, slot, mul(page, pageSize));
    Value start =
        offsetBytes(rewriter, loc, pool.base, mul(wide(page), pool.pageStride));
    Value offset = wide(inPage);
    row.data = offsetBytes(rewriter, loc, start, mul(offset, pool.rowStride));
    if (footer()) {
      Value behind = LLVM::AddOp::create(
          rewriter, loc, mul(wide(pageSize), pool.rowStride),
          mul(offset, constI64(rewriter, loc, format.scaleRow)));
      row.scales = offsetBytes(rewriter, loc, start, behind);
    }
    return row;
  }

  Value isPart(LLVM::ICmpPredicate predicate, int64_t value) {
    return LLVM::ICmpOp::create(rewriter, loc, predicate, part,
                                constI32(rewriter, loc, value));
  }

  /// Place of the thread's row in a buffer with that stride.
  Value place(Value buffer, int64_t stride, int64_t colBytes) {
    Value offset;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      setToEntry(rewriter, part ? partBytes : threadRow);
      Value col = part && colBytes ? part : constI32(rewriter, loc, 0);
      offset = emitByteOffset(rewriter, loc, threadRow, stride, col, colBytes);
    }
    return offsetBytes(rewriter, loc, buffer, offset);
  }

  void copyRow(const Row &row) {
    BufferType rows = op.getRows().getType();
    int64_t pieces = format.usedRow() / kPiece;
    Value to = offsetBytes(
        rewriter, loc, place(operands.getRows(), rows.getStrideBytes(), kPiece),
        row.number * rows.getStrideBytes());
    Value from = row.data;
    if (part)
      from = offsetBytes(rewriter, loc, from, partBytes);
    auto size = [&](int bytes) -> Value {
      return LLVM::SelectOp::create(rewriter, loc, row.valid,
                                    constI32(rewriter, loc, bytes),
                                    constI32(rewriter, loc, 0));
    };
    Value valid = size(kPiece);
    auto copy = [&](int64_t turn) {
      int64_t bytes = turn * share * kPiece;
      copyAsync(rewriter, loc, offsetBytes(rewriter, loc, to, bytes),
                offsetBytes(rewriter, loc, from, bytes), kPiece, valid);
    };
    int64_t turns = pieces / share, rest = pieces % share;
    for (int64_t turn = 0; turn < turns; ++turn)
      copy(turn);
    if (rest)
      emitIf(rewriter, loc, isPart(LLVM::ICmpPredicate::ult, rest),
             [&] { copy(turns); });
    Value next = part ? isPart(LLVM::ICmpPredicate::eq, rest) : Value();
    emitIf(rewriter, loc, next, [&] {
      Value slot = place(operands.getSlots(), 4, 0);
      LLVM::StoreOp::create(rewriter, loc, row.slot,
                            offsetBytes(rewriter, loc, slot, 4 * row.number),
                            4);
      if (footer())
        copyScales(row, size);
    });
  }

  void copyScales(const Row &row, llvm::function_ref<Value(int)> size) {
    int64_t stride = op.getScales().getType().getStrideBytes();
    int bytes = format.scaleRow % 16 == 0 ? 16 : 8;
    Value to =
        offsetBytes(rewriter, loc, place(operands.getScales(), stride, 0),
                    row.number * stride);
    Value valid = size(bytes);
    for (int at = 0; at < format.scaleRow; at += bytes)
      copyAsync(rewriter, loc, offsetBytes(rewriter, loc, to, at),
                offsetBytes(rewriter, loc, row.scales, at), bytes, valid);
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  GatherAsyncOp op;
  GatherAsyncOp::Adaptor operands;
  const CacheFormat &format;
  PoolValue pool;
  DistributedLayout layout;
  int64_t share = 1;     ///< threads a row
  Value part, threadRow; ///< i32; part is null where a thread has whole rows
  Value partBytes;       ///< i64: of the thread's first piece in a row
  Value pageSize;        ///< i32
};

struct GatherPattern : ConvertOpToLLVMPattern<GatherAsyncOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(GatherAsyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto pool = dyn_cast<tile::PoolType>(op.getPool().getType());
    const CacheFormat *format = pool ? pool.getCacheFormat() : nullptr;
    if (!format)
      return op.emitOpError("expected a pool that is bound to a cache format");
    if (format->usedRow() % kPiece)
      return op.emitOpError("expected a format whose rows are copied in pieces "
                            "of ")
             << kPiece << " bytes, got rows of " << format->usedRow();
    Gather(rewriter, op, adaptor, *format).emit();
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

// cp.async and mbarriers are in the base of all targets.
void populateGatherPatterns(TileTypeConverter &types, const Target &,
                            RewritePatternSet &patterns) {
  patterns.add<GatherPattern>(types);
}

} // namespace mlatile
