// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cards are data: what a target does not say, since cards of one target differ.
// The cost model and the planner read them (docs/CostModel.md).
#ifndef MLATILE_TARGET_CARD_H
#define MLATILE_TARGET_CARD_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace mlatile {

/// Kinds of mma that a card runs at one rate.
enum class MmaRate {
  F16,          ///< f16 and bf16, f32 accumulate
  E4M3,         ///< 8 bits and fewer without scales, f32 accumulate
  BlockScaled8, ///< kind::mxf8f6f4
  BlockScaled4, ///< kind::mxf4, kind::mxf4nvf4
};
inline constexpr size_t kNumMmaRates = 4;

/// One card.
struct Card {
  std::string_view name; ///< "rtx_5090", "rtx_pro_6000", "gb10", "h200"
  std::string_view target;
  int sms;
  int64_t l2Bytes;
  double memoryBytesPerSecond; ///< that reads reach
  double l2BytesPerSecond;     ///< that reads reach
  double clockHz;              ///< under load
  /// Dense FLOP of an SM in a clock, by MmaRate; 0: not there.
  std::array<int, kNumMmaRates> mmaFlops;

  constexpr int mmaFlopsPerClockSM(MmaRate rate) const {
    return mmaFlops[static_cast<size_t>(rate)];
  }
};

std::span<const Card> cards();
/// The card that stands for a target where no device says otherwise.
const Card *defaultCard(std::string_view target);

/// What one warp instruction of a kind computes. Kinds are named by shape and
/// types: "m16n8k16.bf16", "m16n8k32.mxf8f6f4.e4m3" (PtxCounts.h).
struct MmaKind {
  MmaRate rate;
  int64_t flops;
};
/// Nothing where the text is no such name.
std::optional<MmaKind> parseMmaKind(std::string_view name);

} // namespace mlatile
#endif
