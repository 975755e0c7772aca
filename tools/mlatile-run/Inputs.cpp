// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Inputs.h"

#include "Numbers.h"
#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
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

CandidateSet makeCandidates(const InputOptions &options, const Cache &cache,
                            Random &random) {
  int64_t slots = cache.slots(), width = cache.width;
  // Even slots are for rows to select; odd ones hold NaN. No entry names a slot
  // past 32 bits.
  int64_t usable = (std::min<int64_t>(slots, INT32_MAX) + 1) / 2;
  CandidateSet set;
  set.indices.resize(static_cast<size_t>(options.tokens * cache.indicesStride));
  int32_t *row = set.indices.data();
  for (int64_t t = 0; t < options.tokens; ++t, row += cache.indicesStride) {
    int64_t length = width;
    if (options.lengths) {
      length = random.below(width + 4) - 2;
      set.lengths.push_back(static_cast<int32_t>(length));
    }
    for (int64_t i = 0; i < width; ++i) {
      bool skip = random.uniform() < options.skip;
      int64_t slot = 2 * random.below(usable);
      if (i >= length && slots > 1)
        slot = slot + 1 < slots ? slot + 1 : slot - 1;
      row[i] = skip ? wildEntry(random, slots) : static_cast<int32_t>(slot);
    }
    // NaN, where a kernel that takes the width for the stride would look.
    for (int64_t i = width; i < cache.indicesStride; ++i)
      row[i] = slots > 1 ? 1 : -1;
  }
  return set;
}

std::vector<char> selectedSlots(Cache &cache, int64_t tokens) {
  std::vector<char> selected(static_cast<size_t>(cache.slots()));
  for (size_t set = cache.sets.size(); set-- > 0;) { // the first stays in use
    cache.useCandidates(set);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t slot : cache.candidates(t))
        selected[static_cast<size_t>(slot)] = 1;
  }
  return selected;
}

/// Fills in a cache whose layout, width, page size and strides (0: tight) are
/// set.
void makeCache(const InputOptions &options, int64_t pages, Random &random,
               Cache &cache) {
  const Layout &layout = *cache.layout;
  int64_t wanted =
      std::clamp<int64_t>(options.tokens * cache.width, 1024, 65536);
  cache.pages = pages ? pages
                      : std::max<int64_t>(2, (wanted + cache.pageSize - 1) /
                                                 cache.pageSize);
  if (!cache.rowStride)
    cache.rowStride = layout.dataRow;
  int64_t tight = cache.pageSize * (cache.rowStride + layout.scaleRow);
  if (!cache.pageStride)
    cache.pageStride = (tight + 575) / 576 * 576; // as engines round
  if (!cache.indicesStride)
    cache.indicesStride = cache.width;
  auto atLeast = [](const char *name, int64_t least, int64_t got) {
    if (got < least)
      throw ArgumentError(name, "expected at least " + std::to_string(least) +
                                    ", got " + std::to_string(got));
  };
  atLeast("row_stride", layout.dataRow, cache.rowStride);
  atLeast("page_stride", tight, cache.pageStride);
  atLeast("indices_stride", cache.width, cache.indicesStride);

  for (int64_t i = 0; i < options.candidateSets; ++i)
    cache.sets.push_back(makeCandidates(options, cache, random));
  std::vector<char> selected = selectedSlots(cache, options.tokens);
  // 0xFF is NaN as e4m3, ue8m0, bf16 and fp32 alike.
  cache.pool.assign(static_cast<size_t>(cache.pages * cache.pageStride), 0xff);
  for (int64_t slot = 0; slot < cache.slots(); ++slot)
    if (selected[static_cast<size_t>(slot)])
      writeToken(layout, random, const_cast<uint8_t *>(cache.data(slot)),
                 const_cast<uint8_t *>(cache.scales(slot)));
}

