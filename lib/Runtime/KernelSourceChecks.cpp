// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel file of an author's: whether a call can use it, told before any.
#include "CompilerLibrary.h"
#include "PackedArguments.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/Problem.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;
constexpr const char *kMain = "decode"; // what the file stands in the place of
constexpr const char *kMerge = "merge";

std::string quoted(const std::string &name) { return "`" + name + "`"; }

std::string listed(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + quoted(name);
  return text.empty() ? "none" : text;
}

std::vector<std::string> namesOf(const Json &list) {
  std::vector<std::string> names;
  for (const Json &entry : list)
    names.push_back(entry.at("name").get<std::string>());
  return names;
}

/// The compiler's description of the file; with `kernel` its parameters as the
/// source binds them are checked.
Json describe(const KernelSource &source, const char *kernel) {
  Json request;
  request["source"] = source.text;
  request["source_name"] = source.name;
  if (kernel) {
    request["kernel"] = kernel;
    request["params"] = Json::object();
    for (const auto &[name, value] : source.params)
      request["params"][name] = value;
  }
  const CompilerLibrary &library = compilerLibrary();
  char *result = nullptr, *error = nullptr;
  int status = library.mlatile_compiler_describe(
      request.dump(-1, ' ', false, Json::error_handler_t::replace).c_str(),
      &result, &error);
  if (status == MLATILE_COMPILER_OK)
    return Json::parse(library.take(result));
  std::string text = library.take(error);
  if (status == MLATILE_COMPILER_BAD_PARAMS)
    throw ArgumentError("params", text);
  throw CompileError(text);
}

/// Packs the arguments of a call that has none of its arrays: names, kinds,
/// ranks and element types must fit.
void checkArguments(const KernelSource &source, const std::string &kernel,
                    const Json &arguments) {
  Json meta = {{"name", kernel},
               {"threads", 0},
               {"shared_bytes", 0},
               {"args", arguments}};
  Call call;
  call.plan = std::make_shared<Plan>();
  try {
    PackedArguments(parseMeta(meta.dump()), argumentTable(call, nullptr));
  } catch (const LaunchError &error) {
    throw CompileError(source.name + ": " + error.what());
  }
}
} // namespace

void checkSource(const KernelSource &source) {
  Json kernels = describe(source, nullptr);
  bool found = false;
  for (const Json &kernel : kernels) {
    std::string name = kernel.at("name").get<std::string>();
    if (name != kMain && name != kMerge)
      continue;
    found |= name == kMain;
    if (kernel.contains("args"))
      checkArguments(source, name, kernel["args"]);
    if (name != kMain || !kernel.contains("params"))
      continue;
    std::vector<std::string> known = namesOf(kernel["params"]);
    for (const auto &[param, value] : source.params)
      if (std::find(known.begin(), known.end(), param) == known.end())
        throw ArgumentError("params", "expected parameters of kernel " +
                                          quoted(kMain) + " of " + source.name +
                                          ", " + listed(known) + ", got " +
                                          quoted(param));
    describe(source, kMain);
  }
  if (!found)
    throw CompileError(source.name + ": expected a kernel " + quoted(kMain) +
                       ", got " + listed(namesOf(kernels)));
}

} // namespace mlatile
