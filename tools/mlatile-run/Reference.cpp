// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include "Numbers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <thread>

namespace mlatile::run {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Of a row and head of the problem in the arrays [T, H + slice, ...].
size_t entryOf(const Inputs &inputs, int64_t row, int64_t head) {
  return static_cast<size_t>(row * inputs.arrayHeads() + inputs.firstHead() +
                             head);
}

/// Key of a slot, d_qk numbers; the value is its beginning.
void decode(const Cache &cache, int64_t slot, double *key) {
  const Layout &layout = *cache.layout;
  const uint8_t *data = cache.data(slot), *scales = cache.scales(slot);
  for (int g = 0; g < layout.groups(); ++g) {
    double scale = 0;
    if (layout.scale == Layout::UE8M0) {
      scale = fromUE8M0(scales[g]);
    } else if (layout.scale == Layout::E4M3) {
      scale = fromE4M3(scales[g]);
    } else {
      float single;
      std::memcpy(&single, scales + 4 * g, 4);
      scale = single;
    }
    for (int i = g * layout.group; i < (g + 1) * layout.group; ++i)
      key[i] = scale * (layout.e2m1 ? fromE2M1(data[i / 2] >> (i % 2 * 4) & 15)
                                    : fromE4M3(data[i]));
  }
  for (int i = 0; i < layout.rope; ++i) {
    uint16_t word;
    std::memcpy(&word, data + layout.ropeAt + 2 * i, 2);
    key[layout.nope + i] = fromBF16(word);
  }
}

/// Eight sums at a time, for the sake of vector units.
double dot(const double *a, const double *b, size_t n) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j)
      sums[j] += a[i + j] * b[i + j];
  double sum = 0;
  for (double part : sums)
    sum += part;
  for (; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// The `index`th of the expected rows.
void computeRow(const Inputs &inputs, size_t index, Expected &expected) {
  int64_t row = expected.rows[index];
  const Layout &layout = *inputs.layout;
  size_t dimQK = static_cast<size_t>(layout.dimQK());
  size_t dimV = static_cast<size_t>(layout.dimV());
  std::vector<double> keys;
  size_t count = 0;
  auto append = [&](const Cache &cache) {
    for (int64_t slot : cache.candidates(row)) {
      keys.resize(++count * dimQK);
      decode(cache, slot, &keys[(count - 1) * dimQK]);
    }
  };
  append(inputs);
  if (inputs.extra)
    append(*inputs.extra);

  std::vector<double> query(dimQK), weights(count), magnitudes(dimV);
  for (int64_t head = 0; head < inputs.heads; ++head) {
    size_t at =
        index * static_cast<size_t>(inputs.heads) + static_cast<size_t>(head);
    const uint16_t *words = &inputs.q[entryOf(inputs, row, head) * dimQK];
    for (size_t d = 0; d < dimQK; ++d)
      query[d] = fromBF16(words[d]);
    double sink = inputs.sink.empty() ? -kInfinity
                                      : inputs.sink[static_cast<size_t>(head)];
    double top = sink;
    for (size_t c = 0; c < count; ++c) {
      weights[c] = inputs.smScale * dot(query.data(), &keys[c * dimQK], dimQK);
      top = std::max(top, weights[c]);
    }
    double *out = &expected.out[at * dimV];
    if (std::isinf(top)) { // no candidate and no sink, or an infinite sink
      expected.lse[at] = top;
      continue;
    }
    double total = std::exp(sink - top);
    for (double &weight : weights)
      total += weight = std::exp(weight - top);
    expected.lse[at] = top + std::log(total);
    std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
    for (size_t c = 0; c < count; ++c) {
      const double *value = &keys[c * dimQK];
      double weight = weights[c] / total;
      for (size_t d = 0; d < dimV; ++d) {
        out[d] += weight * value[d];
        magnitudes[d] += weight * std::fabs(value[d]);
      }
    }
    expected.magnitude[at] =
        *std::max_element(magnitudes.begin(), magnitudes.end());
  }
}
/// The first, the last, and one out of each of equal parts between.
std::vector<int64_t> rowsToCompare(int64_t tokens, int64_t most) {
  int64_t count =
      most > 0 ? std::min(tokens, std::max<int64_t>(most, 2)) : tokens;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(count == 1 ? tokens - 1 : i * (tokens - 1) / (count - 1));
  return rows;
}
} // namespace

Expected computeReference(const Inputs &inputs, int64_t mostRows,
                          unsigned threads) {
  Expected expected;
  expected.rows = rowsToCompare(inputs.tokens, mostRows);
  size_t entries = expected.rows.size() * static_cast<size_t>(inputs.heads);
  expected.out.assign(entries * static_cast<size_t>(inputs.layout->dimV()), 0);
  expected.lse.assign(entries, -kInfinity);
  expected.magnitude.assign(entries, 0);
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t index; (index = next++) < expected.rows.size();)
      computeRow(inputs, index, expected);
  };
  if (!threads)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (unsigned i = 1; i < threads; ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  return expected;
}

