// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every mma shape and type against a scalar model that is written from the
// PTX ISA's own formulas and shares nothing with the executor.
#include "SimTest.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

float fields(unsigned bits, int e, int m, int bias) {
  int exponent = bits >> m & ((1 << e) - 1), mantissa = bits & ((1 << m) - 1);
  double value = exponent == 0
                     ? std::ldexp(mantissa, 1 - bias - m)
                     : std::ldexp(mantissa + (1 << m), exponent - bias - m);
  return bits >> (e + m) & 1 ? -value : value;
}

struct Format {
  const char *name;
  int bits; ///< in the register
  std::function<float(unsigned)> value;
  unsigned mask; ///< encodings the test draws from
};

const Format kF16 = {"f16", 16, [](unsigned x) { return fields(x, 5, 10, 15); },
                     0xbfff};
const Format kBF16 = {
    "bf16", 16, [](unsigned x) { return __builtin_bit_cast(float, x << 16); },
    0xbfff};
const Format kE4M3 = {"e4m3", 8, [](unsigned x) { return fields(x, 4, 3, 7); },
                      0xf7};
const Format kE5M2 = {"e5m2", 8, [](unsigned x) { return fields(x, 5, 2, 15); },
                      0xbf};
const Format kE3M2 = {"e3m2", 8, [](unsigned x) { return fields(x, 3, 2, 3); },
                      0x3f};
const Format kE2M3 = {"e2m3", 8, [](unsigned x) { return fields(x, 2, 3, 1); },
                      0x3f};
const Format kE2M1Byte = {
    "e2m1", 8, [](unsigned x) { return fields(x >> 2, 2, 1, 1); }, 0x3c};
const Format kE2M1 = {"e2m1", 4, [](unsigned x) { return fields(x, 2, 1, 1); },
                      0xf};

struct Case {
  std::string intrinsic;
  Format a, b;
  int k;
  bool half = false; ///< f16 accumulator
  int blocks = 0;    ///< of scales along k
  bool ue4m3 = false;
  int byteA = 0, threadA = 0, byteB = 0, threadB = 0;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.intrinsic; }

struct Operands {
  int regsA, regsB, regsC;
  std::vector<uint32_t> a, b, c, d, sa, sb;
};

Operands draw(const Case &c, uint32_t seed) {
  Random random(seed);
  Operands x;
  x.regsA = c.k * c.a.bits / 64;
  x.regsB = x.regsA / 2;
  x.regsC = c.half ? 2 : 4;
  auto fill = [&](std::vector<uint32_t> &v, int regs, const Format &f) {
    v.resize(regs * 32);
    for (uint32_t &word : v) {
      word = 0;
      for (int i = 0; i < 32 / f.bits; ++i)
        word |= (random.next() & f.mask) << f.bits * i;
    }
  };
  fill(x.a, x.regsA, c.a);
  fill(x.b, x.regsB, c.b);
  x.c.resize(x.regsC * 32);
  for (uint32_t &word : x.c) {
    float value = static_cast<int32_t>(random.next()) * 0x1p-30f;
    std::memcpy(&word, &value, 4);
    if (c.half)
      word = random.next() & 0x3bff3bff;
  }
  x.d.resize(x.regsC * 32);
  x.sa.resize(32);
  x.sb.resize(32);
  for (std::vector<uint32_t> *scales : {&x.sa, &x.sb})
    for (uint32_t &word : *scales)
      for (int i = 0; i < 4; ++i) {
        uint32_t byte =
            c.ue4m3 ? random.next() % 0x7f : 120 + random.next() % 15;
        word = word << 8 | byte;
      }
  return x;
}

