// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Card.h"

#include <charconv>

namespace mlatile {
namespace {

// SMs, L2 and boost clocks: data sheets. The rest is measured, by others but
// for the H200:
//   memory  rtx_5090 1.70 to 1.83 TB/s and rtx_pro_6000 1.60 of 1.79, gb10 218
//           to 263 GB/s of 273 (unified memory); h200 random gather of
//           584-byte rows 4.08 TB/s (copies 4.27)
//   L2      rtx_pro_6000 8.7 TB/s, rtx_5090 13.3 by another author; both taken
//           as 8. gb10: that times its SMs. h200: an estimate.
//   clock   rtx_5090 2.9 to 3.1 GHz seen in mma loops, spec taken;
//           rtx_pro_6000 2.3 to 2.8, spec taken; gb10 2.4 to 2.5 seen
//   mma     rtx_5090 and gb10 all rows; rtx_pro_6000 the first two, block
//           scaling from its data sheet. GeForce halves all but block scaling.
//           h200: mma.sync 641 to 650 TFLOP/s; its e4m3 is emulated, 260 to
//           346 TFLOP/s
// clang-format off
constexpr Card kCards[] = {
  // name           target     SMs  L2            memory    L2       clock   f16   e4m3  block-scaled 8 and 4
  {"rtx_pro_6000", "sm_120a", 188, 128ll << 20, 1.60e12, 8.0e12, 2.60e9, {1024, 2048, 2048, 4096}},
  {"rtx_5090",     "sm_120a", 170,  96ll << 20, 1.75e12, 8.0e12, 2.40e9, { 512, 1024, 2048, 4096}},
  {"gb10",         "sm_121a",  48,  24ll << 20, 0.24e12, 2.0e12, 2.40e9, {1024, 2048, 2048, 4096}},
  {"h200",         "sm_90a",  132,  50ll << 20, 4.08e12, 5.5e12, 1.98e9, {2470, 1150,    0,    0}},
};
// clang-format on

/// Takes a letter and the number behind it.
bool takeExtent(std::string_view &text, char letter, int64_t &extent) {
  if (text.empty() || text.front() != letter)
    return false;
  auto [end, error] =
      std::from_chars(text.data() + 1, text.data() + text.size(), extent);
  if (error != std::errc() || extent <= 0 || extent > 4096)
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}
} // namespace

std::span<const Card> cards() { return kCards; }

const Card *defaultCard(std::string_view target) {
  for (const Card &card : kCards)
    if (card.target == target)
      return &card;
  return nullptr;
}

std::optional<MmaKind> parseMmaKind(std::string_view name) {
  int64_t m = 0, n = 0, k = 0;
  if (!takeExtent(name, 'm', m) || !takeExtent(name, 'n', n) ||
      !takeExtent(name, 'k', k) || !name.starts_with("."))
    return std::nullopt;
  name.remove_prefix(1);
  MmaKind kind{MmaRate::E4M3, 2 * m * n * k};
  if (name.starts_with("mxf8f6f4"))
    kind.rate = MmaRate::BlockScaled8;
  else if (name.starts_with("mxf4"))
    kind.rate = MmaRate::BlockScaled4;
  else if (name.starts_with("f16") || name.starts_with("bf16"))
    kind.rate = MmaRate::F16;
  else if (!name.starts_with("f8f6f4") && !name.starts_with("e4m3") &&
           !name.starts_with("e5m2"))
    return std::nullopt;
  return kind;
}

} // namespace mlatile