Bounds boundsOf(const std::string &compute) {
  if (compute == "fp8")
    return {1.5e-2, 0.9999, 4e-3};
  if (compute == "fp8_fast")
    return {8e-2, 0.997, 5e-2};
  return {1.0e-2, 0.9999, 2e-3};
}

namespace {
/// Error and cosine of one (row, head).
void compareEntry(const uint16_t *got, const double *want, size_t dimV,
                  double magnitude, double &error, double &cosine) {
  const double tiny = std::ldexp(1.0, -100);
  double topGot = 0, topWant = 0, worst = 0, dot = 0, gg = 0, ww = 0;
  for (size_t d = 0; d < dimV; ++d) {
    double g = fromBF16(got[d]), w = want[d];
    // NaN must win every comparison.
    topGot = std::isnan(g) ? kInfinity : std::max(topGot, std::fabs(g));
    topWant = std::max(topWant, std::fabs(w));
    worst = std::isnan(g) ? kInfinity : std::max(worst, std::fabs(g - w));
    dot += g * w;
    gg += g * g;
    ww += w * w;
  }
  error = 0;
  cosine = 1;
  if (topGot < tiny && topWant < tiny)
    return;
  double scale = std::max(topWant, std::ldexp(magnitude, -6));
  error = scale > 0 ? worst / scale : kInfinity;
  if (topWant >= tiny) {
    cosine = dot / std::sqrt(gg * ww);
    if (std::isnan(cosine))
      cosine = -1;
  }
}

/// Absolute error in base 2, 0 where both are the same infinity.
double lseError(float got, double want) {
  float stored = static_cast<float>(want);
  if (got == stored)
    return 0;
  if (std::isnan(got) || std::isinf(got) || std::isinf(stored))
    return kInfinity;
  return std::fabs(got - want);
}
/// The first place where a NaN was left, or where heads that slice adds were
/// written; "" where there is none. `isNaN` and `isFree` judge one element.
template <typename T, typename NaN, typename Free>
std::string findUnwritten(const Inputs &inputs, const char *name,
                          const std::vector<T> &array, int64_t perHead,
                          NaN isNaN, Free isFree) {
  int64_t first = inputs.firstHead(), last = first + inputs.heads;
  const T *element = array.data();
  for (int64_t row = 0; row < inputs.tokens; ++row)
    for (int64_t head = 0; head < inputs.arrayHeads(); ++head) {
      bool ours = head >= first && head < last;
      bool bad = false;
      for (int64_t d = 0; d < perHead; ++d, ++element)
        bad |= ours ? isNaN(*element) : !isFree(*element);
      if (bad)
        return std::string(name) + " at row " + std::to_string(row) + " head " +
               std::to_string(head - first) +
               (ours ? " holds a NaN" : " was written, which is no head of it");
    }
  return "";
}
} // namespace

Comparison compareWith(const Inputs &inputs, const Expected &expected,
                       const std::vector<uint16_t> &out,
                       const std::vector<float> &lse, const Bounds &bounds) {
  Comparison worst;
  size_t dimV = static_cast<size_t>(inputs.layout->dimV());
  size_t at = 0;
  for (int64_t row : expected.rows)
    for (int64_t head = 0; head < inputs.heads; ++head, ++at) {
      size_t entry = entryOf(inputs, row, head);
      double error, cosine;
      compareEntry(&out[entry * dimV], &expected.out[at * dimV], dimV,
                   expected.magnitude[at], error, cosine);
      if (error > worst.error) {
        worst.error = error;
        worst.row = row;
        worst.head = head;
      }
      worst.cosine = std::min(worst.cosine, cosine);
      if (lse.empty())
        continue;
      double want = expected.lse[at] * std::numbers::log2e;
      double off = lseError(lse[entry], want);
      worst.lse = std::max(worst.lse, off);
      if (off > 0)
        worst.lseRatio =
            std::max(worst.lseRatio,
                     off / (bounds.lse + std::ldexp(std::fabs(want), -20)));
    }
  worst.unwritten = findUnwritten(
      inputs, "out", out, inputs.layout->dimV(),
      [](uint16_t word) { return (word & 0x7fff) > 0x7f80; },
      [](uint16_t word) { return word == 0xffff; });
  if (worst.unwritten.empty() && !lse.empty())
    worst.unwritten = findUnwritten(
        inputs, "lse", lse, 1, [](float value) { return std::isnan(value); },
        [](float value) {
          return std::bit_cast<uint32_t>(value) == 0xffffffffu;
        });
  worst.ok = worst.error <= bounds.error && worst.cosine >= bounds.cosine &&
             worst.lseRatio <= 1 && worst.unwritten.empty();
  return worst;
}

} // namespace mlatile::run
