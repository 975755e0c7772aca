// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Job.h"

#include <chrono>
#include <numbers>

namespace mlatile::run {
namespace {
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Host arrays, mirrored on the device where the job runs there.
class Memory {
public:
  Memory(bool cuda, int ordinal) : cuda(cuda), ordinal(ordinal) {}

  template <typename T>
  Tensor tensor(std::vector<T> &host, DType type, std::vector<int64_t> shape) {
    Tensor result = hostTensor(host.data(), type, std::move(shape));
    if (!cuda)
      return result;
    size_t bytes = host.size() * sizeof(T);
    buffers.emplace_back(bytes, ordinal);
    buffers.back().upload(host.data(), bytes);
    result.data = buffers.back().data();
    result.place = {true, ordinal};
    return result;
  }
  /// Brings a tensor made from `host` back.
  template <typename T>
  void fetch(const Tensor &tensor, std::vector<T> &host) const {
    for (const DeviceBuffer &buffer : buffers)
      if (buffer.data() == tensor.data)
        buffer.download(host.data(), host.size() * sizeof(T));
  }

private:
  bool cuda;
  int ordinal;
  std::vector<DeviceBuffer> buffers;
};

Arguments makeArguments(const JobOptions &options, Inputs &inputs,
                        Memory &memory) {
  const Layout &layout = *inputs.layout;
  int64_t rows = inputs.tokens;
  Arguments a;
  a.q = memory.tensor(inputs.q, DType::BF16,
                      {rows, inputs.heads, layout.dimQK()});
  a.kvCache =
      memory.tensor(inputs.pool, DType::U8, {inputs.pages, inputs.pageStride});
  a.indices = memory.tensor(inputs.indices, DType::I32, {rows, inputs.width});
  a.kvFormat = layout.name;
  a.pageSize = inputs.pageSize;
  a.smScale = inputs.smScale;
  if (options.input.lengths)
    a.topkLength = memory.tensor(inputs.lengths, DType::I32, {rows});
  if (options.input.sink)
    a.attnSink = memory.tensor(inputs.sink, DType::F32, {inputs.heads});
  a.returnLse = options.lse != "none";
  a.lseBase = a.returnLse ? options.lse : "2";
  a.kernel = options.kernel;
  a.compute = options.compute;
  a.numSplits = options.splits;
  a.target = options.target;
  a.numSMs = options.numSMs;
  return a;
}

/// Mean time of a launch in a full stream.
double timeLaunches(const Call &call, const LaunchOptions &launchOptions,
                    int repeat, int ordinal) {
  synchronizeDevice(ordinal);
  Clock::time_point start = Clock::now();
  for (int i = 0; i < repeat; ++i)
    launch(call, launchOptions);
  synchronizeDevice(ordinal);
  return secondsSince(start) / repeat * 1e6;
}
} // namespace

JobResult runJob(const JobOptions &options, const JobObserver &observer) {
  JobResult result;
  result.device = "executor";
  if (options.cuda) {
    std::optional<DeviceInfo> device = cudaDevice(options.ordinal);
    if (!device)
      throw UnsupportedError(whyNoCudaDevice(options.ordinal));
    result.device = device->name;
  }
  Clock::time_point start = Clock::now();
  Inputs inputs = makeInputs(options.input);
  Memory memory(options.cuda, options.ordinal);
  Arguments arguments = makeArguments(options, inputs, memory);
  result.inputSeconds = secondsSince(start);

  Call call = prepare(arguments);
  result.plan = call.plan;
  result.bounds = boundsOf(call.plan->compute);
  observer.planned(result);

  for (const LaunchStep &step : call.plan->launches) {
    start = Clock::now();
    // With machine code where ptxas is there: its registers are worth seeing.
    std::shared_ptr<const Kernel> kernel = getKernel(step.kernel, Need::Device);
    result.kernels.push_back({kernel, secondsSince(start)});
  }
  observer.compiled(result);

  // NaN where nothing is written.
  std::vector<uint16_t> out(
      static_cast<size_t>(inputs.tokens * inputs.heads * inputs.layout->dimV()),
      0x7fff);
  std::vector<float> lse(arguments.returnLse
                             ? static_cast<size_t>(inputs.tokens * inputs.heads)
                             : 0,
                         std::bit_cast<float>(0x7fffffffu));
  Tensor outTensor = memory.tensor(out, DType::BF16, call.outShape());
  call.setOut(outTensor);
  Tensor lseTensor;
  if (arguments.returnLse) {
    lseTensor = memory.tensor(lse, DType::F32, call.lseShape());
    call.setLse(lseTensor);
  }
  std::vector<uint8_t> scratch(
      static_cast<size_t>(options.cuda ? call.plan->workspaceBytes : 0));
  if (!scratch.empty())
    call.setWorkspace(memory.tensor(scratch, DType::U8,
                                    {static_cast<int64_t>(scratch.size())}));

  LaunchOptions launchOptions;
  launchOptions.seed = static_cast<unsigned>(options.input.seed);
  start = Clock::now();
  launch(call, launchOptions);
  if (options.cuda)
    synchronizeDevice(options.ordinal);
  result.runSeconds = secondsSince(start);
  if (options.cuda && options.repeat > 0)
    result.launchMicroseconds =
        timeLaunches(call, launchOptions, options.repeat, options.ordinal);
  observer.ran(result);
  if (options.cuda) {
    memory.fetch(outTensor, out);
    memory.fetch(lseTensor, lse);
  }

  if (options.lse == "e")
    for (float &value : lse)
      value *= std::numbers::log2e_v<float>;
  start = Clock::now();
  Expected expected = computeReference(inputs);
  result.comparison = compareWith(inputs, expected, out, lse, result.bounds);
  result.referenceSeconds = secondsSince(start);
  return result;
}

} // namespace mlatile::run
