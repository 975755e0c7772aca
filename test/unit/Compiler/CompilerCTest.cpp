// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Compiler/compiler_c.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

// Each thread adds its place to its element; CTAs of 32 threads.
const std::string kSource =
    "llvm.func @add(%p: !llvm.ptr<1>, %v: i32) attributes {nvvm.kernel, "
    "nvvm.reqntid = array<i32: 32>} {\\n"
    "  %t = nvvm.read.ptx.sreg.tid.x : i32\\n"
    "  %b = nvvm.read.ptx.sreg.ctaid.x : i32\\n"
    "  %n = llvm.mlir.constant(32 : i32) : i32\\n"
    "  %r = llvm.mul %b, %n : i32\\n"
    "  %i = llvm.add %r, %t : i32\\n"
    "  %a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, "
    "i32\\n"
    "  %x = llvm.add %i, %v : i32\\n"
    "  llvm.store %x, %a : i32, !llvm.ptr<1>\\n"
    "  llvm.return\\n}";

/// Status and message of a call that must fail.
struct Failure {
  int status;
  std::string message;
};
Failure compileFailure(const std::string &json) {
  mlatile_compiled *result = nullptr;
  char *error = nullptr;
  int status = mlatile_compiler_compile(json.c_str(), &result, &error);
  EXPECT_EQ(result, nullptr);
  Failure failure{status, error ? error : ""};
  mlatile_compiler_free_string(error);
  return failure;
}

std::map<std::string, std::string> compileBlobs(const std::string &json) {
  mlatile_compiled *result = nullptr;
  char *error = nullptr;
  int status = mlatile_compiler_compile(json.c_str(), &result, &error);
  std::map<std::string, std::string> blobs;
  EXPECT_EQ(status, MLATILE_COMPILER_OK) << error;
  mlatile_compiler_free_string(error);
  if (status)
    return blobs;
  blobs["meta"] = result->meta_json;
  for (size_t i = 0; i < result->num_blobs; ++i)
    blobs[result->blobs[i].name] =
        std::string(static_cast<const char *>(result->blobs[i].data),
                    result->blobs[i].size);
  mlatile_compiler_free_compiled(result);
  return blobs;
}

TEST(CompilerC, Version) {
  EXPECT_EQ(mlatile_compiler_abi_version(), MLATILE_COMPILER_ABI_VERSION);
}

TEST(CompilerC, WrongRequests) {
  mlatile_compiled *result = nullptr;
  EXPECT_EQ(mlatile_compiler_compile(nullptr, &result, nullptr),
            MLATILE_COMPILER_BAD_REQUEST);
  EXPECT_EQ(compileFailure("[").status, MLATILE_COMPILER_BAD_REQUEST);
  EXPECT_EQ(compileFailure("[]").message, "request: expected a JSON object");
  EXPECT_EQ(compileFailure("{}").message,
            "request: expected \"kernel_file\" or \"source\"");
  EXPECT_EQ(compileFailure(R"({"taget": "sm_120a"})").message,
            "request: unknown key \"taget\"");
  EXPECT_EQ(compileFailure(R"({"target": 120})").message,
            "request: \"target\": expected a string");
  EXPECT_EQ(compileFailure(R"({"params": {"BH": 1.5}})").message,
            "request: \"params\": expected strings, integers and booleans");
  EXPECT_EQ(compileFailure(R"({"steps": "a"})").message,
            "request: \"steps\": expected an object");
  EXPECT_EQ(compileFailure(R"({"steps": {"a": 1}})").message,
            "request: \"steps\": expected strings");
  EXPECT_EQ(compileFailure(R"({"ptxas_opt": 7})").message,
            "request: \"ptxas_opt\": expected an integer from 0 to 3");
  EXPECT_EQ(compileFailure(R"({"source": "llvm.mystery"})").status,
            MLATILE_COMPILER_COMPILE_ERROR);
  EXPECT_EQ(compileFailure(R"({"cubin": true, "ptxas": "/none", "source": ")" +
                           kSource + "\"}")
                .status,
            MLATILE_COMPILER_PTXAS_ERROR);
}

/// Request for a kernel with requirements on both parameters.
std::string describeRequest(const std::string &more) {
  return R"({"source_name": "k.mlir", "source": ")"
         R"(tile.kernel @k params(FMT : format, BN : index = 32, )"
         R"(R : index = FMT.rope, S : i1) warps(4)\n)"
         R"( (%q : !tile.view<[T, D], bf16>, %kv : !tile.pool<FMT>, )"
         R"(%x : f32) {\n)"
         R"(  tile.require affine_set<(n) : (n mod 16 == 0)>(BN), \"rows\"\n)"
         R"(  tile.require affine_set<(r) : (r - 1 >= 0)>(R), \"rope\"\n)"
         R"(  tile.return\n}")" +
         more + "}";
}

