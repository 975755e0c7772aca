// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meta of a kernel; compiler_c.h lists its keys.
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"

#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;

KernelArgument::Kind kindNamed(const std::string &kind) {
  if (kind == "view")
    return KernelArgument::Kind::View;
  if (kind == "pool")
    return KernelArgument::Kind::Pool;
  if (kind == "scalar")
    return KernelArgument::Kind::Scalar;
  throw Error("kernel meta: expected kind view, pool or scalar, got '" + kind +
              "'");
}
} // namespace

KernelMeta parseMeta(const std::string &text) {
  try {
    Json json = Json::parse(text);
    KernelMeta meta;
    meta.json = text;
    meta.entry = json.at("name").get<std::string>();
    meta.threads = json.at("threads").get<unsigned>();
    meta.sharedBytes = json.at("shared_bytes").get<unsigned>();
    meta.dynamicSharedBytes =
        json.value("dynamic_shared_bytes", meta.sharedBytes);
    meta.coresident = json.value("coresident", false);
    for (const Json &entry : json.at("args")) {
      KernelArgument argument;
      argument.name = entry.at("name").get<std::string>();
      argument.kind = kindNamed(entry.at("kind").get<std::string>());
      argument.rank = entry.value("rank", 0);
      argument.element = entry.value("element", "");
      meta.arguments.push_back(std::move(argument));
    }
    return meta;
  } catch (const Json::exception &error) {
    throw Error(std::string("kernel meta: ") + error.what());
  }
}

} // namespace mlatile
