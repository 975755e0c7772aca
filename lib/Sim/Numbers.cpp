// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small floating-point formats. OCP 8-bit and microscaling formats; IEEE half.
#include "Mma.h"
#include <array>
#include <cmath>
#include <limits>

using namespace mlatile::sim;

namespace {

/// sign : exponent : mantissa of a format without infinities.
float decodeSmall(unsigned bits, int exponentBits, int mantissaBits, int bias) {
  unsigned mantissa = bits & ((1u << mantissaBits) - 1);
  unsigned exponent = (bits >> mantissaBits) & ((1u << exponentBits) - 1);
  bool negative = bits >> (mantissaBits + exponentBits) & 1;
  float scale = 1.0f / static_cast<float>(1u << mantissaBits);
  float value = exponent ? std::ldexp(1.0f + mantissa * scale,
                                      static_cast<int>(exponent) - bias)
                         : std::ldexp(mantissa * scale, 1 - bias);
  return negative ? -value : value;
}

using Table = std::array<float, 256>;

Table makeTable(Element element) {
  Table table{};
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (unsigned i = 0; i < 256; ++i) {
    switch (element) {
    case Element::E4M3:
      table[i] = (i & 0x7f) == 0x7f ? nan : decodeSmall(i, 4, 3, 7);
      break;
    case Element::E5M2:
      table[i] = halfToFloat(i << 8);
      break;
    case Element::E3M2:
      table[i] = decodeSmall(i & 0x3f, 3, 2, 3);
      break;
    case Element::E2M3:
    case Element::E2M1:
      table[i] = decodeSmall(i & 0x3f, 2, 3, 1);
      break;
    case Element::F16:
    case Element::BF16:
      break;
    }
  }
  return table;
}

} // namespace

const float *mlatile::sim::decodeTable(Element element) {
  static const std::array<Table, 7> tables = [] {
    std::array<Table, 7> all;
    for (unsigned i = 0; i < all.size(); ++i)
      all[i] = makeTable(static_cast<Element>(i));
    return all;
  }();
  return tables[static_cast<unsigned>(element)].data();
}

const float *mlatile::sim::decodeNibbleTable() {
  static const std::array<float, 16> table = [] {
    std::array<float, 16> values;
    for (unsigned i = 0; i < 16; ++i)
      values[i] = decodeSmall(i, 2, 1, 1);
    return values;
  }();
  return table.data();
}

double mlatile::sim::decodeScale(ScaleType type, uint8_t byte) {
  switch (type) {
  case ScaleType::UE8M0:
    return byte == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, byte - 127);
  case ScaleType::UE4M3:
    return decodeTable(Element::E4M3)[byte & 0x7f];
  case ScaleType::None:
    break;
  }
  return 1.0;
}

float mlatile::sim::halfToFloat(uint16_t bits) {
  unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
  uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31;
  if (exponent == 31)
    return __builtin_bit_cast(float, sign | 0x7f800000u | mantissa << 13);
  if (exponent)
    return __builtin_bit_cast(float,
                              sign | (exponent + 112) << 23 | mantissa << 13);
  float value = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -value : value;
}

uint16_t mlatile::sim::floatToHalf(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  uint16_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x47800000) // 65536 and up, infinity included
    return sign | 0x7c00;
  if (magnitude >= 0x38800000) { // normal in half
    uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | ((rounded - 0x38000000) >> 13);
  }
  // Subnormal: adding 0.5 lines the units of f32 up with those of half.
  float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
  return sign | (__builtin_bit_cast(uint32_t, shifted) - 0x3f000000u);
}

uint16_t mlatile::sim::floatToBfloat(float value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
