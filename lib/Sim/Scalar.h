// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar mathematics of the device, the same on every host. The approximate
// instructions are computed to better than their documented error.
#ifndef MLATILE_LIB_SIM_SCALAR_H
#define MLATILE_LIB_SIM_SCALAR_H

#include <cstdint>

namespace mlatile::sim {

float exp2Approx(float x);
float log2Approx(float x);
float tanhApprox(float x);
/// prmt.b32 in its default mode.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector);
/// cvt.rn.satfinite to e4m3, e5m2, e2m1 (one value, in the low bits).
uint8_t floatToE4M3(float x);
uint8_t floatToE5M2(float x);
uint8_t floatToE2M1(float x);

} // namespace mlatile::sim
#endif
