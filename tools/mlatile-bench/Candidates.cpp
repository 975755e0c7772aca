// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Candidates.h"

#include "mlatile/Runtime/Error.h"

#include <bit>
#include <cmath>
#include <string>

namespace mlatile::bench {
namespace {
uint64_t mix(uint64_t z) { // the finaliser of splitmix64
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
} // namespace

RandomSlots::RandomSlots(int64_t slots, uint64_t seed)
    : slots(slots), state(mix(seed + kGolden)) {
  auto bits = static_cast<unsigned>(
      std::bit_width(static_cast<uint64_t>(slots > 1 ? slots - 1 : 1)));
  halfBits = (bits + 1) / 2;
  beginRound();
}

void RandomSlots::beginRound() {
  next = 0;
  for (uint64_t &key : keys)
    key = mix(state += kGolden);
}

/// A Feistel network: a permutation of the numbers below 4 ^ halfBits.
uint64_t RandomSlots::permuted(uint64_t number) const {
  uint64_t mask = (uint64_t{1} << halfBits) - 1;
  uint64_t left = number >> halfBits, right = number & mask;
  for (uint64_t key : keys) {
    uint64_t mixed = left ^ (mix(right + key) & mask);
    left = right;
    right = mixed;
  }
  return left << halfBits | right;
}

void RandomSlots::take(int64_t count, int32_t *to) {
  if (count > slots)
    throw ArgumentError("pool-mib", "expected a pool of at least " +
                                        std::to_string(count) +
                                        " slots, as many as a row selects, "
                                        "got " +
                                        std::to_string(slots));
  if (count > slots - next)
    beginRound();
  for (int64_t i = 0; i < count; ++i) {
    // Numbers past the slots are walked over; each slot is met once.
    auto slot = static_cast<uint64_t>(next++);
    do
      slot = permuted(slot);
    while (slot >= static_cast<uint64_t>(slots));
    to[i] = static_cast<int32_t>(slot);
  }
}

std::vector<int32_t> makeEntries(RandomSlots &source, int64_t rows,
                                 int64_t width, double skip, uint64_t seed) {
  std::vector<int32_t> entries(static_cast<size_t>(rows * width));
  for (int64_t row = 0; row < rows; ++row)
    source.take(width, entries.data() + row * width);
  if (skip > 0) {
    uint64_t state = mix(seed);
    for (int32_t &entry : entries)
      if (std::ldexp(static_cast<double>(mix(state += kGolden) >> 11), -53) <
          skip)
        entry = -1;
  }
  return entries;
}

} // namespace mlatile::bench
