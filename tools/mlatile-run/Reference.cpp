// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include "Numbers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <thread>

namespace mlatile::run {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Key of a slot, d_qk numbers; the value is its beginning.
void decode(const Inputs &inputs, int64_t slot, double *key) {
  const Layout &layout = *inputs.layout;
  const uint8_t *data = inputs.data(slot), *scales = inputs.scales(slot);
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

void computeRow(const Inputs &inputs, int64_t row, Expected &expected) {
  const Layout &layout = *inputs.layout;
  size_t dimQK = static_cast<size_t>(layout.dimQK());
  size_t dimV = static_cast<size_t>(layout.dimV());
  std::vector<double> keys;
  size_t count = 0;
  for (int64_t i = 0; i < inputs.length(row); ++i) {
    int64_t slot = inputs.indices[static_cast<size_t>(row * inputs.width + i)];
    if (slot < 0 || slot >= inputs.slots())
      continue;
    keys.resize(++count * dimQK);
    decode(inputs, slot, &keys[(count - 1) * dimQK]);
  }

  std::vector<double> query(dimQK), weights(count), magnitudes(dimV);
  for (int64_t head = 0; head < inputs.heads; ++head) {
    size_t at = static_cast<size_t>(row * inputs.heads + head);
    for (size_t d = 0; d < dimQK; ++d)
      query[d] = fromBF16(inputs.q[at * dimQK + d]);
    double sink = inputs.sink.empty() ? -kInfinity
                                      : inputs.sink[static_cast<size_t>(head)];
    double top = sink;
    for (size_t c = 0; c < count; ++c) {
      const double *key = &keys[c * dimQK];
      double sum = 0;
      for (size_t d = 0; d < dimQK; ++d)
        sum += query[d] * key[d];
      weights[c] = inputs.smScale * sum;
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
} // namespace

Expected computeReference(const Inputs &inputs, unsigned threads) {
  size_t entries = static_cast<size_t>(inputs.tokens * inputs.heads);
  Expected expected;
  expected.out.assign(entries * static_cast<size_t>(inputs.layout->dimV()), 0);
  expected.lse.assign(entries, -kInfinity);
  expected.magnitude.assign(entries, 0);
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t row; (row = next++) < inputs.tokens;)
      computeRow(inputs, row, expected);
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
} // namespace

Comparison compareWith(const Inputs &inputs, const Expected &expected,
                       const std::vector<uint16_t> &out,
                       const std::vector<float> &lse, const Bounds &bounds) {
  Comparison worst;
  size_t dimV = static_cast<size_t>(inputs.layout->dimV());
  for (int64_t row = 0; row < inputs.tokens; ++row)
    for (int64_t head = 0; head < inputs.heads; ++head) {
      size_t at = static_cast<size_t>(row * inputs.heads + head);
      double error, cosine;
      compareEntry(&out[at * dimV], &expected.out[at * dimV], dimV,
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
      double off = lseError(lse[at], want);
      worst.lse = std::max(worst.lse, off);
      if (off > 0)
        worst.lseRatio =
            std::max(worst.lseRatio,
                     off / (bounds.lse + std::ldexp(std::fabs(want), -20)));
    }
  worst.ok = worst.error <= bounds.error && worst.cosine >= bounds.cosine &&
             worst.lseRatio <= 1;
  return worst;
}

} // namespace mlatile::run