std::string text(const Case &c, const Operands &x) {
  auto types = [](int regs, const char *type) {
    std::vector<std::string> all(regs, type);
    return all;
  };
  bool f16 = std::string(c.a.name) == "f16";
  const char *operandType = f16 ? "<2 x half>" : "i32";
  const char *accType = c.half ? "<2 x half>" : "float";
  std::string result = "{";
  for (int i = 0; i < x.regsC; ++i)
    result += std::string(i ? ", " : "") + accType;
  result += "}";
  std::vector<std::string> argTypes;
  for (auto &t : types(x.regsA + x.regsB, operandType))
    argTypes.push_back(t);
  for (auto &t : types(x.regsC, accType))
    argTypes.push_back(t);
  std::vector<std::string> args;
  std::string body;
  int n = 0;
  auto load = [&](const char *pointer, int regs, const char *type) {
    for (int r = 0; r < regs; ++r, ++n) {
      std::string id = std::to_string(n);
      body += "  %i" + id + " = add i32 %lane, " + std::to_string(32 * r) +
              "\n  %g" + id + " = getelementptr i32, ptr addrspace(1) " +
              pointer + ", i32 %i" + id + "\n  %v" + id + " = load " + type +
              ", ptr addrspace(1) %g" + id + "\n";
      args.push_back(std::string(type) + " %v" + id);
    }
  };
  load("%p0", x.regsA, operandType);
  load("%p1", x.regsB, operandType);
  load("%p2", x.regsC, accType);
  if (c.blocks) {
    for (const char *t : {"i32", "i16", "i16", "i32", "i16", "i16"})
      argTypes.push_back(t);
    load("%p4", 1, "i32");
    args.push_back("i16 " + std::to_string(c.byteA));
    args.push_back("i16 " + std::to_string(c.threadA));
    load("%p5", 1, "i32");
    args.push_back("i16 " + std::to_string(c.byteB));
    args.push_back("i16 " + std::to_string(c.threadB));
  }
  auto join = [](const std::vector<std::string> &all) {
    std::string joined;
    for (auto &one : all)
      joined += (joined.empty() ? "" : ", ") + one;
    return joined;
  };
  std::string name = "@llvm.nvvm.mma." + c.intrinsic;
  body += "  %d = call " + result + " " + name + "(" + join(args) + ")\n";
  for (int r = 0; r < x.regsC; ++r) {
    std::string id = std::to_string(r);
    body += "  %e" + id + " = extractvalue " + result + " %d, " + id +
            "\n  %o" + id + " = add i32 %lane, " + std::to_string(32 * r) +
            "\n  %h" + id +
            " = getelementptr i32, ptr addrspace(1) %p3, i32 %o" + id +
            "\n  store " + accType + " %e" + id + ", ptr addrspace(1) %h" + id +
            "\n";
  }
  return kernel(body, 6,
                "declare " + result + " " + name + "(" + join(argTypes) + ")");
}

/// Row (for A) or column (for B) and k of element i of a lane, as the PTX ISA
/// writes it, for a format of `per` elements a register.
std::pair<int, int> elementA(int lane, int i, int per) {
  int group = lane >> 2, thread = lane % 4;
  int row = (i / per) % 2 ? group + 8 : group;
  int col = thread * per + (i % per) + (i >= 2 * per ? 4 * per : 0);
  return {row, col};
}
std::pair<int, int> elementB(int lane, int i, int per) {
  int group = lane >> 2, thread = lane % 4;
  return {group, thread * per + (i % per) + (i >= per ? 4 * per : 0)};
}

