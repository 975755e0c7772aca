// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libmlatile_compiler.so: answers compile requests with the meta
// of the kernel files and runs a plain C++ version of its kernels, so that
// the run-time library is tested on its own, without LLVM.
#define MLATILE_COMPILER_BUILDING
#include "mlatile/Compiler/compiler_c.h"

#include "FakeKernels.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;

namespace {
std::atomic<int> compileCount = 0;

char *copyOf(const std::string &text) { return strdup(text.c_str()); }

int fail(int status, const std::string &text, char **error) {
  if (error)
    *error = copyOf(text);
  return status;
}

struct Compiled : mlatile_compiled {
  std::string meta;
  std::vector<std::string> contents;
  std::vector<mlatile_blob> entries;
};

Json argument(const char *name, const char *kind, int rank,
              const char *element) {
  return {{"name", name}, {"kind", kind}, {"rank", rank}, {"element", element}};
}
Json view(const char *name, int rank, const char *element) {
  return argument(name, "view", rank, element);
}
Json scalar(const char *name, const char *element) {
  return argument(name, "scalar", 0, element);
}
Json pool(const char *name) { return argument(name, "pool", 0, ""); }

Json argumentsOf(const std::string &kernel, const Json &params) {
  if (kernel == "gather")
    return {pool("pool"), view("ids", 1, "i32"), view("sums", 2, "f32"),
            scalar("per_program", "index")};
  if (kernel == "mma")
    return {view("a", 2, "bf16"), view("b", 2, "bf16"), view("sums", 2, "f32"),
            scalar("steps", "index")};
  if (kernel == "read")
    return {view("data", 2, "f32"), view("sums", 2, "f32"),
            scalar("per_program", "index")};
  Json parts = {view("part_o", 4, "f16"), view("part_u", 3, "f32"),
                view("part_m", 3, "f32"), view("part_l", 3, "f32")};
  Json results = {view("out", 4, "bf16"), view("lse", 3, "f32")};
  Json args = Json::array();
  auto append = [&](const Json &list) {
    args.insert(args.end(), list.begin(), list.end());
  };
  if (kernel != "merge") {
    append({view("q", 4, "bf16"), pool("kv"), view("indices", 3, "i32"),
            view("lengths", 3, "i32")});
    if (takesExtra(params))
      append({pool("extra_kv"), view("extra_indices", 3, "i32"),
              view("extra_lengths", 3, "i32")});
    args.push_back(view("sink", 1, "f32"));
    append(results);
    if (kernel == "decode") {
      append(parts);
      args.push_back(view("counters", 1, "i32"));
    }
    args.push_back(scalar("sm_scale", "f32"));
    if (kernel == "decode")
      args.push_back(scalar("num_splits", "index"));
  } else {
    append(parts);
    args.push_back(view("sink", 1, "f32"));
    append(results);
    args.push_back(scalar("num_splits", "index"));
  }
  return args;
}

/// Kernels that measure the card do nothing here.
bool isFloor(const Json &request) {
  return request.value("kernel_file", "") == "floors";
}
} // namespace

struct mlatile_sim_program {
  Json request;
};

