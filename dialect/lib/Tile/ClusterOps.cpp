// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of what blocks of a cluster read of each other. Numbers are those
// of the ODS text.
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlatile;
using namespace mlatile::tile;

LogicalResult LoadPeerOp::verify() {
  RankedTensorType tile = getTile().getType(), result = getResult().getType();
  if (static_cast<int64_t>(getIndices().size()) !=
      tile.getRank()) // load_peer_c1
    return emitOpError() << "expected one index a dimension of the tile, "
                         << tile.getRank() << ", got " << getIndices().size();
  if (result.getRank() != tile.getRank()) // load_peer_c2
    return emitOpError() << "expected a result of the tile's rank, "
                         << tile.getRank() << ", got " << result.getRank();
  Type element = tile.getElementType();
  if (result.getElementType() != element || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() < 8 ||
      element.getIntOrFloatBitWidth() > 64) // load_peer_c3
    return emitOpError() << "expected one element type of 8 to 64 bits, got "
                         << element << " and " << result.getElementType();
  for (Operation *around = getTile().getParentBlock()->getParentOp(); around;
       around = around->getParentOp())
    if (isa<LoopLikeOpInterface>(around)) // load_peer_c4
      return emitOpError() << "expected a tile that is made outside of loops, "
                              "got one of '"
                           << around->getName() << "'";
  return success();
}
