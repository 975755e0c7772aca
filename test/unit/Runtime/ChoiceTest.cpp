// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among the kernels, and plans with a second cache.
#include "Fixtures.h"
#include "mlatile/Target/Format.h"

using namespace mlatile;

namespace {
Problem rowsOf(int64_t tokens, int64_t heads) {
  Problem p = smallProblem();
  p.numTokens = tokens;
  p.numHeads = heads;
  return p;
}

Problem twoCaches() {
  Problem p = smallProblem();
  p.extraWidth = 65;
  p.extraPageSize = 32;
  return p;
}

const std::string &why(const Plan &plan, const std::string &kernel) {
  static const std::string none;
  for (const Candidate &c : plan.candidates)
    if (c.kernel == kernel)
      return c.why;
  return none;
}

TEST(Choice, ByRowsAndHeads) {
  struct Case {
    int64_t tokens, heads;
    const char *kernel;
  };
  // sm_120a stands for 188 SMs.
  const Case cases[] = {
      {1, 128, "decode"},    {64, 16, "decode"},   {187, 64, "decode"},
      {188, 64, "prefill"},  {94, 128, "prefill"}, {93, 128, "decode"},
      {4096, 17, "prefill"}, {4096, 16, "decode"}, {4096, 9, "decode"},
      {4096, 8, "swapab"},   {188, 1, "swapab"},   {187, 8, "decode"},
      {0, 64, "decode"},
  };
  for (const Case &c : cases) {
    std::shared_ptr<const Plan> made = plan(rowsOf(c.tokens, c.heads));
    EXPECT_EQ(made->kernel, c.kernel) << c.tokens << " x " << c.heads;
    ASSERT_EQ(made->candidates.size(), 3u);
    EXPECT_EQ(made->candidates[0].kernel, c.kernel);
    EXPECT_TRUE(made->candidates[0].taken);
    EXPECT_FALSE(made->candidates[1].taken || made->candidates[2].taken);
  }
}

/// Formats and pairs whose only tile has 16 heads.
TEST(Choice, PrefillNeedsHeadsThatShareRows) {
  Problem p = rowsOf(4096, 64);
  p.kvFormat = "dots3_swa";
  EXPECT_EQ(plan(p)->kernel, "decode");
  p = rowsOf(4096, 64);
  p.extraWidth = 65;
  p.extraPageSize = 32;
  EXPECT_EQ(plan(p)->kernel, "prefill");
  p.extraKvFormat = "dsv4_nvfp4";
  EXPECT_EQ(plan(p)->kernel, "decode");
  EXPECT_EQ(why(*plan(p), "prefill"),
            "passed over, its head tile is one group of 16: nothing would "
            "share a gathered row");
}

TEST(Choice, ExplainsEveryKernel) {
  std::string text = plan(rowsOf(3, 64))->explain();
  EXPECT_HAS(text, "- decode: taken, no rule of another kernel holds");
  EXPECT_HAS(text, "- prefill: passed over, 3 rows x 1 head tiles of 64 are "
                   "less than 188 SMs, and it has no splits");
  EXPECT_HAS(text, "- swapab: passed over, 64 heads fill more than half of a "
                   "tile of 16");
  text = plan(rowsOf(400, 64))->explain();
  EXPECT_HAS(text, "- prefill: taken, 400 rows x 1 head tiles of 64 fill");
  EXPECT_HAS(text, "- decode: passed over, the rule of prefill comes first");
  Problem forced = rowsOf(3, 64);
  forced.kernel = "swapab";
  text = plan(forced)->explain();
  EXPECT_HAS(text, "- swapab: taken, as asked for");
  EXPECT_HAS(text, "- decode: passed over, `swapab` is asked for");
}

TEST(Choice, SplitsBelongToDecode) {
  for (const char *kernel : {"prefill", "swapab"}) {
    Problem p = rowsOf(400, 8);
    p.kernel = kernel;
    EXPECT_EQ(plan(p)->numSplits, 1);
    EXPECT_EQ(plan(p)->workspaceBytes, 0);
    p.numSplits = 1;
    EXPECT_EQ(plan(p)->kernel, kernel);
    p.numSplits = 2;
    EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
               std::string(kernel) + ": num_splits 2 is asked for");
    p.kernel = "auto";
    std::shared_ptr<const Plan> made = plan(p);
    EXPECT_EQ(made->kernel, "decode");
    EXPECT_HAS(why(*made, kernel), "unable, num_splits 2 is asked for");
  }
}