Failure describeFailure(const std::string &more) {
  char *result = nullptr, *error = nullptr;
  int status =
      mlatile_compiler_describe(describeRequest(more).c_str(), &result, &error);
  Failure failure{status, error ? error : result ? result : ""};
  mlatile_compiler_free_string(error);
  mlatile_compiler_free_string(result);
  return failure;
}

TEST(CompilerC, Describes) {
  Failure plain = describeFailure("");
  EXPECT_EQ(plain.status, MLATILE_COMPILER_OK);
  EXPECT_EQ(
      plain.message,
      R"([{"args":[{"element":"bf16","kind":"view","name":"q","rank":2},)"
      R"({"element":"","kind":"pool","name":"kv","rank":0},)"
      R"({"element":"f32","kind":"scalar","name":"x","rank":0}],"name":"k",)"
      R"("params":[{"default":null,"kind":"format","name":"FMT"},)"
      R"({"default":32,"kind":"index","name":"BN"},)"
      R"({"derived":"FMT.rope","kind":"index","name":"R"},)"
      R"({"default":null,"kind":"i1","name":"S"}]}])");

  auto bound = [](const std::string &params) {
    return describeFailure(R"(, "kernel": "k", "params": {)" + params + "}");
  };
  // What is not bound yet is not checked.
  EXPECT_EQ(bound("").status, MLATILE_COMPILER_OK);
  EXPECT_EQ(bound(R"("BN": 48)").status, MLATILE_COMPILER_OK);
  EXPECT_EQ(bound(R"("FMT": "dsv4")").status, MLATILE_COMPILER_OK);
  for (const auto &[params, message] : std::map<std::string, std::string>{
           {R"("BN": 24)", "k.mlir:3:3: error: requirement violated: rows "
                           "(BN = 24)"},
           {R"("FMT": "dsv4_1")", "k.mlir:4:3: error: requirement violated: "
                                  "rope (R = 0)"},
           {R"("NO": 1)", "has no parameter NO"},
           {R"("R": 1)", "parameter R is derived as FMT.rope"},
           {R"("S": 1)", "parameter S: expected true or false, got '1'"}}) {
    Failure failure = bound(params);
    EXPECT_EQ(failure.status, MLATILE_COMPILER_BAD_PARAMS) << params;
    EXPECT_NE(failure.message.find(message), std::string::npos)
        << failure.message;
  }
  EXPECT_EQ(describeFailure(R"(, "kernel": "none")").status,
            MLATILE_COMPILER_BAD_REQUEST);

  // The same when it is compiled, where all must be bound.
  auto compiled = [](const std::string &params) {
    return compileFailure(describeRequest(R"(, "params": {)" + params + "}"));
  };
  Failure missing = compiled(R"("FMT": "dsv4")");
  EXPECT_EQ(missing.status, MLATILE_COMPILER_BAD_PARAMS);
  EXPECT_NE(missing.message.find("parameter S (i1) has no default"),
            std::string::npos);
  EXPECT_EQ(compiled(R"("FMT": "dsv4", "S": true, "BN": 1)").status,
            MLATILE_COMPILER_BAD_PARAMS);
}

