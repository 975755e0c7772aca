// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pools.h"

#include <algorithm>

namespace mlatile::bench {
namespace {
constexpr size_t kMostPools = 2; ///< those of one problem
constexpr int64_t kTokensWritten = 4096;
constexpr int64_t kUploadBytes = 64 << 20;

int64_t roundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/// Pages with numbers, over and over, into the whole pool.
void fill(DevicePool &pool) {
  run::Cache part = pool.geometry;
  part.pages = std::clamp<int64_t>(kTokensWritten / part.pageSize, 1,
                                   pool.geometry.pages);
  std::vector<uint8_t> numbers = run::makePages(part, 1);
  std::vector<uint8_t> block;
  auto total = static_cast<size_t>(pool.geometry.pages * part.pageStride);
  do
    block.insert(block.end(), numbers.begin(), numbers.end());
  while (block.size() + numbers.size() <= kUploadBytes && block.size() < total);
  for (size_t at = 0; at < total; at += block.size())
    pool.memory.upload(block.data(), std::min(block.size(), total - at), at);
}
} // namespace

const DevicePool &Pools::get(const PoolKey &key, int64_t slots) {
  auto found = std::find_if(pools.begin(), pools.end(), [&](const auto &pool) {
    return pool.key == key && pool.geometry.slots() >= slots;
  });
  if (found != pools.end()) {
    pools.splice(pools.begin(), pools, found);
    return pools.front();
  }
  pools.remove_if([&](const auto &pool) { return pool.key == key; });
  while (pools.size() >= kMostPools)
    pools.pop_back();

  DevicePool pool;
  pool.key = key;
  run::Cache &cache = pool.geometry;
  cache.layout = &run::layoutNamed(key.format);
  cache.pageSize = key.pageSize;
  cache.rowStride = key.rowStride ? key.rowStride : cache.layout->dataRow;
  int64_t tight = key.pageSize * (cache.rowStride + cache.layout->scaleRow);
  cache.pageStride = key.pageStride ? key.pageStride : roundUp(tight, 576);
  int64_t needed = (slots + key.pageSize - 1) / key.pageSize;
  cache.pages = std::max<int64_t>(
      {needed, bytes / std::max<int64_t>(1, cache.pageStride), 1});
  // Slots are 32 bits.
  cache.pages = std::min(cache.pages, INT32_MAX / key.pageSize);
  pool.memory = DeviceBuffer(
      static_cast<size_t>(cache.pages * cache.pageStride), ordinal);
  fill(pool);
  pools.push_front(std::move(pool));
  return pools.front();
}

} // namespace mlatile::bench
