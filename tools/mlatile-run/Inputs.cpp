// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Inputs.h"

#include "Numbers.h"
#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

namespace mlatile::run {
namespace {
// clang-format off
constexpr Layout kLayouts[] = {
  // name        nope  rope grp  e2m1   scale               row   srow rope@ scale@ V+rope
  {"dsv3_2",      512, 64, 128, false, Layout::PowerOfTwo,  656,  0,  528,  512, false},
  {"glm",         512, 64, 128, false, Layout::F32,         656,  0,  528,  512, false},
  {"glm53_nope",  512,  0, 128, false, Layout::F32,         528,  0,    0,  512, false},
  {"dsv4",        448, 64,  64, false, Layout::UE8M0,       576,  8,  448,    0, true},
  {"dsv4_1",      512,  0,  32, false, Layout::UE8M0,       512, 16,    0,    0, false},
  {"dots3_swa",  1024, 64, 128, false, Layout::UE8M0,      1152,  8, 1024,    0, false},
  {"dsv4_nvfp4",  448, 64,  16, true,  Layout::E4M3,        352, 32,  224,    0, true},
  {"dsv4_1_fp4",  512,  0,  16, true,  Layout::E4M3,        256, 32,    0,    0, false},
};
// clang-format on

/// Small and the same on every platform, unlike the standard distributions.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t bits() { // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  double uniform() {
    return std::ldexp(static_cast<double>(bits() >> 11), -53);
  }
  int64_t below(int64_t n) {
    return static_cast<int64_t>(bits() % static_cast<uint64_t>(n));
  }
  double normal() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t state;
};

/// Quantises one group; gives the scale as it will be read.
double quantiseScale(const Layout &layout, double amax, uint8_t *place,
                     int index) {
  double scale = std::max(amax, 1e-4) / (layout.e2m1 ? 6 : 448);
  if (layout.scale == Layout::UE8M0 || layout.scale == Layout::PowerOfTwo)
    scale = std::exp2(std::ceil(std::log2(scale)));
  switch (layout.scale) {
  case Layout::UE8M0:
    place[index] = static_cast<uint8_t>(std::ilogb(scale) + 127);
    return scale;
  case Layout::E4M3:
    place[index] = toE4M3(std::max(scale, std::ldexp(1.0, -9)));
    return fromE4M3(place[index]);
  default: {
    float single = static_cast<float>(scale);
    std::memcpy(place + 4 * index, &single, 4);
    return single;
  }
  }
}

void writeToken(const Layout &layout, Random &random, uint8_t *data,
                uint8_t *scales) {
  std::vector<double> group(static_cast<size_t>(layout.group));
  for (int g = 0; g < layout.groups(); ++g) {
    // A factor a group, so that a wrong scale shows.
    double factor = std::exp2(2 * random.uniform() - 1), amax = 0;
    for (double &value : group) {
      value = random.normal() * factor;
      amax = std::max(amax, std::fabs(value));
    }
    double scale = quantiseScale(layout, amax, scales, g);
    for (int i = 0; i < layout.group; ++i) {
      int at = g * layout.group + i;
      double value = group[static_cast<size_t>(i)] / scale;
      if (!layout.e2m1)
        data[at] = toE4M3(value);
      else if (at % 2 == 0)
        data[at / 2] = toE2M1(value);
      else
        data[at / 2] |= static_cast<uint8_t>(toE2M1(value) << 4);
    }
  }
  for (int i = 0; i < layout.rope; ++i) {
    uint16_t word = toBF16(random.normal());
    std::memcpy(data + layout.ropeAt + 2 * i, &word, 2);
  }
}

/// A skipped entry: negative, or past the pool.
int32_t wildEntry(Random &random, int64_t slots) {
  int64_t choices[] = {-1, -1, -7, INT32_MIN, slots, INT32_MAX};
  return static_cast<int32_t>(
      std::min<int64_t>(choices[random.below(6)], INT32_MAX));
}

