// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/Tensor.h"

namespace mlatile {
namespace {
struct Entry {
  DType type;
  const char *name;
  int bytes;
};
constexpr Entry kTypes[] = {
    {DType::Other, "an unknown type", 1},
    {DType::Bool, "bool", 1},
    {DType::I8, "int8", 1},
    {DType::I16, "int16", 2},
    {DType::I32, "int32", 4},
    {DType::I64, "int64", 8},
    {DType::U8, "uint8", 1},
    {DType::U16, "uint16", 2},
    {DType::U32, "uint32", 4},
    {DType::U64, "uint64", 8},
    {DType::F8, "float8", 1},
    {DType::F16, "float16", 2},
    {DType::BF16, "bfloat16", 2},
    {DType::F32, "float32", 4},
    {DType::F64, "float64", 8},
};
} // namespace

std::string_view name(DType type) {
  return kTypes[static_cast<size_t>(type)].name;
}

int64_t itemBytes(DType type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}

DType dtypeNamed(std::string_view name) {
  for (const Entry &entry : kTypes)
    if (entry.type != DType::Other && name == entry.name)
      return entry.type;
  // float8_e4m3fn, float8_e5m2, ...: only their bytes are ever used.
  return name.substr(0, 6) == "float8" ? DType::F8 : DType::Other;
}

Tensor hostTensor(void *data, DType type, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.data = data;
  tensor.type = type;
  tensor.strides.assign(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    tensor.strides[i - 1] = tensor.strides[i] * shape[i];
  tensor.shape = std::move(shape);
  return tensor;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

} // namespace mlatile
