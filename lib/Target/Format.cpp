// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Target/Format.h"

namespace mlatile {
namespace {
using P = PayloadType;
using S = ScaleType;
using L = ScalePlace;
// clang-format off
constexpr CacheFormat kFormats[] = {
  // name          nope  rope grp  payload  scale     place      V+rope  row   srow rope@ scale@ extra
  {"dsv3_2",        512, 64, 128, P::E4M3, S::F32,   L::Inline, false,   656,  0,  528,  512, false},
  {"glm",           512, 64, 128, P::E4M3, S::F32,   L::Inline, false,   656,  0,  528,  512, false},
  {"glm53_nope",    512,  0, 128, P::E4M3, S::F32,   L::Inline, false,   528,  0,    0,  512, false},
  {"dsv4",          448, 64,  64, P::E4M3, S::UE8M0, L::Footer, true,    576,  8,  448,    0, false},
  {"dsv4_1",        512,  0,  32, P::E4M3, S::UE8M0, L::Footer, false,   512, 16,    0,    0, false},
  {"dots3_swa",    1024, 64, 128, P::E4M3, S::UE8M0, L::Footer, false,  1152,  8, 1024,    0, false},
  {"dsv4_nvfp4",    448, 64,  16, P::E2M1, S::E4M3,  L::Footer, true,    352, 32,  224,    0, false},
  {"dsv4_1_fp4",    512,  0,  16, P::E2M1, S::E4M3,  L::Footer, false,   256, 32,    0,    0, true},
};
// clang-format on
} // namespace

std::span<const CacheFormat> cacheFormats() { return kFormats; }

const CacheFormat *findCacheFormat(std::string_view name) {
  for (const CacheFormat &format : kFormats)
    if (format.name == name)
      return &format;
  return nullptr;
}

} // namespace mlatile
