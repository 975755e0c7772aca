// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilegpu.dequant: a thread takes 8 payload bytes at a time and stores 16
// bytes, so that both sides are contiguous over the lanes (16 payload bytes a
// thread would store every other 16 bytes: two-way bank conflicts).
//
// Threads are dealt over the rows so that everything but a thread's first place
// is constant: `lanes` threads side by side in a row, `rows` rows at once, and
// `sets` sets of threads that take every sets-th column step where threads are
// left over. A step is lanes * 8 elements. If a thread has more than kUnrolled
// pieces, blocks of rows are a loop.
#include "QuantisedNumbers.h"
#include "SharedAddress.h"
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/Format.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <bit>
#include <map>

using namespace mlir;

namespace mlatile {
namespace {

using namespace tilegpu;

constexpr int64_t kPiece = 8; ///< elements
constexpr int64_t kUnrolled = 8;

int64_t powerOfTwoIn(int64_t value) { return value & -value; }

/// How the threads are dealt; see the head of the file.
struct Dealing {
  int64_t lanes, rows, sets;
  int64_t steps;     ///< column steps of a row
  int64_t rowBlocks; ///< blocks of `rows` rows

  Dealing(int64_t rowCount, int64_t elements, int64_t threads) {
    int64_t pieces = elements / kPiece;
    lanes = std::min({powerOfTwoIn(pieces), int64_t(32), threads});
    rows = std::min(powerOfTwoIn(rowCount), threads / lanes);
    sets = threads / (lanes * rows);
    steps = pieces / lanes;
    rowBlocks = rowCount / rows;
  }
};

class Dequant {
public:
  Dequant(ConversionPatternRewriter &rewriter, DequantOp op,
          DequantOp::Adaptor operands, const CacheFormat &format,
          const Dealing &dealing)
      : rewriter(rewriter), loc(op.getLoc()), op(op), format(format),
        dealing(dealing), payload(operands.getPayload()),
        scales(operands.getScales()), result(operands.getResult()) {
    OpBuilder::InsertionGuard guard(rewriter);
    Value thread = threadId(rewriter, loc);
    setToEntry(rewriter, thread);
    auto bits = [&](int64_t unit, int64_t count) -> Value {
      Value shifted = LLVM::LShrOp::create(
          rewriter, loc, thread, i32(std::countr_zero(uint64_t(unit))));
      return LLVM::AndOp::create(rewriter, loc, shifted, i32(count - 1));
    };
    lane = bits(1, dealing.lanes);
    row = bits(dealing.lanes, dealing.rows);
    set = bits(dealing.lanes * dealing.rows, dealing.sets);
  }

  void emit() {
    // First places of the thread. A set starts `set` steps to the right.
    payload = place(payload, stride(op.getPayload()),
                    payloadBytes(stepElements()), payloadBytes(kPiece));
    result =
        place(result, stride(op.getResult()), 2 * stepElements(), 2 * kPiece);
    scales = scalePlace();
    int64_t pieces =
        dealing.rowBlocks * ((dealing.steps + dealing.sets - 1) / dealing.sets);
    if (pieces <= kUnrolled || dealing.rowBlocks == 1)
      convertRows(dealing.rowBlocks);
    else
      emitRowLoop();
  }

private:
  Value i32(int64_t value) { return constI32(rewriter, loc, value); }
  static int64_t stride(Value buffer) {
    return cast<BufferType>(buffer.getType()).getStrideBytes();
  }
  int64_t stepElements() const { return dealing.lanes * kPiece; }
  bool f32Scales() const { return format.scale == ScaleType::F32; }
  int64_t scaleBytes() { return op.hasFactors() ? 2 : f32Scales() ? 4 : 1; }

  bool e2m1() const { return format.payload == PayloadType::E2M1; }
  int64_t payloadBytes(int64_t elements) const {
    return e2m1() ? elements / 2 : elements;
  }

