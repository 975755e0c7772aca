// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What address sanitizer believes of a fiber's stack.
#ifndef MLATILE_LIB_SIM_STACKSHADOW_H
#define MLATILE_LIB_SIM_STACKSHADOW_H

#include <cstddef>
#include <cstdint>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MLATILE_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
#endif
#endif

namespace mlatile::sim {

/// A lane that failed left its stack without returning; the marks round the
/// frames that it had are still in the sanitizer's shadow. They are cleared
/// there, because the call that does so is off where poisoning by programs is.
#ifdef MLATILE_ADDRESS_SANITIZER
__attribute__((no_sanitize("address"))) inline void
forgetFrames(const uint8_t *begin, const uint8_t *end) {
  size_t scale, offset;
  __asan_get_shadow_mapping(&scale, &offset);
  uintptr_t last = (reinterpret_cast<uintptr_t>(end) >> scale) + offset;
  for (uintptr_t at = (reinterpret_cast<uintptr_t>(begin) >> scale) + offset;
       at < last; ++at)
    *reinterpret_cast<volatile uint8_t *>(at) = 0;
}
#else
inline void forgetFrames(const uint8_t *, const uint8_t *) {}
#endif

} // namespace mlatile::sim
#endif
