// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GatheredReads.h"

#include "mlatile/Analysis/SharedLayout.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace mlatile {

Value viewColumns(OpBuilder &b, Location loc, Value buffer, int64_t offset,
                  int64_t columns, Type element) {
  auto type = cast<tilegpu::BufferType>(buffer.getType());
  auto viewType =
      tilegpu::BufferType::get(b.getContext(), {type.getShape()[0], columns},
                               element, type.getStrideBytes());
  return tilegpu::ViewOp::create(b, loc, viewType, buffer,
                                 b.getI64IntegerAttr(offset));
}

namespace {

Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

class FieldReader {
public:
  FieldReader(tile::DequantOp dequant, const CacheFormat &format,
              const GatheredStage &stage, bool isOperand, OpBuilder &entry)
      : b(dequant), entry(entry), loc(dequant.getLoc()), dequant(dequant),
        format(format), stage(stage), isOperand(isOperand),
        type(cast<RankedTensorType>(dequant.getResult().getType())) {}

  FailureOr<Value> read() {
    switch (dequant.getField()) {
    case tile::RowField::Scale:
      return readScales();
    case tile::RowField::Rope:
      return readRope();
    case tile::RowField::Nope:
    case tile::RowField::Payload:
      break;
    }
    if (isa<Float8E4M3FNType>(type.getElementType()))
      return readAsStored();
    if (type.getElementTypeBitWidth() != 16)
      return dequant.emitOpError("expected a 16-bit element type, got ")
             << type.getElementType();
    if (dequant.getFactors() && isE2M1())
      return dequant.emitOpError(
          "expected factors of a payload of e4m3, got one of e2m1");
    return isOperand ? readOperand() : readConverted();
  }

private:
  bool isE2M1() const { return format.payload == PayloadType::E2M1; }

  FailureOr<Value> readRope() {
    if (!type.getElementType().isBF16())
      return dequant.emitOpError("expected the rope field as bf16, got ")
             << type.getElementType();
    Value rope = viewColumns(b, loc, stage.rows, format.ropeOffset, format.rope,
                             b.getBF16Type());
    return Value(tilegpu::LoadSharedOp::create(b, loc, type, rope));
  }

  /// The payload (dequant_c6: it is of that type).
  FailureOr<Value> readAsStored() {
    Value payload =
        viewColumns(b, loc, stage.rows, 0, format.nope, type.getElementType());
    return Value(tilegpu::LoadSharedOp::create(b, loc, type, payload));
  }

  FailureOr<Value> readOperand() {
    Type element = Float8E4M3FNType::get(b.getContext());
    if (isE2M1())
      element = Float4E2M1FNType::get(b.getContext());
    Value payload = viewColumns(b, loc, stage.rows, 0, format.nope, element);
    Value scales;
    if (dequant.getField() == tile::RowField::Nope)
      scales = scaleView();
    return Value(
        tilegpu::LoadQuantisedOp::create(b, loc, type, payload, scales));
  }

  /// All threads convert once into a buffer of 16 bits: that to which the only
  /// user stores it, if it is so (then there is no value), else a new one.
  FailureOr<Value> readConverted() {
    if (dequant.getResult().hasOneUse())
      if (auto store = dyn_cast<tilegpu::StoreSharedOp>(
              *dequant.getResult().user_begin());
          store && store->getBlock() == dequant->getBlock()) {
        b.setInsertionPoint(store);
        convertTo(store.getBuffer());
        store.erase();
        return Value();
      }
    Value keys = tilegpu::AllocOp::create(
        entry, loc,
        tilegpu::BufferType::get(b.getContext(), type.getShape(),
                                 type.getElementType(),
                                 conflictFreeStride(2 * format.nope)),
        "keys", IntegerAttr());
    convertTo(keys);
    return Value(tilegpu::LoadSharedOp::create(b, loc, type, keys));
  }

