// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C++ versions of the kernels of kernels/, for the format dsv4.
#ifndef MLATILE_TEST_UNIT_RUNTIME_FAKEKERNELS_H
#define MLATILE_TEST_UNIT_RUNTIME_FAKEKERNELS_H

#include <cstdint>
#include <nlohmann/json.hpp>

bool isTrue(const nlohmann::ordered_json &params, const char *name);
/// Kernels that know of a second cache have its arguments, used or not.
bool takesExtra(const nlohmann::ordered_json &params);

void attentionCta(const nlohmann::ordered_json &params, int64_t pid,
                  void *const *args);
/// What all CTAs of a grid do once their partial results are there. False: a
/// counter was not zero.
bool mergeSlices(const nlohmann::ordered_json &params, void *const *args);
void mergeCta(const nlohmann::ordered_json &params, int64_t pid,
              void *const *args);

#endif