TEST(Choice, HeadTiles) {
  auto tile = [](const char *kernel, int64_t heads, const char *format) {
    Problem p = rowsOf(2, heads);
    p.kernel = kernel;
    p.kvFormat = format;
    std::shared_ptr<const Plan> made = plan(p);
    int64_t tile = std::stoll(made->launches[0].kernel.params.at("BH"));
    EXPECT_EQ(made->launches[0].grid,
              2 * made->numSplits * ((heads + tile - 1) / tile));
    return tile;
  };
  EXPECT_EQ(tile("decode", 128, "dsv4"), 16);
  EXPECT_EQ(tile("prefill", 1, "dsv4"), 16);
  EXPECT_EQ(tile("prefill", 22, "dsv4"), 32);
  EXPECT_EQ(tile("prefill", 48, "dsv4"), 64); // a third more
  EXPECT_EQ(tile("prefill", 64, "dsv4"), 64);
  EXPECT_EQ(tile("prefill", 80, "dsv4"), 32); // 128 would be too many
  EXPECT_EQ(tile("prefill", 64, "glm"), 32);
  EXPECT_EQ(tile("prefill", 64, "dots3_swa"), 16);
  EXPECT_EQ(tile("prefill", 64, "dsv4_nvfp4"), 64);
  EXPECT_EQ(tile("swapab", 8, "glm"), 8);
  EXPECT_EQ(tile("swapab", 11, "glm"), 16);
  EXPECT_EQ(tile("swapab", 128, "glm"), 16);
  EXPECT_EQ(tile("swapab", 128, "dsv4"), 32);
}

/// Legal pairs are those with the same parts; no kernel takes another one.
TEST(SecondCache, Pairs) {
  std::vector<std::string> legal;
  for (const CacheFormat &main : cacheFormats())
    for (const CacheFormat &extra : cacheFormats()) {
      Problem p = twoCaches();
      p.kvFormat = main.name;
      p.extraKvFormat = extra.name;
      for (const char *kernel : {"auto", "decode", "prefill", "swapab"}) {
        p.kernel = kernel;
        if (supported(p).ok && p.kernel == "auto")
          legal.push_back(p.kvFormat + " " + *p.extraKvFormat);
        bool known = !legal.empty() &&
                     legal.back() == p.kvFormat + " " + *p.extraKvFormat;
        EXPECT_EQ(supported(p).ok, known) << supported(p).reason;
      }
    }
  EXPECT_EQ(legal, (std::vector<std::string>{
                       "dsv3_2 dsv3_2", "dsv3_2 glm", "glm dsv3_2", "glm glm",
                       "glm53_nope glm53_nope", "glm53_nope dsv4_1",
                       "glm53_nope dsv4_1_fp4", "dsv4 dsv4", "dsv4 dsv4_nvfp4",
                       "dsv4_1 glm53_nope", "dsv4_1 dsv4_1",
                       "dsv4_1 dsv4_1_fp4", "dots3_swa dots3_swa",
                       "dsv4_nvfp4 dsv4", "dsv4_nvfp4 dsv4_nvfp4"}));
  Problem p = twoCaches();
  p.extraKvFormat = "dsv4_1";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "formats `dsv4` and `dsv4_1` cannot stand together: `dsv4` has "
             "keys of 448 quantised and 64 bf16 elements, all in the value; "
             "`dsv4_1` has keys of 512 quantised and 0 bf16 elements");
  p.extraKvFormat = "glm";
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }),
             "`extra_kv_format`: expected a format with d_qk 512");
  p = twoCaches();
  p.kvFormat = "dsv4_1";
  p.extraKvFormat = "dsv4_1_fp4";
  p.compute = "fp8";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "compute `fp8` is refused for `dsv4_1_fp4`");
}

