// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MLATILE_TEST_UNIT_RUNTIME_FIXTURES_H
#define MLATILE_TEST_UNIT_RUNTIME_FIXTURES_H

#include "mlatile/mlatile.h"

#include <gtest/gtest.h>

namespace mlatile {

inline Problem smallProblem() {
  Problem problem;
  problem.numTokens = 3;
  problem.numHeads = 11;
  problem.width = 192;
  problem.kvFormat = "dsv4";
  problem.pageSize = 48;
  return problem;
}

/// Arrays of smallProblem() with a page stride of 28,224 bytes.
struct SmallArrays {
  std::vector<uint16_t> q = std::vector<uint16_t>(3 * 11 * 512);
  std::vector<uint8_t> pool = std::vector<uint8_t>(4 * 28224);
  std::vector<int32_t> indices = std::vector<int32_t>(3 * 192, -1);
  std::vector<int32_t> lengths = std::vector<int32_t>(3, 5);
  std::vector<float> sink = std::vector<float>(11);
  std::vector<uint16_t> out = std::vector<uint16_t>(3 * 11 * 512);
  std::vector<float> lse = std::vector<float>(3 * 11);

  Arguments arguments() {
    Arguments a;
    a.q = hostTensor(q.data(), DType::BF16, {3, 11, 512});
    a.kvCache = hostTensor(pool.data(), DType::U8, {4, 28224});
    a.indices = hostTensor(indices.data(), DType::I32, {3, 192});
    a.kvFormat = "dsv4";
    a.pageSize = 48;
    a.smScale = 0.04;
    a.target = "sm_120a";
    return a;
  }
};

/// The text of the error that a call throws; a failure if it throws none.
template <typename E, typename F>
std::string errorOf(F &&call) {
  try {
    call();
  } catch (const E &error) {
    return error.what();
  } catch (const std::exception &error) {
    ADD_FAILURE() << "another error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

#define EXPECT_HAS(text, part)                                                 \
  EXPECT_NE((text).find(part), std::string::npos) << "text: " << (text)

} // namespace mlatile
#endif
