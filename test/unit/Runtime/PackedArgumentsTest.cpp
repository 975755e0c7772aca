// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PackedArguments.h"

#include "Fixtures.h"

#include <bit>

using namespace mlatile;

namespace {
KernelMeta metaOf(std::vector<KernelArgument> arguments) {
  KernelMeta meta;
  meta.entry = "k";
  meta.arguments = std::move(arguments);
  return meta;
}
using Kind = KernelArgument::Kind;

TEST(PackedArguments, FlattenedInTheKernelsOrder) {
  int32_t element = 0;
  uint8_t byte = 0;
  ArgumentTable table = {{"v", View{&element, "i32", {2, 3, 5}, {15, 5}}},
                         {"p", Pool{&byte, 100, 10, 6000, 576}},
                         {"f", 0.5},
                         {"n", int64_t{7}}};
  PackedArguments packed(metaOf({{"n", Kind::Scalar, 0, "index"},
                                 {"p", Kind::Pool, 0, ""},
                                 {"f", Kind::Scalar, 0, "f32"},
                                 {"v", Kind::View, 3, "i32"}}),
                         table);
  std::vector<uint64_t> expected = {7,
                                    reinterpret_cast<uintptr_t>(&byte),
                                    100,
                                    10,
                                    6000,
                                    576,
                                    std::bit_cast<uint32_t>(0.5f),
                                    reinterpret_cast<uintptr_t>(&element),
                                    2,
                                    3,
                                    5,
                                    15,
                                    5};
  EXPECT_EQ(packed.values(), expected);
  for (size_t i = 0; i < packed.size(); ++i)
    EXPECT_EQ(*static_cast<uint64_t *>(packed.pointers()[i]), expected[i]);
}

TEST(PackedArguments, BuffersSpanWhatAKernelMayTouch) {
  uint16_t element = 0;
  uint8_t byte = 0;
  ArgumentTable table = {{"q", View{&element, "bf16", {2, 3, 5}, {40, 7}}},
                         {"out", View{&element, "bf16", {1, 8}, {8}}},
                         {"lse", View{nullptr, "f32", {0, 0}, {0}}},
                         {"part_o", View{&element, "f16", {3, 8}, {8}}},
                         {"kv", Pool{&byte, 25, 10, 6000, 576}}};
  PackedArguments packed(metaOf({{"q", Kind::View, 3, "bf16"},
                                 {"out", Kind::View, 2, "bf16"},
                                 {"lse", Kind::View, 2, "f32"},
                                 {"kv", Kind::Pool, 0, ""},
                                 {"part_o", Kind::View, 2, "f16"}}),
                         table);
  ASSERT_EQ(packed.buffers().size(), 4u);
  // From the first element to the last: 40 + 2 * 7 + 4, and that one.
  EXPECT_EQ(packed.buffers()[0].bytes, 2u * 59);
  EXPECT_EQ(packed.buffers()[0].name, "q");
  EXPECT_FALSE(packed.buffers()[0].writable);
  EXPECT_EQ(packed.buffers()[1].bytes, 16u);
  EXPECT_TRUE(packed.buffers()[1].writable);
  EXPECT_EQ(packed.buffers()[2].bytes, 3u * 6000);
  EXPECT_EQ(packed.buffers()[2].data, &byte);
  EXPECT_FALSE(packed.buffers()[2].writable);
  EXPECT_EQ(packed.buffers()[3].bytes, 3u * 8 * 2);
  EXPECT_TRUE(packed.buffers()[3].writable);
}

TEST(PackedArguments, DisagreementsAreErrors) {
  int32_t element = 0;
  ArgumentTable table = {{"v", View{&element, "i32", {2, 3}, {3}}}, {"f", 0.5}};
  auto pack = [&](KernelArgument argument) {
    return errorOf<LaunchError>(
        [&] { PackedArguments(metaOf({argument}), table); });
  };
  EXPECT_HAS(pack({"w", Kind::View, 2, "i32"}), "nothing to pass for `w`");
  EXPECT_HAS(pack({"v", Kind::View, 3, "i32"}),
             "expects rank 3 of i32, got rank 2");
  EXPECT_HAS(pack({"v", Kind::View, 2, "f32"}), "rank 2 of f32");
  EXPECT_HAS(pack({"v", Kind::Pool, 0, ""}), "another kind");
  EXPECT_HAS(pack({"f", Kind::Scalar, 0, "index"}),
             "expects index, got a float");
}
} // namespace