std::vector<uint32_t> model(const Case &c, const Operands &x) {
  std::vector<std::vector<float>> a(16, std::vector<float>(c.k)),
      b(8, std::vector<float>(c.k));
  int perA = 32 / c.a.bits;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < x.regsA * perA; ++i) {
      uint32_t word = x.a[i / perA * 32 + lane];
      auto [row, k] = elementA(lane, i, perA);
      a[row][k] =
          c.a.value(word >> c.a.bits * (i % perA) & ((1u << c.a.bits) - 1));
    }
    for (int i = 0; i < x.regsB * perA; ++i) {
      uint32_t word = x.b[i / perA * 32 + lane];
      auto [column, k] = elementB(lane, i, perA);
      b[column][k] =
          c.b.value(word >> c.b.bits * (i % perA) & ((1u << c.b.bits) - 1));
    }
  }
  auto scale = [&](uint32_t word, int byte) {
    unsigned bits = word >> 8 * byte & 255;
    return c.ue4m3 ? fields(bits & 127, 4, 3, 7)
                   : static_cast<float>(std::ldexp(1.0, int(bits) - 127));
  };
  std::vector<uint32_t> d(x.regsC * 32);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      float sum;
      if (c.half)
        sum =
            fields(x.c[i / 2 * 32 + lane] >> 16 * (i % 2) & 0xffff, 5, 10, 15);
      else
        std::memcpy(&sum, &x.c[i * 32 + lane], 4);
      for (int k = 0; k < c.k; ++k) {
        float product = a[row][k] * b[column][k];
        float factor = 1;
        if (c.blocks) {
          int block = k / (c.k / c.blocks);
          // PTX ISA: with thread-id-a 0 the lanes with %laneid % 4 = 0, 1
          // hold rows group and group + 8, with 1 those with 2, 3.
          int laneA = row % 8 * 4 + c.threadA * 2 + (row >= 8);
          int laneB = column * 4 + c.threadB;
          factor = scale(x.sa[laneA], c.byteA + block) *
                   scale(x.sb[laneB], c.byteB + block);
          sum = std::fma(product, factor, sum);
        } else {
          sum = std::fma(a[row][k], b[column][k], sum);
        }
      }
      if (c.half) {
        _Float16 h = static_cast<_Float16>(sum);
        uint16_t bits;
        std::memcpy(&bits, &h, 2);
        d[i / 2 * 32 + lane] |= static_cast<uint32_t>(bits) << 16 * (i % 2);
      } else {
        std::memcpy(&d[i * 32 + lane], &sum, 4);
      }
    }
  return d;
}

std::vector<Case> allCases() {
  std::vector<Case> all = {
      {"m16n8k16.row.col.bf16", kBF16, kBF16, 16},
      {"m16n8k8.row.col.bf16", kBF16, kBF16, 8},
      {"m16n8k16.row.col.f32.f32", kF16, kF16, 16},
      {"m16n8k8.row.col.f32.f32", kF16, kF16, 8},
      {"m16n8k16.row.col.f16.f16", kF16, kF16, 16, true},
      {"m16n8k16.row.col.f32.e4m3.e4m3.f32", kE4M3, kE4M3, 16},
      {"m16n8k16.row.col.f32.e5m2.e4m3.f32", kE5M2, kE4M3, 16},
  };
  for (const Format &a : {kE4M3, kE5M2})
    for (const Format &b : {kE4M3, kE5M2})
      all.push_back({std::string("m16n8k32.row.col.f32.") + a.name + "." +
                         b.name + ".f32",
                     a, b, 32});
  const Format bytes[] = {kE4M3, kE5M2, kE3M2, kE2M3, kE2M1Byte};
  for (const Format &a : bytes)
    for (const Format &b : bytes) {
      std::string types = std::string("f32.") + a.name + "." + b.name + ".f32";
      all.push_back({"m16n8k32.row.col.kind.f8f6f4." + types, a, b, 32});
      Case scaled = {"block.scale.m16n8k32.row.col.mxf8f6f4.scale.1x." + types +
                         ".ue8m0",
                     a, b, 32};
      scaled.blocks = 1;
      all.push_back(scaled);
    }
  // Every legal selector.
  for (int byteA = 0; byteA < 4; ++byteA)
    for (int threadA = 0; threadA < 2; ++threadA)
      for (int byteB = 0; byteB < 4; ++byteB)
        for (int threadB = 0; threadB < 4; ++threadB)
          all.push_back({"block.scale.m16n8k32.row.col.mxf8f6f4.f32.e4m3."
                         "e4m3.f32.ue8m0",
                         kE4M3, kE4M3, 32, false, 1, false, byteA, threadA,
                         byteB, threadB});
  for (int byteA : {0, 2})
    for (int threadA : {0, 1})
      for (int byteB : {0, 2})
        for (int threadB = 0; threadB < 4; ++threadB)
          for (const char *kind : {"mxf4.scale.2x", "mxf4nvf4.scale.2x"})
            all.push_back({std::string("block.scale.m16n8k64.row.col.") + kind +
                               ".f32.e2m1.e2m1.f32.ue8m0",
                           kE2M1, kE2M1, 64, false, 2, false, byteA, threadA,
                           byteB, threadB});
  for (int threadA : {0, 1})
    for (int threadB = 0; threadB < 4; ++threadB)
      all.push_back({"block.scale.m16n8k64.row.col.mxf4nvf4.scale.4x.f32."
                     "e2m1.e2m1.f32.ue4m3",
                     kE2M1, kE2M1, 64, false, 4, true, 0, threadA, 0, threadB});
  return all;
}

