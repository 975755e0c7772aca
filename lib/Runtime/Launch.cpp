// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Launchers.h"
#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/Error.h"

#include <cstdlib>
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
    if (call.place.cuda) {
      device = DeviceBuffer(bytes, call.place.ordinal);
      return;
    }
    host.reset(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    if (!host)
      throw LaunchError("no memory for a workspace of " +
                        std::to_string(bytes) + " bytes");
  }
  void *data() const { return host ? host.get() : device.data(); }

private:
  std::unique_ptr<void, FreeMemory> host;
  DeviceBuffer device;
};
} // namespace

void launch(const Call &call, const LaunchOptions &options) {
  if (call.needsOut())
    throw ArgumentError("out", "expected an array before a launch, got none");
  if (call.needsLse())
    throw ArgumentError("lse", "expected an array before a launch, got none");
  const Plan &plan = *call.plan;
  if (plan.launches.empty())
    return;

  // All kernels before the first launch, so that a failure leaves no trace.
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const LaunchStep &step : plan.launches)
    kernels.push_back(getKernel(step.kernel, call.place.cuda ? Need::Device
                                                             : Need::Executor));

  OwnScratch scratch(call);
  char *base =
      static_cast<char *>(call.workspace ? call.workspace : scratch.data());
  ArgumentTable table =
      argumentTable(call, base ? base + plan.counterBytes : nullptr);
  std::string stats;
  for (size_t i = 0; i < kernels.size(); ++i) {
    PackedArguments arguments(kernels[i]->meta, table);
    uint32_t grid = plan.launches[i].grid;
    if (call.place.cuda)
      launchOnCuda(kernels[i], grid, arguments, call.place.ordinal,
                   options.stream);
    else
      stats += (i ? ", " : "") +
               launchOnExecutor(kernels[i], grid, arguments, options);
  }
  if (options.stats)
    *options.stats = "[" + stats + "]";
  if (call.place.cuda && scratch.data())
    synchronizeDevice(call.place.ordinal);
}

} // namespace mlatile
