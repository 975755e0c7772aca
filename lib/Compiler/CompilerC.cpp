// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Boundary.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Compiler/KernelFiles.h"
#include "mlatile/Compiler/compiler_c.h"
#include "mlatile/Pipelines/Pipelines.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/SHA256.h"

using namespace mlatile;

namespace {

/// Owns what a mlatile_compiled points to.
struct Compiled : mlatile_compiled {
  CompiledKernel kernel;
  std::string meta;
  std::vector<mlatile_blob> list;
};

llvm::Error badRequest(const llvm::Twine &message) {
  return llvm::make_error<CompilerError>(CompilerError::Kind::Request,
                                         message.str());
}

llvm::Error wrongType(llvm::StringRef key, llvm::StringRef expected) {
  return badRequest("request: \"" + key + "\": expected " + expected);
}

llvm::Error readParam(llvm::StringRef key, const llvm::json::Value &value,
                      KernelRequest &request) {
  std::string &text = request.params[key.str()];
  if (auto string = value.getAsString())
    text = string->str();
  else if (auto boolean = value.getAsBoolean())
    text = *boolean ? "true" : "false";
  else if (auto number = value.getAsInteger())
    text = std::to_string(*number);
  else
    return wrongType("params", "strings, integers and booleans");
  return llvm::Error::success();
}

llvm::Expected<KernelRequest> readRequest(const llvm::json::Object &object) {
  KernelRequest request;
  std::pair<llvm::StringRef, std::string *> texts[] = {
      {"source_name", &request.sourceName},
      {"kernel_file", &request.kernelFile},
      {"kernel", &request.kernel},
      {"target", &request.target},
      {"ptxas", &request.ptxas},
      {"dump_dir", &request.dumpDir}};
  for (const auto &[key, value] : object) {
    llvm::StringRef name = key;
    auto *known =
        llvm::find_if(texts, [&](auto &t) { return t.first == name; });
    if (known != std::end(texts) || name == "source") {
      auto text = value.getAsString();
      if (!text)
        return wrongType(name, "a string");
      if (name == "source")
        request.source = text->str();
      else
        *known->second = text->str();
    } else if (name == "params") {
      const llvm::json::Object *params = value.getAsObject();
      if (!params)
        return wrongType(name, "an object");
      for (const auto &[param, bound] : *params)
        if (llvm::Error error = readParam(param, bound, request))
          return std::move(error);
    } else if (name == "steps") {
      const llvm::json::Object *steps = value.getAsObject();
      if (!steps)
        return wrongType(name, "an object");
      for (const auto &[path, text] : *steps) {
        auto string = text.getAsString();
        if (!string)
          return wrongType(name, "strings");
        request.steps.push_back({path.str(), string->str()});
      }
      // The order of an object is by chance; that of messages is not.
      llvm::sort(request.steps, [](const StepFile &a, const StepFile &b) {
        return a.path < b.path;
      });
    } else if (name == "cubin") {
      auto wanted = value.getAsBoolean();
      if (!wanted)
        return wrongType(name, "a boolean");
      request.stage = *wanted ? Stage::Cubin : Stage::PTX;
    } else if (name == "ptxas_opt") {
      auto level = value.getAsInteger();
      if (!level || *level < 0 || *level > 3)
        return wrongType(name, "an integer from 0 to 3");
      request.ptxasLevel = static_cast<int>(*level);
    } else {
      return badRequest("request: unknown key \"" + name + "\"");
    }
  }
  if (!request.source && request.kernelFile.empty())
    return badRequest("request: expected \"kernel_file\" or \"source\"");
  return request;
}

llvm::Expected<std::unique_ptr<Compiled>> compileJson(const char *json) {
  auto object = parseObject(json, "request");
  if (!object)
    return badRequest(llvm::toString(object.takeError()));
  auto request = readRequest(*object);
  if (!request)
    return request.takeError();
  auto kernel = compile(*request);
  if (!kernel)
    return kernel.takeError();
  auto result = std::make_unique<Compiled>();
  result->kernel = std::move(*kernel);
  llvm::raw_string_ostream(result->meta)
      << llvm::json::Value(result->kernel.meta());
  auto add = [&](const char *name, const std::string &data) {
    if (!data.empty())
      result->list.push_back({name, data.c_str(), data.size()});
  };
  add("mlir", result->kernel.mlir);
  add("llvm", result->kernel.bitcode);
  add("ptx", result->kernel.ptx);
  add("cubin", result->kernel.cubin);
  result->meta_json = result->meta.c_str();
  result->num_blobs = result->list.size();
  result->blobs = result->list.data();
  return result;
}

llvm::Expected<std::string> info(const char *json) {
  std::string ptxasPath;
  if (json) {
    auto object = parseObject(json, "request");
    if (!object)
      return badRequest(llvm::toString(object.takeError()));
    if (auto path = object->getString("ptxas"))
      ptxasPath = path->str();
  }
  llvm::json::Object result{{"abi", MLATILE_COMPILER_ABI_VERSION},
                            {"build_id", compilerBuildId()},
                            {"llvm_version", LLVM_VERSION_STRING},
                            {"pipeline", describePipeline()},
                            {"ptxas", nullptr}};
  auto folders = knownSteps();
  if (!folders)
    return badRequest(llvm::toString(folders.takeError()));
  llvm::json::Object kernels;
  for (const std::string &name : kernelFileNames()) {
    auto file = findKernelFile(name);
    if (!file)
      return badRequest(llvm::toString(file.takeError()));
    // All steps that it may link, in the order in which they are looked for.
    llvm::SHA256 hash;
    auto add = [&](llvm::StringRef text) {
      hash.update(std::to_string(text.size()) + ":");
      hash.update(text);
    };
    add(file->text);
    for (const StepFolder &folder : *folders)
      for (const StepFile &step : folder.files)
        add(step.text);
    kernels[name] = llvm::toHex(hash.final(), /*LowerCase=*/true);
  }
  result["kernels"] = std::move(kernels);
  if (auto tool = findPtxas(ptxasPath, nullptr))
    result["ptxas"] =
        llvm::json::Object{{"path", tool->path}, {"version", tool->version}};
  else
    llvm::consumeError(tool.takeError());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(result));
  return text;
}

} // namespace

