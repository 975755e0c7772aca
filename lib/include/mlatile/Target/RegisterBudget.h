// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many registers a thread is given where CTAs share an SM: what the
// compiler asks ptxas for, and what the cost model counts with before a kernel
// exists.
#ifndef MLATILE_TARGET_REGISTERBUDGET_H
#define MLATILE_TARGET_REGISTERBUDGET_H

#include <cstdint>

namespace mlatile {

/// Of an SM, on every target (Target::registersPerSM).
inline constexpr int64_t kRegisterFile = 65536;

/// Registers of a thread that a launch of so many warps a CTA allocates, one
/// CTA an SM.
constexpr int64_t launchRegisters(int64_t warps) {
  return kRegisterFile / (32 * warps) / 8 * 8;
}

/// CTAs of so many warps that have room in an SM of `registersPerSM`: each
/// quarter of it grants its own, by 256 a warp (CUDA occupancy calculator).
constexpr int64_t ctasByRegisters(int64_t registersPerSM, int64_t ofThread,
                                  int64_t warps) {
  int64_t ofWarp = (32 * ofThread + 255) / 256 * 256;
  return 4 * (registersPerSM / 4 / ofWarp) / warps;
}

/// CTAs of clusters that an SM has room for. Plans take clusters where each CTA
/// has an SM; some come to share one.
inline constexpr int64_t kClusterCtas = 2;

/// Registers of a role's thread besides what its loops carry and what it holds
/// of an operand that they do not change.
inline constexpr int64_t kRoleWorkingRegisters = 64;

/// Registers a thread that code around a loop takes, besides what the loop
/// carries: addresses, fragments of both operands, a few products under way.
inline constexpr int64_t kWorkingRegisters = 96;

/// Registers of a thread whose loop carries so many, in the steps of 8 that
/// they are allocated in.
constexpr int64_t registerBudget(int64_t carried) {
  return (carried + kWorkingRegisters + 7) / 8 * 8;
}

} // namespace mlatile
#endif