TEST(SecondCache, Parameters) {
  Problem p = twoCaches();
  p.extraKvFormat = "dsv4_nvfp4";
  p.hasExtraLengths = true;
  for (const char *kernel : {"decode", "prefill", "swapab"}) {
    p.kernel = kernel;
    const KernelSpec &spec = plan(p)->launches[0].kernel;
    EXPECT_EQ(spec.file, kernel);
    EXPECT_EQ(spec.symbol, kernel);
    EXPECT_EQ(spec.params.at("FMT"), "dsv4");
    EXPECT_EQ(spec.params.at("EXTRA"), "dsv4_nvfp4");
    EXPECT_EQ(spec.params.at("HAS_EXTRA"), "true");
    EXPECT_EQ(spec.params.at("HAS_LENGTH"), "false");
    EXPECT_EQ(spec.params.at("HAS_EXTRA_LENGTH"), "true");
    EXPECT_EQ(spec.params.count("SPLIT"), spec.file == "decode" ? 1u : 0u);
    // Splits in slices: SPLIT, SLICES, MERGE_BD.
    EXPECT_EQ(spec.params.size(), spec.file == "decode" ? 13u : 10u);
  }
  Problem one = smallProblem();
  const KernelSpec &spec = plan(one)->launches[0].kernel;
  EXPECT_EQ(spec.params.at("EXTRA"), "dsv4");
  EXPECT_EQ(spec.params.at("HAS_EXTRA"), "false");
  EXPECT_HAS(plan(p)->explain(),
             "192 candidates of `dsv4`, pages of 48, and 65 of `dsv4_nvfp4`, "
             "pages of 32");
}

TEST(SecondCache, SplitsGoOverBothLists) {
  Problem p = twoCaches(); // six tiles of 32, then three
  p.numTokens = 1;
  EXPECT_EQ(plan(p)->numSplits, 9);
  p.width = 1; // a tile of one, then three
  EXPECT_EQ(plan(p)->numSplits, 4);
}

TEST(SecondCache, KernelFilesOfOnesOwn) {
  Problem p = twoCaches();
  auto source = std::make_shared<KernelSource>();
  source->name = "mine.mlir";
  p.source = source;
  p.kernel = "decode";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "kernel file `mine.mlir` takes one cache: it has no parameter "
             "HAS_EXTRA");
  p.extraWidth.reset();
  p.extraPageSize.reset();
  EXPECT_FALSE(plan(p)->launches[0].kernel.params.count("HAS_EXTRA"));

  p = twoCaches();
  source = std::make_shared<KernelSource>();
  source->text = "params(HAS_EXTRA : i1)";
  p.source = source;
  EXPECT_EQ(plan(p)->kernel, "decode");
  p.numTokens = 4096;
  EXPECT_EQ(plan(p)->kernel, "decode"); // it is no prefill
  EXPECT_EQ(plan(p)->launches[0].kernel.params.at("HAS_EXTRA"), "true");
  p.kernel = "prefill";
  EXPECT_HAS(errorOf<UnsupportedError>([&] { plan(p); }),
             "stands in the place of decode");
  source = std::make_shared<KernelSource>();
  source->params = {{"EXTRA", "dsv4"}};
  p = smallProblem();
  p.source = source;
  EXPECT_HAS(errorOf<ArgumentError>([&] { plan(p); }), "got `EXTRA`");
}

/// A head tile that the author binds decides the grid too.
TEST(SecondCache, HeadTileOfTheAuthors) {
  Problem p = rowsOf(3, 33);
  auto source = std::make_shared<KernelSource>();
  source->params = {{"BH", "32"}};
  p.source = source;
  p.numSplits = 1;
  EXPECT_EQ(plan(p)->launches[0].grid, 3u * 2);
}

TEST(SecondCache, Json) {
  std::vector<Problem> list = parseProblems(
      R"([{"num_tokens": 3, "num_heads": 8, "width": 65, "kv_format": "dsv4", "page_size": 64, "extra_width": 7,
           "extra_page_size": 3, "extra_kv_format": "dsv4", "has_extra_topk_length": true,
           "extra_page_stride": 1760}])");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].extraWidth, 7);
  EXPECT_EQ(list[0].extraPageStride, 1760);
  EXPECT_TRUE(list[0].hasExtraLengths);
}
} // namespace