  void convertTo(Value keys) {
    Type element = b.getI8Type();
    if (!isE2M1())
      element = Float8E4M3FNType::get(b.getContext());
    Value payload =
        viewColumns(b, loc, stage.rows, 0, format.payloadBytes(), element);
    Value scales = stage.scales;
    if (Value factors = dequant.getFactors()) {
      // Whole vectors of eight, so that a row is read by them.
      auto tile = cast<RankedTensorType>(factors.getType());
      int64_t groups = tile.getDimSize(1);
      scales = tilegpu::AllocOp::create(
          entry, loc,
          tilegpu::BufferType::get(b.getContext(),
                                   {tile.getDimSize(0), (groups + 7) / 8 * 8},
                                   tile.getElementType()),
          "factors", IntegerAttr());
      tilegpu::StoreSharedOp::create(
          b, loc, factors,
          viewColumns(b, loc, scales, 0, groups, tile.getElementType()));
    }
    tilegpu::DequantOp::create(
        b, loc, b.getStringAttr(format.name), payload, scales, keys,
        /*unscaled=*/!dequant.getFactors() &&
            dequant.getField() == tile::RowField::Payload);
  }

  /// The scales of a stage as numbers of 8 bits.
  Value scaleView() {
    Type element = Float8E4M3FNType::get(b.getContext());
    if (format.scale == ScaleType::UE8M0)
      element = Float8E8M0FNUType::get(b.getContext());
    return viewColumns(b, loc, stage.scales, format.scaleOffset,
                       format.groups(), element);
  }

  /// The scales of a stage as f32, or as they are stored (dequant_c6).
  FailureOr<Value> readScales() {
    if (isa<Float8E8M0FNUType>(type.getElementType()))
      return Value(tilegpu::LoadSharedOp::create(b, loc, type, scaleView()));
    if (format.scale == ScaleType::F32)
      return Value(tilegpu::LoadSharedOp::create(b, loc, type, stage.scales));
    if (format.scale == ScaleType::E4M3) {
      Value bytes = tilegpu::LoadSharedOp::create(
          b, loc, type.clone(Float8E4M3FNType::get(b.getContext())),
          scaleView());
      return Value(arith::ExtFOp::create(b, loc, type, bytes));
    }
    Value bytes = tilegpu::LoadSharedOp::create(
        b, loc, type.clone(b.getI8Type()),
        viewColumns(b, loc, stage.scales, format.scaleOffset, format.groups(),
                    b.getI8Type()));
    // 2^(e - 127): e in the exponent, but 0 is a subnormal and 255 is NaN.
    auto bitsType = type.clone(b.getI32Type());
    auto all = [&](int64_t value) -> Value {
      return tile::FullOp::create(b, loc, bitsType, constant(b, loc, value));
    };
    Value e = arith::ExtUIOp::create(b, loc, bitsType, bytes);
    Value exponent = arith::ShLIOp::create(b, loc, e, all(23));
    Value isNaN =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, e, all(255));
    Value bits = arith::SelectOp::create(
        b, loc, isNaN, all(0x7FC00000),
        arith::MaxUIOp::create(b, loc, exponent, all(0x00400000)));
    return Value(arith::BitcastOp::create(b, loc, type, bits));
  }

  OpBuilder b;
  OpBuilder &entry;
  Location loc;
  tile::DequantOp dequant;
  const CacheFormat &format;
  const GatheredStage &stage;
  bool isOperand;
  RankedTensorType type;
};

} // namespace

LogicalResult replaceByReads(Operation *op, Value rows, Value ok,
                             const CacheFormat &format,
                             const GatheredStage &stage,
                             const llvm::DenseSet<Operation *> &operands,
                             OpBuilder &entry) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto okType = cast<RankedTensorType>(ok.getType());
  auto slotType = okType.clone(b.getI32Type());
  Value slots = tilegpu::LoadSharedOp::create(b, loc, slotType, stage.slots);
  Value minusOne = tile::FullOp::create(b, loc, slotType, constant(b, loc, -1));
  ok.replaceAllUsesWith(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                              slots, minusOne));

  for (Operation *user : llvm::make_early_inc_range(rows.getUsers())) {
    auto dequant = dyn_cast<tile::DequantOp>(user);
    if (!dequant)
      return user->emitOpError("expected gathered rows to go to tile.dequant");
    FailureOr<Value> field =
        FieldReader(dequant, format, stage, operands.contains(dequant), entry)
            .read();
    if (failed(field))
      return failure();
    if (*field)
      dequant.getResult().replaceAllUsesWith(*field);
    dequant.erase();
  }
  return success();
}

} // namespace mlatile
