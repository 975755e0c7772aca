// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.cluster_arrive, cluster_wait. tilegpu.load_peer: mapa, then loads by
// vectors or by scalars. What is outside the buffer is read at its start and
// replaced, so that loads have no branch of their own.
#include "SharedAddress.h"
#include "TilePattern.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

/// Indices beyond any buffer (2^20) are all alike.
constexpr int64_t kFarIndex = 1 << 21;

/// A window of one peer's buffer.
class Window {
public:
  Window(OpBuilder &b, Location loc, BufferType buffer, Value pointer,
         ValueRange indices, const DistributedLayout &layout, Type element)
      : b(b), loc(loc), buffer(buffer), pointer(pointer), element(element),
        coords(b, loc, layout), last(layout.rank() - 1),
        bytes(static_cast<int>(buffer.getElementBytes())),
        vectors(layout.vectors(last, 16 / bytes)) {
    for (Value index : indices)
      starts.push_back(narrowed(index));
    // Vectors are whole, inside or outside, and aligned in every row.
    width = vectors.width;
    while (width > 1 && (buffer.getCols() % width ||
                         (buffer.getRows() > 1 &&
                          buffer.getStrideBytes() % (width * bytes))))
      width /= 2;
  }

  int vectorWidth() const { return width; }

  /// i1, uniform: the window starts at a whole vector.
  Value startsAtVector() {
    Value low = LLVM::AndOp::create(b, loc, starts[last], i32(width - 1));
    return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, low, i32(0));
  }

  /// The registers of the thread, in order, `each` of them a load.
  SmallVector<Value> read(int each) {
    SmallVector<Value> regs(vectors.registers.size());
    Type type = element;
    if (each > 1)
      type = VectorType::get(each, element);
    Value zero = LLVM::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    for (size_t k = 0; k < regs.size(); k += each) {
      auto [inside, offset] = place(vectors.registers[k]);
      Value loaded = LLVM::LoadOp::create(
          b, loc, type, offsetBytes(b, loc, pointer, offset), each * bytes);
      Value value = LLVM::SelectOp::create(b, loc, inside, loaded, zero);
      for (int e = 0; e < each; ++e)
        regs[vectors.registers[k + e]] =
            each == 1 ? value
                      : LLVM::ExtractElementOp::create(b, loc, value, i32(e));
    }
    return regs;
  }

private:
  Value i32(int64_t v) { return constI32(b, loc, v); }

  Value narrowed(Value index) {
    index = LLVM::SMaxOp::create(b, loc, index, constI64(b, loc, -kFarIndex));
    index = LLVM::SMinOp::create(b, loc, index, constI64(b, loc, kFarIndex));
    return LLVM::TruncOp::create(b, loc, b.getI32Type(), index);
  }

  /// Whether a register is inside the buffer, and its offset in bytes, 0 if it
  /// is not. They do not depend on the peer.
  std::pair<Value, Value> place(int reg) {
    Value inside, offset;
    for (int d = 0; d <= last; ++d) {
      Value at =
          LLVM::AddOp::create(b, loc, starts[d], coords.coord(b, loc, reg, d));
      Value fits = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, at,
                                        i32(buffer.getShape()[d]));
      Value step = LLVM::MulOp::create(
          b, loc, at, i32(d == last ? bytes : buffer.getStrideBytes()));
      inside = inside ? LLVM::AndOp::create(b, loc, inside, fits) : fits;
      offset = offset ? LLVM::AddOp::create(b, loc, offset, step) : step;
    }
    return {inside, LLVM::SelectOp::create(b, loc, inside, offset, i32(0))};
  }

  OpBuilder &b;
  Location loc;
  BufferType buffer;
  Value pointer;
  Type element;
  ThreadCoords coords;
  int last, bytes;
  DistributedLayout::Vectors vectors;
  SmallVector<Value> starts; ///< i32
  int width = 1;
};

struct LoadPeerPattern : TilePattern<LoadPeerOp> {
  using TilePattern::TilePattern;
  LogicalResult
  matchAndRewrite(LoadPeerOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tile = cast<RankedTensorType>(op.getTile().getType());
    auto layout = TileTypeConverter::layoutOf(tile);
    if (!layout)
      return op.emitOpError("expected a tile with a layout");
    Value rank = LLVM::TruncOp::create(rewriter, loc, rewriter.getI32Type(),
                                       adaptor.getRank());
    Value peer = NVVM::MapaOp::create(
        rewriter, loc,
        LLVM::LLVMPointerType::get(rewriter.getContext(), kClusterSpace),
        adaptor.getBuffer(), rank);
    Window window(rewriter, loc, op.getBuffer().getType(), peer,
                  adaptor.getIndices(), *layout, types().elementType(tile));
    SmallVector<Value> regs;
    if (window.vectorWidth() == 1) {
      regs = window.read(1);
    } else {
      // Whether vectors are aligned is known at run time only.
      Value aligned = window.startsAtVector();
      Block *before = rewriter.getInsertionBlock();
      Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
      for (int i = 0; i < layout->numRegs(); ++i)
        after->addArgument(types().elementType(tile), loc);
      SmallVector<Block *> paths;
      for (int each : {window.vectorWidth(), 1}) {
        paths.push_back(rewriter.createBlock(after));
        SmallVector<Value> read = window.read(each);
        LLVM::BrOp::create(rewriter, loc, read, after);
      }
      rewriter.setInsertionPointToEnd(before);
      LLVM::CondBrOp::create(rewriter, loc, aligned, paths[0], paths[1]);
      rewriter.setInsertionPointToStart(after);
      llvm::append_range(regs, after->getArguments());
    }
    rewriter.replaceOp(op, types().pack(rewriter, loc, tile, regs));
    return success();
  }
};

template <typename Op, typename To>
struct ClusterBarrierPattern : ConvertOpToLLVMPattern<Op> {
  using ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    To::create(rewriter, op.getLoc(), /*aligned=*/rewriter.getUnitAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populatePeerPatterns(TileTypeConverter &types, const Target &,
                          RewritePatternSet &patterns) {
  patterns.add<LoadPeerPattern,
               ClusterBarrierPattern<ClusterArriveOp, NVVM::ClusterArriveOp>,
               ClusterBarrierPattern<ClusterWaitOp, NVVM::ClusterWaitOp>>(
      types);
}

} // namespace mlatile
