// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Numbers.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

namespace mlatile::run {
namespace {
std::array<double, 256> makeE4M3() {
  std::array<double, 256> table;
  for (int byte = 0; byte < 256; ++byte) {
    int exponent = byte >> 3 & 15, mantissa = byte & 7;
    double magnitude = exponent == 0 ? std::ldexp(mantissa, -9)
                                     : std::ldexp(8 + mantissa, exponent - 10);
    if (exponent == 15 && mantissa == 7)
      magnitude = std::numeric_limits<double>::quiet_NaN();
    table[static_cast<size_t>(byte)] = byte & 0x80 ? -magnitude : magnitude;
  }
  return table;
}
const std::array<double, 256> kE4M3 = makeE4M3();
constexpr std::array<double, 8> kE2M1 = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

/// Index of the nearest value of an ascending table, ties to the even index.
uint8_t nearest(double magnitude, std::span<const double> table) {
  size_t above = 1;
  while (above + 1 < table.size() && table[above] < magnitude)
    ++above;
  double up = table[above] - magnitude, down = magnitude - table[above - 1];
  if (up == down)
    return static_cast<uint8_t>(above % 2 == 0 ? above : above - 1);
  return static_cast<uint8_t>(up < down ? above : above - 1);
}
} // namespace

double fromE4M3(uint8_t byte) { return kE4M3[byte]; }

double fromE2M1(uint8_t nibble) {
  return nibble & 8 ? -kE2M1[nibble & 7] : kE2M1[nibble & 7];
}

double fromUE8M0(uint8_t byte) {
  return byte == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, byte - 127);
}

double fromBF16(uint16_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(word) << 16);
}

uint8_t toE4M3(double value) {
  double magnitude = std::fmin(std::fabs(value), 448.0);
  int code;
  if (magnitude < 0x1p-6) { // subnormal, in steps of 2^-9
    code = static_cast<int>(std::nearbyint(magnitude * 0x1p9));
  } else {
    int exponent = std::ilogb(magnitude);
    // 8 to 16 eighths; 16 is the next exponent.
    code =
        (exponent + 6) * 8 +
        static_cast<int>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
  }
  return static_cast<uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

uint8_t toE2M1(double value) {
  uint8_t code = nearest(std::fmin(std::fabs(value), 6.0), kE2M1);
  return static_cast<uint8_t>(code | (std::signbit(value) ? 8 : 0));
}

uint16_t toBF16(double value) {
  uint32_t word = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

} // namespace mlatile::run
