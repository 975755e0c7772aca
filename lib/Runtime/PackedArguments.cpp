// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PackedArguments.h"

#include "mlatile/Runtime/Error.h"

#include <bit>

namespace mlatile {
namespace {
View partialView(void *base, int64_t offset, std::vector<int64_t> extents,
                 const char *element = "f32") {
  View view;
  view.data = base ? static_cast<char *>(base) + offset : nullptr;
  view.element = element;
  view.strides.assign(extents.size() - 1, 0);
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 1;)
    view.strides[i - 1] = stride *= extents[i];
  view.extents = std::move(extents);
  return view;
}

/// A view that a kernel declares and, with its parameters, never reads; or any
/// one of a call that is not made (checkSource).
View orAbsent(const View &view, const char *element, size_t rank) {
  if (!view.extents.empty())
    return view;
  return {nullptr, element, std::vector<int64_t>(rank, 0),
          std::vector<int64_t>(rank - 1, 0)};
}

/// From the first element to the last, strides between them included.
uint64_t spannedBytes(const View &view) {
  int64_t last = 0;
  for (size_t i = 0; i < view.extents.size(); ++i) {
    if (!view.extents[i])
      return 0;
    int64_t stride = i < view.strides.size() ? view.strides[i] : 1;
    last += (view.extents[i] - 1) * stride;
  }
  if (last < 0)
    return 0;
  return static_cast<uint64_t>(last + 1) *
         (view.element.ends_with("f16") ? 2 : 4);
}

std::string namesOf(const ArgumentTable &table) {
  std::string names;
  for (const auto &[name, value] : table)
    names += (names.empty() ? "`" : ", `") + name + "`";
  return names;
}

/// What kernels write.
bool isOutput(const std::string &name) {
  return name == "out" || name == "lse" || name == "counters" ||
         name.starts_with("part_");
}
} // namespace

ArgumentTable argumentTable(const Call &call, void *workspace) {
  const Plan &plan = *call.plan;
  void *partials =
      workspace ? static_cast<char *>(workspace) + plan.counterBytes : nullptr;
  View counters = {workspace, "i32", {plan.counterBytes / 4}, {}};
  int64_t splits = plan.numSplits, rows = plan.problem.numTokens;
  int64_t heads = plan.problem.numHeads;
  return {
      {"q", orAbsent(call.q, "bf16", 4)},
      {"kv", call.kv},
      {"indices", orAbsent(call.indices, "i32", 3)},
      {"lengths", orAbsent(call.lengths, "i32", 3)},
      {"extra_kv", call.extraKv}, // no slots where there is no second cache
      {"extra_indices", orAbsent(call.extraIndices, "i32", 3)},
      {"extra_lengths", orAbsent(call.extraLengths, "i32", 3)},
      {"sink", orAbsent(call.sink, "f32", 1)},
      {"out", orAbsent(call.out, "bf16", 4)},
      {"lse", orAbsent(call.lse, "f32", 3)},
      {"part_o", partialView(partials, plan.partials.outputs,
                             {rows, splits, heads, call.dimV}, "f16")},
      {"part_u",
       partialView(partials, plan.partials.units, {rows, splits, heads})},
      {"part_m",
       partialView(partials, plan.partials.maxima, {rows, splits, heads})},
      {"part_l",
       partialView(partials, plan.partials.sums, {rows, splits, heads})},
      {"counters", counters},
      {"sm_scale", static_cast<double>(call.smScale)},
      {"num_splits", splits},
  };
}

PackedArguments::PackedArguments(const KernelMeta &kernel,
                                 const ArgumentTable &table) {
  for (const KernelArgument &argument : kernel.arguments) {
    auto found = table.find(argument.name);
    if (found == table.end())
      throw LaunchError("kernel `" + kernel.entry + "`: nothing to pass for `" +
                        argument.name + "`; there are " + namesOf(table));
    const ArgumentValue &value = found->second;
    const View *view = std::get_if<View>(&value);
    const Pool *pool = std::get_if<Pool>(&value);
    bool kindAgrees = argument.kind == KernelArgument::Kind::View ? !!view
                      : argument.kind == KernelArgument::Kind::Pool
                          ? !!pool
                          : !view && !pool;
    if (!kindAgrees)
      throw LaunchError("kernel `" + kernel.entry + "`: `" + argument.name +
                        "` is of another kind than what is passed for it");
    if (view)
      addView(argument, *view);
    else if (pool)
      addPool(argument.name, *pool);
    else
      addScalar(argument, value);
  }
  // Addresses only now: the slots no longer move.
  for (uint64_t &slot : slots)
    addresses.push_back(&slot);
}

void PackedArguments::markPending(const PackedArguments &before) {
  auto first = [](const Buffer &b) {
    return reinterpret_cast<uintptr_t>(b.data);
  };
  for (Buffer &buffer : memory)
    for (const Buffer &other : before.memory)
      if (other.writable && first(buffer) < first(other) + other.bytes &&
          first(other) < first(buffer) + buffer.bytes)
        buffer.pending = true;
}

void PackedArguments::addView(const KernelArgument &argument,
                              const View &view) {
  if (argument.rank != static_cast<int>(view.extents.size()) ||
      argument.element != view.element)
    throw LaunchError("`" + argument.name + "`: the kernel expects rank " +
                      std::to_string(argument.rank) + " of " +
                      argument.element + ", got rank " +
                      std::to_string(view.extents.size()) + " of " +
                      view.element);
  if (uint64_t bytes = spannedBytes(view); view.data && bytes)
    memory.push_back(
        {argument.name, view.data, bytes, isOutput(argument.name)});
  slots.push_back(reinterpret_cast<uintptr_t>(view.data));
  for (int64_t extent : view.extents)
    slots.push_back(static_cast<uint64_t>(extent));
  for (int64_t stride : view.strides)
    slots.push_back(static_cast<uint64_t>(stride));
}

void PackedArguments::addPool(const std::string &name, const Pool &pool) {
  int64_t pages =
      pool.pageSize ? (pool.slots + pool.pageSize - 1) / pool.pageSize : 0;
  if (pool.data && pages)
    memory.push_back({name, pool.data,
                      static_cast<uint64_t>(pages * pool.pageStride), false});
  slots.push_back(reinterpret_cast<uintptr_t>(pool.data));
  for (int64_t value :
       {pool.slots, pool.pageSize, pool.pageStride, pool.rowStride})
    slots.push_back(static_cast<uint64_t>(value));
}

void PackedArguments::addScalar(const KernelArgument &argument,
                                const ArgumentValue &value) {
  const int64_t *integer = std::get_if<int64_t>(&value);
  const double *real = std::get_if<double>(&value);
  if (real && argument.element == "f32")
    slots.push_back(std::bit_cast<uint32_t>(static_cast<float>(*real)));
  else if (integer && (argument.element == "index" ||
                       argument.element == "i64" || argument.element == "i32"))
    slots.push_back(static_cast<uint64_t>(*integer));
  else
    throw LaunchError("`" + argument.name + "`: the kernel expects " +
                      argument.element + ", got " +
                      (real ? "a float" : "an integer"));
}

} // namespace mlatile
