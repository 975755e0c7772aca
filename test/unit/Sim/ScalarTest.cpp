// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions over all encodings, approximate functions against double.
#include "SimTest.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {

constexpr unsigned kThreads = 65536;

/// One thread an encoding 0 to 65535: %n; `body` makes %y of type `type`.
template <typename T>
std::vector<T> overAll(const std::string &body, const std::string &type,
                       const std::string &declarations,
                       std::vector<float> *in = nullptr) {
  std::vector<T> out(kThreads);
  std::vector<float> zeros(kThreads);
  LaunchDims dims;
  dims.gridX = kThreads / 256;
  std::string text =
      kernel("  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
             "  %b = shl i32 %c, 8\n"
             "  %n = or i32 %b, %tid\n"
             "  %h = trunc i32 %n to i16\n"
             "  %fa = getelementptr float, ptr addrspace(1) %p1, i32 %n\n"
             "  %f = load float, ptr addrspace(1) %fa\n" +
                 body + "  %d = getelementptr " + type +
                 ", ptr addrspace(1) %p0, i32 %n\n  store " + type +
                 " %y, ptr addrspace(1) %d\n",
             2, declarations);
  EXPECT_EQ(run(text, 256, {out.data(), (in ? *in : zeros).data()}, dims), "");
  return out;
}

double value(unsigned bits, int e, int m, int bias) {
  int exponent = bits >> m & ((1 << e) - 1), mantissa = bits & ((1 << m) - 1);
  double v = exponent ? std::ldexp(mantissa + (1 << m), exponent - bias - m)
                      : std::ldexp(mantissa, 1 - bias - m);
  return bits >> (e + m) & 1 ? -v : v;
}

TEST(Convert, SmallFormatsToHalf) {
  struct Format {
    const char *name;
    int bits, e, m, bias;
  };
  for (Format f : {Format{"e4m3x2", 8, 4, 3, 7}, Format{"e5m2x2", 8, 5, 2, 15},
                   Format{"e3m2x2", 8, 3, 2, 3}, Format{"e2m3x2", 8, 2, 3, 1},
                   Format{"e2m1x2", 4, 2, 1, 1}}) {
    std::string name = std::string("@llvm.nvvm.") + f.name + ".to.f16x2.rn";
    auto out =
        overAll<uint32_t>("  %y = call <2 x half> " + name + "(i16 %h)\n",
                          "<2 x half>", "declare <2 x half> " + name + "(i16)");
    int used = 1 + f.e + f.m;
    for (unsigned i = 0; i < (f.bits == 4 ? 256u : kThreads); ++i)
      for (int half = 0; half < 2; ++half) {
        unsigned code = i >> f.bits * half & ((1u << used) - 1);
        uint16_t got = out[i] >> 16 * half;
        bool e4m3Nan = f.e == 4 && (code & 0x7f) == 0x7f;
        if (e4m3Nan) {
          EXPECT_EQ(got, 0x7fff);
        } else if (f.e == 5 && (code & 0x7c) == 0x7c) {
          EXPECT_EQ(got & 0x7c00, 0x7c00);
        } else {
          EXPECT_EQ(value(got, 5, 10, 15), value(code, f.e, f.m, f.bias));
          EXPECT_EQ(got >> 15, code >> (used - 1));
        }
      }
  }
}

/// Numbers round to the nearest of a format; ties go to the even encoding.
unsigned nearest(float x, int e, int m, int bias, unsigned largest) {
  double magnitude = std::fabs(static_cast<double>(x));
  unsigned best = 0;
  for (unsigned code = 0; code <= largest; ++code) {
    double d = std::fabs(value(code, e, m, bias) - magnitude),
           b = std::fabs(value(best, e, m, bias) - magnitude);
    if (d < b || (d == b && code % 2 == 0))
      best = code;
  }
  return best;
}

std::vector<float> samples(double range) {
  Random random(17);
  std::vector<float> all(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) {
    // Numbers of all sizes, and exact ties.
    float exponent = (random.next() % 4096) / 4096.0f * 24 - 14;
    all[i] = std::exp2(exponent) * (random.next() % 2 ? 1 : -1);
    if (i % 2)
      all[i] = std::ldexp(static_cast<float>(random.next() % 64),
                          static_cast<int>(random.next() % 12) - 10);
    if (std::fabs(all[i]) > range * 2)
      all[i] = range;
  }
  all[0] = std::numeric_limits<float>::infinity();
  all[1] = -all[0];
  all[2] = 0.0f;
  all[3] = -0.0f;
  return all;
}