void makeCandidates(const InputOptions &options, Random &random,
                    Inputs &inputs) {
  int64_t slots = inputs.slots();
  // Even slots are for rows to select; odd ones hold NaN.
  int64_t usable = (slots + 1) / 2;
  for (int64_t t = 0; t < options.tokens; ++t) {
    int64_t length = options.width;
    if (options.lengths) {
      length = random.below(options.width + 4) - 2;
      inputs.lengths.push_back(static_cast<int32_t>(length));
    }
    for (int64_t i = 0; i < options.width; ++i) {
      bool skip = random.uniform() < options.skip;
      int64_t slot = 2 * random.below(usable);
      if (i >= length && slots > 1)
        slot = slot + 1 < slots ? slot + 1 : slot - 1;
      inputs.indices.push_back(skip ? wildEntry(random, slots)
                                    : static_cast<int32_t>(slot));
    }
  }
}
} // namespace

const Layout &layoutNamed(const std::string &name) {
  std::string names;
  for (const Layout &layout : kLayouts) {
    if (name == layout.name)
      return layout;
    names += std::string(names.empty() ? "" : ", ") + layout.name;
  }
  throw ArgumentError("format", "expected " + names + ", got '" + name + "'");
}

int64_t Inputs::length(int64_t row) const {
  if (lengths.empty())
    return width;
  return std::clamp<int64_t>(lengths[static_cast<size_t>(row)], 0, width);
}

const uint8_t *Inputs::data(int64_t slot) const {
  return pool.data() + slot / pageSize * pageStride +
         slot % pageSize * layout->dataRow;
}

const uint8_t *Inputs::scales(int64_t slot) const {
  if (!layout->scaleRow)
    return data(slot) + layout->scaleAt;
  return pool.data() + slot / pageSize * pageStride +
         pageSize * layout->dataRow + slot % pageSize * layout->scaleRow;
}

Inputs makeInputs(const InputOptions &options) {
  Random random(options.seed);
  Inputs inputs;
  const Layout &layout = layoutNamed(options.format);
  inputs.layout = &layout;
  inputs.tokens = options.tokens;
  inputs.heads = options.heads;
  inputs.width = options.width;
  inputs.pageSize = options.pageSize;
  int64_t wanted =
      std::clamp<int64_t>(options.tokens * options.width, 1024, 65536);
  inputs.pages = options.pages
                     ? options.pages
                     : std::max<int64_t>(2, (wanted + options.pageSize - 1) /
                                                options.pageSize);
  int64_t tight = options.pageSize * (layout.dataRow + layout.scaleRow);
  inputs.pageStride = (tight + 575) / 576 * 576; // as engines round
  inputs.smScale =
      static_cast<float>(1 / std::sqrt(static_cast<double>(layout.dimQK())));

  makeCandidates(options, random, inputs);
  std::vector<char> selected(static_cast<size_t>(inputs.slots()));
  for (int64_t t = 0; t < options.tokens; ++t)
    for (int64_t i = 0; i < inputs.length(t); ++i) {
      int64_t slot = inputs.indices[static_cast<size_t>(t * options.width + i)];
      if (slot >= 0 && slot < inputs.slots())
        selected[static_cast<size_t>(slot)] = 1;
    }
  // 0xFF is NaN as e4m3, ue8m0, bf16 and fp32 alike.
  inputs.pool.assign(static_cast<size_t>(inputs.pages * inputs.pageStride),
                     0xff);
  for (int64_t slot = 0; slot < inputs.slots(); ++slot)
    if (selected[static_cast<size_t>(slot)])
      writeToken(layout, random, const_cast<uint8_t *>(inputs.data(slot)),
                 const_cast<uint8_t *>(inputs.scales(slot)));

  inputs.q.resize(
      static_cast<size_t>(options.tokens * options.heads * layout.dimQK()));
  for (uint16_t &word : inputs.q)
    word = toBF16(random.normal());
  if (options.sink)
    for (int64_t h = 0; h < options.heads; ++h)
      inputs.sink.push_back(static_cast<float>(random.normal()));
  return inputs;
}

} // namespace mlatile::run
