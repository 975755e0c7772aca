// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small floating-point formats, byte by byte, for inputs and reference. Written
// without the library's tables, so that they can check it.
#ifndef MLATILE_TOOLS_RUN_NUMBERS_H
#define MLATILE_TOOLS_RUN_NUMBERS_H

#include <cstdint>

namespace mlatile::run {

double fromE4M3(uint8_t byte);
double fromE2M1(uint8_t nibble);
double fromUE8M0(uint8_t byte);
double fromBF16(uint16_t word);

/// Nearest, ties to even; past the largest value: the largest.
uint8_t toE4M3(double value);
uint8_t toE2M1(double value);
uint16_t toBF16(double value);

} // namespace mlatile::run
#endif