extern "C" {
MLATILE_COMPILER_API int fake_compile_count(void) { return compileCount; }

int mlatile_compiler_abi_version(void) { return MLATILE_COMPILER_ABI_VERSION; }
void mlatile_compiler_free_string(char *string) { std::free(string); }

int mlatile_compiler_compile(const char *text, mlatile_compiled **result,
                             char **error) {
  ++compileCount;
  Json request = Json::parse(text);
  if (request.value("source", "").find("syntax error") != std::string::npos)
    return fail(MLATILE_COMPILER_COMPILE_ERROR,
                request["source_name"].get<std::string>() +
                    ":3:7: error: expected an operation",
                error);
  bool cubin = request["cubin"].get<bool>();
  if (cubin && std::getenv("FAKE_NO_PTXAS"))
    return fail(MLATILE_COMPILER_PTXAS_ERROR, "no ptxas found", error);
  std::string kernel = request["kernel"].get<std::string>();
  Json meta = {{"name", kernel},
               {"target", request["target"]},
               {"params", request["params"]},
               {"threads", 128},
               {"shared_bytes", 40960},
               {"dynamic_shared_bytes", 40000},
               {"coresident", isTrue(request["params"], "SLICES")},
               {"args", argumentsOf(kernel, request["params"])},
               {"buffers", {{"k", {0, 40000}}}},
               {"seconds", {{"total", 0.0}}}};
  meta["ptxas"] = nullptr;
  if (cubin)
    meta["ptxas"] = {{"version", "13.0"},
                     {"registers", 128},
                     {"spill_stores", 0},
                     {"spill_loads", 0},
                     {"static_shared", 960}};
  auto *compiled = new Compiled;
  compiled->meta = meta.dump();
  compiled->contents = {"// ptx of " + kernel, request.dump(), "// mlir"};
  const char *names[] = {"ptx", "llvm", "mlir", "cubin"};
  if (cubin)
    compiled->contents.push_back("cubin of " + request.dump());
  for (size_t i = 0; i < compiled->contents.size(); ++i)
    compiled->entries.push_back(
        {names[i], compiled->contents[i].data(), compiled->contents[i].size()});
  compiled->meta_json = compiled->meta.c_str();
  compiled->num_blobs = compiled->entries.size();
  compiled->blobs = compiled->entries.data();
  *result = compiled;
  return MLATILE_COMPILER_OK;
}

void mlatile_compiler_free_compiled(mlatile_compiled *compiled) {
  delete static_cast<Compiled *>(compiled);
}

int mlatile_compiler_describe(const char *text, char **result, char **error) {
  Json request = Json::parse(text);
  std::string source = request["source"].get<std::string>();
  if (request.contains("params") && source.find("refuse") != std::string::npos)
    return fail(MLATILE_COMPILER_BAD_PARAMS, "requirement violated", error);
  Json kernels = Json::array();
  for (const char *name : {"decode", "merge"}) {
    if (source.find(name) == std::string::npos)
      continue;
    Json args = argumentsOf(name, Json::object());
    if (source.find("querys") != std::string::npos)
      args[0]["name"] = "querys";
    if (source.find("flat") != std::string::npos)
      args[0]["rank"] = 3;
    kernels.push_back(
        {{"name", name}, {"params", {{{"name", "BN"}}}}, {"args", args}});
  }
  *result = copyOf(kernels.dump());
  return MLATILE_COMPILER_OK;
}

int mlatile_compiler_info(const char *, char **info, char **) {
  *info = copyOf("{\"build_id\": \"fake\"}");
  return MLATILE_COMPILER_OK;
}

int mlatile_sim_load(const void *ir, size_t size, const char *,
                     mlatile_sim_program **program, char **) {
  std::string text(static_cast<const char *>(ir), size);
  *program = new mlatile_sim_program{Json::parse(text)};
  return MLATILE_COMPILER_OK;
}

MLATILE_COMPILER_API size_t
fake_parameter_count(const mlatile_sim_program *program) {
  const Json &params = program->request["params"];
  if (isFloor(program->request)) {
    std::string kernel = program->request["kernel"];
    return kernel == "gather" ? 5 + 2 + 3 + 1
           : kernel == "mma"  ? 3 + 3 + 3 + 1
                              : 3 + 3 + 1;
  }
  size_t extra = takesExtra(params) ? 5 + 6 + 6 : 0;
  size_t partials = params.contains("SPLIT") ? 8 + 6 + 6 + 6 + 2 + 1 : 0;
  return program->request["kernel"] == "merge"
             ? 8 + 6 + 6 + 6 + 2 + 8 + 6 + 1
             : 8 + 5 + 6 + 6 + 2 + 8 + 6 + 1 + extra + partials;
}

int mlatile_sim_launch(mlatile_sim_program *program, unsigned gridX,
                       unsigned gridY, unsigned gridZ, unsigned block,
                       size_t shared, void *const *args, size_t count,
                       const char *options, char **stats, char **error) {
  const Json &params = program->request["params"];
  bool merge = program->request["kernel"] == "merge";
  size_t expected = fake_parameter_count(program);
  if (count != expected || gridY != 1 || gridZ != 1 || block != 128 ||
      shared != 40000)
    return fail(MLATILE_COMPILER_SIM_ERROR,
                "expected " + std::to_string(expected) + " parameters, got " +
                    std::to_string(count),
                error);
  for (unsigned pid = 0; pid < gridX && !isFloor(program->request); ++pid)
    (merge ? mergeCta : attentionCta)(params, pid, args);
  if (isTrue(params, "SLICES") && !mergeSlices(params, args))
    return fail(MLATILE_COMPILER_SIM_ERROR, "a counter is not zero", error);
  if (stats)
    *stats =
        copyOf(Json{{"grid", gridX}, {"options", Json::parse(options)}}.dump());
  return MLATILE_COMPILER_OK;
}

void mlatile_sim_free(mlatile_sim_program *program) { delete program; }
}
