// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileGPUVerify.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlatile::tilegpu;

//===--- alloc ------------------------------------------------------------===//

int64_t AllocOp::getNumBytes() {
  return TypeSwitch<Type, int64_t>(getResult().getType())
      .Case<BufferType, RingType, MBarriersType>(
          [](auto type) { return type.getNumBytes(); })
      .Default([](Type) { return 0; });
}

LogicalResult AllocOp::verify() {
  std::optional<uint64_t> offset = getOffset();
  if (offset && (static_cast<int64_t>(*offset) < 0 || *offset % 16 != 0))
    return emitOpError("expected an offset that is a multiple of 16 and not "
                       "negative, got ") // alloc_c1
           << static_cast<int64_t>(*offset);
  return success();
}

//===--- stage, view ------------------------------------------------------===//

LogicalResult StageOp::verify() {
  RingType ring = getRing().getType();
  if (getResult().getType() != ring.getBuffer()) // stage_c1
    return emitOpError("expected the ring's buffer type ")
           << ring.getBuffer() << ", got " << getResult().getType();
  return verifyConstantIndex(*this, getIndex(), ring.getStages()); // stage_c2
}

LogicalResult ViewOp::verify() {
  BufferType source = getBuffer().getType(), result = getResult().getType();
  if (source.getRank() != result.getRank() ||
      source.getRows() != result.getRows() ||
      (source.getRows() > 1 &&
       source.getStrideBytes() != result.getStrideBytes())) // view_c1
    return emitOpError("expected the rows and row stride of ")
           << source << ", got " << result;
  int64_t offset = static_cast<int64_t>(getOffset());
  if (offset < 0 || offset % 16 != 0) // view_c2
    return emitOpError("expected an offset that is a multiple of 16 and not "
                       "negative, got ")
           << offset;
  if (offset > source.getRowBytes() - result.getRowBytes()) // view_c3
    return emitOpError("expected ")
           << result.getRowBytes() << " bytes at offset " << offset
           << " to lie inside the source's row of " << source.getRowBytes();
  return success();
}

//===--- moves ------------------------------------------------------------===//

/// `name`_c1, `name`_c2 and `name`_c3.
static LogicalResult verifyMove(Operation *op, RankedTensorType tile,
                                BufferType buffer) {
  if (tile.getShape() != buffer.getShape())
    return op->emitOpError("expected tensor and buffer of one shape, got [")
           << tile.getShape() << "] and [" << buffer.getShape() << "]";
  if (tile.getElementType() != buffer.getElementType())
    return op->emitOpError(
               "expected tensor and buffer of one element type, got ")
           << tile.getElementType() << " and " << buffer.getElementType();
  if (buffer.getElementBits() < 8)
    return op->emitOpError("expected elements of at least 8 bits, got ")
           << buffer.getElementType();
  return success();
}

LogicalResult StoreSharedOp::verify() {
  return verifyMove(*this, cast<RankedTensorType>(getTile().getType()),
                    getBuffer().getType());
}

LogicalResult LoadSharedOp::verify() {
  return verifyMove(*this, cast<RankedTensorType>(getTile().getType()),
                    getBuffer().getType());
}

LogicalResult LoadPeerOp::verify() {
  BufferType buffer = getBuffer().getType();
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (static_cast<int>(getIndices().size()) != buffer.getRank()) // load_peer_c1
    return emitOpError("expected one index a dimension of the buffer, ")
           << buffer.getRank() << ", got " << getIndices().size();
  if (tile.getRank() != buffer.getRank()) // load_peer_c2
    return emitOpError("expected a result of the buffer's rank, ")
           << buffer.getRank() << ", got " << tile.getRank();
  if (tile.getElementType() != buffer.getElementType()) // load_peer_c3
    return emitOpError("expected elements of ")
           << buffer.getElementType() << ", got " << tile.getElementType();
  if (buffer.getElementBits() < 8) // load_peer_c4
    return emitOpError("expected elements of at least 8 bits, got ")
           << buffer.getElementType();
  return success();
}

/// cluster_arrive_c1, cluster_wait_c1
static LogicalResult verifyOutsideRoles(Operation *op) {
  if (RolesOp::around(op))
    return op->emitOpError("expected no role around it: all threads of the "
                           "cluster wait for each other");
  return success();
}

LogicalResult ClusterArriveOp::verify() { return verifyOutsideRoles(*this); }

LogicalResult ClusterWaitOp::verify() { return verifyOutsideRoles(*this); }

SmallVector<SharedAccess> LoadPeerOp::getSharedAccesses() {
  return {{&getBufferMutable(), false, LayoutAttr()}};
}

SmallVector<SharedAccess> StoreSharedOp::getSharedAccesses() {
  return {{&getBufferMutable(), true, LayoutAttr::of(getTile().getType())}};
}

SmallVector<SharedAccess> LoadSharedOp::getSharedAccesses() {
  LayoutAttr layout = LayoutAttr::of(getTile().getType());
  return {{&getBufferMutable(), false, layout, readsFragments()}};
}

bool LoadSharedOp::readsFragments() {
  Type element = getBuffer().getType().getElementType();
  LayoutAttr layout = LayoutAttr::of(getTile().getType());
  return layout && (element.isF16() || element.isBF16()) &&
         getBuffer().getType().getStrideBytes() % 16 == 0 &&
         matchOperandA(layout.getDistributed()).has_value();
}
