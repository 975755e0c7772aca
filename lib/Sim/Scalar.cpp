// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scalar.h"
#include "Mma.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlatile::sim;

namespace {

/// 2^x for -160 < x < 160, to about 1e-11.
double exp2Double(double x) {
  // Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
  constexpr double kShift = 0x1.8p52;
  double shifted = x + kShift;
  auto whole = static_cast<int64_t>(__builtin_bit_cast(uint64_t, shifted) -
                                    __builtin_bit_cast(uint64_t, kShift));
  double f = x - (shifted - kShift);
  // ln(2)^n / n!
  constexpr double kTerms[] = {
      0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a0bfp-5,
      0x1.3b2ab6fba4e77p-7,  0x1.5d87fe78a6730p-10, 0x1.430912f86c786p-13,
      0x1.ffcbfc588b0c5p-17, 0x1.62c0223a5c822p-20, 0x1.b5253d395e7c1p-24};
  double sum = 0;
  for (int i = 8; i >= 0; --i)
    sum = (sum + kTerms[i]) * f;
  double scale =
      __builtin_bit_cast(double, static_cast<uint64_t>(whole + 1023) << 52);
  return (1.0 + sum) * scale;
}

/// One value of a small format: round to nearest even, saturate.
uint8_t encodeSmall(float x, int mantissaBits, int bias, float largest,
                    uint8_t largestBits) {
  uint8_t sign = std::signbit(x);
  float magnitude = std::fabs(x);
  int signShift = largestBits > 0x3f ? 7 : 3;
  if (magnitude >= largest)
    return sign << signShift | largestBits;
  int exponent = 1 - bias;
  if (magnitude != 0)
    exponent = std::max(exponent, std::ilogb(magnitude));
  // In units of the last place; exact scaling, then ties to even.
  float units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));
  unsigned bits = static_cast<unsigned>(units) +
                  (static_cast<unsigned>(exponent + bias - 1) << mantissaBits);
  return sign << signShift | std::min<unsigned>(bits, largestBits);
}

} // namespace

float mlatile::sim::exp2Approx(float x) {
  if (std::isnan(x))
    return std::numeric_limits<float>::quiet_NaN();
  if (x >= 128.0f)
    return std::numeric_limits<float>::infinity();
  if (x < -150.0f)
    return 0.0f;
  return static_cast<float>(exp2Double(x));
}

float mlatile::sim::log2Approx(float x) {
  if (std::isnan(x) || x < 0)
    return std::numeric_limits<float>::quiet_NaN();
  if (x == 0)
    return -std::numeric_limits<float>::infinity();
  if (std::isinf(x))
    return x;
  int exponent;
  double m = std::frexp(static_cast<double>(x), &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) { // sqrt(1/2)
    m *= 2;
    --exponent;
  }
  // ln m = 2 atanh((m - 1) / (m + 1)), |argument| <= 0.172.
  double t = (m - 1) / (m + 1), t2 = t * t, sum = 0;
  for (int i = 17; i > 0; i -= 2)
    sum = sum * t2 + 1.0 / i;
  constexpr double kTwoOverLn2 = 0x1.71547652b82fep+1;
  return static_cast<float>(exponent + sum * t * kTwoOverLn2);
}

float mlatile::sim::tanhApprox(float x) {
  if (std::isnan(x))
    return std::numeric_limits<float>::quiet_NaN();
  if (std::fabs(x) > 20)
    return std::copysign(1.0f, x);
  if (std::fabs(x) < 0x1p-12f)
    return x;
  // tanh x = 1 - 2 / (e^2x + 1)
  constexpr double kTwoLog2E = 0x1.71547652b82fep+1;
  return static_cast<float>(1 - 2 / (exp2Double(x * kTwoLog2E) + 1));
}

uint32_t mlatile::sim::permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t choice = selector >> 4 * i & 15;
    uint32_t byte = bytes >> 8 * (choice & 7) & 255;
    if (choice & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

uint8_t mlatile::sim::floatToE4M3(float x) {
  return std::isnan(x) ? 0x7f : encodeSmall(x, 3, 7, 448.0f, 0x7e);
}
uint8_t mlatile::sim::floatToE5M2(float x) {
  return std::isnan(x) ? 0x7f : encodeSmall(x, 2, 15, 57344.0f, 0x7b);
}
uint8_t mlatile::sim::floatToE2M1(float x) {
  return std::isnan(x) ? 0x7 : encodeSmall(x, 1, 1, 6.0f, 0x7);
}
