// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.gather_async by cp.async, or its data rows by bulk copies.
//
// Threads that follow each other share a row: with `share` of them, thread t
// takes the 16-byte pieces t % share, t % share + share, ... of its row, so
// that all pieces but the first are constant offsets from one address at either
// end. Where the pieces do not divide evenly, the last ones are behind a
// condition; the scales and the slot id go to the thread whose turn is next.
//
// A bulk copy is issued by the first thread of its row, which also has the slot
// id and the scales; the others are there for rows that are skipped.
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

/// `.shared::cta` as the destination of a bulk copy (PTX ISA, "cp.async.bulk",
/// "PTX ISA Notes"). Targets that are compiled as an older PTX have
/// `.shared::cluster`, in which the CTA's own memory stands too.
constexpr int kBulkToSharedCtaPtx = 86;

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
         GatherAsyncOp::Adaptor operands, const CacheFormat &format,
         const Target &target)
      : rewriter(rewriter), loc(op.getLoc()), op(op), operands(operands),
        format(format), target(target), pool(rewriter, loc, operands.getPool()),
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
    if (op.getBulk())
      return emitBulk(ids);
    for (auto [i, id] : llvm::enumerate(ids))
      copyRow(resolve(id, layout.regCoord(static_cast<int>(i))[0]));
    Value bar = mbarrier();
    NVVM::CpAsyncMBarrierArriveOp::create(rewriter, loc, bar, /*noinc=*/true);
    NVVM::MBarrierArriveOp::create(rewriter, loc, rewriter.getI64Type(), bar,
                                   /*count=*/Value());
  }

