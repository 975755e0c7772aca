// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/PtxCounts.h"
#include "gtest/gtest.h"

using namespace mlatile::ptx;

namespace {

/// A kernel of four warps around a body.
std::string kernel(const std::string &body) {
  return ".visible .entry k(\n)\n.reqntid 128\n{\n" + body + "\n}\n";
}

KernelCounts count(const std::string &text) {
  auto counts = countInstructions(text);
  if (!counts) {
    ADD_FAILURE() << llvm::toString(counts.takeError());
    return {};
  }
  return std::move(*counts);
}

/// Counts of one pass through a loop with this body.
LoopCounts inLoop(const std::string &body) {
  KernelCounts counts = count(kernel("$L:\n" + body + "\n@%p9 bra $L;\nret;"));
  if (counts.loops.size() != 1) {
    ADD_FAILURE() << counts.loops.size() << " loops";
    return {};
  }
  return counts.loops[0];
}

using Mma = std::map<std::string, uint64_t>;

TEST(PtxCounts, KindsOfMma) {
  LoopCounts counts = inLoop(R"(
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r4};
	mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1}, {%r2}, {%r3}, {%r4};
	mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r1}, {%r2}, {%r3}, {%r4};
	mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32 {%r1}, {%r2}, {%r3}, {%r4};
	mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 {%r1}, {%r2}, {%r3}, {%r4}, %r5, {0, 0}, %r6, {0, 0};
	mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%r1}, {%r2}, {%r3}, {%r4}, %r5, {0, 0}, %r6, {0, 0};)");
  EXPECT_EQ(counts.mma, (Mma{{"m16n8k16.bf16", 4},
                             {"m16n8k16.f16.f16acc", 4},
                             {"m16n8k32.e4m3", 4},
                             {"m16n8k32.f8f6f4.e2m1.e4m3", 4},
                             {"m16n8k32.mxf8f6f4.e4m3", 4},
                             {"m16n8k64.mxf4nvf4.e2m1", 4}}));
}

TEST(PtxCounts, Conversions) {
  LoopCounts counts = inLoop(R"(
	cvt.rn.f16x2.e4m3x2 %r1, %rs1;
	cvt.f32.f16 %r1, %rs1;
	cvt.rn.bf16x2.f32 %r1, %r2, %r3;
	cvt.rn.satfinite.e4m3x2.f32 %rs1, %r2, %r3;
	cvt.u64.u32 %rd1, %r1;
	cvt.rzi.s32.f32 %r1, %r2;)");
  EXPECT_EQ(counts.conversions, 16u);
  EXPECT_EQ(counts.instructions, 28u);
}

TEST(PtxCounts, MatrixLoadsAndSharedBytes) {
  LoopCounts counts = inLoop(R"(
	ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1}, [%rd1];
	ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1}, [%rd1];
	ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r1}, [%rd1];
	stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd1], {%r1};)");
  EXPECT_EQ(counts.ldmatrix, 12u);
  EXPECT_EQ(counts.sharedBytes, 4u * (512 + 256 + 512 + 128));
  counts = inLoop(R"(
	ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
	st.shared::cta.b8 [%rd1], %rs1;
	ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];)");
  EXPECT_EQ(counts.sharedBytes, 4u * 32 * 17);
}

TEST(PtxCounts, Copies) {
  LoopCounts counts = inLoop(R"(
	cp.async.cg.shared.global [%rd1], [%rd2], 16, %r1;
	cp.async.ca.shared.global [%rd1], [%rd2], 8;
	cp.async.mbarrier.arrive.noinc.shared.b64 [%rd1];
	cp.async.wait_group 1;
	cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%rd1], [%rd2], 448, [%rd3];
	cp.async.bulk.prefetch.L2.global [%rd1], 448;
	cp.async.bulk.commit_group;)");
  EXPECT_EQ(counts.asyncCopies, 8u);
  EXPECT_EQ(counts.bulkCopies, 4u);
  EXPECT_EQ(counts.sharedBytes, 4u * 32 * 24);
}

TEST(PtxCounts, Barriers) {
  LoopCounts counts = inLoop(R"(
	bar.sync 0;
	barrier.sync.aligned 3;
	bar.sync 1, 64;
	barrier.arrive.aligned 2, 96;
	barrier.red.popc.aligned.u32 %r1, 0, %p1;
	barrier.red.popc.aligned.u32 %r1, 1, 64, %p1;
	bar.warp.sync -1;
	barrier.cluster.arrive;)");
  EXPECT_EQ(counts.ctaBarriers, 12u);
  EXPECT_EQ(counts.namedBarriers, 12u);
}

TEST(PtxCounts, LoopsInside) {
  KernelCounts counts = count(kernel(R"(
	mov.b32 %r1, 0;
$OUTER:
	setp.ge.s64 %p5, %rd8, %rd9;
$WAIT:
	mbarrier.try_wait.parity.shared.b64 %p1, [%rd1], %r9;
	not.pred %p2, %p1;
	@%p2 bra $WAIT;
	mov.b32 %r2, 0;
$INNER:
	cvt.f32.f16 %r3, %rs1;
	add.s32 %r2, %r2, 1;
	setp.lt.u32 %p3, %r2, 5;
	@%p3 bra $INNER;
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r4};
	@%p4 bra $OUTER;
	ret;)"));
  ASSERT_EQ(counts.loops.size(), 3u);
  EXPECT_EQ(counts.warps, 4u);
  EXPECT_EQ(counts.instructions, 13u);
  const LoopCounts &outer = counts.loops[0];
  EXPECT_EQ(outer.depth, 0u);
  EXPECT_EQ(counts.loops[2].depth, 1u);
  EXPECT_EQ(outer.conversions, 20u);
  EXPECT_EQ(outer.instructions, 4u * (1 + 3 + 1 + 5 * 4 + 2));
  EXPECT_EQ(outer.unknownLoops, 0u);
}

TEST(PtxCounts, LoopsOfUnknownLengthCountOnceAndAreReported) {
  KernelCounts counts = count(kernel(R"(
$OUTER:
	setp.ge.s64 %p5, %rd8, %rd9;
$INNER:
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, %r2;
	@%p1 bra $INNER;
	@%p2 bra $OUTER;
	ret;)"));
  ASSERT_EQ(counts.loops.size(), 2u);
  EXPECT_EQ(counts.loops[0].unknownLoops, 1u);
  EXPECT_EQ(counts.loops[0].instructions, 20u);
}

TEST(PtxCounts, RolesCountWithTheirWarps) {
  KernelCounts counts = count(kernel(R"(
	mov.u32 %r9, %tid.x;
	setp.lt.u32 %p1, %r9, 96;
	@%p1 bra $COMPUTE;
$COPY:
	cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%rd1], [%rd2], 448, [%rd3];
	@%p2 bra $COPY;
	ret;
$COMPUTE:
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r4};
	@%p3 bra $COMPUTE;
	ret;)"));
  ASSERT_EQ(counts.loops.size(), 2u);
  EXPECT_EQ(counts.loops[0].bulkCopies, 1u);
  EXPECT_EQ(counts.loops[0].warps, 1u);
  EXPECT_EQ(counts.loops[1].mma, (Mma{{"m16n8k16.bf16", 3}}));
  EXPECT_EQ(counts.loops[1].warps, 3u);
}

TEST(PtxCounts, WithoutLoops) {
  EXPECT_TRUE(count(kernel("ret;")).loops.empty());
  auto none = countInstructions("", "k");
  EXPECT_EQ(llvm::toString(none.takeError()), "PTX: no kernel 'k'");
}

} // namespace