  /// buffer + row * stride + set * perSet + lane * perLane
  Value place(Value buffer, int64_t stride, int64_t perSet, int64_t perLane) {
    Value offset;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      setToEntry(rewriter, set);
      Value col = LLVM::AddOp::create(
          rewriter, loc, LLVM::MulOp::create(rewriter, loc, set, i32(perSet)),
          LLVM::MulOp::create(rewriter, loc, lane, i32(perLane)));
      offset = emitByteOffset(rewriter, loc, row, stride, col, 1);
    }
    return offsetBytes(rewriter, loc, buffer, offset);
  }

  /// A step covers whole groups, so each lane has a constant distance to its
  /// group.
  Value scalePlace() {
    Value offset;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      setToEntry(rewriter, set);
      Value group =
          LLVM::UDivOp::create(rewriter, loc, lane, i32(format.group / kPiece));
      Value setGroup = LLVM::MulOp::create(rewriter, loc, set,
                                           i32(stepElements() / format.group));
      group = LLVM::AddOp::create(rewriter, loc, group, setGroup);
      offset = emitByteOffset(rewriter, loc, row, stride(op.getScales()), group,
                              scaleBytes());
    }
    return offsetBytes(rewriter, loc, scales, offset);
  }

  /// What the payload of the thread's piece in turn `turn` is multiplied by:
  /// f32, or a factor of the result's type; null for nothing.
  Value loadScale(int64_t rowBytes, int64_t turn) {
    if (op.getUnscaled())
      return e2m1() ? e2m1Factor() : Value();
    int64_t groups = turn * dealing.sets * stepElements() / format.group;
    Value address =
        offsetBytes(rewriter, loc, scales, rowBytes + groups * scaleBytes());
    Type element = op.getResult().getType().getElementType();
    if (op.hasFactors() && factorsOfRow(rowBytes, groups))
      return LLVM::ExtractElementOp::create(
          rewriter, loc, factorVectors[{rowBytes, groups / kPiece}],
          i32(groups % kPiece));
    if (op.hasFactors())
      return LLVM::LoadOp::create(rewriter, loc, element, address, 2);
    if (f32Scales())
      return LLVM::LoadOp::create(rewriter, loc, rewriter.getF32Type(), address,
                                  4);
    Value byte =
        LLVM::LoadOp::create(rewriter, loc, rewriter.getI8Type(), address, 1);
    if (format.scale == ScaleType::UE8M0)
      return emitUE8M0(rewriter, loc, byte);
    Value word =
        LLVM::ZExtOp::create(rewriter, loc, rewriter.getI16Type(), byte);
    Value scale =
        emitWiden(rewriter, loc, emitE4M3Pair(rewriter, loc, word), 0);
    if (!e2m1())
      return scale;
    return LLVM::FMulOp::create(rewriter, loc, scale, e2m1Factor());
  }

  /// Loads the factors of a row eight at a time, where a thread takes one group
  /// in each turn, and all of them: its first is that of the row. What may be
  /// behind the last group is no part of the vector, but of the buffer: the
  /// load may become a wider one.
  bool factorsOfRow(int64_t rowBytes, int64_t group) {
    if (dealing.sets != 1 || stepElements() != format.group ||
        stride(op.getScales()) % (2 * kPiece) ||
        op.getScales().getType().getCols() < (group / kPiece + 1) * kPiece)
      return false;
    Value &vector = factorVectors[{rowBytes, group / kPiece}];
    if (!vector) {
      int64_t bytes = rowBytes + group / kPiece * 2 * kPiece;
      vector = LLVM::LoadOp::create(
          rewriter, loc,
          VectorType::get(
              std::min(kPiece, format.groups() - group / kPiece * kPiece),
              op.getResult().getType().getElementType()),
          offsetBytes(rewriter, loc, scales, bytes), 2 * kPiece);
    }
    return true;
  }