private:
  void emitBulk(ValueRange ids) {
    bar = mbarrier();
    if (part)
      first = isPart(LLVM::ICmpPredicate::eq, 0);
    Value expected; // of this thread's copies
    for (auto [i, id] : llvm::enumerate(ids)) {
      Value bytes =
          bulkRow(resolve(id, layout.regCoord(static_cast<int>(i))[0]));
      expected = expected ? LLVM::AddOp::create(rewriter, loc, expected, bytes)
                          : bytes;
    }
    arriveForWarp(expected);
  }

  /// Of the stage, ptr<3>.
  Value mbarrier() {
    return mbarrierAddress(rewriter, loc, operands.getFull(), op.getIndex(),
                           operands.getIndex());
  }

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

  /// What the thread has of a row in the buffer of rows.
  Value pieces(const Row &row) {
    int64_t stride = op.getRows().getType().getStrideBytes();
    return offsetBytes(rewriter, loc, place(operands.getRows(), stride, kPiece),
                       row.number * stride);
  }

  /// `piece` at the distance of each of the thread's pieces from its first;
  /// then the part of the thread whose turn is next.
  int64_t forPieces(llvm::function_ref<void(int64_t bytes)> piece) {
    int64_t count = format.usedRow() / kPiece;
    int64_t turns = count / share, rest = count % share;
    for (int64_t turn = 0; turn < turns; ++turn)
      piece(turn * share * kPiece);
    if (rest)
      emitIf(rewriter, loc, isPart(LLVM::ICmpPredicate::ult, rest),
             [&] { piece(turns * share * kPiece); });
    return rest;
  }

  /// `bytes`, of a skipped row 0.
  Value size(const Row &row, int64_t bytes) {
    return LLVM::SelectOp::create(rewriter, loc, row.valid,
                                  constI32(rewriter, loc, bytes),
                                  constI32(rewriter, loc, 0));
  }

  void copyRow(const Row &row) {
    Value to = pieces(row);
    Value from = row.data;
    if (part)
      from = offsetBytes(rewriter, loc, from, partBytes);
    Value valid = size(row, kPiece);
    int64_t next = forPieces([&](int64_t bytes) {
      copyAsync(rewriter, loc, offsetBytes(rewriter, loc, to, bytes),
                offsetBytes(rewriter, loc, from, bytes), kPiece, valid);
    });
    emitIf(rewriter, loc,
           part ? isPart(LLVM::ICmpPredicate::eq, next) : Value(), [&] {
             storeSlot(row);
             if (footer())
               copyScales(row);
           });
  }

  /// Returns the bytes that this thread's copies complete (i32).
  Value bulkRow(const Row &row) {
    Value issues = row.valid;
    if (first)
      issues = LLVM::AndOp::create(rewriter, loc, first, row.valid);
    Value bytes = constI32(rewriter, loc, format.usedRow());
    emitIf(rewriter, loc, issues, [&] {
      int64_t stride = op.getRows().getType().getStrideBytes();
      Value to =
          offsetBytes(rewriter, loc, place(operands.getRows(), stride, 0),
                      row.number * stride);
      if (target.ptxVersion < kBulkToSharedCtaPtx)
        to = LLVM::AddrSpaceCastOp::create(
            rewriter, loc,
            LLVM::LLVMPointerType::get(
                rewriter.getContext(),
                static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster)),
            to);
      NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
          rewriter, loc, to, row.data, bar, bytes, /*multicastMask=*/Value(),
          /*l2CacheHint=*/Value());
    });
    emitIf(rewriter, loc, first, [&] {
      storeSlot(row);
      if (footer())
        copyScales(row);
    });
    Value skipped = LLVM::XOrOp::create(
        rewriter, loc, row.valid,
        LLVM::ConstantOp::create(rewriter, loc, rewriter.getI1Type(), 1));
    emitIf(rewriter, loc, skipped, [&] { zeroRow(row); });
    return LLVM::SelectOp::create(rewriter, loc, issues, bytes,
                                  constI32(rewriter, loc, 0));
  }

  void zeroRow(const Row &row) {
    Value to = pieces(row);
    auto type = VectorType::get(4, rewriter.getI32Type());
    Value zero = LLVM::ConstantOp::create(rewriter, loc, type,
                                          rewriter.getZeroAttr(type));
    (void)forPieces([&](int64_t bytes) {
      LLVM::StoreOp::create(rewriter, loc, zero,
                            offsetBytes(rewriter, loc, to, bytes), kPiece);
    });
    // The next row in its place may come by a bulk copy.
    fenceAsyncProxy(rewriter, loc);
  }

  /// One arrival for all that the warp has stored, which expects what its lanes
  /// copy; copies may have completed before. Its barrier makes the stores of
  /// the other lanes part of that arrival.
  void arriveForWarp(Value expected) {
    Value everyone = constI32(rewriter, loc, -1);
    Value sum = NVVM::ReduxOp::create(rewriter, loc, rewriter.getI32Type(),
                                      expected, NVVM::ReduxKind::ADD, everyone);
    NVVM::SyncWarpOp::create(rewriter, loc, everyone);
    Value leads =
        LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::eq,
                             laneId(rewriter, loc), constI32(rewriter, loc, 0));
    emitIf(rewriter, loc, leads, [&] {
      NVVM::MBarrierArriveExpectTxOp::create(
          rewriter, loc, rewriter.getI64Type(), bar, sum,
          NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
    });
    if (footer())
      emitIf(rewriter, loc, first, [&] {
        NVVM::CpAsyncMBarrierArriveOp::create(rewriter, loc, bar,
                                              /*noinc=*/true);
      });
  }

  void storeSlot(const Row &row) {
    Value to = place(operands.getSlots(), 4, 0);
    LLVM::StoreOp::create(rewriter, loc, row.slot,
                          offsetBytes(rewriter, loc, to, 4 * row.number), 4);
  }

  void copyScales(const Row &row) {
    int64_t stride = op.getScales().getType().getStrideBytes();
    int bytes = format.scaleRow % 16 == 0 ? 16 : 8;
    Value to =
        offsetBytes(rewriter, loc, place(operands.getScales(), stride, 0),
                    row.number * stride);
    Value valid = size(row, bytes);
    for (int at = 0; at < format.scaleRow; at += bytes)
      copyAsync(rewriter, loc, offsetBytes(rewriter, loc, to, at),
                offsetBytes(rewriter, loc, row.scales, at), bytes, valid);
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  GatherAsyncOp op;
  GatherAsyncOp::Adaptor operands;
  const CacheFormat &format;
  const Target &target;
  PoolValue pool;
  DistributedLayout layout;
  int64_t share = 1;     ///< threads a row
  Value part, threadRow; ///< i32; part is null where a thread has whole rows
  Value partBytes;       ///< i64: of the thread's first piece in a row
  Value pageSize;        ///< i32
  // Of bulk copies:
  Value bar;   ///< ptr<3>: mbarrier of the stage
  Value first; ///< i1: the thread has the first bytes of its rows; null where
               ///< every thread has
};

struct GatherPattern : ConvertOpToLLVMPattern<GatherAsyncOp> {
  GatherPattern(TileTypeConverter &types, const Target &target)
      : ConvertOpToLLVMPattern(types), target(target) {}
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
    Gather(rewriter, op, adaptor, *format, target).emit();
    rewriter.eraseOp(op);
    return success();
  }

private:
  const Target &target;
};

} // namespace

// cp.async and mbarriers are in the base of all targets; that a target has bulk
// copies is checked where the module is translated.
void populateGatherPatterns(TileTypeConverter &types, const Target &target,
                            RewritePatternSet &patterns) {
  patterns.add<GatherPattern>(types, target);
}

} // namespace mlatile