int mlatile_compiler_abi_version(void) { return MLATILE_COMPILER_ABI_VERSION; }

void mlatile_compiler_free_string(char *string) { free(string); }

int mlatile_compiler_compile(const char *requestJson,
                             struct mlatile_compiled **result, char **error) {
  return guarded(error, [&]() -> llvm::Error {
    auto compiled = compileJson(requestJson);
    if (!compiled)
      return compiled.takeError();
    *result = compiled->release();
    return llvm::Error::success();
  });
}

void mlatile_compiler_free_compiled(struct mlatile_compiled *compiled) {
  delete static_cast<Compiled *>(compiled);
}

int mlatile_compiler_describe(const char *requestJson, char **resultJson,
                              char **error) {
  return guarded(error, [&]() -> llvm::Error {
    auto object = parseObject(requestJson, "request");
    if (!object)
      return badRequest(llvm::toString(object.takeError()));
    auto request = readRequest(*object);
    if (!request)
      return request.takeError();
    auto kernels = describe(*request);
    if (!kernels)
      return kernels.takeError();
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(std::move(*kernels));
    *resultJson = copyString(text);
    return llvm::Error::success();
  });
}

int mlatile_compiler_info(const char *requestJson, char **infoJson,
                          char **error) {
  return guarded(error, [&]() -> llvm::Error {
    auto text = info(requestJson);
    if (!text)
      return text.takeError();
    *infoJson = copyString(*text);
    return llvm::Error::success();
  });
}
