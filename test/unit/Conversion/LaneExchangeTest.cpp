// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LaneExchange emits, interpreted for all lanes of a warp at once: each
// register of the second layout has the element that the layout says.
#include "LaneExchange.h"
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <vector>

using namespace mlir;
using mlatile::DistributedLayout;
using mlatile::LaneExchange;

namespace {

/// Up to four bytes of every lane.
using Lanes = std::array<std::vector<uint32_t>, 32>;

/// Evaluates what is emitted for all lanes of a warp. A value is its elements.
class Warp {
public:
  /// `elementBits`: of what the registers hold.
  Warp(int warp, int elementBits) : warp(warp), elementBits(elementBits) {}

  void set(Value value, const Lanes &lanes) { known[value] = lanes; }

  const Lanes &operator()(Value value) {
    auto found = known.find(value);
    if (found == known.end())
      found = known.try_emplace(value, evaluate(value.getDefiningOp())).first;
    return found->second;
  }

private:
  template <typename F>
  Lanes forEach(F f) {
    Lanes result;
    for (int lane = 0; lane < 32; ++lane)
      result[lane] = f(lane);
    return result;
  }

  uint32_t number(Value value, int lane) { return (*this)(value)[lane].at(0); }

  Lanes evaluate(Operation *op) {
    using Elements = std::vector<uint32_t>;
    if (!op) {
      ADD_FAILURE() << "a free value";
      return forEach([](int) { return Elements{0}; });
    }
    if (auto constant = dyn_cast<LLVM::ConstantOp>(op)) {
      auto value = static_cast<uint32_t>(
          cast<IntegerAttr>(constant.getValue()).getInt());
      return forEach([&](int) { return Elements{value}; });
    }
    if (isa<NVVM::ThreadIdXOp>(op))
      return forEach([&](int lane) { return Elements{32u * warp + lane}; });
    if (isa<LLVM::PoisonOp, LLVM::UndefOp>(op))
      return forEach([&](int) { return Elements(4 * 8 / elementBits); });
    if (isa<LLVM::AndOp>(op))
      return forEach([&](int lane) {
        return Elements{number(op->getOperand(0), lane) &
                        number(op->getOperand(1), lane)};
      });
    if (auto compare = dyn_cast<LLVM::ICmpOp>(op)) {
      EXPECT_EQ(compare.getPredicate(), LLVM::ICmpPredicate::ne);
      return forEach([&](int lane) {
        return Elements{number(compare.getLhs(), lane) !=
                        number(compare.getRhs(), lane)};
      });
    }
    if (auto select = dyn_cast<LLVM::SelectOp>(op))
      return forEach([&](int lane) {
        return (*this)(number(select.getCondition(), lane)
                           ? select.getTrueValue()
                           : select.getFalseValue())[lane];
      });
    if (auto insert = dyn_cast<LLVM::InsertElementOp>(op))
      return forEach([&](int lane) {
        Elements all = (*this)(insert.getVector())[lane];
        all.at(number(insert.getPosition(), lane)) =
            number(insert.getValue(), lane);
        return all;
      });
    if (auto extract = dyn_cast<LLVM::ExtractElementOp>(op))
      return forEach([&](int lane) {
        return Elements{(*this)(extract.getVector())[lane].at(
            number(extract.getPosition(), lane))};
      });
    if (isa<LLVM::BitcastOp>(op)) {
      bool toWord = op->getResult(0).getType().isInteger(32);
      return forEach([&](int lane) {
        const Elements &from = (*this)(op->getOperand(0))[lane];
        return toWord ? joined(from) : split(from.at(0));
      });
    }
    if (auto shuffle = dyn_cast<NVVM::ShflOp>(op)) {
      EXPECT_EQ(shuffle.getKind(), NVVM::ShflKind::bfly);
      return forEach([&](int lane) {
        EXPECT_EQ(number(shuffle.getThreadMask(), lane), ~0u);
        EXPECT_EQ(number(shuffle.getMaskAndClamp(), lane), 31u);
        int from = lane ^ static_cast<int>(number(shuffle.getOffset(), lane));
        return (*this)(shuffle.getVal())[from];
      });
    }
    ADD_FAILURE() << "unexpected " << op->getName().getStringRef().str();
    return forEach([](int) { return Elements{0}; });
  }

  std::vector<uint32_t> joined(const std::vector<uint32_t> &elements) const {
    uint32_t word = 0;
    for (size_t i = 0; i < elements.size() && i * elementBits < 32; ++i)
      word |= elements[i] << (i * elementBits);
    return {word};
  }
  std::vector<uint32_t> split(uint32_t word) const {
    if (elementBits == 32)
      return {word};
    return {word & 0xFFFF, word >> 16};
  }

  int warp, elementBits;
  struct Less {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  std::map<Value, Lanes, Less> known;
};

class LaneExchangeTest : public testing::Test {
protected:
  LaneExchangeTest()
      : builder(&context), loc(builder.getUnknownLoc()),
        module(ModuleOp::create(loc)) {
    context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
    builder.setInsertionPointToStart(module->getBody());
  }

