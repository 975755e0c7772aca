// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host vector forms give bit for bit what the portable forms give, on any
// bits: NaN, infinities, subnormal numbers, extreme scales.
#include "Mma.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlatile::sim;

namespace {

/// Registers a row each: a, b, c, scale-a, scale-b, then d.
Op makeOp(const MmaShapeInfo &info) {
  Op op;
  op.code = OpCode::Mma;
  op.mma = info;
  unsigned n = 0;
  for (int i = 0; i < info.regsA + info.regsB + info.regsC; ++i, ++n)
    op.in[n] = n;
  if (info.scaleBlocks) {
    unsigned row = n;
    for (int side = 0; side < 2; ++side) {
      op.in[n++] = row + side;
      op.in[n++] = kImmediate;
      op.in[n++] = kImmediate;
    }
  }
  op.outputs = info.regsC;
  for (unsigned i = 0; i < op.outputs; ++i)
    op.out[i] = 20 + i;
  return op;
}

void compare(const MmaShapeInfo &info) {
  if (!mmaFast())
    GTEST_SKIP() << "the host has no AVX2, FMA and F16C";
  std::mt19937 random(7);
  Op op = makeOp(info);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> rows(24 * 32);
    for (uint32_t &word : rows) {
      word = random();
      // Half of the rounds without NaN, so that numbers are compared too.
      if (round % 2)
        word &= 0x3f3f3f3f;
      if (info.scale == ScaleType::UE8M0 && round % 4 == 1)
        word = 0x7f7f7f7f;
    }
    if (info.scaleBlocks && round % 4 == 3)
      for (unsigned i = 0; i < 64; ++i) // scales 120 to 135
        rows[(info.regsA + info.regsB + info.regsC) * 32 + i] =
            0x78787878 + (random() & 0x0f0f0f0f);
    std::vector<uint32_t> fast = rows, portable = rows;
    ASSERT_EQ(runMma(op, fast.data(), true), nullptr);
    ASSERT_EQ(runMma(op, portable.data(), false), nullptr);
    ASSERT_EQ(fast, portable) << "round " << round;
  }
}

TEST(MmaVariants, Halves) {
  for (Element element : {Element::F16, Element::BF16})
    for (bool half : {false, true}) {
      MmaShapeInfo info;
      info.a = info.b = element;
      info.halfAccumulator = half;
      info.regsC = half ? 2 : 4;
      compare(info);
      info.k = 8;
      info.regsA = 2;
      info.regsB = 1;
      compare(info);
    }
}

TEST(MmaVariants, Bytes) {
  for (Element a : {Element::E4M3, Element::E5M2, Element::E3M2, Element::E2M3,
                    Element::E2M1})
    for (Element b : {Element::E4M3, Element::E5M2, Element::E2M1}) {
      MmaShapeInfo info;
      info.a = a;
      info.b = b;
      info.bits = 8;
      info.k = 32;
      compare(info);
      info.scaleBlocks = 1;
      info.scale = ScaleType::UE8M0;
      compare(info);
    }
}

TEST(MmaVariants, Nibbles) {
  for (int blocks : {2, 4})
    for (ScaleType scale : {ScaleType::UE8M0, ScaleType::UE4M3}) {
      MmaShapeInfo info;
      info.a = info.b = Element::E2M1;
      info.bits = 4;
      info.k = 64;
      info.scaleBlocks = blocks;
      info.scale = scale;
      compare(info);
    }
}

} // namespace
