// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Argument checks of a call, and the views that kernels get.
#include "Fixtures.h"

#include <cmath>
#include <numeric>

using namespace mlatile;

namespace {
TEST(Call, FlatRowsAreOneBatch) {
  SmallArrays arrays;
  Arguments a = arrays.arguments();
  a.topkLength = hostTensor(arrays.lengths.data(), DType::I32, {3});
  a.attnSink = hostTensor(arrays.sink.data(), DType::F32, {11});
  a.returnLse = true;
  Call call = prepare(a);
  EXPECT_EQ(call.q.extents, (std::vector<int64_t>{1, 3, 11, 512}));
  EXPECT_EQ(call.q.strides, (std::vector<int64_t>{0, 5632, 512}));
  EXPECT_EQ(call.lengths.extents, (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(call.outShape(), (std::vector<int64_t>{3, 11, 512}));
  EXPECT_EQ(call.lseShape(), (std::vector<int64_t>{3, 11}));
  EXPECT_TRUE(call.needsOut());
  EXPECT_TRUE(call.needsLse());
  EXPECT_TRUE(call.plan->problem.hasLengths);
  EXPECT_TRUE(call.plan->problem.hasSink);
}

TEST(Call, RowStridesAreKept) {
  // [24, 2048] of row stride 7936, and the same as [4, 6, 2048].
  std::vector<int32_t> storage(24 * 7936);
  std::vector<uint16_t> q(24 * 2 * 512);
  SmallArrays arrays;
  Arguments a = arrays.arguments();
  a.q = hostTensor(q.data(), DType::BF16, {24, 2, 512});
  a.indices = {storage.data(), DType::I32, {24, 2048}, {7936, 1}, {}, false};
  Call flat = prepare(a);
  EXPECT_EQ(flat.indices.strides, (std::vector<int64_t>{0, 7936}));
  a.q = hostTensor(q.data(), DType::BF16, {4, 6, 2, 512});
  a.indices = {storage.data(),   DType::I32, {4, 6, 2048},
               {47616, 7936, 1}, {},         false};
  Call framed = prepare(a);
  EXPECT_EQ(framed.indices.strides, (std::vector<int64_t>{47616, 7936}));
  EXPECT_EQ(framed.outShape(), (std::vector<int64_t>{4, 6, 2, 512}));
  EXPECT_EQ(framed.plan, flat.plan);
}

TEST(Call, MiddleAxisOfIndices) {
  SmallArrays arrays;
  Arguments a = arrays.arguments();
  a.indices = hostTensor(arrays.indices.data(), DType::I32, {3, 1, 192});
  EXPECT_EQ(prepare(a).indices.extents, (std::vector<int64_t>{1, 3, 192}));
}

TEST(Call, NoRows) {
  SmallArrays arrays;
  Arguments a = arrays.arguments();
  a.q = hostTensor(nullptr, DType::BF16, {0, 11, 512});
  a.indices = hostTensor(nullptr, DType::I32, {0, 192});
  a.out = hostTensor(nullptr, DType::BF16, {0, 11, 512});
  Call call = prepare(a);
  EXPECT_EQ(call.outShape(), (std::vector<int64_t>{0, 11, 512}));
  launch(call); // nothing to compile, nothing to run
}

TEST(Call, Malformed) {
  static std::vector<uint8_t> spare(1 << 20);
  struct Case {
    void (*change)(Arguments &);
    const char *text;
  };
  const Case cases[] = {
      {[](Arguments &a) { a.q.type = DType::F16; },
       "`q`: expected bfloat16, got float16"},
      {[](Arguments &a) { a.q.shape = {3, 11, 576}; },
       "`q`: expected d_qk 512 for `dsv4`"},
      {[](Arguments &a) {
         a.q.shape = {33, 512};
         a.q.strides = {512, 1};
       },
       "`q`: expected [T, H, d_qk]"},
      {[](Arguments &a) { a.q.shape = {3, 0, 512}; },
       "expected 1 to 128 heads, got 0"},
      {[](Arguments &a) { a.q.strides = {5632, 1, 11}; },
       "`q`: expected a contiguous last dimension"},
      {[](Arguments &a) { a.indices.type = DType::I64; },
       "`indices`: expected int32, got int64"},
      {[](Arguments &a) { a.indices.shape = {4, 192}; },
       "expected shape [3, W] or [3, 1, W] (the rows of q), got [4, 192]"},
      {[](Arguments &a) { a.indices.shape = {3, 0}; },
       "`indices`: expected a width"},
      {[](Arguments &a) { a.smScale = std::nan(""); },
       "`sm_scale`: expected a finite"},
      {[](Arguments &a) {
         a.topkLength = hostTensor(spare.data(), DType::I32, {4});
       },
       "`topk_length`: expected shape [3]"},
      {[](Arguments &a) {
         a.topkLength = hostTensor(spare.data(), DType::I64, {3});
       },
       "`topk_length`: expected int32, got int64"},
      {[](Arguments &a) {
         a.attnSink = hostTensor(spare.data(), DType::F32, {12});
       },
       "`attn_sink`: expected shape [11] ([H])"},
      {[](Arguments &a) { a.extraIndices = a.indices; },
       "`extra_indices`: expected none without extra_kv_cache"},
      {[](Arguments &a) { a.extraPageStride = 592; }, "`extra_page_stride`"},
      {[](Arguments &a) { a.extraKvCache = a.kvCache; },
       "`extra_indices`: expected an array"},
      {[](Arguments &a) {
         a.out = hostTensor(spare.data(), DType::F32, {3, 11, 512});
       },
       "`out`: expected bfloat16"},
      {[](Arguments &a) {
         a.out = hostTensor(spare.data(), DType::BF16, {3, 12, 512});
       },
       "`out`: expected shape [3, 11, 512]"},
      {[](Arguments &a) {
         a.out = hostTensor(spare.data(), DType::BF16, {3, 11, 512});
         a.out->strides = {0, 512, 1};
       },
       "do not overlap"},
      {[](Arguments &a) {
         a.out = hostTensor(spare.data(), DType::BF16, {3, 11, 512});
         a.out->readOnly = true;
       },
       "`out`: expected a writable"},
      {[](Arguments &a) {
         a.lse = hostTensor(spare.data(), DType::F32, {3, 12});
       },
       "`lse`: expected shape [3, 11]"},
      {[](Arguments &a) { a.lseBase = "10"; },
       "`lse_base`: expected '2' or 'e', got '10'"},
      {[](Arguments &a) {
         a.workspace = hostTensor(spare.data(), DType::U8, {100});
       },
       "(workspace_bytes of the plan), got 100"},
      {[](Arguments &a) {
         a.workspace = hostTensor(spare.data(), DType::F32, {100});
       },
       "`workspace`: expected uint8"},
      {[](Arguments &a) { a.device = "gpu"; },
       "`device`: expected 'sim' or 'cuda'"},
      {[](Arguments &a) { a.device = "cuda"; }, "expected device arrays"},
      {[](Arguments &a) { a.hasStream = true; }, "`stream`"},
      {[](Arguments &a) { a.pageSize = 0; },
       "`page_size`: expected 1 to 2147483647, got 0"},
      {[](Arguments &a) { a.kvFormat = ""; }, "`kv_format`: expected 'dsv3_2'"},
      {[](Arguments &a) { a.numSplits = 0; }, "`num_splits`"},
      {[](Arguments &a) { a.pageStride = 28225; },
       "`page_stride`: expected a page stride that is a multiple of 16"},
      {[](Arguments &a) { a.kvCache.place = {true, 0}; },
       "`kv_cache`: expected an array on the host"},
  };
  for (const Case &c : cases) {
    SmallArrays arrays;
    Arguments a = arrays.arguments();
    c.change(a);
    EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }), c.text);
  }
}