  /// Applies the exchange to a tile whose elements are their own numbers.
  /// `width`: elements in a row that each thread has afterwards.
  void expectElements(const DistributedLayout &from, int bytes, int width,
                      int shuffles) {
    SCOPED_TRACE(from.str());
    auto exchange = LaneExchange::plan(from, bytes);
    ASSERT_TRUE(exchange);
    const DistributedLayout &to = exchange->layout();
    ASSERT_EQ(to.shape(), from.shape());
    ASSERT_EQ(to.numRegs(), from.numRegs());
    EXPECT_EQ(to.vectors(to.rank() - 1, 16 / bytes).width, width);
    Type element =
        bytes == 2 ? Type(builder.getI16Type()) : Type(builder.getI32Type());
    SmallVector<Value> regs;
    for (int reg = 0; reg < from.numRegs(); ++reg)
      regs.push_back(LLVM::PoisonOp::create(builder, loc, element));
    SmallVector<Value> results = exchange->apply(builder, loc, regs);
    ASSERT_EQ(results.size(), regs.size());
    int emitted = 0;
    module->walk([&](NVVM::ShflOp) { ++emitted; });
    EXPECT_EQ(emitted, shuffles);

    auto number = [&](const DistributedLayout &layout, int reg, int lane,
                      int warp) {
      int64_t result = 0;
      auto shape = layout.shape();
      auto at = layout.coord(reg, lane, warp);
      for (size_t d = 0; d < shape.size(); ++d)
        result = result * shape[d] + at[d];
      return static_cast<uint32_t>(result);
    };
    for (int warp = 0; warp < from.numWarps(); ++warp) {
      Warp all(warp, 8 * bytes);
      for (int reg = 0; reg < from.numRegs(); ++reg) {
        Lanes lanes;
        for (int lane = 0; lane < 32; ++lane)
          lanes[lane] = {number(from, reg, lane, warp)};
        all.set(regs[reg], lanes);
      }
      for (int reg = 0; reg < to.numRegs(); ++reg)
        for (int lane = 0; lane < 32; ++lane)
          ASSERT_EQ(all(results[reg])[lane].at(0), number(to, reg, lane, warp))
              << "register " << reg << ", lane " << lane << ", warp " << warp;
    }
    module->getBody()->clear();
    builder.setInsertionPointToStart(module->getBody());
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
};

TEST_F(LaneExchangeTest, AccumulatorsOf16Bits) {
  // Two steps, where repetitions are a multiple of four; one, of two. A shuffle
  // moves a word that half of the lanes need: half as many as words a step.
  expectElements(*DistributedLayout::mmaAccumulator(16, 64, 1, 2), 2, 8, 8);
  expectElements(*DistributedLayout::mmaAccumulator(64, 256, 2, 4), 2, 8, 32);
  expectElements(*DistributedLayout::mmaAccumulator(16, 48, 1, 1), 2, 4, 6);
  expectElements(*DistributedLayout::mmaAccumulator(16, 32, 1, 2), 2, 4, 2);
}

TEST_F(LaneExchangeTest, AccumulatorsOf32Bits) {
  expectElements(*DistributedLayout::mmaAccumulator(16, 32, 1, 2), 4, 4, 4);
  expectElements(*DistributedLayout::mmaAccumulator(32, 48, 2, 1), 4, 4, 12);
}

TEST_F(LaneExchangeTest, PackedAccumulators) {
  // Four columns in a row are there already: 8 bytes of 16 bits, one step.
  expectElements(*DistributedLayout::mmaAccumulator(16, 64, 1, 2, 0, 1), 2, 8,
                 4);
}

TEST_F(LaneExchangeTest, Vectors) {
  auto line = DistributedLayout::create({{1}}, {{2}, {4}, {8}, {16}, {32}},
                                        {{64}}, {4});
  expectElements(*line, 2, 8, 4);
  expectElements(*line, 4, 4, 4);
}

TEST_F(LaneExchangeTest, WhereNothingIsGained) {
  auto none = [](const DistributedLayout &layout, int bytes) {
    return !LaneExchange::plan(layout, bytes);
  };
  auto acc = *DistributedLayout::mmaAccumulator(16, 64, 1, 2);
  EXPECT_TRUE(none(acc, 1));
  EXPECT_TRUE(none(acc, 8));
  EXPECT_FALSE(none(acc, 2));
  // An odd number of repetitions; vectors of 16 bytes; single elements of 16
  // bits; lanes that hold copies; lanes that do not follow each other.
  EXPECT_TRUE(none(*DistributedLayout::mmaAccumulator(16, 56, 1, 1), 2));
  EXPECT_TRUE(none(*DistributedLayout::blocked({16, 256}, 2, 2), 2));
  EXPECT_TRUE(none(
      *DistributedLayout::create({}, {{1}, {2}, {4}, {8}, {16}}, {}, {4}), 2));
  EXPECT_TRUE(none(*acc.slice(1), 4));
  EXPECT_TRUE(none(
      *DistributedLayout::create({{1}}, {{4}, {8}, {16}, {32}, {2}}, {}, {3}),
      4));
  EXPECT_TRUE(none(*DistributedLayout::replicated({}, 1), 4));
}

TEST_F(LaneExchangeTest, EvenRepetitions) {
  auto acc = [](int64_t reps) {
    return *DistributedLayout::mmaAccumulator(16, 8 * reps, 1, 1);
  };
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(8), 2), 0);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(7), 2), 4);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(6), 2), 4);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(14), 2), 8);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(3), 2), 2);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(2), 2), 0);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(1), 2), 0);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(7), 4), 4);
  EXPECT_EQ(LaneExchange::evenRepetitions(acc(6), 4), 0);
  EXPECT_EQ(
      LaneExchange::evenRepetitions(*DistributedLayout::replicated({}, 1), 4),
      0);
}

} // namespace