TEST(Convert, FloatToE4M3) {
  std::vector<float> in = samples(448);
  std::string name = "@llvm.nvvm.ff.to.e4m3x2.rn";
  auto out =
      overAll<uint16_t>("  %y = call i16 " + name + "(float %f, float 1.5)\n",
                        "i16", "declare i16 " + name + "(float, float)", &in);
  for (unsigned i = 0; i < kThreads; ++i) {
    unsigned expected = nearest(in[i], 4, 3, 7, 0x7e);
    EXPECT_EQ(out[i] >> 8, expected | (std::signbit(in[i]) ? 0x80 : 0))
        << in[i];
    EXPECT_EQ(out[i] & 255, 0x3c); // the low byte is the second operand
  }
}

TEST(Convert, FloatToE2M1) {
  std::vector<float> in = samples(6);
  in[4] = NAN;
  std::string name = "@llvm.nvvm.ff.to.e2m1x2.rn.satfinite";
  auto out =
      overAll<uint16_t>("  %y = call i16 " + name + "(float %f, float 1.5)\n",
                        "i16", "declare i16 " + name + "(float, float)", &in);
  EXPECT_EQ(out[4], 0x73);
  for (unsigned i = 5; i < kThreads; ++i)
    EXPECT_EQ(
        out[i],
        (nearest(in[i], 2, 1, 1, 7) | (std::signbit(in[i]) ? 8 : 0)) << 4 | 3)
        << in[i];
}

TEST(Convert, ScalesToBfloat) {
  std::string name = "@llvm.nvvm.ue8m0x2.to.bf16x2";
  auto out = overAll<uint32_t>(
      "  %y = call <2 x bfloat> " + name + "(i16 %h)\n", "<2 x bfloat>",
      "declare <2 x bfloat> " + name + "(i16)");
  for (unsigned i = 0; i < kThreads; ++i)
    for (int half = 0; half < 2; ++half) {
      int code = i >> 8 * half & 255;
      uint16_t got = out[i] >> 16 * half;
      if (code == 255)
        EXPECT_EQ(got, 0x7fff);
      else
        EXPECT_EQ(__builtin_bit_cast(float, uint32_t(got) << 16),
                  static_cast<float>(std::ldexp(1.0, code - 127)));
    }
}

/// Each way a compiler may write it.
TEST(Convert, FloatToBfloat) {
  std::vector<float> in(kThreads);
  Random random(4);
  for (float &x : in)
    x = __builtin_bit_cast(float, random.next());
  in[0] = NAN;
  in[1] = __builtin_bit_cast(float, 0x3f808000u); // ties
  in[2] = __builtin_bit_cast(float, 0x3f818000u);
  in[3] = std::numeric_limits<float>::max();
  auto packed = overAll<uint32_t>(
      "  %y = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %f, float 1.0)\n",
      "<2 x bfloat>",
      "declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)", &in);
  auto plain = overAll<uint16_t>("  %y = fptrunc float %f to bfloat\n",
                                 "bfloat", "", &in);
  auto vector = overAll<uint32_t>(
      "  %v0 = insertelement <2 x float> poison, float %f, i32 1\n"
      "  %v1 = insertelement <2 x float> %v0, float 1.0, i32 0\n"
      "  %y = fptrunc <2 x float> %v1 to <2 x bfloat>\n",
      "<2 x bfloat>", "", &in);
  for (unsigned i = 0; i < kThreads; ++i) {
    uint32_t bits = __builtin_bit_cast(uint32_t, in[i]);
    uint16_t low = bits, expected = bits >> 16;
    if (std::isnan(in[i]))
      expected = 0x7fff;
    else if (low > 0x8000 || (low == 0x8000 && expected % 2))
      ++expected;
    EXPECT_EQ(plain[i], expected) << std::hex << bits;
    EXPECT_EQ(packed[i], uint32_t(expected) << 16 | 0x3f80);
    EXPECT_EQ(vector[i], uint32_t(expected) << 16 | 0x3f80);
  }
}

TEST(Convert, HalfRoundTrip) {
  auto wide = overAll<float>("  %x = bitcast i16 %h to half\n"
                             "  %y = fpext half %x to float\n",
                             "float", "");
  auto back =
      overAll<uint16_t>("  %y = fptrunc float %f to half\n", "half", "", &wide);
  for (unsigned i = 0; i < kThreads; ++i) {
    if ((i & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(wide[i]));
      continue;
    }
    if ((i & 0x7fff) != 0x7c00)
      EXPECT_EQ(wide[i], value(i, 5, 10, 15));
    EXPECT_EQ(back[i], i);
  }
}