TEST(Call, SecondCache) {
  SmallArrays arrays;
  std::vector<uint8_t> pool(5 * 18688);
  std::vector<int32_t> storage(3 * 100), lengths(3 * 4);
  Arguments a = arrays.arguments();
  a.extraKvCache = hostTensor(pool.data(), DType::U8, {5, 18688});
  a.extraIndices = {storage.data(), DType::I32, {3, 1, 64},
                    {100, 64, 1},   {},         false};
  a.extraPageSize = 32;
  a.extraTopkLength = {lengths.data(), DType::I32, {3}, {4}, {}, false};
  Call call = prepare(a);
  EXPECT_EQ(call.extraKv.slots, 160);
  EXPECT_EQ(call.extraKv.pageStride, 18688);
  EXPECT_EQ(call.extraKv.rowStride, 576);
  EXPECT_EQ(call.extraIndices.extents, (std::vector<int64_t>{1, 3, 64}));
  EXPECT_EQ(call.extraIndices.strides, (std::vector<int64_t>{0, 100}));
  EXPECT_EQ(call.extraLengths.extents, (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(call.extraLengths.strides, (std::vector<int64_t>{0, 4}));
  const Problem &p = call.plan->problem;
  EXPECT_EQ(p.extraWidth, 64);
  EXPECT_TRUE(p.hasExtraLengths);
  EXPECT_FALSE(p.hasLengths);
  EXPECT_EQ(p.extraFormat(), "dsv4");
  // What is read must not be written.
  a.lse = hostTensor(storage.data(), DType::F32, {3, 11});
  EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }),
             "`lse`: expected memory of its own, got an array that overlaps "
             "`extra_indices`");
}

