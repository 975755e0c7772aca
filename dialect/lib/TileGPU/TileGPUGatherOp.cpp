// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"

#include "mlatile/Target/Format.h"

using namespace mlir;
using namespace mlatile::tilegpu;
using mlatile::CacheFormat;
using mlatile::DistributedLayout;

/// Of an mbarrier's phase: 2^20 - 1 (PTX ISA, "mbarrier", tx-count).
constexpr int64_t kMaxTransactionBytes = (1 << 20) - 1;

static bool isByte(Type type) { return type.getIntOrFloatBitWidth() == 8; }

static LogicalResult verifyScales(GatherAsyncOp op, const CacheFormat &format,
                                  int64_t count) {
  BufferType scales = op.getScales().getType(), rows = op.getRows().getType();
  bool inlined = format.place == mlatile::ScalePlace::Inline;
  int64_t align = inlined ? 4 : format.scaleRow % 16 == 0 ? 16 : 8;
  bool fits = scales.getRank() == 2 && scales.getRows() == count &&
              scales.getStrideBytes() % align == 0;
  if (inlined)
    fits &= scales.getElementType().isF32() &&
            scales.getCols() == format.groups() &&
            scales.getStrideBytes() == rows.getStrideBytes();
  else
    fits &=
        isByte(scales.getElementType()) && scales.getCols() == format.scaleRow;
  if (fits)
    return success();
  auto diag = op.emitOpError("expected 'scales' to have ") << count;
  if (inlined)
    diag << " x " << format.groups() << " f32 elements and the row stride "
         << rows.getStrideBytes() << " of 'rows'";
  else
    diag << " x " << format.scaleRow
         << " elements of 8 bits and a row stride that is a multiple of "
         << align;
  return diag << ", got " << scales;
}

LogicalResult GatherAsyncOp::verify() {
  const CacheFormat *format = nullptr;
  if (auto pool = dyn_cast<mlatile::tile::PoolType>(getPool().getType()))
    format = pool.getCacheFormat();
  if (!format) // gather_async_c1
    return emitOpError("expected a pool that is bound to a cache format, got ")
           << getPool().getType();

  RankedTensorType ids = getIds().getType();
  LayoutAttr layout = LayoutAttr::of(ids);
  if (!ids.getElementType().isInteger(32) || ids.getRank() != 1 ||
      DistributedLayout::rowsOverThreads(ids.getDimSize(0),
                                         layout.getNumWarps()) !=
          layout.getDistributed()) // gather_async_c2
    return emitOpError("expected ids in one dimension of i32, laid out as rows "
                       "over threads, got ")
           << ids;
  int64_t count = ids.getDimSize(0);

  BufferType rows = getRows().getType();
  if (failed(verifyAlignedRows(*this, "rows", rows))) // gather_async_c3
    return failure();
  if (rows.getRows() != count || !isByte(rows.getElementType()) ||
      rows.getRowBytes() < format->usedRow()) // gather_async_c3
    return emitOpError("expected 'rows' to have ")
           << count << " rows of at least " << format->usedRow()
           << " elements of 8 bits, got " << rows;
  if (failed(verifyScales(*this, *format, count))) // gather_async_c4
    return failure();
  BufferType slots = getSlots().getType();
  if (slots.getRank() != 1 || slots.getCols() != count ||
      !slots.getElementType().isInteger(32)) // gather_async_c5
    return emitOpError("expected 'slots' to have ")
           << count << " elements of i32, got " << slots;
  int64_t bytes = count * format->usedRow();
  if (getBulk() && bytes > kMaxTransactionBytes) // gather_async_c7
    return emitOpError("expected at most ")
           << kMaxTransactionBytes << " bytes of bulk copies, got " << count
           << " rows of " << format->usedRow();
  return verifyConstantIndex(*this, getIndex(),
                             getFull().getType().getCount()); // gather_async_c6
}

int64_t GatherAsyncOp::firstThreads(int64_t rows, int64_t warps) {
  auto layout = DistributedLayout::rowsOverThreads(rows, warps);
  return layout ? layout->blockShape()[0] : 32 * warps;
}

int64_t GatherAsyncOp::arrivals(const CacheFormat &format, int64_t rows,
                                int64_t warps, bool bulk) {
  if (!bulk)
    return 2 * 32 * warps;
  bool footer = format.place == mlatile::ScalePlace::Footer;
  return warps + (footer ? firstThreads(rows, warps) : 0);
}

SmallVector<SharedAccess> GatherAsyncOp::getSharedAccesses() {
  // Chunks of a row are dealt to the threads that share it, so no layout of the
  // buffers says who writes what. The mbarrier guards `slots` as well: each
  // thread arrives after its part is stored.
  SmallVector<SharedAccess> accesses;
  auto write = [&](OpOperand &operand) {
    accesses.push_back({&operand, /*isWrite=*/true, /*layout=*/{},
                        /*byWarp=*/false, /*isAsync=*/true});
  };
  write(getRowsMutable());
  write(getScalesMutable());
  write(getSlotsMutable());
  accesses.push_back({&getFullMutable(), /*isWrite=*/false});
  return accesses;
}
