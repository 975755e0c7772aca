// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Floors.h"

#include "Candidates.h"
#include "FloorKernels.h"
#include "mlatile/Runtime/KernelLaunch.h"

#include <algorithm>

namespace mlatile::bench {
namespace {
constexpr int64_t kMmaSteps = 2000;
constexpr int64_t kMostEntries = 64 << 20; ///< of all calls of a graph

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t roundUp(int64_t rows) {
  return ceilDiv(rows, kGatherTile) * kGatherTile;
}

DeviceBuffer normalMatrix(int64_t rows, int64_t columns, int ordinal) {
  std::vector<uint16_t> numbers =
      run::makeNormal(static_cast<size_t>(rows * columns), 4);
  DeviceBuffer buffer(2 * numbers.size(), ordinal);
  buffer.upload(numbers.data(), 2 * numbers.size());
  return buffer;
}

View matrix(const DeviceBuffer &buffer, const char *element, int64_t rows,
            int64_t columns) {
  return {buffer.data(), element, {rows, columns}, {columns}};
}

/// Rows a program: from one tile, or 64 programs an SM, to the first that
/// leaves SMs without a program.
std::vector<int64_t> sharesOf(int64_t rows, int64_t sms) {
  std::vector<int64_t> shares;
  for (int64_t share = kGatherTile;; share *= 2) {
    int64_t programs = ceilDiv(rows, share);
    if (programs <= 64 * sms)
      shares.push_back(share);
    if (programs < sms || programs == 1)
      return shares;
  }
}
} // namespace

Floors::Floors(Stopwatch &stopwatch, const DeviceInfo &device, int ordinal)
    : stopwatch(stopwatch), device(device), ordinal(ordinal) {}

double Floors::measureGather(const DevicePool &pool, int64_t rows) {
  const run::Cache &cache = pool.geometry;
  std::shared_ptr<const Kernel> kernel =
      getKernel(gatherKernel(pool.key.format, device.target), Need::Device);
  RandomSlots source(cache.slots(), 3);
  DeviceBuffer entries, sums(static_cast<size_t>(4 * roundUp(rows)), ordinal);
  int sets = 0;
  auto makeSets = [&](int count) {
    std::vector<int32_t> slots(static_cast<size_t>(count * rows));
    for (int64_t at = 0, total = count * rows; at < total;) {
      int64_t some = std::min(total - at, cache.slots());
      source.take(some, slots.data() + at);
      at += some;
    }
    entries = DeviceBuffer(4 * slots.size(), ordinal);
    entries.upload(slots.data(), 4 * slots.size());
    sets = count;
  };
  makeSets(1);
  double best = 0;
  for (int64_t share : sharesOf(rows, device.sms)) {
    int64_t programs = ceilDiv(rows, share);
    Work work = [&](int set, void *stream) {
      auto *slots = static_cast<int32_t *>(entries.data()) + set % sets * rows;
      launchKernel(
          kernel, static_cast<uint32_t>(programs),
          {{"pool", Pool{pool.memory.data(), cache.slots(), cache.pageSize,
                         cache.pageStride, cache.rowStride}},
           {"ids", View{slots, "i32", {rows}, {}}},
           {"sums", matrix(sums, "f32", programs, kGatherTile)},
           {"per_program", share}},
          ordinal, stream);
    };
    double estimate = 0;
    int calls = stopwatch.callsFor(work, estimate);
    calls =
        static_cast<int>(std::clamp<int64_t>(kMostEntries / rows, 1, calls));
    if (calls > sets && !stopwatch.protocol().warm)
      makeSets(calls);
    double time = stopwatch.measure(work, calls, estimate).median;
    best = best == 0 ? time : std::min(best, time);
  }
  return best;
}

double Floors::gather(const DevicePool &pool, int64_t rows) {
  if (rows == 0)
    return 0;
  double &known = gathers[{pool.key.format, pool.key.pageSize, rows}];
  if (known == 0) {
    known = measureGather(pool, rows);
    const run::Layout &layout = *pool.geometry.layout;
    bestGather = std::max(
        bestGather,
        static_cast<double>(rows * (layout.dataRow + layout.scaleRow)) /
            (known * 1e-6));
  }
  return known;
}

double Floors::mmaRate() {
  if (mma > 0)
    return mma;
  for (const MmaTile &tile : mmaTiles()) {
    std::shared_ptr<const Kernel> kernel =
        getKernel(mmaKernel(tile, device.target), Need::Device);
    int64_t programs = 4 * device.sms;
    DeviceBuffer a = normalMatrix(tile.rows, tile.depth, ordinal);
    DeviceBuffer b = normalMatrix(tile.columns, tile.depth, ordinal);
    DeviceBuffer sums(static_cast<size_t>(4 * programs * tile.rows), ordinal);
    Work work = [&](int, void *stream) {
      launchKernel(kernel, static_cast<uint32_t>(programs),
                   {{"a", matrix(a, "bf16", tile.rows, tile.depth)},
                    {"b", matrix(b, "bf16", tile.columns, tile.depth)},
                    {"sums", matrix(sums, "f32", programs, tile.rows)},
                    {"steps", kMmaSteps}},
                   ordinal, stream);
    };
    double estimate = 0;
    int calls = stopwatch.callsFor(work, estimate);
    double time = stopwatch.measure(work, calls, estimate).median;
    double flops = 2.0 * static_cast<double>(programs * kMmaSteps) *
                   static_cast<double>(tile.rows * tile.columns * tile.depth);
    mma = std::max(mma, flops / (time * 1e-6));
  }
  return mma;
}

} // namespace mlatile::bench
