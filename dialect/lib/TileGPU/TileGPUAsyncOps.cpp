// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlatile::tilegpu;

LogicalResult mlatile::tilegpu::verifyConstantIndex(Operation *op, Value index,
                                                    int64_t count) {
  APInt value;
  if (matchPattern(index, m_ConstantInt(&value)) &&
      (value.isNegative() || value.sge(count)))
    return op->emitOpError("expected an index between 0 and ")
           << count - 1 << ", got " << value.getSExtValue();
  return success();
}

LogicalResult mlatile::tilegpu::verifyAlignedRows(Operation *op, StringRef name,
                                                  BufferType type) {
  if (type.getRank() != 2)
    return op->emitOpError("expected '")
           << name << "' to have two dimensions, got " << type;
  if (!type.hasAlignedRows())
    return op->emitOpError("expected the rows of '")
           << name << "' to start at multiples of 16 bytes, got a stride of "
           << type.getStrideBytes();
  return success();
}

LogicalResult mlatile::tilegpu::verifyTileOfView(Operation *op, Type type,
                                                 size_t indices) {
  auto view = dyn_cast<mlatile::tile::ViewType>(type);
  if (view && view.getRank() >= 2 &&
      view.getRank() == static_cast<int64_t>(indices))
    return success();
  return op->emitOpError("expected a view of two dimensions or more and one "
                         "index for each, got ")
         << type << " and " << indices;
}

LogicalResult MBarrierInitOp::verify() {
  int64_t count = static_cast<int32_t>(getCount());
  if (count < 1 || count >= (1 << 20)) // mbarrier_init_c1
    return emitOpError("expected a count between 1 and ")
           << (1 << 20) - 1 << ", got " << count;
  return success();
}

LogicalResult MBarrierArriveOp::verify() { // mbarrier_arrive_c1
  return verifyConstantIndex(*this, getIndex(), getBars().getType().getCount());
}

LogicalResult MBarrierWaitOp::verify() {
  if (failed(verifyConstantIndex(*this, getIndex(),
                                 getBars().getType().getCount())))
    return failure(); // mbarrier_wait_c1
  APInt parity;
  if (matchPattern(getParity(), m_ConstantInt(&parity)) &&
      (parity.isNegative() || parity.sgt(1))) // mbarrier_wait_c2
    return emitOpError("expected a parity of 0 or 1, got ")
           << parity.getSExtValue();
  return success();
}

std::optional<mlatile::DistributedLayout>
CopyAsyncOp::pieces(ArrayRef<int64_t> shape, Type element, int64_t warps) {
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8 ||
      element.getIntOrFloatBitWidth() % 8)
    return std::nullopt;
  auto bytes = static_cast<int>(element.getIntOrFloatBitWidth() / 8);
  auto layout = DistributedLayout::blocked({shape.begin(), shape.end()}, bytes,
                                           static_cast<int>(warps));
  if (!layout || layout->vectorWidth(1) * bytes < 16 ||
      layout->laneFreeMask() || layout->warpFreeMask())
    return std::nullopt;
  return layout;
}

LogicalResult CopyAsyncOp::verify() {
  if (failed(verifyTileOfView(*this, getView().getType(),
                              getIndices().size()))) // copy_async_c1
    return failure();
  auto view = cast<mlatile::tile::ViewType>(getView().getType());
  BufferType buffer = getBuffer().getType();
  if (failed(verifyAlignedRows(*this, "buffer", buffer))) // copy_async_c2
    return failure();
  if (buffer.getElementType() != view.getElementType() ||
      buffer.getElementBits() < 8) // copy_async_c2
    return emitOpError("expected a buffer of the view's elements, ")
           << view.getElementType() << ", got " << buffer;
  const DistributedLayout &layout = getLayout().getDistributed();
  int piece = static_cast<int>(16 / buffer.getElementBytes());
  if (DistributedLayout::Coords(buffer.getShape()) != layout.shape() ||
      layout.vectorWidth(1) < piece || layout.laneFreeMask() ||
      layout.warpFreeMask()) // copy_async_c3
    return emitOpError("expected a layout of ")
           << buffer << " in pieces of 16 bytes, each once, got "
           << getLayout();
  return verifyConstantIndex(*this, getIndex(), // copy_async_c4
                             getFull().getType().getCount());
}

SmallVector<SharedAccess> CopyAsyncOp::getSharedAccesses() {
  return {{&getBufferMutable(), /*isWrite=*/true, /*layout=*/{},
           /*byWarp=*/false, /*isAsync=*/true},
          {&getFullMutable(), /*isWrite=*/false}};
}

// To a barrier pass an mbarrier is written once, by the initialisation; what
// follows synchronises by itself and counts as reading.
SmallVector<SharedAccess> MBarrierInitOp::getSharedAccesses() {
  return {{&getBarsMutable(), true}};
}
SmallVector<SharedAccess> MBarrierArriveOp::getSharedAccesses() {
  return {{&getBarsMutable(), false}};
}
SmallVector<SharedAccess> MBarrierWaitOp::getSharedAccesses() {
  return {{&getBarsMutable(), false}};
}