  Value e2m1Factor() {
    return LLVM::ConstantOp::create(rewriter, loc,
                                    rewriter.getF32FloatAttr(kE2M1Factor));
  }

  /// A piece on its way: what is loaded, and where it goes.
  struct Piece {
    Value words, scale, to;
  };

  Piece loadPiece(int64_t block, int64_t turn) {
    int64_t rowsDown = block * dealing.rows;
    int64_t elements = turn * dealing.sets * stepElements();
    Type words = rewriter.getI32Type();
    if (!e2m1())
      words = VectorType::get(4, rewriter.getI16Type());
    Value from = offsetBytes(rewriter, loc, payload,
                             rowsDown * stride(op.getPayload()) +
                                 payloadBytes(elements));
    return {LLVM::LoadOp::create(rewriter, loc, words, from,
                                 static_cast<unsigned>(payloadBytes(kPiece))),
            loadScale(rowsDown * stride(op.getScales()), turn),
            offsetBytes(rewriter, loc, result,
                        rowsDown * stride(op.getResult()) + 2 * elements)};
  }

  /// All pieces of the thread in `blocks` blocks of rows. All loads stand
  /// before the first store: nobody after us can know that they do not overlap.
  void convertRows(int64_t blocks) {
    int64_t turns = dealing.steps / dealing.sets;
    int64_t rest = dealing.steps % dealing.sets;
    SmallVector<Piece> pieces;
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t turn = 0; turn < turns; ++turn)
        pieces.push_back(loadPiece(block, turn));
    for (const Piece &piece : pieces)
      storePiece(piece);
    if (!rest)
      return;
    Value has = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ult,
                                     set, i32(rest));
    emitIf(rewriter, loc, has, [&] {
      for (int64_t block = 0; block < blocks; ++block)
        storePiece(loadPiece(block, turns));
    });
  }

  /// The elements of a piece as f32; e2m1 smaller by kE2M1Factor.
  SmallVector<Value, kPiece> numbers(Value words) {
    SmallVector<Value, kPiece> result(kPiece);
    for (int i = 0; i < 4; ++i) {
      if (e2m1()) {
        Value pair = emitE2M1Pair(rewriter, loc, words, i);
        result[i] = emitWiden(rewriter, loc, pair, 0);
        result[i + 4] = emitWiden(rewriter, loc, pair, 1);
        continue;
      }
      Value word = LLVM::ExtractElementOp::create(rewriter, loc, words, i32(i));
      Value pair = emitE4M3Pair(rewriter, loc, word);
      result[2 * i] = emitWiden(rewriter, loc, pair, 0);
      result[2 * i + 1] = emitWiden(rewriter, loc, pair, 1);
    }
    return result;
  }

  /// Two e4m3 of the piece.
  Value word(const Piece &piece, int i) {
    return LLVM::ExtractElementOp::create(rewriter, loc, piece.words, i32(i));
  }

  void storePiece(const Piece &piece) {
    Type element = op.getResult().getType().getElementType();
    bool scaled = piece.scale && !op.hasFactors();
    SmallVector<Value, 4> pairs;
    if (!e2m1() && element.isF16() && !scaled) {
      for (int i = 0; i < 4; ++i)
        pairs.push_back(emitE4M3Pair(rewriter, loc, word(piece, i)));
    } else {
      SmallVector<Value, kPiece> values = numbers(piece.words);
      if (scaled)
        for (Value &value : values)
          value = LLVM::FMulOp::create(rewriter, loc, value, piece.scale);
      for (int i = 0; i < 4; ++i)
        pairs.push_back(emitRoundedPair(rewriter, loc, element, values[2 * i],
                                        values[2 * i + 1]));
    }
    if (op.hasFactors()) {
      Value factors = packVector(rewriter, loc, {piece.scale, piece.scale});
      for (Value &pair : pairs)
        pair = LLVM::FMulOp::create(rewriter, loc, pair, factors);
    }
    for (Value &pair : pairs)
      pair =
          LLVM::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), pair);
    LLVM::StoreOp::create(rewriter, loc, packVector(rewriter, loc, pairs),
                          piece.to, 2 * kPiece);
  }

  /// One iteration a block of rows; the three places move down.
  void emitRowLoop() {
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    SmallVector<Value> initial{i32OnEnd(before, 0), payload, scales, result};
    SmallVector<Type> types;
    for (Value value : initial)
      types.push_back(value.getType());
    Block *loop = rewriter.createBlock(
        after, types, SmallVector<Location>(types.size(), loc));
    payload = loop->getArgument(1);
    scales = loop->getArgument(2);
    result = loop->getArgument(3);
    factorVectors.clear();
    convertRows(1);
    Value count =
        LLVM::AddOp::create(rewriter, loc, loop->getArgument(0), i32(1));
    auto down = [&](Value pointer, Value buffer) {
      return offsetBytes(rewriter, loc, pointer, dealing.rows * stride(buffer));
    };
    SmallVector<Value> next{count, down(payload, op.getPayload()),
                            down(scales, op.getScales()),
                            down(result, op.getResult())};
    Value more = LLVM::ICmpOp::create(rewriter, loc, LLVM::ICmpPredicate::ult,
                                      count, i32(dealing.rowBlocks));
    LLVM::CondBrOp::create(rewriter, loc, more, loop, next, after,
                           ValueRange());
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, initial, loop);
    rewriter.setInsertionPointToStart(after);
  }

  Value i32OnEnd(Block *block, int64_t value) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(block);
    return i32(value);
  }

  ConversionPatternRewriter &rewriter;
  Location loc;
  DequantOp op;
  const CacheFormat &format;
  Dealing dealing;
  Value payload, scales, result; ///< places of the thread
  Value lane, row, set;          ///< i32
  /// By row offset and number of eight.
  std::map<std::pair<int64_t, int64_t>, Value> factorVectors;
};

