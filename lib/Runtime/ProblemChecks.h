// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that problems and calls share.
#ifndef MLATILE_LIB_RUNTIME_PROBLEMCHECKS_H
#define MLATILE_LIB_RUNTIME_PROBLEMCHECKS_H

#include "mlatile/Runtime/Problem.h"

namespace mlatile {

/// ArgumentError unless the page stride is a multiple of 16 and holds a page.
/// `prefix` is "" or "extra_".
void checkPageStride(const std::string &prefix, const CacheFormat &format,
                     int64_t pageSize, int64_t rowStride, int64_t pageStride);

/// UnsupportedError where the two formats of a problem have no common parts: a
/// query is multiplied with the keys of both, and the values of both are added.
void checkPair(const Problem &problem);

} // namespace mlatile
#endif
