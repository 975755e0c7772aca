// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole calls, from inputs to comparison, with the plain C++ kernels of
// FakeCompiler.cpp in the place of compiled ones.
#include "Fixtures.h"
#include "Inputs.h"
#include "Reference.h"

#include <nlohmann/json.hpp>

using namespace mlatile;
using namespace mlatile::run;

namespace {
struct Results {
  std::vector<uint16_t> out;
  std::vector<float> lse;
};

Results runInputs(Inputs &inputs, std::optional<int64_t> splits,
                  std::string *stats = nullptr, bool checked = false,
                  const std::string &kernel = "auto",
                  const std::string &merge = "auto") {
  Arguments a;
  a.q = hostTensor(inputs.q.data(), DType::BF16,
                   {inputs.tokens, inputs.heads, 512});
  a.kvCache = hostTensor(inputs.pool.data(), DType::U8,
                         {inputs.pages, inputs.pageStride});
  a.indices = hostTensor(inputs.indices.data(), DType::I32,
                         {inputs.tokens, inputs.width});
  a.kvFormat = "dsv4";
  a.pageSize = inputs.pageSize;
  a.smScale = inputs.smScale;
  a.kernel = kernel;
  a.numSplits = splits;
  a.merge = merge;
  if (inputs.extra) {
    Cache &extra = *inputs.extra;
    a.extraKvCache = hostTensor(extra.pool.data(), DType::U8,
                                {extra.pages, extra.pageStride});
    a.extraIndices = hostTensor(extra.indices.data(), DType::I32,
                                {inputs.tokens, extra.width});
    a.extraPageSize = extra.pageSize;
    if (!extra.lengths.empty())
      a.extraTopkLength =
          hostTensor(extra.lengths.data(), DType::I32, {inputs.tokens});
  }
  a.returnLse = true;
  if (!inputs.lengths.empty())
    a.topkLength =
        hostTensor(inputs.lengths.data(), DType::I32, {inputs.tokens});
  if (!inputs.sink.empty())
    a.attnSink = hostTensor(inputs.sink.data(), DType::F32, {inputs.heads});
  Results results;
  results.out.resize(static_cast<size_t>(inputs.tokens * inputs.heads * 512));
  results.lse.resize(static_cast<size_t>(inputs.tokens * inputs.heads));
  Call call = prepare(a);
  call.setOut(hostTensor(results.out.data(), DType::BF16, call.outShape()));
  call.setLse(hostTensor(results.lse.data(), DType::F32, call.lseShape()));
  LaunchOptions options;
  options.seed = 5;
  options.stats = stats;
  options.checked = checked;
  launch(call, options);
  return results;
}

TEST(Launch, AgreesWithTheReference) {
  for (int64_t splits : {0, 1, 2, 7, 40})
    for (bool extras : {false, true}) {
      InputOptions options;
      options.tokens = 4;
      options.heads = 17;
      options.width = 129;
      options.pageSize = 3;
      options.seed = static_cast<uint64_t>(splits);
      options.lengths = options.sink = extras;
      Inputs inputs = makeInputs(options);
      std::optional<int64_t> given;
      if (splits)
        given = splits;
      Results results = runInputs(inputs, given);
      Comparison c = compareWith(inputs, computeReference(inputs), results.out,
                                 results.lse, boundsOf("bf16"));
      EXPECT_TRUE(c.ok) << c.error << " " << c.cosine << " " << c.lseRatio;
      EXPECT_LT(c.error, 4e-3); // nothing but the rounding of out
    }
}

TEST(Launch, EveryKernelWithASecondCache) {
  for (std::string kernel : {"decode", "prefill", "swapab"})
    for (int64_t splits : {0, 1, 3, 40})
      for (bool extras : {false, true}) {
        if (splits > 1 && kernel != "decode")
          continue;
        InputOptions options;
        options.tokens = 4;
        options.heads = 17;
        options.width = 65;
        options.pageSize = 3;
        options.extraWidth = 130;
        options.extraPageSize = 7;
        options.seed = static_cast<uint64_t>(splits);
        options.lengths = options.sink = extras;
        Inputs inputs = makeInputs(options);
        std::optional<int64_t> given;
        if (splits)
          given = splits;
        Results results = runInputs(inputs, given, nullptr, false, kernel);
        Expected expected = computeReference(inputs);
        Comparison c = compareWith(inputs, expected, results.out, results.lse,
                                   boundsOf("bf16"));
        EXPECT_TRUE(c.ok) << kernel << " " << c.error << " " << c.lseRatio;
        EXPECT_LT(c.error, 4e-3);
        // Without the second list the reference is another one.
        Inputs alone = inputs;
        alone.extra.reset();
        EXPECT_FALSE(compareWith(inputs, computeReference(alone), results.out,
                                 results.lse, boundsOf("bf16"))
                         .ok);
      }
}

TEST(Launch, AllMergesHaveTheSameBits) {
  for (int64_t splits : {2, 7}) {
    InputOptions options;
    options.tokens = 4;
    options.heads = 17;
    options.width = 129;
    options.sink = true;
    Inputs inputs = makeInputs(options);
    Results first = runInputs(inputs, splits, nullptr, false, "auto", "launch");
    for (std::string merge : {"dependent", "slices", "auto"}) {
      Results other = runInputs(inputs, splits, nullptr, false, "auto", merge);
      EXPECT_EQ(first.out, other.out) << merge;
      EXPECT_EQ(first.lse, other.lse) << merge;
    }
  }
}

TEST(Launch, ComparisonSeesErrors) {
  InputOptions options;
  options.tokens = 2;
  options.heads = 3;
  options.width = 40;
  Inputs inputs = makeInputs(options);
  Results good = runInputs(inputs, 1);
  Expected expected = computeReference(inputs);
  auto compare = [&](const Results &r) {
    return compareWith(inputs, expected, r.out, r.lse, boundsOf("bf16"));
  };
  ASSERT_TRUE(compare(good).ok);
  Results zero = good;
  std::fill(zero.out.begin() + 512, zero.out.begin() + 1024, 0);
  EXPECT_FALSE(compare(zero).ok);
  EXPECT_EQ(compare(zero).head, 1);
  Results nan = good;
  nan.out[5] = 0x7fff;
  EXPECT_FALSE(compare(nan).ok);
  Results lse = good;
  lse.lse[4] += 0.01f;
  EXPECT_FALSE(compare(lse).ok);
  // A wrong scale byte of one selected slot.
  Inputs changed = inputs;
  int32_t slot =
      *std::find_if(inputs.indices.begin(), inputs.indices.end(),
                    [&](int32_t s) { return s >= 0 && s < inputs.slots(); });
  const_cast<uint8_t *>(changed.scales(slot))[2] += 3;
  EXPECT_FALSE(compareWith(changed, computeReference(changed), good.out,
                           good.lse, boundsOf("bf16"))
                   .ok);
}

TEST(Launch, StatsAndOptionsReachTheExecutor) {
  InputOptions options;
  options.width = 64;
  Inputs inputs = makeInputs(options);
  std::string stats;
  runInputs(inputs, 2, &stats, false, "auto", "launch");
  auto json = nlohmann::json::parse(stats);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["grid"], 2);
  EXPECT_EQ(json[0]["options"]["seed"], 5);
  EXPECT_FALSE(json[0]["options"].contains("resident_ctas"));
  runInputs(inputs, 2, &stats, false, "auto", "slices");
  json = nlohmann::json::parse(stats);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["options"]["resident_ctas"], 188);
  EXPECT_FALSE(json[0]["options"].contains("buffers"));
}

