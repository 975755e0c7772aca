// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays as callers have them: pointer, type, shape, strides. Nothing is owned.
#ifndef MLATILE_RUNTIME_TENSOR_H
#define MLATILE_RUNTIME_TENSOR_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlatile {

enum class DType : uint8_t {
  Other, ///< anything that has no name here
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F8, ///< any 8-bit float; pools of them are read as bytes
  F16,
  BF16,
  F32,
  F64,
};
/// "int32", "bfloat16", ...
std::string_view name(DType type);
/// Type of a NumPy or torch name; Other if there is none.
DType dtypeNamed(std::string_view name);
/// Bytes of an element; 1 for Other.
int64_t itemBytes(DType type);

/// Where memory lives.
struct Place {
  bool cuda = false;
  int ordinal = 0;
  bool operator==(const Place &) const = default;
};

struct Tensor {
  void *data = nullptr;
  DType type = DType::Other;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< elements; as many as shape
  Place place;
  bool readOnly = false;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
};

/// A C-contiguous tensor on the host.
Tensor hostTensor(void *data, DType type, std::vector<int64_t> shape);
/// "[3, 128]"
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace mlatile
#endif
