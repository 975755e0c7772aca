// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among the kernels, and plans with a second cache.
#include "Fixtures.h"
#include "mlatile/Target/Format.h"

#include <set>

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

/// Head tiles among the candidates of a kernel.
std::set<int64_t> tilesOf(const Plan &plan, const std::string &kernel) {
  std::set<int64_t> tiles;
  for (const Candidate &c : plan.candidates)
    if (c.kernel == kernel)
      tiles.insert(c.headTile);
  return tiles;
}

TEST(Choice, ByRowsAndHeads) {
  struct Case {
    int64_t tokens, heads;
    const char *kernel;
  };
  // Few rows: splits. Many: heads share rows, or a tile of 16 is half empty.
  // Without splits decode is what prefill is.
  const Case cases[] = {
      {1, 128, "decode"},  {3, 11, "decode"},  {64, 16, "decode"},
      {188, 64, "decode"}, {400, 8, "swapab"}, {0, 64, "decode"},
  };
  for (const Case &c : cases) {
    Problem p = rowsOf(c.tokens, c.heads);
    p.compute = "bf16";
    std::shared_ptr<const Plan> made = plan(p);
    EXPECT_EQ(made->kernel, c.kernel) << c.tokens << " x " << c.heads;
    EXPECT_EQ(made->candidates[0].kernel, c.kernel);
  }
}

TEST(Choice, TheLeastTimeIsTaken) {
  for (int64_t tokens : {1, 8, 64, 500})
    for (int64_t heads : {1, 16, 64, 128})
      for (int64_t width : {100, 512, 2048}) {
        Problem p = rowsOf(tokens, heads);
        p.width = width;
        p.compute = "bf16";
        std::shared_ptr<const Plan> made = plan(p);
        const Candidate &taken = made->candidates[0];
        EXPECT_TRUE(taken.taken);
        EXPECT_EQ(taken.microseconds, made->predictedMicroseconds);
        EXPECT_EQ(taken.numSplits, made->numSplits);
        EXPECT_EQ(taken.merge, made->merge);
        double last = 0;
        for (size_t i = 1; i < made->candidates.size(); ++i) {
          const Candidate &c = made->candidates[i];
          EXPECT_FALSE(c.taken);
          ASSERT_TRUE(c.microseconds);
          EXPECT_GE(*c.microseconds, last);
          EXPECT_LE(*taken.microseconds, 1.01 * *c.microseconds);
          last = *c.microseconds;
          // Near it are only more splits, or what asks for more.
          if (*c.microseconds < *taken.microseconds)
            EXPECT_TRUE(c.numSplits > taken.numSplits || c.merge == "slices");
        }
        // What is taken can be asked for.
        std::shared_ptr<const Plan> again = plan(asking(p, taken));
        EXPECT_EQ(again->numSplits, taken.numSplits);
        EXPECT_EQ(again->merge, taken.merge);
        EXPECT_EQ(again->roles, taken.roles);
        EXPECT_EQ(again->candidates.front().headTile, taken.headTile);
        EXPECT_EQ(again->launches[0].kernel.name(),
                  made->launches[0].kernel.name());
      }
}

/// Formats and pairs whose only tile has 16 heads; else all tiles that fit.
TEST(Choice, Tiles) {
  using Tiles = std::set<int64_t>;
  Problem p = rowsOf(4096, 64);
  EXPECT_EQ(tilesOf(*plan(p), "decode"), Tiles({16, 32}));
  EXPECT_EQ(tilesOf(*plan(p), "prefill"), Tiles({16, 32, 64}));
  EXPECT_EQ(tilesOf(*plan(p), "swapab"), Tiles({8, 16, 32}));
  // At most eight fifths of the heads that tiles of 16 have.
  EXPECT_EQ(tilesOf(*plan(rowsOf(4096, 80)), "prefill"), Tiles({16, 32, 64}));
  EXPECT_EQ(tilesOf(*plan(rowsOf(4096, 32)), "prefill"), Tiles({16, 32}));
  EXPECT_EQ(tilesOf(*plan(rowsOf(4096, 16)), "prefill"), Tiles({16}));
  p.kvFormat = "dots3_swa";
  EXPECT_EQ(tilesOf(*plan(p), "prefill"), Tiles({16}));
  p = rowsOf(4096, 64);
  p.extraWidth = 65;
  p.extraPageSize = 32;
  EXPECT_EQ(tilesOf(*plan(p), "prefill"), Tiles({16, 32, 64}));
  p.extraKvFormat = "dsv4_nvfp4";
  EXPECT_EQ(tilesOf(*plan(p), "prefill"), Tiles({16}));
}