TEST(CompilerC, CompilesAndRuns) {
  auto blobs = compileBlobs("{\"source\": \"" + kSource + "\"}");
  ASSERT_TRUE(blobs.count("llvm"));
  EXPECT_NE(blobs["ptx"].find(".entry add("), std::string::npos);
  EXPECT_NE(blobs["mlir"].find("@add"), std::string::npos);
  EXPECT_NE(blobs["meta"].find("\"threads\":32"), std::string::npos)
      << blobs["meta"];

  mlatile_sim_program *program = nullptr;
  char *error = nullptr;
  ASSERT_EQ(mlatile_sim_load(blobs["llvm"].data(), blobs["llvm"].size(),
                             nullptr, &program, &error),
            MLATILE_COMPILER_OK)
      << error;
  std::vector<int> out(96, -1);
  int *pointer = out.data();
  int value = 7;
  void *args[] = {&pointer, &value};
  char *stats = nullptr;
  ASSERT_EQ(mlatile_sim_launch(program, 2, 1, 1, 32, 0, args, 2,
                               R"({"seed": 3, "host_threads": 2})", &stats,
                               &error),
            MLATILE_COMPILER_OK)
      << error;
  for (int i = 0; i < 96; ++i)
    EXPECT_EQ(out[i], i < 64 ? i + 7 : -1);
  EXPECT_NE(std::string(stats).find("\"seconds\""), std::string::npos);
  mlatile_compiler_free_string(stats);

  // Checked mode, with the bounds that it is given.
  auto checked = [&](size_t bytes, bool writable) {
    std::string options = R"({"checked": true, "buffers": [[)" +
                          std::to_string(reinterpret_cast<uintptr_t>(pointer)) +
                          ", " + std::to_string(bytes) + ", \"out\", " +
                          (writable ? "true" : "false") + "]]}";
    char *problem = nullptr;
    int status = mlatile_sim_launch(program, 2, 1, 1, 32, 0, args, 2,
                                    options.c_str(), nullptr, &problem);
    std::string text = problem ? problem : "";
    mlatile_compiler_free_string(problem);
    EXPECT_EQ(status == MLATILE_COMPILER_OK, text.empty());
    return text;
  };
  EXPECT_EQ(checked(256, true), "");
  EXPECT_NE(checked(128, true).find("outside every buffer"), std::string::npos);
  EXPECT_NE(checked(256, false).find("into the read-only buffer 'out'"),
            std::string::npos);
  EXPECT_EQ(mlatile_sim_launch(program, 1, 1, 1, 32, 0, args, 2,
                               R"({"checked": true, "buffers": [[1, 2]]})",
                               nullptr, &error),
            MLATILE_COMPILER_BAD_REQUEST);
  EXPECT_STREQ(error, "options: \"buffers\": expected [[address, bytes, "
                      "\"name\", writable, pending], ...]");
  mlatile_compiler_free_string(error);

  EXPECT_EQ(mlatile_sim_launch(program, 1, 1, 1, 32, 0, args, 1, nullptr,
                               nullptr, &error),
            MLATILE_COMPILER_BAD_REQUEST);
  EXPECT_STREQ(error, "kernel 'add': expected 2 arguments, got 1");
  mlatile_compiler_free_string(error);
  EXPECT_EQ(mlatile_sim_launch(program, 1, 1, 1, 32, 0, args, 2,
                               R"({"sede": 3})", nullptr, &error),
            MLATILE_COMPILER_BAD_REQUEST);
  EXPECT_STREQ(error, "options: unknown key \"sede\"");
  mlatile_compiler_free_string(error);
  mlatile_sim_free(program);
}

TEST(CompilerC, LoadRefusesWhatIsNoModule) {
  mlatile_sim_program *program = nullptr;
  char *error = nullptr;
  EXPECT_NE(mlatile_sim_load("garbage", 7, nullptr, &program, &error),
            MLATILE_COMPILER_OK);
  EXPECT_NE(error, nullptr);
  EXPECT_EQ(program, nullptr);
  mlatile_compiler_free_string(error);
}

TEST(CompilerC, InfoNamesKernelsAndBuild) {
  char *info = nullptr, *error = nullptr;
  ASSERT_EQ(mlatile_compiler_info(nullptr, &info, &error), MLATILE_COMPILER_OK)
      << error;
  std::string text = info;
  mlatile_compiler_free_string(info);
  for (const char *key :
       {"\"abi\":", "\"build_id\":\"", "\"kernels\":{", "\"decode\":\"",
        "\"llvm_version\":\"22.", "\"pipeline\":\""})
    EXPECT_NE(text.find(key), std::string::npos) << key << " in " << text;
}

TEST(CompilerC, InfoCoversSteps) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / "mlatile_info_steps";
  fs::create_directories(folder / "steps");
  auto infoWith = [&](const char *text) {
    std::ofstream(folder / "steps" / "a.mlir") << text;
    char *info = nullptr, *error = nullptr;
    EXPECT_EQ(mlatile_compiler_info(nullptr, &info, &error),
              MLATILE_COMPILER_OK)
        << error;
    std::string found = info;
    mlatile_compiler_free_string(info);
    return found;
  };
  setenv("MLATILE_KERNEL_PATH", folder.c_str(), /*overwrite=*/1);
  std::string first = infoWith("// one"), same = infoWith("// one"),
              edited = infoWith("// two");
  unsetenv("MLATILE_KERNEL_PATH");
  fs::remove_all(folder);
  EXPECT_EQ(first, same);
  EXPECT_NE(first, edited);
}

} // namespace
