// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fixtures.h"

using namespace mlatile;

namespace {
TEST(Plan, SplitsFillTheMachine) {
  Problem p = smallProblem();
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_EQ(made->kernel, "decode");
  EXPECT_EQ(made->compute, "bf16");
  EXPECT_EQ(made->target, "sm_120a");
  EXPECT_EQ(made->numSplits, 6); // 192 candidates are six tiles of 32
  ASSERT_EQ(made->launches.size(), 2u);
  EXPECT_EQ(made->launches[0].grid, 3u * 1 * 6);

  p.numSMs = 3; // three CTAs already
  EXPECT_EQ(plan(p)->numSplits, 1);
  EXPECT_EQ(plan(p)->launches.size(), 1u);
}

TEST(Plan, PlannedSplitsAreNeverEmpty) {
  for (int64_t width : {1, 31, 32, 33, 500, 513, 1152, 7936})
    for (int64_t sms : {1, 7, 48, 132, 170, 188}) {
      Problem p = smallProblem();
      p.numTokens = 1;
      p.width = width;
      p.numSMs = sms;
      int64_t splits = plan(p)->numSplits, tiles = (width + 31) / 32;
      int64_t each = (tiles + splits - 1) / splits;
      EXPECT_LT((splits - 1) * each, tiles) << width << " on " << sms;
    }
}

TEST(Plan, WorkspaceIsExact) {
  Problem p = smallProblem();
  p.numSplits = 7;
  std::shared_ptr<const Plan> made = plan(p);
  int64_t entries = 7 * 3 * 11;
  int64_t rows = (entries * 4 + 255) / 256 * 256;
  int64_t outputs = entries * 512 * 2; // whole 256s
  EXPECT_EQ(made->workspaceBytes, 16384 + outputs + 3 * rows);
  EXPECT_EQ(made->partials.outputs, 0);
  EXPECT_EQ(made->partials.units, outputs);
  EXPECT_EQ(made->partials.maxima, outputs + rows);
  EXPECT_EQ(made->partials.sums, outputs + 2 * rows);
  EXPECT_EQ(made->partials.end, outputs + 3 * rows);
  EXPECT_EQ(made->partials.maxima % 256, 0);
  EXPECT_EQ(made->partials.sums % 256, 0);
  EXPECT_EQ(made->counterBytes, 16384);
  p.numSplits = 1;
  EXPECT_EQ(plan(p)->workspaceBytes, 0);
  EXPECT_EQ(plan(p)->counterBytes, 0);
}

TEST(Plan, AnySplitCountIsLegal) {
  Problem p = smallProblem();
  for (int64_t splits : {1, 2, 7, 64, 1000}) {
    p.numSplits = splits;
    EXPECT_EQ(plan(p)->numSplits, splits);
  }
}

TEST(Plan, SinkAndLseBelongToTheMerge) {
  Problem p = smallProblem();
  p.hasSink = true;
  p.hasLengths = true;
  p.lse = LseKind::BaseE;
  p.numSplits = 2;
  p.merge = "launch";
  auto split = plan(p)->launches;
  EXPECT_EQ(split[0].kernel.params.at("HAS_SINK"), "false");
  EXPECT_EQ(split[0].kernel.params.at("LSE"), "0");
  EXPECT_EQ(split[0].kernel.params.at("HAS_LENGTH"), "true");
  EXPECT_EQ(split[1].kernel.params.at("HAS_SINK"), "true");
  EXPECT_EQ(split[1].kernel.params.at("LSE"), "2");
  p.merge = "slices";
  auto slices = plan(p)->launches;
  EXPECT_EQ(slices[0].kernel.params.at("HAS_SINK"), "true");
  EXPECT_EQ(slices[0].kernel.params.at("LSE"), "2");
  p.numSplits = 1;
  EXPECT_EQ(plan(p)->launches[0].kernel.params.at("LSE"), "2");
}

TEST(Plan, RunTimeSizesShareAKernel) {
  Problem p = smallProblem();
  p.width = 1024; // rows come in bulk, and eight splits are joined at once
  p.numSplits = 5;
  p.kernel = "decode";
  p.compute = "bf16";
  Problem other = p;
  other.numTokens = 9;
  other.numHeads = 16; // many more would be merged in larger tiles
  other.width = 7936;
  other.pageSize = 2304;
  other.numSplits = 7;
  for (const char *merge : {"launch", "dependent"}) {
    p.merge = other.merge = merge;
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(plan(p)->launches[i].kernel.name(),
                plan(other)->launches[i].kernel.name());
  }
}

TEST(Plan, MergesInSlicesWhereTheGridRunsAtOnce) {
  Problem p = smallProblem(); // 3 CTAs a split
  p.numSplits = 4;
  p.numSMs = 12;
  p.merge = "slices";
  auto made = plan(p);
  EXPECT_EQ(made->merge, "slices");
  ASSERT_EQ(made->launches.size(), 1u);
  EXPECT_EQ(made->launches[0].kernel.params.at("SPLIT"), "true");
  EXPECT_EQ(made->launches[0].kernel.params.at("SLICES"), "true");
  EXPECT_EQ(made->launches[0].kernel.params.at("MERGE_BD"), "512");
  EXPECT_EQ(made->launches[0].resident, 12u);
  EXPECT_HAS(made->explain(), "4 splits, merge slices");
  EXPECT_HAS(made->explain(), "all 12 CTAs run at the same time");

  p.numSMs = 11; // one more than surely runs
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "merge `slices`: 12 CTAs would wait for each other, and only 11 "
             "are known to run at the same time");
  p.merge = "auto";
  made = plan(p);
  EXPECT_EQ(made->merge, "dependent");
  ASSERT_EQ(made->launches.size(), 2u);
  EXPECT_FALSE(made->launches[0].dependent);
  EXPECT_TRUE(made->launches[1].dependent);
  EXPECT_EQ(made->launches[0].resident, 0u);
  EXPECT_EQ(made->launches[0].kernel.params.at("DEPENDENT"), "true");
  EXPECT_FALSE(made->launches[0].kernel.params.count("SLICES"));
  EXPECT_EQ(made->launches[1].kernel.symbol, "merge");
  EXPECT_EQ(made->launches[1].kernel.params.at("DEPENDENT"), "true");
  EXPECT_EQ(made->launches[1].grid, 3u * 11 * 1);
  EXPECT_HAS(made->explain(),
             "slices: 12 CTAs would wait for each other, and only 11 are "
             "known to run at the same time");
  EXPECT_EQ(made->workspaceBytes, plan(p)->workspaceBytes);
}