/// Powers of two and what fills the SMs, each with a tile at least, and none
/// with as many tiles in the longest split as a smaller number has.
TEST(Choice, Splits) {
  Problem p = rowsOf(1, 64); // four CTAs
  p.width = 2048;            // 64 tiles
  p.numSMs = 100;
  std::set<int64_t> splits;
  for (const Candidate &c : plan(p)->candidates)
    if (c.kernel == "decode")
      splits.insert(c.numSplits);
  EXPECT_EQ(splits, std::set<int64_t>({1, 2, 4, 8, 16, 22, 32, 64}));
  p.width = 33;
  for (const Candidate &c : plan(p)->candidates)
    EXPECT_LE(c.numSplits, 2);
}

struct Taken {
  std::string roles;
  int64_t heads;
  bool operator==(const Taken &) const = default;
};

Taken taken(const char *target, int64_t tokens, int64_t heads, int64_t width) {
  Problem p = rowsOf(tokens, heads);
  p.width = width;
  p.target = target;
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_EQ(made->roles, made->candidates.front().roles);
  return {made->roles, made->candidates.front().headTile};
}

/// Where heads fill their tiles and rows the card.
TEST(Choice, Roles) {
  const Taken narrow = {"4+4+4", 32}, none = {"", 16},
              converting = {"4c:64+4:200+4:216", 32},
              wide = {"4c:40+4:152+8:160", 64};
  EXPECT_EQ(taken("sm_90a", 64, 64, 512), converting);
  EXPECT_EQ(taken("sm_90a", 64, 64, 2048), wide);
  EXPECT_EQ(taken("sm_90a", 64, 128, 2048), wide);
  EXPECT_EQ(taken("sm_90a", 2048, 64, 512), wide);
  EXPECT_EQ(taken("sm_120a", 64, 128, 2048), narrow);
  EXPECT_EQ(taken("sm_120a", 2048, 64, 512), narrow);
  for (const char *target : {"sm_90a", "sm_120a"}) {
    EXPECT_EQ(taken(target, 1, 64, 2048), none);
    EXPECT_EQ(taken(target, 64, 16, 2048), none);
    EXPECT_EQ(taken(target, 64, 8, 2048), none);
  }
}

/// Roles among the candidates of a problem, by kernel.
std::set<std::string> rolesOf(const Problem &problem) {
  std::set<std::string> roles;
  for (const Candidate &c : plan(problem)->candidates)
    if (!c.roles.empty())
      roles.insert(c.kernel + " " + c.roles);
  return roles;
}

TEST(Choice, RolesThatFit) {
  using Roles = std::set<std::string>;
  Problem p = rowsOf(64, 128);
  const Roles narrow = {"decode 4+4+4", "prefill 4+4+4"};
  EXPECT_EQ(rolesOf(p), narrow);
  p.target = "sm_90a"; // more shared memory
  const Roles both = {"decode 4+4+4", "decode 4c:64+4:200+4:216",
                      "prefill 4+4+4", "prefill 4c:64+4:200+4:216"};
  Roles all = both;
  all.insert({"decode 4c:40+4:152+8:160", "prefill 4c:40+4:152+8:160"});
  EXPECT_EQ(rolesOf(p), all);
  p.numHeads = 16; // half of a tile
  EXPECT_EQ(rolesOf(p), Roles());
  p.kvFormat = "dots3_swa"; // 16 heads a tile
  EXPECT_EQ(rolesOf(p), narrow);
  // Rows of two formats in two places, and sums that move between them.
  p = rowsOf(64, 128);
  p.extraWidth = p.extraPageSize = 64;
  EXPECT_EQ(rolesOf(p), narrow);
  p.extraKvFormat = "dsv4_nvfp4";
  EXPECT_EQ(rolesOf(p), Roles());
  p.target = "sm_90a";
  EXPECT_EQ(rolesOf(p), both);
  // By its name a kernel comes in its own tile, of equal warps.
  p = rowsOf(64, 128);
  p.kernel = "prefill";
  EXPECT_EQ(rolesOf(p), Roles());
}

