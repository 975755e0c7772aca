// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Implementations.h"

namespace mlatile {
namespace {
std::optional<std::string> notBuilt(const Problem &) { return "not built yet"; }

constexpr Implementation kImplementations[] = {
    {"decode", declineDecode, buildDecode},
    {"prefill", notBuilt, nullptr},
    {"swapab", notBuilt, nullptr},
};
} // namespace

std::span<const Implementation> implementations() { return kImplementations; }

} // namespace mlatile