void makeQuery(Inputs &inputs, Random &random) {
  auto row = static_cast<size_t>(inputs.layout->dimQK());
  inputs.q.assign(
      static_cast<size_t>(inputs.tokens * inputs.arrayHeads()) * row, 0xffff);
  // Numbers of their own, or where those would take too long, rows out of a
  // table of numbers.
  std::vector<uint16_t> table;
  constexpr int64_t entries = 1 << 20;
  if (inputs.q.size() > 4 * entries) {
    table.resize(entries + row);
    for (uint16_t &word : table)
      word = toBF16(random.normal());
  }
  for (int64_t t = 0; t < inputs.tokens; ++t)
    for (int64_t h = 0; h < inputs.heads; ++h) {
      int64_t entry = t * inputs.arrayHeads() + inputs.firstHead() + h;
      uint16_t *to = inputs.q.data() + static_cast<size_t>(entry) * row;
      if (!table.empty())
        std::copy_n(table.data() + random.below(entries), row, to);
      else
        std::generate_n(to, row, [&] { return toBF16(random.normal()); });
    }
}

std::vector<float> makeSink(const InputOptions &options, Random &random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::string &kind = options.sinkValues;
  std::vector<float> sink;
  for (int64_t h = 0; h < options.heads; ++h) {
    auto value = static_cast<float>(random.normal());
    if (kind == "inf" || (kind == "mixed" && h % 3 == 1))
      value = infinity;
    if (kind == "-inf" || (kind == "mixed" && h % 3 == 2))
      value = -infinity;
    sink.push_back(value);
  }
  return sink;
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

int64_t Cache::length(int64_t row) const {
  if (lengths.empty())
    return width;
  return std::clamp<int64_t>(lengths[static_cast<size_t>(row)], 0, width);
}

const uint8_t *Cache::data(int64_t slot) const {
  return pool.data() + slot / pageSize * pageStride +
         slot % pageSize * rowStride;
}

const uint8_t *Cache::scales(int64_t slot) const {
  if (!layout->scaleRow)
    return data(slot) + layout->scaleAt;
  return pool.data() + slot / pageSize * pageStride + pageSize * rowStride +
         slot % pageSize * layout->scaleRow;
}

std::vector<int64_t> Cache::candidates(int64_t row) const {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < length(row); ++i) {
    int64_t slot = indices[static_cast<size_t>(row * indicesStride + i)];
    if (slot >= 0 && slot < slots())
      result.push_back(slot);
  }
  return result;
}

std::vector<uint8_t> makePages(const Cache &cache, uint64_t seed) {
  Random random(seed);
  Cache filled = cache;
  filled.pool.assign(static_cast<size_t>(cache.pages * cache.pageStride), 0);
  for (int64_t slot = 0; slot < cache.slots(); ++slot)
    writeToken(*cache.layout, random, const_cast<uint8_t *>(filled.data(slot)),
               const_cast<uint8_t *>(filled.scales(slot)));
  return std::move(filled.pool);
}

std::vector<uint16_t> makeNormal(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<uint16_t> numbers(count);
  for (uint16_t &number : numbers)
    number = toBF16(random.normal());
  return numbers;
}

void Cache::useCandidates(size_t set) {
  indices = sets[set].indices;
  lengths = sets[set].lengths;
}

Inputs makeInputs(const InputOptions &options) {
  Random random(options.seed);
  Inputs inputs;
  inputs.layout = &layoutNamed(options.format);
  inputs.tokens = options.tokens;
  inputs.heads = options.heads;
  inputs.slice = options.slice;
  inputs.width = options.width;
  inputs.pageSize = options.pageSize;
  inputs.pageStride = options.pageStride.value_or(0);
  inputs.rowStride = options.rowStride.value_or(0);
  inputs.indicesStride = options.indicesStride;
  inputs.smScale = static_cast<float>(
      1 / std::sqrt(static_cast<double>(inputs.layout->dimQK())));
  makeCache(options, options.pages, random, inputs);
  makeQuery(inputs, random);
  if (options.sink)
    inputs.sink = makeSink(options, random);
  if (options.extraWidth) {
    Cache extra;
    extra.layout = &layoutNamed(options.extraFormat);
    extra.width = options.extraWidth;
    extra.pageSize = options.extraPageSize;
    makeCache(options, 0, random, extra);
    inputs.extra = std::move(extra);
  }
  return inputs;
}

} // namespace mlatile::run