void expectClose(const char *name, double (*reference)(double),
                 std::vector<float> in, double tolerance) {
  std::string function = std::string("@llvm.nvvm.") + name;
  std::string overload = contains(name, "ex2") ? ".f32" : "";
  auto out = overAll<float>(
      "  %y = call float " + function + overload + "(float %f)\n", "float",
      "declare float " + function + overload + "(float)", &in);
  for (unsigned i = 0; i < kThreads; ++i) {
    double expected = reference(in[i]);
    if (std::fabs(expected) < 1e-37)
      EXPECT_LT(std::fabs(out[i]), 1e-37) << in[i];
    else
      EXPECT_NEAR(out[i] / expected, 1.0, tolerance) << name << " " << in[i];
  }
}

TEST(Approximate, CloseToDouble) {
  std::vector<float> any(kThreads), positive(kThreads);
  Random random(8);
  for (unsigned i = 0; i < kThreads; ++i) {
    any[i] = (static_cast<int32_t>(random.next()) >> 8) * (120.0f / (1 << 23));
    positive[i] = std::exp2(any[i]);
    // log2 near 1 has a small absolute error only.
    if (std::fabs(positive[i] - 1) < 0.01)
      positive[i] = 3;
  }
  expectClose(
      "ex2.approx.ftz", [](double x) { return std::exp2(x); }, any, 2e-7);
  expectClose(
      "lg2.approx.f", [](double x) { return std::log2(x); }, positive, 3e-7);
  expectClose(
      "rcp.approx.ftz.f", [](double x) { return 1 / x; }, positive, 2e-7);
  expectClose(
      "rsqrt.approx.f", [](double x) { return 1 / std::sqrt(x); }, positive,
      3e-7);
}

TEST(Approximate, SpecialValues) {
  std::vector<float> in(kThreads);
  float inf = std::numeric_limits<float>::infinity();
  in[0] = -inf;
  in[1] = inf;
  in[2] = NAN;
  in[3] = -0.0f;
  in[4] = -1;
  auto exp2 = overAll<float>(
      "  %y = call float @llvm.nvvm.ex2.approx.ftz.f32(float %f)\n", "float",
      "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)", &in);
  EXPECT_EQ(exp2[0], 0);
  EXPECT_FALSE(std::signbit(exp2[0]));
  EXPECT_EQ(exp2[1], inf);
  EXPECT_TRUE(std::isnan(exp2[2]));
  EXPECT_EQ(exp2[3], 1);
  auto log2 = overAll<float>(
      "  %y = call float @llvm.nvvm.lg2.approx.f(float "
      "%f)\n",
      "float", "declare float @llvm.nvvm.lg2.approx.f(float)", &in);
  EXPECT_TRUE(std::isnan(log2[0]));
  EXPECT_EQ(log2[1], inf);
  EXPECT_TRUE(std::isnan(log2[2]));
  EXPECT_EQ(log2[3], -inf);
  EXPECT_TRUE(std::isnan(log2[4]));
}

TEST(Extremum, NanRules) {
  std::vector<float> in(kThreads);
  in[0] = NAN;
  in[1] = 2;
  auto max = overAll<float>(
      "  %y = call float @llvm.nvvm.fmax.f(float %f, float 1.0)\n", "float",
      "declare float @llvm.nvvm.fmax.f(float, float)", &in);
  EXPECT_EQ(max[0], 1);
  EXPECT_EQ(max[1], 2);
  auto nan = overAll<float>(
      "  %y = call float @llvm.nvvm.fmax.nan.f(float %f, float 1.0)\n", "float",
      "declare float @llvm.nvvm.fmax.nan.f(float, float)", &in);
  EXPECT_TRUE(std::isnan(nan[0]));
  auto generic = overAll<float>(
      "  %m = call float @llvm.maxnum.f32(float %f, float 1.0)\n"
      "  %y = call float @llvm.fma.f32(float %m, float %m, float 1.0)\n",
      "float",
      "declare float @llvm.maxnum.f32(float, float)\n"
      "declare float @llvm.fma.f32(float, float, float)",
      &in);
  EXPECT_EQ(generic[0], 2);
  EXPECT_EQ(generic[1], 5);
}

TEST(Permute, DefaultMode) {
  auto out = overAll<uint32_t>(
      "  %y = call i32 @llvm.nvvm.prmt(i32 2206368000, i32 117867908, i32 "
      "%n)\n",
      "i32", "declare i32 @llvm.nvvm.prmt(i32, i32, i32)");
  const uint8_t bytes[] = {0x00, 0x81, 0x82, 0x83, 0x84, 0x85, 0x06, 0x07};
  for (unsigned n = 0; n < kThreads; ++n)
    for (int i = 0; i < 4; ++i) {
      unsigned c = n >> 4 * i & 15;
      uint8_t byte = bytes[c & 7];
      if (c & 8)
        byte = byte & 0x80 ? 0xff : 0;
      EXPECT_EQ(out[n] >> 8 * i & 255, byte);
    }
}

} // namespace