TEST(Plan, MergesInClusters) {
  Problem p = smallProblem();
  p.merge = "cluster";
  for (const char *target : {"sm_90a", "sm_120a", "sm_121a"})
    for (int64_t splits = 2; splits <= 8; ++splits) {
      p.target = target;
      p.numSplits = splits;
      p.numSMs = 1; // they need not fit on the card
      auto made = plan(p);
      EXPECT_EQ(made->merge, "cluster");
      EXPECT_EQ(made->workspaceBytes, 0);
      EXPECT_EQ(made->counterBytes, 0);
      ASSERT_EQ(made->launches.size(), 1u);
      const LaunchStep &step = made->launches[0];
      EXPECT_EQ(step.grid, 3u * static_cast<uint32_t>(splits));
      EXPECT_EQ(step.resident, 0u);
      EXPECT_FALSE(step.dependent);
      const auto &params = step.kernel.params;
      EXPECT_EQ(params.at("CLUSTER"), std::to_string(splits));
      EXPECT_EQ(params.at("JOIN"), std::to_string((16 + splits - 1) / splits));
      EXPECT_EQ(params.at("MERGE_BD"), "512");
      EXPECT_EQ(params.at("SPLIT"), "false");
      EXPECT_FALSE(params.count("SLICES"));
      EXPECT_HAS(made->explain(), "merge: cluster, each CTA joins a part");
    }
  p.numSplits = 9;
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "merge `cluster`: expected at most 8 splits, the blocks of a "
             "cluster, got 9");

  // The sink and the lse are of the only launch.
  p.numSplits = 4;
  p.hasSink = true;
  p.lse = LseKind::BaseE;
  EXPECT_EQ(plan(p)->launches[0].kernel.params.at("HAS_SINK"), "true");
  EXPECT_EQ(plan(p)->launches[0].kernel.params.at("LSE"), "2");

  // Of themselves only where the target gains from them.
  p.merge = "auto";
  p.numSMs.reset();
  EXPECT_HAS(plan(p)->explain(),
             "cluster: target sm_121a gains nothing from clusters");
  auto listed = [&] {
    for (const Candidate &c : plan(p)->candidates)
      if (c.merge == "cluster")
        return true;
    return false;
  };
  EXPECT_FALSE(listed());
  p.target = "sm_90a";
  EXPECT_FALSE(listed());
  EXPECT_HAS(plan(p)->explain(),
             "cluster: the bits of a number of splits that is asked for would "
             "depend on how many rows there are");
  p.numSplits.reset();
  EXPECT_TRUE(listed());
  // Of two splits the least grid of clusters has 6 CTAs.
  p.numSMs = 6;
  EXPECT_TRUE(listed());
  p.numSMs = 5;
  EXPECT_FALSE(listed());
  EXPECT_HAS(plan(p)->explain(), "cluster: clusters of ");
  EXPECT_HAS(plan(p)->explain(), " CTAs would wait for the 5 SMs");
  p.numSplits = 4;

  // A file of an author's that has no clusters.
  auto source = std::make_shared<KernelSource>();
  source->name = "mine.mlir";
  p.source = source;
  p.kernel = "decode";
  p.merge = "cluster";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "merge `cluster`: kernel file `mine.mlir` has no parameter "
             "CLUSTER");
}

