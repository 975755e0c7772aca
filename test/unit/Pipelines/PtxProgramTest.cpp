// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/PtxProgram.h"
#include "gtest/gtest.h"

#include <deque>

using namespace mlatile::ptx;

namespace {

/// A kernel `k` of 128 threads around a body.
std::string kernel(const std::string &body) {
  return ".version 8.7\n.target sm_120a\n"
         ".visible .entry k(\n  .param .u64 k_param_0\n)\n.reqntid 128\n"
         ".minnctapersm 1\n{\n" +
         body + "\n}\n";
}

/// A program refers to its text, which is kept.
Program parse(std::string text) {
  static std::deque<std::string> texts;
  auto program = Program::parse(texts.emplace_back(std::move(text)), "k");
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return {};
  }
  return std::move(*program);
}

std::string errorOf(const std::string &text, llvm::StringRef name = "k") {
  auto program = Program::parse(text, name);
  return program ? "" : llvm::toString(program.takeError());
}

TEST(PtxProgram, InstructionsAndOperands) {
  std::string text = kernel(R"(
	.reg .b32 %r<9>; // a comment; with a semicolon
	.loc	1 260 7
$L__func_begin0:
	@!%p1 mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
		{%r1, %r2},
		{%r3, %r4}, /* between */
		{%r5, %r6};
	ld.shared.v2.b32 {%r7, %r8}, [%rd1+16];
	ret;)");
  Program program = parse(text);
  EXPECT_EQ(program.name, "k");
  EXPECT_EQ(program.threads, 128u);
  ASSERT_EQ(program.blocks.size(), 1u);
  const auto &all = program.blocks[0].instructions;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].predicate, "%p1");
  EXPECT_TRUE(all[0].negated);
  EXPECT_EQ(all[0].opcode,
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  ASSERT_EQ(all[0].operands.size(), 3u);
  EXPECT_EQ(all[0].operands[0], "{%r1, %r2}");
  ASSERT_EQ(all[1].operands.size(), 2u);
  EXPECT_EQ(all[1].operands[1], "[%rd1+16]");
  ASSERT_NE(program.onlyWrite("%r8"), nullptr);
  EXPECT_EQ(program.onlyWrite("%r8")->opcode, "ld.shared.v2.b32");
  EXPECT_EQ(program.onlyWrite("%rd1"), nullptr);
}

TEST(PtxProgram, TheNamedKernelOfSeveral) {
  std::string text =
      ".visible .entry other(\n)\n.reqntid 8, 4, 2\n{\nexit;\n}\n" +
      kernel("add.s32 %r1, %r1, 1;\nret;");
  EXPECT_EQ(parse(text).blocks[0].instructions[0].opcode, "add.s32");
  auto first = Program::parse(text);
  ASSERT_TRUE(bool(first));
  EXPECT_EQ(first->name, "other");
  EXPECT_EQ(first->threads, 64u);
}

TEST(PtxProgram, Errors) {
  EXPECT_EQ(errorOf(kernel("ret;"), "none"), "PTX: no kernel 'none'");
  EXPECT_EQ(errorOf(""), "PTX: no kernel 'k'");
  EXPECT_EQ(errorOf(".entry k()"), "PTX: kernel 'k' has no body");
  EXPECT_EQ(errorOf(".entry k(){ ret;"), "PTX: kernel 'k' has no body");
  EXPECT_EQ(errorOf(kernel("bra $L__none;")), "PTX: no label '$L__none'");
  EXPECT_EQ(errorOf(kernel("ret; add.s32 %r1")),
            "PTX: expected ';' after 'add.s32 %r1'");
  EXPECT_EQ(errorOf(kernel("@%p1 ;")),
            "PTX: expected an instruction, got '@%p1'");
  EXPECT_EQ(errorOf(".entry k()\n.reqntid x\n{ret;}"),
            "PTX: expected a number after .reqntid");
  for (const char *extents : {"1025", "4294967295, 4294967295", "64, 32"})
    EXPECT_EQ(
        errorOf(std::string(".entry k()\n.reqntid ") + extents + "\n{ret;}"),
        "PTX: expected at most 1024 threads");
}