/// Threads of the kernel around an op, before or after its own conversion.
std::optional<int64_t> kernelThreads(Operation *op) {
  if (auto role = RolesOp::around(op))
    return 32 * role->first.getWarps()[role->second];
  if (auto kernel = op->getParentOfType<tile::KernelOp>())
    if (std::optional<int64_t> warps = kernel.getWarpCount())
      return 32 * *warps;
  if (auto function = op->getParentOfType<LLVM::LLVMFuncOp>())
    if (auto threads = function->getAttrOfType<DenseI32ArrayAttr>(
            NVVM::NVVMDialect::getReqntidAttrName()))
      return threads.empty() ? 0 : threads[0];
  return std::nullopt;
}

struct DequantPattern : ConvertOpToLLVMPattern<DequantOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(DequantOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    const CacheFormat *format = findCacheFormat(
        std::string_view(op.getFormat().data(), op.getFormat().size()));
    if (!format)
      return op.emitOpError("expected a known cache format, got \"")
             << op.getFormat() << '"';
    std::optional<int64_t> threads = kernelThreads(op);
    if (!threads || *threads < 32 || !std::has_single_bit(uint64_t(*threads)))
      return op.emitOpError("expected a kernel with a power of two of warps, "
                            "got ")
             << threads.value_or(0) << " threads";
    Dealing dealing(op.getPayload().getType().getRows(), format->nope,
                    *threads);
    if (format->nope % kPiece || format->group % kPiece ||
        dealing.lanes * kPiece % format->group)
      return op.emitOpError("expected groups that divide ")
             << dealing.lanes * kPiece << " elements, got " << format->group;
    Dequant(rewriter, op, adaptor, *format, dealing).emit();
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

// e4m3 to f16 conversions are in the base of all targets (sm_89 on); e2m1 needs
// no conversion.
void populateDequantPatterns(TileTypeConverter &types, const Target &,
                             RewritePatternSet &patterns) {
  patterns.add<DequantPattern>(types);
}

} // namespace mlatile
