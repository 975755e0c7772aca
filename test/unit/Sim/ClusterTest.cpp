// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs of a cluster: ranks, the barrier, each other's shared memory, and what
// the checked mode finds across them.
#include "SimTest.h"

using namespace mlatile::sim;
using namespace mlatile::sim::test;

namespace {
constexpr const char *kDeclarations =
    "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.nclusterid.x()\n"
    "declare void @llvm.nvvm.barrier.cluster.arrive.aligned()\n"
    "declare void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()\n"
    "declare void @llvm.nvvm.barrier.cluster.wait.aligned()\n"
    "declare ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster("
    "ptr addrspace(3), i32)\n";

const std::string kArrive =
    "  call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n";
const std::string kRelaxed =
    "  call void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()\n";
const std::string kWait =
    "  call void @llvm.nvvm.barrier.cluster.wait.aligned()\n";
const std::string kBarrier = kArrive + kWait;

/// %cta, %rank, the thread's word %own of shared memory, %value = cta * 1000 +
/// tid, and %out, its place of %p0.
const std::string kPrologue =
    "  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
    "  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n"
    "  %size = call i32 @llvm.nvvm.read.ptx.sreg.cluster.nctarank()\n"
    "  %own = getelementptr i32, ptr addrspace(3) @smem, i32 %tid\n"
    "  %thousands = mul i32 %cta, 1000\n"
    "  %value = add i32 %thousands, %tid\n"
    "  %row = mul i32 %cta, 64\n"
    "  %place = add i32 %row, %tid\n"
    "  %out = getelementptr i32, ptr addrspace(1) %p0, i32 %place\n";
const std::string kStore = "  store i32 %value, ptr addrspace(3) %own\n";
/// The same word of the next CTA of the cluster.
const std::string kRead =
    "  %one = add i32 %rank, 1\n"
    "  %next = urem i32 %one, %size\n"
    "  %peer = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster("
    "ptr addrspace(3) %own, i32 %next)\n"
    "  %got = load i32, ptr addrspace(7) %peer\n";
const std::string kOut = "  store i32 %got, ptr addrspace(1) %out\n";

std::string clustered(const std::string &body, unsigned size) {
  return kernel(kPrologue + body, 1, kDeclarations,
                "\"nvvm.cluster_dim\"=\"" + std::to_string(size) + ",1,1\"");
}

/// The error of a run of two warps a CTA.
std::string runGrid(const std::string &text, unsigned ctas, Options options,
                    std::vector<uint32_t> *out = nullptr,
                    Stats *stats = nullptr) {
  std::vector<uint32_t> own(ctas * 64, 0);
  LaunchDims dims;
  dims.gridX = ctas;
  std::string error = run(text, 64, {own.data()}, dims, options, stats);
  if (out)
    *out = own;
  return error;
}

Options checkedOptions(uint64_t seed = 0) {
  Options options;
  options.checked = true;
  options.seed = seed;
  return options;
}

TEST(Cluster, ReadsOfPeersUnderEverySeed) {
  std::string text =
      clustered(kStore + kBarrier + kRead + kArrive + kOut + kWait, 4);
  for (bool checked : {false, true})
    for (unsigned threads : {1, 3})
      for (uint64_t seed : {0, 1, 2, 3, 7, 10}) {
        Options options;
        options.checked = checked;
        options.hostThreads = threads;
        options.seed = seed;
        std::vector<uint32_t> out;
        Stats stats;
        ASSERT_EQ(runGrid(text, 12, options, &out, &stats), "")
            << checked << " " << threads << " " << seed;
        for (uint32_t i = 0; i < out.size(); ++i) {
          uint32_t cta = i / 64, next = cta / 4 * 4 + (cta + 1) % 4;
          ASSERT_EQ(out[i], next * 1000 + i % 64) << i;
        }
        EXPECT_EQ(stats.clusterBarriers, 6u);
      }
}

TEST(Cluster, MemoryIsReusedByOtherClusters) {
  std::string text =
      clustered(kStore + kBarrier + kRead + kArrive + kOut + kWait, 2);
  Options options = checkedOptions();
  options.residentCtas = 2;
  options.hostThreads = 1;
  EXPECT_EQ(runGrid(text, 64, options), "");
}

TEST(Cluster, Registers) {
  std::string text =
      clustered("  %id = call i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()\n"
                "  %n = call i32 @llvm.nvvm.read.ptx.sreg.nclusterid.x()\n"
                "  %a = mul i32 %rank, 1000\n  %b = mul i32 %size, 100\n"
                "  %c = mul i32 %id, 10\n  %ab = add i32 %a, %b\n"
                "  %abc = add i32 %ab, %c\n  %got = add i32 %abc, %n\n" +
                    kOut,
                3);
  std::vector<uint32_t> out;
  ASSERT_EQ(runGrid(text, 6, {}, &out), "");
  for (uint32_t cta = 0; cta < 6; ++cta)
    EXPECT_EQ(out[cta * 64], cta % 3 * 1000 + 300 + cta / 3 * 10 + 2);
}

TEST(Cluster, WithoutOneACtaIsAlone) {
  std::string text =
      kernel(kPrologue + kStore + kBarrier + kRead + kOut, 1, kDeclarations);
  std::vector<uint32_t> out;
  ASSERT_EQ(runGrid(text, 3, checkedOptions(), &out), "");
  EXPECT_EQ(out[65], 1001u);
}

TEST(Cluster, ReadsBeforeTheBarrierAreARace) {
  std::string text = clustered(kStore + kRead + kBarrier + kOut, 2);
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::string error = runGrid(text, 2, checkedOptions(seed));
    EXPECT_TRUE(contains(error, "that nobody has written") ||
                contains(error, "no barrier of the cluster orders them") ||
                contains(error, "of the cluster, which has not started"))
        << error;
  }
}

