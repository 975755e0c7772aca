// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Launchers.h"
#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/CudaStream.h"
#include "mlatile/Runtime/Error.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace mlatile {
namespace {
struct FreeMemory {
  void operator()(void *memory) const { std::free(memory); }
};

/// Scratch for a call that brought none. On a device it is freed before the
/// kernels may have ended, hence the wait in launch().
class OwnScratch {
public:
  OwnScratch(const Call &call) {
    size_t bytes = static_cast<size_t>(call.plan->workspaceBytes);
    if (!call.needsWorkspace())
      return;
    auto counters = static_cast<size_t>(call.plan->counterBytes);
    if (call.place.cuda) {
      device = DeviceBuffer(bytes, call.place.ordinal);
      device.upload(std::vector<char>(counters).data(), counters);
      return;
    }
    host.reset(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    if (!host)
      throw LaunchError("no memory for a workspace of " +
                        std::to_string(bytes) + " bytes");
    std::memset(host.get(), 0, counters);
  }
  void *data() const { return host ? host.get() : device.data(); }

private:
  std::unique_ptr<void, FreeMemory> host;
  DeviceBuffer device;
};

/// All kernels before the first launch, so that a failure leaves no trace.
std::vector<std::shared_ptr<const Kernel>> kernelsFor(const Call &call,
                                                      bool captured) {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const LaunchStep &step : call.plan->launches) {
    if (!captured) {
      Need need = call.place.cuda ? Need::Device : Need::Executor;
      kernels.push_back(getKernel(step.kernel, need));
      continue;
    }
    std::shared_ptr<const Kernel> kernel = kernelInMemory(step.kernel);
    if (!kernel || !isLoadedOnCuda(kernel, call.place.ordinal))
      throw UnsupportedError(
          "kernel " + step.kernel.name() + " is not loaded on CUDA device " +
          std::to_string(call.place.ordinal) +
          ", and nothing may be compiled or loaded while a stream is captured: "
          "preload the plan, or run the call once, before the capture");
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}
} // namespace

void launch(const Call &call, const LaunchOptions &options) {
  if (call.needsOut())
    throw ArgumentError("out", "expected an array before a launch, got none");
  if (call.needsLse())
    throw ArgumentError("lse", "expected an array before a launch, got none");
  const Plan &plan = *call.plan;
  if (plan.launches.empty())
    return;

  bool captured = call.place.cuda && isCapturing(options.stream);
  if (captured && call.needsWorkspace())
    throw ArgumentError("workspace",
                        "expected an array of " +
                            std::to_string(plan.workspaceBytes) +
                            " bytes (workspace_bytes of the plan) while a "
                            "stream is captured, where nothing may be "
                            "allocated, got none");
  std::vector<std::shared_ptr<const Kernel>> kernels =
      kernelsFor(call, captured);
  OwnScratch scratch(call);
  ArgumentTable table =
      argumentTable(call, call.workspace ? call.workspace : scratch.data());
  std::string stats;
  std::optional<PackedArguments> before;
  for (size_t i = 0; i < kernels.size(); ++i) {
    PackedArguments arguments(kernels[i]->meta, table);
    const LaunchStep &step = plan.launches[i];
    if (!call.place.cuda) {
      if (step.dependent && before)
        arguments.markPending(*before);
      stats += (i ? ", " : "") +
               launchOnExecutor(kernels[i], step, arguments, options);
      before.emplace(std::move(arguments));
      continue;
    }
    launchOnCuda(kernels[i], step, arguments, call.place.ordinal, options);
    if (options.launched)
      options.launched(*kernels[i]);
  }
  if (options.stats)
    *options.stats = "[" + stats + "]";
  if (call.place.cuda && scratch.data())
    synchronizeDevice(call.place.ordinal);
}

void preload(const Plan &plan, int ordinal) {
  std::optional<DeviceInfo> device = cudaDevice(ordinal);
  if (!device)
    throw UnsupportedError("kernels cannot be loaded: " +
                           whyNoCudaDevice(ordinal));
  if (plan.target != device->target)
    throw ArgumentError(
        "plan", "expected target " +
                    (device->target.empty() ? "of no card" : device->target) +
                    " (" + device->name + "), got " + plan.target);
  for (const LaunchStep &step : plan.launches)
    loadOnCuda(getKernel(step.kernel, Need::Device), ordinal);
}

} // namespace mlatile
