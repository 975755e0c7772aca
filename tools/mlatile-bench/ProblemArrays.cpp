// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProblemArrays.h"

#include "Numbers.h"

#include <algorithm>
#include <cmath>

namespace mlatile::bench {
namespace {
constexpr int64_t kMostEntryBytes = 512ll << 20;
constexpr size_t kQueryNumbers = 1 << 20; ///< then they repeat

PoolKey firstKey(const Problem &p) {
  return {p.kvFormat, p.pageSize, p.pageStride.value_or(0),
          p.rowStride.value_or(0), 0};
}
PoolKey secondKey(const Problem &p) {
  PoolKey key{p.extraFormat(), p.extraPageSize.value_or(p.pageSize),
              p.extraPageStride.value_or(0), 0, 0};
  key.copy = key == firstKey(p);
  return key;
}

int64_t recordBytes(const run::Layout &layout) {
  return layout.dataRow + layout.scaleRow;
}

/// Normal numbers, a million of them over and over.
DeviceBuffer makeQuery(int64_t count, int ordinal) {
  auto total = static_cast<size_t>(count);
  std::vector<uint16_t> numbers =
      run::makeNormal(std::min(total, kQueryNumbers), 2);
  DeviceBuffer buffer(2 * total, ordinal);
  for (size_t at = 0; at < total; at += numbers.size())
    buffer.upload(numbers.data(), 2 * std::min(numbers.size(), total - at),
                  2 * at);
  return buffer;
}
} // namespace

DeviceBuffer &ProblemArrays::keep(DeviceBuffer buffer) {
  buffers.push_back(std::move(buffer));
  return buffers.back();
}

Tensor ProblemArrays::tensor(const DeviceBuffer &buffer, DType type,
                             std::vector<int64_t> shape) const {
  Tensor result = hostTensor(buffer.data(), type, std::move(shape));
  result.place = {true, ordinal};
  return result;
}

/// All candidates of every row.
Tensor ProblemArrays::lengths(int64_t width) {
  std::vector<int32_t> values(static_cast<size_t>(problem.numTokens),
                              static_cast<int32_t>(width));
  DeviceBuffer &buffer = keep(DeviceBuffer(4 * values.size(), ordinal));
  buffer.upload(values.data(), 4 * values.size());
  return tensor(buffer, DType::I32, {problem.numTokens});
}

ProblemArrays::ProblemArrays(const Problem &given, double skip, Pools &pools,
                             int ordinal)
    : problem(given), skip(skip), ordinal(ordinal) {
  validate(problem);
  const run::Layout &layout = run::layoutNamed(problem.kvFormat);
  int64_t rows = problem.numTokens, heads = problem.numHeads;
  auto addList = [&](const PoolKey &key, int64_t width) -> Tensor {
    const DevicePool &pool = pools.get(key, width);
    uint64_t seed = sources.size() + 7;
    sources.push_back(
        {&pool, width, RandomSlots(pool.geometry.slots(), seed), {}});
    return tensor(pool.memory, DType::U8,
                  {pool.geometry.pages, pool.geometry.pageStride});
  };

  Arguments a;
  a.kvCache = addList(firstKey(problem), problem.width);
  if (problem.extraWidth)
    a.extraKvCache = addList(secondKey(problem), *problem.extraWidth);
  makeSets(1);
  a.indices = tensor(sources[0].entries, DType::I32, {rows, problem.width});
  if (problem.extraWidth) {
    a.extraIndices =
        tensor(sources[1].entries, DType::I32, {rows, *problem.extraWidth});
    a.extraPageSize = problem.extraPageSize.value_or(problem.pageSize);
    a.extraKvFormat = problem.extraFormat();
    a.extraPageStride = problem.extraPageStride;
    if (problem.hasExtraLengths)
      a.extraTopkLength = lengths(*problem.extraWidth);
  }
  if (problem.hasLengths)
    a.topkLength = lengths(problem.width);
  a.q = tensor(keep(makeQuery(rows * heads * layout.dimQK(), ordinal)),
               DType::BF16, {rows, heads, layout.dimQK()});
  if (problem.hasSink) {
    DeviceBuffer &sink =
        keep(DeviceBuffer(static_cast<size_t>(4 * heads), ordinal));
    sink.fill(0);
    a.attnSink = tensor(sink, DType::F32, {heads});
  }
  a.kvFormat = problem.kvFormat;
  a.pageSize = problem.pageSize;
  a.pageStride = problem.pageStride;
  a.rowStride = problem.rowStride;
  a.smScale = 1 / std::sqrt(static_cast<double>(layout.dimQK()));
  a.returnLse = problem.lse != LseKind::None;
  a.lseBase = problem.lse == LseKind::BaseE ? "e" : "2";
  a.kernel = problem.kernel;
  a.compute = problem.compute;
  a.numSplits = problem.numSplits;
  a.merge = problem.merge;
  a.params = problem.params;
  a.target = problem.target;
  a.numSMs = problem.numSMs;
  base = prepare(a);

  auto entries = static_cast<size_t>(rows * heads);
  DeviceBuffer &output = keep(
      DeviceBuffer(entries * static_cast<size_t>(2 * layout.dimV()), ordinal));
  output.fill(0xff); // NaN
  out = &output;
  base.setOut(tensor(output, DType::BF16, {rows, heads, layout.dimV()}));
  if (a.returnLse)
    base.setLse(tensor(keep(DeviceBuffer(4 * entries, ordinal)), DType::F32,
                       {rows, heads}));
  if (int64_t bytes = base.plan->workspaceBytes) {
    DeviceBuffer &workspace =
        keep(DeviceBuffer(static_cast<size_t>(bytes), ordinal));
    workspace.fill(0); // its counters are zero before the first call
    base.setWorkspace(tensor(workspace, DType::U8, {bytes}));
  }
  calls = {base};
}

void *ProblemArrays::entriesOf(const OneList &list, int set) const {
  return static_cast<int32_t *>(list.entries.data()) +
         set * problem.numTokens * list.width;
}

void ProblemArrays::makeSets(int sets) {
  for (OneList &list : sources) {
    std::vector<int32_t> entries =
        makeEntries(list.source, sets * problem.numTokens, list.width, skip,
                    static_cast<uint64_t>(list.width));
    if (list.entries.size() < 4 * entries.size())
      list.entries = DeviceBuffer(4 * entries.size(), ordinal);
    list.entries.upload(entries.data(), 4 * entries.size());
  }
  if (!base.plan)
    return;
  calls.assign(static_cast<size_t>(sets), base);
  for (int set = 0; set < sets; ++set) {
    Call &call = calls[static_cast<size_t>(set)];
    call.indices.data = entriesOf(sources[0], set);
    if (sources.size() > 1)
      call.extraIndices.data = entriesOf(sources[1], set);
  }
}

int ProblemArrays::mostSets() const {
  int64_t bytes = 4;
  for (const OneList &list : sources)
    bytes += 4 * problem.numTokens * list.width;
  return static_cast<int>(
      std::clamp<int64_t>(kMostEntryBytes / bytes, 1, 1 << 20));
}

int64_t ProblemArrays::gatheredBytes() const {
  int64_t bytes = 0;
  for (const OneList &list : sources)
    bytes += problem.numTokens * list.width *
             recordBytes(*list.pool->geometry.layout);
  return bytes;
}

int64_t ProblemArrays::gatheredRows() const {
  int64_t record = recordBytes(*pool().geometry.layout);
  return (gatheredBytes() + record - 1) / record;
}

bool ProblemArrays::wroteNumbers() const {
  const int64_t row = base.plan->problem.numHeads * base.dimV;
  if (problem.numTokens == 0)
    return true;
  std::vector<uint16_t> values(static_cast<size_t>(row));
  for (int64_t t : {int64_t{0}, problem.numTokens - 1}) {
    out->download(values.data(), 2 * values.size(),
                  static_cast<size_t>(2 * t * row));
    for (uint16_t value : values)
      if (!std::isfinite(run::fromBF16(value)))
        return false;
  }
  return true;
}

} // namespace mlatile::bench