TEST(Plan, MergesAsAskedFor) {
  Problem p = smallProblem();
  p.numSplits = 4;
  p.merge = "launch";
  auto made = plan(p);
  EXPECT_EQ(made->merge, "launch");
  EXPECT_FALSE(made->launches[1].dependent);
  EXPECT_FALSE(made->launches[0].kernel.params.count("DEPENDENT"));
  EXPECT_HAS(made->explain(), "merge: launch, a second launch, as asked for");
  p.merge = "dependent";
  EXPECT_EQ(plan(p)->merge, "dependent");
  p.merge = "slices";
  p.numSMs = 5;
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "merge `slices`: 12 CTAs would wait for each other");
  p.numSplits = 1;
  EXPECT_EQ(plan(p)->merge, "none");
  p.merge = "grid";
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }), "`merge`: expected");
}

TEST(Plan, KernelFilesMergeInTheFormsTheyHave) {
  Problem p = smallProblem();
  p.numSplits = 4;
  auto source = std::make_shared<KernelSource>();
  source->name = "mine.mlir";
  source->text = "decode merge HAS_EXTRA";
  p.source = source;
  EXPECT_EQ(plan(p)->merge, "launch");
  EXPECT_HAS(plan(p)->explain(), "dependent: kernel file `mine.mlir` has no "
                                 "parameter DEPENDENT; slices: kernel file "
                                 "`mine.mlir` has no parameter SLICES");
  p.merge = "slices";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "merge `slices`: kernel file `mine.mlir` has no parameter SLICES");
}

TEST(Plan, NoRowsNoLaunch) {
  Problem p = smallProblem();
  p.numTokens = 0;
  EXPECT_TRUE(plan(p)->launches.empty());
  EXPECT_EQ(plan(p)->workspaceBytes, 0);
  EXPECT_HAS(plan(p)->explain(), "no launch");
}