TEST(PtxProgram, BranchesFallThroughUnlessUniform) {
  Program program = parse(kernel(R"(
	@%p1 bra $A;
	bra.uni $B;
$A:
	@%p2 ret;
$B:
$C:
	bra $C;)"));
  ASSERT_EQ(program.blocks.size(), 4u);
  EXPECT_EQ(program.blocks[0].successors,
            (llvm::SmallVector<unsigned, 2>{2, 1}));
  EXPECT_EQ(program.blocks[1].successors, (llvm::SmallVector<unsigned, 2>{3}));
  EXPECT_EQ(program.blocks[2].successors, (llvm::SmallVector<unsigned, 2>{3}));
  EXPECT_EQ(program.blocks[3].successors, (llvm::SmallVector<unsigned, 2>{3}));
}

TEST(PtxProgram, JumpTables) {
  Program program = parse(kernel(R"(
$L_brx_0: .branchtargets $A, $B;
	brx.idx %r1, $L_brx_0;
$A:
	ret;
$B:
	ret;)"));
  ASSERT_EQ(program.blocks.size(), 3u);
  EXPECT_EQ(program.blocks[0].successors,
            (llvm::SmallVector<unsigned, 2>{1, 2}));
}

TEST(PtxLoops, NestingAndSharedHeaders) {
  Program program = parse(kernel(R"(
$OUTER:
	@%p0 bra $END;
$INNER:
	add.s32 %r1, %r1, 1;
	@%p1 bra $INNER;
	@%p2 bra $OUTER;
	add.s32 %r2, %r2, 1;
	bra $OUTER;
$END:
	ret;)"));
  std::vector<Loop> loops = findLoops(program);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(program.blocks[loops[0].header].label, "$OUTER");
  EXPECT_EQ(loops[0].latches.size(), 2u);
  EXPECT_EQ(loops[0].blocks.count(), 4u);
  EXPECT_EQ(program.blocks[loops[1].header].label, "$INNER");
  EXPECT_EQ(loops[1].parent, 0);
}

TEST(PtxLoops, ABackwardBranchThatIsNoLoop) {
  // Into the middle of a cycle from two sides: no block of it dominates.
  Program program = parse(kernel(R"(
	@%p0 bra $B;
$A:
	add.s32 %r1, %r1, 1;
$B:
	@%p1 bra $A;
	ret;)"));
  EXPECT_TRUE(findLoops(program).empty());
  // A block moved up by layout: a branch backwards that closes no cycle.
  program = parse(kernel(R"(
	bra $A;
$B:
	ret;
$A:
	bra $B;)"));
  EXPECT_TRUE(findLoops(program).empty());
}

/// Trips of the only loop of a body.
std::optional<uint64_t> trips(const std::string &body) {
  std::string text = kernel(body);
  Program program = parse(text);
  std::vector<Loop> loops = findLoops(program);
  if (loops.size() != 1) {
    ADD_FAILURE() << loops.size() << " loops";
    return std::nullopt;
  }
  return tripCount(program, loops[0]);
}

TEST(PtxLoops, TripCounts) {
  // Tested at the end, counter written in place.
  EXPECT_EQ(trips(R"(
	mov.b32 %r1, 0;
$L:
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 8;
	@%p1 bra $L;
	ret;)"),
            8u);
  // Through copies, counting down, the condition inverted.
  EXPECT_EQ(trips(R"(
	mov.b32 %r9, 12;
	mov.b32 %r1, %r9;
$L:
	sub.s32 %r2, %r1, 3;
	setp.ne.s32 %p1, %r2, 0;
	not.pred %p2, %p1;
	mov.b32 %r1, %r2;
	@%p2 bra $END;
	bra $L;
$END:
	ret;)"),
            4u);
  // Tested at the head.
  EXPECT_EQ(trips(R"(
	mov.b32 %r1, 0;
$L:
	setp.ge.s32 %p1, %r1, 10;
	@%p1 bra $END;
	add.s32 %r1, %r1, 4;
	bra $L;
$END:
	ret;)"),
            3u);
  // The bound comes at run time; the counter starts at one.
  EXPECT_EQ(trips(R"(
	mov.b32 %r1, 0;
	ld.param.b32 %r5, [k_param_0];
$L:
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, %r5;
	@%p1 bra $L;
	ret;)"),
            std::nullopt);
  EXPECT_EQ(trips(R"(
	mov.u32 %r1, %tid.x;
$L:
	add.s32 %r1, %r1, 1;
	setp.lt.u32 %p1, %r1, 8;
	@%p1 bra $L;
	ret;)"),
            std::nullopt);
  // Never ends by its counter.
  EXPECT_EQ(trips(R"(
	mov.b32 %r1, 1;
$L:
	add.s32 %r1, %r1, 2;
	setp.ne.s32 %p1, %r1, 8;
	@%p1 bra $L;
	ret;)"),
            std::nullopt);
}

/// Warps that may run the block with a label.
unsigned warpsOf(const std::string &body, llvm::StringRef label) {
  std::string text = kernel(body);
  Program program = parse(text);
  std::vector<llvm::BitVector> warps = warpsOfBlocks(program);
  for (unsigned i = 0; i < program.blocks.size(); ++i)
    if (program.blocks[i].label == label)
      return warps[i].count();
  ADD_FAILURE() << "no block " << label.str();
  return 0;
}

TEST(PtxWarps, BranchesOnTheThread) {
  const char *roles = R"(
	mov.u32 %r1, %tid.x;
	shr.u32 %r2, %r1, 5;
	setp.lt.u32 %p1, %r2, 3;
	@%p1 bra $COMPUTE;
$GATHER:
	ret;
$COMPUTE:
	and.b32 %r3, %r1, 31;
	setp.ne.b32 %p2, %r3, 0;
	@%p2 bra $REST;
$LEADER:
	ret;
$REST:
	ret;)";
  EXPECT_EQ(warpsOf(roles, "$COMPUTE"), 3u);
  EXPECT_EQ(warpsOf(roles, "$GATHER"), 1u);
  // Lanes of one warp part: the warp runs both sides.
  EXPECT_EQ(warpsOf(roles, "$LEADER"), 3u);
  EXPECT_EQ(warpsOf(roles, "$REST"), 3u);
}

TEST(PtxWarps, ThroughArithmetic) {
  EXPECT_EQ(warpsOf(R"(
	mov.u32 %r1, %tid.x;
	bfe.u32 %r2, %r1, 5, 2;
	mad.lo.s32 %r3, %r2, 2, -3;
	setp.gt.s32 %p1, %r3, 0;
	not.pred %p2, %p1;
	@%p2 bra $END;
$A:
	ret;
$END:
	ret;)",
                    "$A"),
            2u);
}

TEST(PtxWarps, WhatIsNotKnownGoesBothWays) {
  const char *body = R"(
	mov.u32 %r1, %tid.x;
	ld.param.b32 %r2, [k_param_0];
	add.s32 %r3, %r1, %r2;
	setp.lt.u32 %p1, %r3, 32;
	@%p1 bra $A;
$B:
	ret;
$A:
	ret;)";
  EXPECT_EQ(warpsOf(body, "$A"), 4u);
  EXPECT_EQ(warpsOf(body, "$B"), 4u);
}

} // namespace
