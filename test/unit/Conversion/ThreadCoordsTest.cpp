// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emitted coordinates against DistributedLayout::coord: the operations are
// interpreted for every thread and register.
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using mlatile::DistributedLayout;

namespace {

/// Evaluates i32 operations; the thread number is the only free value.
struct Interpreter {
  Value thread;
  uint32_t threadNumber;

  uint32_t operator()(Value value) {
    if (value == thread)
      return threadNumber;
    Operation *op = value.getDefiningOp();
    if (!op) {
      ADD_FAILURE() << "a free value";
      return 0;
    }
    if (auto constant = dyn_cast<LLVM::ConstantOp>(op))
      return static_cast<uint32_t>(
          cast<IntegerAttr>(constant.getValue()).getInt());
    uint32_t a = (*this)(op->getOperand(0)), b = (*this)(op->getOperand(1));
    if (isa<LLVM::AndOp>(op))
      return a & b;
    if (auto disjoint = dyn_cast<LLVM::OrOp>(op)) {
      EXPECT_TRUE(!disjoint.getIsDisjoint() || (a & b) == 0);
      return a | b;
    }
    if (isa<LLVM::XOrOp>(op))
      return a ^ b;
    if (isa<LLVM::AddOp>(op))
      return a + b;
    if (isa<LLVM::ShlOp>(op))
      return a << b;
    if (isa<LLVM::LShrOp>(op))
      return a >> b;
    ADD_FAILURE() << "unexpected " << op->getName().getStringRef().str();
    return 0;
  }
};

class ThreadCoordsTest : public testing::Test {
protected:
  ThreadCoordsTest()
      : builder(&context), loc(builder.getUnknownLoc()),
        module(ModuleOp::create(loc)) {
    context.loadDialect<LLVM::LLVMDialect>();
    builder.setInsertionPointToStart(module->getBody());
    // Any value will do: it is replaced when interpreted.
    thread = mlatile::constI32(builder, loc, -1);
  }

  void expectSame(const DistributedLayout &layout) {
    SCOPED_TRACE(layout.str());
    mlatile::ThreadCoords coords(builder, loc, layout, thread);
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      for (int dim = 0; dim < layout.rank(); ++dim) {
        Value value = coords.coord(builder, loc, reg, dim);
        for (int t = 0; t < layout.numThreads(); ++t) {
          int64_t expected = layout.coord(reg, t % 32, t / 32)[dim];
          ASSERT_EQ((Interpreter{thread, uint32_t(t)})(value), expected)
              << "register " << reg << ", thread " << t << ", dim " << dim;
          if (coords.adds()) {
            ASSERT_EQ((Interpreter{thread, uint32_t(t)})(coords.base(dim)) +
                          coords.offset(reg, dim),
                      expected);
          }
        }
      }
  }

  MLIRContext context;
  OpBuilder builder;
  Location loc;
  OwningOpRef<ModuleOp> module;
  Value thread;
};

TEST_F(ThreadCoordsTest, Factories) {
  expectSame(*DistributedLayout::mmaAccumulator(64, 448, 2, 4));
  expectSame(*DistributedLayout::mmaOperandA(32, 64, 16, 2, 2));
  expectSame(*DistributedLayout::mmaOperandB(64, 24, 8, 2, 1));
  expectSame(*DistributedLayout::blocked({16, 576}, 2, 8));
  expectSame(*DistributedLayout::rowsOverThreads(96, 4));
  expectSame(*DistributedLayout::replicated({4, 3}, 2));
  expectSame(*DistributedLayout::mmaAccumulator(16, 64, 1, 4)->slice(1));
}

TEST_F(ThreadCoordsTest, RegistersThatXor) {
  auto layout = DistributedLayout::create(
      {{1, 0}, {0, 3}}, {{3, 0}, {0, 1}, {0, 4}, {4, 0}, {0, 8}},
      {{8, 0}, {16, 0}}, {1, 2});
  ASSERT_TRUE(layout);
  EXPECT_FALSE(layout->registersAdd());
  expectSame(*layout);
}

/// Any bases are allowed, dependent and unordered ones too.
TEST_F(ThreadCoordsTest, BitLinearMaps) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> bases(10);
    for (int64_t &basis : bases)
      basis = random() % 4 ? 1 << random() % 12 : random() % 4096;
    Value value = mlatile::emitBitLinear(builder, loc, thread, bases);
    for (uint32_t t = 0; t < 1024; t += 1 + random() % 7) {
      int64_t expected = 0;
      for (int i = 0; i < 10; ++i)
        if (t >> i & 1)
          expected ^= bases[i];
      ASSERT_EQ((Interpreter{thread, t})(value), expected);
    }
  }
}

/// Neighbouring bits that keep their order cost one mask and one shift.
TEST_F(ThreadCoordsTest, ContiguousBitsAreOneTerm) {
  Value value = mlatile::emitBitLinear(builder, loc, thread, {0, 0, 1, 2, 4});
  auto shift = value.getDefiningOp<LLVM::LShrOp>();
  ASSERT_TRUE(shift);
  auto mask = shift.getLhs().getDefiningOp<LLVM::AndOp>();
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask.getLhs(), thread);
}

} // namespace
