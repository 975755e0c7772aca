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
