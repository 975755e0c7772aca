// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing one entry of a folder of prebuilt kernels.
#include "mlatile/Runtime/KernelFolder.h"

#include "Files.h"
#include "mlatile/Runtime/Error.h"

#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Raised when the meaning of an entry changes.
constexpr int kSchema = 1;

Json specJson(const KernelSpec &spec) {
  Json params = Json::object();
  for (const auto &[name, value] : spec.params)
    params[name] = value;
  return {{"file", spec.file},
          {"symbol", spec.symbol},
          {"params", params},
          {"target", spec.target}};
}
} // namespace

void writeKernel(const fs::path &folder, const Kernel &kernel) {
  if (kernel.spec.source)
    throw Error("a kernel of a file of one's own cannot stand in a folder of "
                "prebuilt kernels");
  if (kernel.cubin.empty())
    throw Error("kernel " + kernel.spec.name() + " has no cubin");
  std::string name = kernel.spec.name();
  Json json;
  json["schema"] = kSchema;
  json["kernel"] = specJson(kernel.spec);
  json["cubin_bytes"] = kernel.cubin.size();
  json["cubin_fnv1a"] = fnv1a(kernel.cubin);
  json["meta"] = Json::parse(kernel.meta.json);
  writeFile(folder / (name + ".cubin"), kernel.cubin);
  if (!kernel.ptx.empty())
    writeFile(folder / (name + ".ptx"), kernel.ptx);
  // Last, since an entry exists when its JSON does.
  writeFile(folder / (name + ".json"), json.dump(2) + "\n");
}

std::shared_ptr<const Kernel> readKernel(const fs::path &folder,
                                         const KernelSpec &spec) {
  fs::path path = folder / (spec.name() + ".json");
  std::optional<std::string> text = readFile(path);
  if (!text)
    return nullptr;
  auto kernel = std::make_shared<Kernel>();
  kernel->spec = spec;
  kernel->origin = folder.string();
  try {
    Json json = Json::parse(*text);
    if (json.at("schema") != kSchema)
      throw Error(path.string() + ": expected schema " +
                  std::to_string(kSchema) + ", got " +
                  json.at("schema").dump());
    if (json.at("kernel") != specJson(spec))
      throw Error(path.string() + ": expected kernel " + spec.name() +
                  ", got " + json.at("kernel").dump());
    kernel->meta = parseMeta(json.at("meta").dump());
    fs::path cubin = path;
    cubin.replace_extension(".cubin");
    kernel->cubin = readFile(cubin).value_or("");
    if (kernel->cubin.size() != json.at("cubin_bytes").get<size_t>() ||
        fnv1a(kernel->cubin) != json.at("cubin_fnv1a").get<std::string>())
      throw Error(cubin.string() + ": expected " +
                  json.at("cubin_bytes").dump() + " bytes with hash " +
                  json.at("cubin_fnv1a").dump() + ", got " +
                  std::to_string(kernel->cubin.size()) + " bytes with hash \"" +
                  fnv1a(kernel->cubin) + "\"");
  } catch (const Json::exception &error) {
    throw Error(path.string() + ": " + error.what());
  }
  return kernel;
}

} // namespace mlatile