TEST(Cluster, AStoreBehindTheBarrierIsARace) {
  std::string text =
      clustered(kStore + kBarrier + kRead + kStore + kBarrier + kOut, 2);
  for (uint64_t seed : {0, 1, 2, 3}) {
    std::string error = runGrid(text, 2, checkedOptions(seed));
    EXPECT_TRUE(contains(error, "race on shared memory of CTA")) << error;
    EXPECT_TRUE(contains(error, "no barrier of the cluster orders them"))
        << error;
  }
  EXPECT_EQ(
      runGrid(
          clustered(kStore + kBarrier + kRead + kBarrier + kStore + kOut, 2), 2,
          checkedOptions()),
      "");
}

TEST(Cluster, AReadBetweenArrivalAndWaitBelongsToTheNextRound) {
  std::string text = clustered(kStore + kBarrier + kArrive + kRead + kWait +
                                   kStore + kBarrier + kOut,
                               2);
  for (uint64_t seed : {0, 1, 2}) {
    std::string error = runGrid(text, 2, checkedOptions(seed));
    EXPECT_TRUE(contains(error, "no barrier of the cluster orders them"))
        << error;
  }
}

TEST(Cluster, RelaxedArrivalsReleaseNothing) {
  std::string text =
      clustered(kStore + kRelaxed + kWait + kRead + kBarrier + kOut, 2);
  EXPECT_EQ(runGrid(text, 2, {}), "");
  EXPECT_TRUE(contains(runGrid(text, 2, checkedOptions()),
                       "no barrier of the cluster orders them"));
}

TEST(Cluster, OthersMayReadUntilTheyArrive) {
  std::string text = clustered(kStore + kBarrier + kRead + kOut, 4);
  for (uint64_t seed : {0, 1, 2, 3, 5}) {
    std::string error = runGrid(text, 4, checkedOptions(seed));
    EXPECT_TRUE(contains(error, "of the cluster, which has ended") ||
                contains(error,
                         "the CTA ends, and its shared memory with it, but no "
                         "barrier of the cluster orders that after load"))
        << error;
  }
}

TEST(Cluster, BoundsOfPeers) {
  std::string far =
      "  %far = call ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster("
      "ptr addrspace(3) @smem, i32 %other)\n"
      "  %past = getelementptr i8, ptr addrspace(7) %far, i32 4094\n"
      "  %got = load i32, ptr addrspace(7) %past, align 1\n";
  std::string other = "  %other = sub i32 1, %rank\n";
  std::string error =
      runGrid(clustered(kStore + kBarrier + other + far + kBarrier, 2), 2,
              checkedOptions());
  EXPECT_TRUE(contains(
      error, "load of 4 bytes outside the shared memory of the cluster"))
      << error;
  std::string odd = far;
  odd.replace(odd.find("4094"), 4, "4090");
  odd.replace(odd.find("align 1"), 7, "align 4");
  error = runGrid(clustered(kStore + kBarrier + other + odd + kBarrier, 2), 2,
                  checkedOptions());
  EXPECT_TRUE(contains(error, "misaligned load of 4 bytes: shared offset 4090 "
                              "of CTA"))
      << error;
  error = runGrid(clustered("  %other = add i32 %rank, 2\n" + far, 2), 2, {});
  EXPECT_TRUE(
      contains(error, "expected a rank below the cluster's 2 CTAs, got 2"))
      << error;
}

