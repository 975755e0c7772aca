// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of one launch, by name, flattened in the order of docs/Pipeline.md
// section 4.
#ifndef MLATILE_LIB_RUNTIME_PACKEDARGUMENTS_H
#define MLATILE_LIB_RUNTIME_PACKEDARGUMENTS_H

#include "mlatile/Runtime/Call.h"
#include "mlatile/Runtime/Kernel.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace mlatile {

/// What a call offers to its kernels; integers serve index and iN, double
/// serves f32.
using ArgumentValue = std::variant<View, Pool, int64_t, double>;
using ArgumentTable = std::map<std::string, ArgumentValue>;

/// The values of a call of sparse MLA for any of its kernels. `workspace` is
/// null where the plan needs none.
ArgumentTable argumentTable(const Call &call, void *workspace);

/// One 8-byte slot a kernel parameter; shorter values stand in the low bytes.
class PackedArguments {
public:
  /// Throws LaunchError where a kernel wants what the table does not offer.
  PackedArguments(const KernelMeta &kernel, const ArgumentTable &table);

  /// One pointer a parameter, to its value.
  void **pointers() { return addresses.data(); }
  size_t size() const { return slots.size(); }
  const std::vector<uint64_t> &values() const { return slots; }
  /// Memory behind the views and pools, for the executor's checked mode.
  struct Buffer {
    std::string name;
    const void *data;
    uint64_t bytes;
    bool writable;
    bool pending = false; ///< the launch before, still running, writes it
  };
  const std::vector<Buffer> &buffers() const { return memory; }
  /// Marks what the launch before writes as pending.
  void markPending(const PackedArguments &before);

private:
  void addView(const KernelArgument &argument, const View &view);
  void addPool(const std::string &name, const Pool &pool);
  void addScalar(const KernelArgument &argument, const ArgumentValue &value);

  std::vector<uint64_t> slots;
  std::vector<void *> addresses;
  std::vector<Buffer> memory;
};

} // namespace mlatile
#endif
