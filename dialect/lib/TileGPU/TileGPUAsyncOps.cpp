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