TEST(Cluster, StoresToPeersAreNotChecked) {
  std::string text =
      clustered(kBarrier + kRead +
                    "  store i32 %value, ptr addrspace(7) %peer\n" + kBarrier +
                    "  %mine = load i32, ptr addrspace(3) %own\n"
                    "  store i32 %mine, ptr addrspace(1) %out\n",
                2);
  std::vector<uint32_t> out;
  ASSERT_EQ(runGrid(text, 2, {}, &out), "");
  EXPECT_EQ(out[0], 1000u);
  EXPECT_EQ(out[64 + 3], 3u);
  std::string error = runGrid(
      clustered(kStore + kBarrier + kRead +
                    "  store i32 %value, ptr addrspace(7) %peer\n" + kBarrier,
                2),
      2, checkedOptions());
  EXPECT_TRUE(contains(error, "store to shared memory of CTA 0 of the cluster: "
                              "checked mode knows reads of other CTAs only"))
      << error;
}

TEST(Cluster, ArrivalsAndWaitsAlternate) {
  std::string error = runGrid(clustered(kArrive + kArrive, 2), 2, {});
  EXPECT_TRUE(contains(error, "arrives a second time without having waited"))
      << error;
  error = runGrid(clustered(kWait, 2), 2, {});
  EXPECT_TRUE(contains(error, "waits without having arrived")) << error;
}

TEST(Cluster, ExitedWarpsAreNotWaitedFor) {
  // The second warp of each CTA, and all of rank 1, leave before.
  std::string leave = "  %second = icmp ne i32 %warp, 0\n"
                      "  %odd = icmp eq i32 %rank, 1\n"
                      "  %leave = or i1 %second, %odd\n"
                      "  br i1 %leave, label %done, label %stay\n"
                      "stay:\n" +
                      kBarrier + "  br label %done\ndone:\n";
  for (uint64_t seed : {0, 1, 2, 3})
    for (bool checked : {false, true}) {
      Options options;
      options.seed = seed;
      options.checked = checked;
      EXPECT_EQ(runGrid(clustered(leave, 3), 6, options), "");
    }
  // An arrival that nobody waits for.
  EXPECT_EQ(runGrid(clustered(kArrive, 2), 4, {}), "");
}

TEST(Cluster, OneThatNeverArrivesIsADeadlock) {
  // Rank 1 polls memory that nobody writes.
  std::string text =
      clustered("  %odd = icmp eq i32 %rank, 1\n"
                "  br i1 %odd, label %spin, label %meet\n"
                "spin:\n"
                "  %v = load volatile i32, ptr addrspace(1) %p0\n"
                "  %z = icmp eq i32 %v, 0\n"
                "  br i1 %z, label %spin, label %meet\n"
                "meet:\n" +
                    kBarrier,
                2);
  Options options;
  options.hostThreads = 1;
  std::string error = runGrid(text, 2, options);
  EXPECT_TRUE(contains(error, "deadlock: no thread can go on")) << error;
  EXPECT_TRUE(contains(error, "wait at the barrier of the cluster (2 of 4 "
                              "warps arrived)"))
      << error;
}

TEST(Cluster, GridsAreWholeClusters) {
  std::string text = clustered(kBarrier, 4);
  EXPECT_TRUE(contains(runGrid(text, 6, {}),
                       "expected a grid of whole clusters, a multiple of 4, "
                       "got 6"));
  Options options;
  options.residentCtas = 3;
  EXPECT_TRUE(contains(runGrid(text, 8, options),
                       "a cluster of 4 CTAs does not run at once: 3 at most "
                       "do"));
  options.residentCtas = 5;
  EXPECT_EQ(runGrid(text, 8, options), "");
}
} // namespace