std::string runCase(const Case &c, Operands &x, Stats *stats = nullptr) {
  return run(text(c, x), 32,
             {x.a.data(), x.b.data(), x.c.data(), x.d.data(), x.sa.data(),
              x.sb.data()},
             {}, {}, stats);
}

class Mma : public testing::TestWithParam<Case> {};

TEST_P(Mma, MatchesScalarModel) {
  const Case &c = GetParam();
  for (uint32_t seed : {1u, 2u}) {
    Operands x = draw(c, seed);
    Stats stats;
    ASSERT_EQ(runCase(c, x, &stats), "");
    EXPECT_EQ(x.d, model(c, x));
    EXPECT_EQ(stats.mmaTotal(), 1u);
    EXPECT_EQ(stats.mmaWithoutCopiesInFlight, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mma, testing::ValuesIn(allCases()));

TEST(MmaMutation, SwappedRegistersChangeTheResult) {
  Case c = {"m16n8k16.row.col.bf16", kBF16, kBF16, 16};
  Operands x = draw(c, 3), y = x;
  std::swap_ranges(y.a.begin() + 32, y.a.begin() + 64, y.a.begin() + 64);
  ASSERT_EQ(runCase(c, y), "");
  EXPECT_NE(y.d, model(c, x));
}

TEST(MmaMutation, WrongScaleByteChangesTheResult) {
  Case c = {"block.scale.m16n8k32.row.col.mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0",
            kE4M3,
            kE4M3,
            32,
            false,
            1};
  Operands x = draw(c, 4);
  Case wrong = c;
  wrong.byteA = 1;
  ASSERT_EQ(runCase(wrong, x), "");
  EXPECT_NE(x.d, model(c, x));
}

TEST(MmaScales, IllegalSelectorsAreErrors) {
  Case c = {"block.scale.m16n8k32.row.col.mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0",
            kE4M3,
            kE4M3,
            32,
            false,
            1};
  Operands x = draw(c, 5);
  c.threadA = 2;
  EXPECT_TRUE(contains(runCase(c, x), "thread-id-a of 0 or 1"));
  c.threadA = 0;
  c.byteB = 4;
  EXPECT_TRUE(contains(runCase(c, x), "byte-id of 0 to 3"));
  Case four = {"block.scale.m16n8k64.row.col.mxf4nvf4.scale.4x.f32.e2m1.e2m1."
               "f32.ue4m3",
               kE2M1,
               kE2M1,
               64,
               false,
               4,
               true,
               1};
  x = draw(four, 5);
  EXPECT_TRUE(contains(runCase(four, x), "byte-id of 0 for scale_vec::4X"));
}

TEST(MmaScales, NanScaleMakesNanRow) {
  Case c = {"block.scale.m16n8k32.row.col.mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0",
            kE4M3,
            kE4M3,
            32,
            false,
            1};
  Operands x = draw(c, 6);
  x.sa[4 * 3 + 1] |= 0xff; // row 11
  ASSERT_EQ(runCase(c, x), "");
  for (int lane = 0; lane < 32; ++lane)
    for (int reg = 0; reg < 4; ++reg) {
      bool row11 = lane / 4 == 3 && reg >= 2;
      EXPECT_EQ(x.d[reg * 32 + lane] == 0x7fffffff, row11);
    }
}

TEST(MmaScales, ExtremeScalesThatCancel) {
  // 2^-127 on A and 2^127 on B.
  Case c = {"block.scale.m16n8k32.row.col.mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0",
            kE4M3,
            kE4M3,
            32,
            false,
            1};
  Operands x = draw(c, 7);
  for (uint32_t &word : x.sa)
    word = 0;
  for (uint32_t &word : x.sb)
    word = 254;
  ASSERT_EQ(runCase(c, x), "");
  Case plain = {"m16n8k32.row.col.f32.e4m3.e4m3.f32", kE4M3, kE4M3, 32};
  Operands y = x;
  ASSERT_EQ(runCase(plain, y), "");
  EXPECT_EQ(x.d, y.d);
}

} // namespace
