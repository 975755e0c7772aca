// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PlacedCall.h"

#include <algorithm>
#include <cstring>

namespace mlatile::run {

bool Results::operator==(const Results &other) const {
  auto same = [](const auto &a, const auto &b) {
    return a.size() == b.size() &&
           (a.empty() ||
            !std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])));
  };
  return same(out, other.out) && same(lse, other.lse);
}

struct PlacedCall::Array {
  void *host = nullptr;
  size_t bytes = 0;
  DeviceBuffer device; ///< empty where the job runs on the host
  void *data() const { return device.data() ? device.data() : host; }

  void upload() {
    if (device.data())
      device.upload(host, bytes);
  }
  void clear(size_t from = 0) {
    if (device.data() && from) {
      std::vector<uint8_t> filled(bytes - from, 0xff);
      device.upload(filled.data(), filled.size(), from);
    } else if (device.data()) {
      device.fill(0xff);
    } else if (bytes > from) {
      std::memset(static_cast<uint8_t *>(host) + from, 0xff, bytes - from);
    }
  }
};

template <typename T>
PlacedCall::Array &PlacedCall::place(std::vector<T> &host, bool clear) {
  auto array = std::make_unique<Array>();
  array->host = host.data();
  array->bytes = host.size() * sizeof(T);
  if (options.cuda)
    array->device = DeviceBuffer(array->bytes, options.ordinal);
  if (clear)
    array->clear();
  else
    array->upload();
  arrays.push_back(std::move(array));
  return *arrays.back();
}

template <typename T>
Tensor PlacedCall::tensor(Array &array, std::vector<T> &host, DType type,
                          std::vector<int64_t> shape) const {
  Tensor result = hostTensor(host.data(), type, std::move(shape));
  result.data = array.data();
  if (options.cuda)
    result.place = {true, options.ordinal};
  return result;
}

Tensor PlacedCall::heads(Tensor tensor) const {
  tensor.shape[1] = inputs.heads;
  tensor.data = static_cast<char *>(tensor.data) +
                inputs.firstHead() * tensor.strides[1] * itemBytes(tensor.type);
  return framed(std::move(tensor));
}

Tensor PlacedCall::framed(Tensor tensor) const {
  int64_t batch = options.input.batch;
  if (!batch)
    return tensor;
  int64_t perBatch = tensor.shape[0] / batch;
  tensor.shape[0] = perBatch;
  tensor.shape.insert(tensor.shape.begin(), batch);
  tensor.strides.insert(tensor.strides.begin(), tensor.strides[0] * perBatch);
  return tensor;
}

void PlacedCall::placeCandidates(Cache &cache, std::optional<Tensor> &lengths,
                                 Tensor &indices) {
  Array *lengthArray = nullptr;
  if (options.input.lengths) {
    lengthArray = &place(cache.lengths);
    lengths = framed(
        tensor(*lengthArray, cache.lengths, DType::I32, {inputs.tokens}));
  }
  Array &array = place(cache.indices);
  indices = tensor(array, cache.indices, DType::I32,
                   {inputs.tokens, cache.indicesStride});
  indices.shape[1] = cache.width;
  indices = framed(std::move(indices));
  candidates.push_back({&cache, {&array, lengthArray}});
}

Arguments PlacedCall::makeArguments() {
  const Layout &layout = *inputs.layout;
  const InputOptions &in = options.input;
  if (in.batch && inputs.tokens % in.batch)
    throw ArgumentError("batch", "expected a divisor of the " +
                                     std::to_string(inputs.tokens) +
                                     " rows, got " + std::to_string(in.batch));
  Arguments a;
  a.q = heads(tensor(place(inputs.q), inputs.q, DType::BF16,
                     {inputs.tokens, inputs.arrayHeads(), layout.dimQK()}));
  a.kvCache = tensor(place(inputs.pool), inputs.pool, DType::U8,
                     {inputs.pages, inputs.pageStride});
  placeCandidates(inputs, a.topkLength, a.indices);
  a.kvFormat = layout.name;
  a.pageSize = inputs.pageSize;
  a.smScale = inputs.smScale;
  if (in.pageStride)
    a.pageStride = in.pageStride;
  if (in.rowStride)
    a.rowStride = in.rowStride;
  if (inputs.extra) {
    Cache &extra = *inputs.extra;
    a.extraKvCache = tensor(place(extra.pool), extra.pool, DType::U8,
                            {extra.pages, extra.pageStride});
    placeCandidates(extra, a.extraTopkLength, a.extraIndices.emplace());
    a.extraKvFormat = extra.layout->name;
    a.extraPageSize = extra.pageSize;
  }
  if (in.sink)
    a.attnSink =
        tensor(place(inputs.sink), inputs.sink, DType::F32, {inputs.heads});
  a.returnLse = options.lse != "none";
  a.lseBase = a.returnLse ? options.lse : "2";
  a.kernel = options.kernel;
  a.compute = options.compute;
  a.numSplits = options.splits;
  a.merge = options.merge;
  a.params = options.params;
  a.target = options.target;
  a.numSMs = options.numSMs;
  return a;
}

PlacedCall::PlacedCall(const JobOptions &given)
    : inputs(makeInputs(given.input)), options(given) {
  call = prepare(makeArguments());
}

PlacedCall::~PlacedCall() = default;

void PlacedCall::placeResults() {
  auto entries = static_cast<size_t>(inputs.tokens * inputs.arrayHeads());
  int64_t dimV = inputs.layout->dimV();
  out.assign(entries * static_cast<size_t>(dimV), 0xffff);
  outArray = &place(out, /*clear=*/true);
  call.setOut(heads(tensor(*outArray, out, DType::BF16,
                           {inputs.tokens, inputs.arrayHeads(), dimV})));
  if (options.lse != "none") {
    lse.resize(entries);
    lseArray = &place(lse, /*clear=*/true);
    call.setLse(heads(tensor(*lseArray, lse, DType::F32,
                             {inputs.tokens, inputs.arrayHeads()})));
  }
  if (!options.cuda || !call.plan->workspaceBytes)
    return;
  // Its beginning is zero before the first call.
  scratch.resize(static_cast<size_t>(call.plan->workspaceBytes));
  scratchArray = &place(scratch);
  call.setWorkspace(tensor(*scratchArray, scratch, DType::U8,
                           {static_cast<int64_t>(scratch.size())}));
}

void PlacedCall::clearResults() {
  outArray->clear();
  if (lseArray)
    lseArray->clear();
  // Calls find the counters as the last one left them.
  if (scratchArray)
    scratchArray->clear(static_cast<size_t>(call.plan->counterBytes));
}

void PlacedCall::useCandidates(size_t set) {
  for (auto &[cache, places] : candidates) {
    // Into the memory that the arrays stand for.
    const CandidateSet &chosen = cache->sets[set];
    std::copy(chosen.indices.begin(), chosen.indices.end(),
              cache->indices.begin());
    std::copy(chosen.lengths.begin(), chosen.lengths.end(),
              cache->lengths.begin());
    places.first->upload();
    if (places.second)
      places.second->upload();
  }
}

Results PlacedCall::fetch() const {
  if (!options.cuda)
    return {out, lse};
  Results results{std::vector<uint16_t>(out.size()),
                  std::vector<float>(lse.size())};
  outArray->device.download(results.out.data(), outArray->bytes);
  if (lseArray)
    lseArray->device.download(results.lse.data(), lseArray->bytes);
  return results;
}

} // namespace mlatile::run
