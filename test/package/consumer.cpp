// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A user of the host library: asks what is supported, plans, runs one call on
// host arrays. No LLVM header, no CUDA. Exits 0 if the result is right.
#include <mlatile/mlatile.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#if __has_include(<llvm/Config/llvm-config.h>) && defined(LLVM_VERSION_MAJOR)
#error "mlatile.h must not include LLVM headers"
#endif

namespace {
constexpr int64_t kRows = 2, kHeads = 3, kPages = 4, kPageSize = 5;
constexpr int64_t kPageStride = 2928; // 5 * 584 = 2920, rounded up to 16

/// One token of `dsv4`: nope element i is i % 8 - 4 (e4m3 of small integers)
/// times 2, rope is 1.5.
void writeToken(std::vector<uint8_t> &pool, int64_t slot) {
  constexpr uint8_t e4m3[8] = {0xc8, 0xc4, 0xc0, 0xb8, 0x00, 0x38, 0x40, 0x44};
  uint8_t *page = pool.data() + slot / kPageSize * kPageStride;
  uint8_t *row = page + slot % kPageSize * 576;
  for (int i = 0; i < 448; ++i)
    row[i] = e4m3[i % 8];
  const uint16_t rope = 0x3fc0; // 1.5 in bf16
  for (int i = 0; i < 64; ++i)
    std::memcpy(row + 448 + 2 * i, &rope, 2);
  std::memset(page + kPageSize * 576 + slot % kPageSize * 8, 128, 7); // 2^1
}

float fromBF16(uint16_t word) {
  uint32_t bits = static_cast<uint32_t>(word) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

int run() {
  mlatile::Problem problem;
  problem.numTokens = kRows;
  problem.numHeads = kHeads;
  problem.width = 7;
  problem.kvFormat = "dsv4";
  problem.pageSize = kPageSize;
  if (mlatile::Support support = mlatile::supported(problem); !support.ok) {
    std::printf("not supported: %s\n", support.reason.c_str());
    return 1;
  }
  std::printf("%s", mlatile::plan(problem)->explain().c_str());

  // One candidate that counts among skipped ones: out is its value, exactly.
  std::vector<uint8_t> pool(kPages * kPageStride, 0xff);
  writeToken(pool, 13);
  std::vector<uint16_t> q(kRows * kHeads * 512, 0x3e00); // 0.125
  std::vector<int32_t> indices(kRows * 7, -1);
  indices[4] = indices[7 + 6] = 13;
  std::vector<uint16_t> out(kRows * kHeads * 512, 0x7fff);

  mlatile::Arguments arguments;
  using mlatile::DType;
  arguments.q =
      mlatile::hostTensor(q.data(), DType::BF16, {kRows, kHeads, 512});
  arguments.kvCache =
      mlatile::hostTensor(pool.data(), DType::U8, {kPages, kPageStride});
  arguments.indices =
      mlatile::hostTensor(indices.data(), DType::I32, {kRows, 7});
  arguments.kvFormat = "dsv4";
  arguments.pageSize = kPageSize;
  arguments.smScale = 0.0625;
  arguments.out =
      mlatile::hostTensor(out.data(), DType::BF16, {kRows, kHeads, 512});
  mlatile::launch(mlatile::prepare(arguments));

  for (size_t i = 0; i < out.size(); ++i) {
    size_t d = i % 512;
    constexpr float small[8] = {-4, -3, -2, -1, 0, 1, 2, 3};
    float expected = d < 448 ? 2 * small[d % 8] : 1.5f;
    if (fromBF16(out[i]) != expected) {
      std::printf("out[%zu]: expected %g, got %g\n", i, expected,
                  fromBF16(out[i]));
      return 1;
    }
  }

  arguments.pageSize = 0;
  try {
    mlatile::prepare(arguments);
  } catch (const mlatile::ArgumentError &error) {
    std::printf("as it should be: %s\n", error.what());
    return error.argument() == "page_size" ? 0 : 1;
  }
  return 1;
}
} // namespace

int main() {
  try {
    return run();
  } catch (const mlatile::Error &error) {
    std::printf("error: %s\n", error.what());
    return 1;
  }
}