TEST(Choice, RolesThatTheAuthorBinds) {
  Problem p = rowsOf(64, 128);
  p.kernel = "decode";
  p.params = {{"ROLES", "4+4+8"}};
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_EQ(made->roles, "4+4+8");
  const KernelSpec &spec = made->launches[0].kernel;
  EXPECT_EQ(spec.params.at("ROLES"), "4+4+8");
  EXPECT_EQ(spec.params.at("WARPS"), "16");
  EXPECT_EQ(spec.params.at("BH"), "16");
  EXPECT_HAS(made->explain(), "kernel decode, roles 4+4+8, compute ");
  EXPECT_HAS(made->explain(), "- decode 16 x 32 (4+4+8)");
  p.params = {{"ROLES", "none"}};
  EXPECT_EQ(plan(p)->roles, "");
  auto source = std::make_shared<KernelSource>();
  source->params = {{"ROLES", "4+4+4"}, {"BH", "32"}};
  p.params = {};
  p.source = source;
  EXPECT_EQ(plan(p)->roles, "4+4+4");
  EXPECT_EQ(plan(p)->candidates.front().headTile, 32);
}

/// One CTA joins all heads of its tile: slices are no way to end wide ones.
TEST(Choice, RolesJoinInALaunch) {
  Problem p = rowsOf(8, 128);
  p.width = 2048;
  p.target = "sm_90a";
  p.kernel = "decode";
  p.params = {{"ROLES", "4c+4+8"}, {"BH", "64"}, {"BN", "32"}};
  p.numSplits = 4;
  p.numSMs = 132;
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_EQ(made->merge, "dependent");
  double slices = 0;
  for (const Candidate &c : made->candidates)
    if (c.merge == "slices")
      slices = *c.microseconds;
  EXPECT_GT(slices, 1.2 * *made->predictedMicroseconds);
}

TEST(Choice, OtherCardsOfTheTarget) {
  Problem p = rowsOf(188, 64);
  EXPECT_HAS(plan(p)->explain(), "on rtx_pro_6000: ");
  p.numSMs = 170;
  EXPECT_HAS(plan(p)->explain(), "on rtx_5090: ");
  p.numSMs = 171;
  EXPECT_HAS(plan(p)->explain(), "on rtx_pro_6000 with 171 SMs: ");
}

TEST(Choice, CardsWithoutRoomForATile) {
  Problem p = rowsOf(3, 11);
  auto source = std::make_shared<KernelSource>();
  source->params = {{"BN", "4096"}};
  p.source = source;
  p.width = 65536; // 16 tiles
  std::shared_ptr<const Plan> made = plan(p);
  EXPECT_FALSE(made->predictedMicroseconds);
  EXPECT_GT(made->numSplits, 1);
  EXPECT_HAS(made->explain(), "no predicted time (taken)");
}

TEST(Choice, ExplainsEveryWay) {
  std::string text = plan(rowsOf(3, 64))->explain();
  EXPECT_HAS(text, "- decode 16 x 32 (4), 3 splits: dependent ");
  EXPECT_HAS(text, " us (taken), launch ");
  EXPECT_HAS(text, "- decode 16 x 32 (4): ");
  EXPECT_HAS(text, "- prefill 64 x 16 (8): ");
  EXPECT_HAS(text, "- swapab 8 x 16 (1): ");
  EXPECT_HAS(text, "- decode 32 x 32 (4+4+4): ");
  EXPECT_HAS(text, "- decode 32 x 32 (4+4+4) fp8: ");
  Problem forced = rowsOf(3, 64);
  forced.kernel = "swapab";
  text = plan(forced)->explain();
  EXPECT_HAS(text, "- swapab 32 x 16 (4): ");
  EXPECT_HAS(text, "- decode: passed over, `swapab` is asked for");
  EXPECT_HAS(why(*plan(forced), "swapab"), "taken, the only way, predicted ");
  EXPECT_HAS(why(*plan(rowsOf(3, 64)), "prefill"), "passed over, predicted ");
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
  EXPECT_EQ(tile("prefill", 22, "dsv4"), 32); // 64 would be twice as many
  EXPECT_EQ(tile("prefill", 48, "dsv4"), 64); // a third more
  EXPECT_EQ(tile("prefill", 64, "dsv4"), 64);
  EXPECT_EQ(tile("prefill", 80, "dsv4"), 64); // three fifths more
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
    // Splits before a dependent launch: SPLIT, DEPENDENT. Else enough tiles for
    // BULK, if they are not as small as swapab's.
    EXPECT_EQ(spec.params.size(), spec.file == "decode"    ? 12u
                                  : spec.file == "prefill" ? 11u
                                                           : 10u);
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
  EXPECT_EQ(plan(p)->numSplits, 9); // one each
  p.width = 1;                      // a tile of one, then three
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