TEST(Call, MalformedSecondCache) {
  struct Case {
    void (*change)(Arguments &);
    const char *text;
  };
  static std::vector<uint8_t> pool(1 << 20);
  const Case cases[] = {
      {[](Arguments &a) { a.extraIndices.reset(); },
       "`extra_indices`: expected an array with extra_kv_cache"},
      {[](Arguments &a) { a.extraPageSize.reset(); },
       "`extra_page_size`: expected a value with extra_kv_cache"},
      {[](Arguments &a) { a.extraPageSize = 0; },
       "`extra_page_size`: expected 1 to 2147483647, got 0"},
      {[](Arguments &a) { a.extraKvCache.reset(); },
       "`extra_indices`: expected none without extra_kv_cache"},
      {[](Arguments &a) { a.extraKvFormat = "dsv5"; },
       "`extra_kv_format`: expected 'dsv3_2'"},
      {[](Arguments &a) {
         a.extraKvFormat = "dsv3_2";
         a.extraPageSize = 16;
       },
       "`extra_kv_format`: expected a format with d_qk 512"},
      {[](Arguments &a) { a.extraKvCache->type = DType::I8; },
       "`extra_kv_cache`: expected uint8"},
      {[](Arguments &a) { a.extraPageSize = 64; },
       "`extra_kv_cache`: expected at least 37376 bytes a page"},
      {[](Arguments &a) { a.extraPageStride = 18690; },
       "`extra_page_stride`: expected a page stride that is a multiple of 16 "
       "bytes, got 18690; the next good one is 18704"},
      {[](Arguments &a) { a.extraPageStride = 18672; },
       "`extra_page_stride`: expected at least 18688 bytes"},
      {[](Arguments &a) { a.extraPageStride = 18704; },
       "`extra_page_stride`: expected 18688, the stride of dimension 0"},
      {[](Arguments &a) { a.extraIndices->type = DType::I64; },
       "`extra_indices`: expected int32, got int64"},
      {[](Arguments &a) { a.extraIndices->shape = {2, 64}; },
       "`extra_indices`: expected shape [3, W] or [3, 1, W]"},
      {[](Arguments &a) { a.extraIndices->shape = {3, 0}; },
       "`extra_indices`: expected a width"},
      {[](Arguments &a) {
         a.extraTopkLength = hostTensor(pool.data(), DType::I32, {4});
       },
       "`extra_topk_length`: expected shape [3]"},
      {[](Arguments &a) {
         a.extraTopkLength = hostTensor(pool.data(), DType::I64, {3});
       },
       "`extra_topk_length`: expected int32, got int64"},
      {[](Arguments &a) { a.extraKvCache->place = {true, 0}; },
       "`extra_kv_cache`: expected an array on the host"},
  };
  for (const Case &c : cases) {
    SmallArrays arrays;
    Arguments a = arrays.arguments();
    a.extraKvCache = hostTensor(pool.data(), DType::U8, {5, 18688});
    a.extraIndices = hostTensor(pool.data(), DType::I32, {3, 64});
    a.extraPageSize = 32;
    c.change(a);
    EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }), c.text);
  }
}

TEST(Call, WorkspaceAlignment) {
  SmallArrays arrays;
  alignas(256) static uint8_t memory[600000];
  Arguments a = arrays.arguments();
  a.workspace = hostTensor(memory + 16, DType::U8, {500000});
  EXPECT_HAS(errorOf<ArgumentError>([&] { prepare(a); }), "multiple of 256");
  a.workspace->data = memory;
  EXPECT_FALSE(prepare(a).needsWorkspace());
}

TEST(Call, LaunchNeedsOutputs) {
  SmallArrays arrays;
  Call call = prepare(arrays.arguments());
  EXPECT_HAS(errorOf<ArgumentError>([&] { launch(call); }), "`out`");
}
} // namespace
