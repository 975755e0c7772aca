// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Compiler/compiler_c.h"
#include "gtest/gtest.h"
#include <cstring>
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
  EXPECT_EQ(compileFailure(R"({"ptxas_opt": 7})").message,
            "request: \"ptxas_opt\": expected an integer from 0 to 3");
  EXPECT_EQ(compileFailure(R"({"source": "llvm.mystery"})").status,
            MLATILE_COMPILER_COMPILE_ERROR);
  EXPECT_EQ(compileFailure(R"({"cubin": true, "ptxas": "/none", "source": ")" +
                           kSource + "\"}")
                .status,
            MLATILE_COMPILER_PTXAS_ERROR);
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
                      "\"name\", writable], ...]");
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

} // namespace