TEST(Launch, CheckedModeKnowsTheBuffers) {
  InputOptions inputOptions;
  inputOptions.width = 64;
  Inputs inputs = makeInputs(inputOptions);
  std::string stats;
  runInputs(inputs, 1, &stats, /*checked=*/true);
  auto json = nlohmann::json::parse(stats);
  ASSERT_TRUE(json[0]["options"]["checked"]);
  std::map<std::string, bool> writable;
  for (const auto &buffer : json[0]["options"]["buffers"])
    writable[buffer[2]] = buffer[3];
  EXPECT_TRUE(writable.at("out"));
  EXPECT_FALSE(writable.at("q"));
  EXPECT_FALSE(writable.at("kv"));
}

TEST(Launch, WhatADependentLaunchMustWaitForIsPending) {
  InputOptions inputOptions;
  inputOptions.width = 64;
  Inputs inputs = makeInputs(inputOptions);
  std::string stats;
  for (std::string merge : {"launch", "dependent"}) {
    runInputs(inputs, 2, &stats, /*checked=*/true, "auto", merge);
    auto json = nlohmann::json::parse(stats);
    std::map<std::string, bool> pending;
    for (const auto &buffer : json[1]["options"]["buffers"])
      pending[buffer[2]] = buffer[4];
    for (const char *name : {"part_o", "part_u", "part_m", "part_l", "out"})
      EXPECT_EQ(pending.at(name), merge == "dependent") << name;
    for (const auto &buffer : json[0]["options"]["buffers"])
      EXPECT_FALSE(buffer[4]);
  }
}

TEST(Inputs, SameSeedSameBytes) {
  InputOptions options;
  options.lengths = options.sink = true;
  Inputs a = makeInputs(options), b = makeInputs(options);
  EXPECT_EQ(a.pool, b.pool);
  EXPECT_EQ(a.q, b.q);
  options.extraWidth = 100;
  Inputs two = makeInputs(options);
  EXPECT_EQ(two.pool, a.pool);
  EXPECT_EQ(two.sink, a.sink);
  EXPECT_EQ(two.extra->indices.size(), 100u);
  options.seed = 1;
  EXPECT_NE(makeInputs(options).pool, a.pool);
}
} // namespace