TEST(Plan, GridLimit) {
  Problem p = smallProblem();
  p.numTokens = 1 << 20;
  EXPECT_EQ(plan(p)->launches[0].grid, 1u << 20); // tokens on grid x
  p.numTokens = kMaxCount;
  p.numHeads = 128;
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }), "num_tokens");
  p.numTokens = 1 << 20;
  p.numSplits = 4096;
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }),
             "`num_splits`: expected at most");
}

/// FP8 where it gains more than a twentieth, within an error of 1.5e-2.
TEST(Plan, ComputesInTheFastestModeThatIsNear) {
  Problem p = smallProblem();
  EXPECT_EQ(plan(p)->compute, "bf16");
  p.numTokens = 4096;
  p.numHeads = 64;
  p.width = 2048;
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_EQ(made->compute, "fp8");
  EXPECT_EQ(made->launches[0].kernel.params.at("FP8"), "1");
  EXPECT_HAS(made->explain(),
             "compute: fp8, the fastest that keeps an error of 1.5e-2");
  double bf16 = 0;
  for (const Candidate &c : made->candidates) {
    EXPECT_NE(c.compute, "fp8_fast");
    if (c.compute == "bf16" && !bf16)
      bf16 = *c.microseconds;
  }
  EXPECT_LT(1.05 * *made->predictedMicroseconds, bf16);
  p.kernel = "decode"; // the bits of a row are those of fewer rows
  EXPECT_EQ(plan(p)->compute, "bf16");
  p.kernel = "auto";
  p.kvFormat = "dsv4_nvfp4"; // it has none
  EXPECT_EQ(plan(p)->compute, "bf16");
  p.kvFormat = "dsv4";
  p.target = "sm_90a";
  EXPECT_EQ(plan(p)->compute, "bf16");
}

TEST(Plan, ComputesAsAsked) {
  Problem p = smallProblem();
  EXPECT_EQ(plan(p)->compute, "bf16");
  EXPECT_EQ(plan(p)->launches[0].kernel.params.count("FP8"), 0u);
  for (const char *kernel : {"decode", "prefill", "swapab"}) {
    p.kernel = kernel;
    for (auto [compute, value] : {std::pair{"fp8", "1"}, {"fp8_fast", "2"}}) {
      p.compute = compute;
      auto made = plan(p);
      EXPECT_EQ(made->compute, compute);
      EXPECT_EQ(made->launches[0].kernel.params.at("FP8"), value);
      EXPECT_HAS(made->explain(),
                 "compute: " + std::string(compute) + ", as asked for");
    }
  }
}

TEST(Plan, DeclinesWithReasons) {
  Problem p = smallProblem();
  p.compute = "fp8";
  p.target = "sm_90a";
  const std::string lacks = "compute `fp8` needs mma of e4m3 with block "
                            "scaling, which target `sm_90a` has not";
  std::string text = errorOf<UnsupportedError>([&] { plan(p); });
  for (const char *kernel : {"decode", "prefill", "swapab"})
    EXPECT_HAS(text, std::string(kernel) + ": " + lacks);
  EXPECT_EQ(supported(p).reason, text);
  EXPECT_FALSE(supported(p).ok);
  p.kernel = "swapab";
  EXPECT_EQ(supported(p).reason,
            "no kernel takes the problem: swapab: " + lacks);

  p = smallProblem();
  p.kvFormat = "dsv4_nvfp4";
  p.compute = "fp8_fast";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "compute `fp8_fast` is refused for `dsv4_nvfp4`: its scales are "
             "e4m3 per 16");
  EXPECT_TRUE(supported(smallProblem()).ok);
  EXPECT_EQ(supported(smallProblem()).reason, "");
}

