// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of one array argument, and its view as kernels see it.
#ifndef MLATILE_LIB_RUNTIME_TENSORCHECKS_H
#define MLATILE_LIB_RUNTIME_TENSORCHECKS_H

#include "mlatile/Runtime/Call.h"

namespace mlatile {

/// The type must be this one.
void checkType(const char *argument, const Tensor &tensor, DType expected);
/// The shape must be this one; `meaning` explains it, "[T, H, d_v]".
void checkShape(const char *argument, const Tensor &tensor,
                const std::vector<int64_t> &expected,
                const std::string &meaning);
/// No element: strides and address mean nothing then.
bool isEmpty(const Tensor &tensor);
/// Elements of the last dimension must be neighbours.
void checkLastContiguous(const char *argument, const Tensor &tensor);
/// Data must start at a multiple of so many bytes, unless there are none.
void checkAligned(const char *argument, const Tensor &tensor, int64_t bytes);
/// Must be writable and its elements at distinct addresses.
void checkWritable(const char *argument, const Tensor &tensor);
/// Whether two arrays share a byte.
bool overlap(const Tensor &a, const Tensor &b);
/// Must be where q is.
void checkPlace(const char *argument, const Tensor &tensor,
                const Place &expected);

/// Frames the row axes of a tensor as [B, S]: `rowAxes` leading dimensions (1
/// or 2) followed by the others.
View frameRows(const Tensor &tensor, int64_t rowAxes,
               const std::string &element);

/// Checks a pool argument and gives it as kernels see it. `argument` is
/// "kv_cache" or "extra_kv_cache", `prefix` "" or "extra_".
Pool checkPool(const std::string &argument, const std::string &prefix,
               const Tensor &tensor, const CacheFormat &format,
               int64_t pageSize, std::optional<int64_t> pageStride,
               std::optional<int64_t> rowStride);

} // namespace mlatile
#endif