/// Each change alone must be refused with this text.
TEST(Plan, MalformedProblems) {
  struct Case {
    void (*change)(Problem &);
    const char *text;
  };
  const Case cases[] = {
      {[](Problem &p) { p.numTokens = -1; }, "`num_tokens`: expected 0 to"},
      {[](Problem &p) { p.numHeads = 0; },
       "`num_heads`: expected 1 to 128, got 0"},
      {[](Problem &p) { p.numHeads = 129; }, "got 129"},
      {[](Problem &p) { p.width = 0; }, "`width`"},
      {[](Problem &p) { p.kvFormat = "v4"; }, "`kv_format`: expected 'dsv3_2'"},
      {[](Problem &p) { p.kvFormat = "dsv4_1_fp4"; },
       "only in the extra cache"},
      {[](Problem &p) { p.pageSize = 0; }, "`page_size`"},
      {[](Problem &p) { p.pageStride = 28040; }, "the next good one is 28048"},
      {[](Problem &p) { p.pageStride = 28016; },
       "expected at least 28032 bytes"},
      {[](Problem &p) { p.rowStride = 576; }, "`row_stride`: expected none"},
      {[](Problem &p) { p.extraPageSize = 64; }, "without extra_width"},
      {[](Problem &p) { p.extraKvFormat = "dsv4"; },
       "`extra_kv_format`: expected none without extra_width, got 'dsv4'"},
      {[](Problem &p) { p.extraPageStride = 64; },
       "`extra_page_stride`: expected none without extra_width, got 64"},
      {[](Problem &p) { p.hasExtraLengths = true; },
       "`has_extra_topk_length`: expected none without extra_width"},
      {[](Problem &p) { p.extraWidth = 64; },
       "`extra_page_size`: expected a value"},
      {[](Problem &p) { p.kernel = "fast"; }, "`kernel`: expected 'auto'"},
      {[](Problem &p) { p.compute = "fp4"; }, "`compute`"},
      {[](Problem &p) { p.numSplits = 0; }, "`num_splits`: expected 1 to"},
      {[](Problem &p) { p.target = "sm_80"; }, "`target`: expected 'sm_120a'"},
      {[](Problem &p) { p.numSMs = 0; }, "`num_sms`"},
  };
  for (const Case &c : cases) {
    Problem p = smallProblem();
    c.change(p);
    EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }), c.text);
    EXPECT_FALSE(supported(p).ok);
  }
}

TEST(Plan, MemoKeepsProblemsApart) {
  Problem a = smallProblem(), b = smallProblem();
  EXPECT_EQ(plan(a), plan(b));
  b.hasSink = true;
  EXPECT_NE(a.key(), b.key());
  b = a;
  b.extraKvFormat = "";
  EXPECT_NE(a.key(), b.key());
  b = a;
  b.pageStride = 0;
  EXPECT_NE(a.key(), b.key());
  b = a;
  b.extraPageStride = 0;
  EXPECT_NE(a.key(), b.key());
  b = a;
  b.hasExtraLengths = true;
  EXPECT_NE(a.key(), b.key());
}

TEST(Problems, FromJson) {
  std::vector<Problem> list = parseProblems(
      R"([{"name": "x", "num_tokens": 3, "num_heads": 8, "width": 65, "kv_format": "dsv4", "page_size": 64,
           "has_sink": true, "lse": "e", "num_splits": 4, "target": "sm_90a"},
          {"num_tokens": 1, "num_heads": 8, "width": 65, "kv_format": "dsv4", "page_size": 2, "lse": "2", "num_splits": 1}])");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].lse, LseKind::BaseE);
  EXPECT_EQ(list[0].target, "sm_90a");
  // decode with slices, in a cluster of four, a dependent merge and its decode;
  // decode alone, and swapab, which is faster on the smaller card of the target
  EXPECT_EQ(kernelsOf(list).size(), 6u);
  EXPECT_HAS(errorOf<ArgumentError>([] { parseProblems("[{\"heads\": 3}]"); }),
             "got 'heads'");
  EXPECT_HAS(
      errorOf<ArgumentError>([] { parseProblems("[{\"num_heads\": \"3\"}]"); }),
      "`num_heads`: expected an integer");
  EXPECT_HAS(errorOf<ArgumentError>([] { parseProblems("{"); }),
             "expected JSON");
}
} // namespace
