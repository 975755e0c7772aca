// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLPack 1.x (dlpack.h and the array API's Python specification), as far as it
// is read here: both kinds of capsule.
#include "bindings.h"

namespace mlatile::python {
namespace {
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byteOffset;
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
};
constexpr int32_t kCPU = 1, kCUDA = 2, kCUDAHost = 3, kCUDAManaged = 13;
constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
constexpr uint32_t kMajor = 1;

DType dtypeOf(DLDataType type) {
  if (type.lanes != 1)
    return DType::Other;
  auto sized = [&](std::initializer_list<std::pair<int, DType>> choices) {
    for (auto [bits, choice] : choices)
      if (type.bits == bits)
        return choice;
    return DType::Other;
  };
  switch (type.code) {
  case 0:
    return sized(
        {{8, DType::I8}, {16, DType::I16}, {32, DType::I32}, {64, DType::I64}});
  case 1:
    return sized(
        {{8, DType::U8}, {16, DType::U16}, {32, DType::U32}, {64, DType::U64}});
  case 2:
    return sized({{16, DType::F16}, {32, DType::F32}, {64, DType::F64}});
  case 4:
    return sized({{16, DType::BF16}});
  case 6:
    return sized({{8, DType::Bool}});
  default: // 7 to 14: the float8 types
    return type.code >= 7 && type.code <= 14 ? sized({{8, DType::F8}})
                                             : DType::Other;
  }
}

bool isOnDevice(int32_t type) { return type == kCUDA || type == kCUDAManaged; }

/// Calls __dlpack__ with all keywords of the array API of 2023; libraries that
/// are older know only the stream.
py::object exportArray(py::handle array, const CallStream &stream) {
  auto device = array.attr("__dlpack_device__")().cast<py::tuple>();
  py::dict keywords;
  if (isOnDevice(device[0].cast<int32_t>()))
    // -1: the library makes no stream wait.
    keywords["stream"] =
        stream.captured() ? py::int_(-1) : py::int_(stream.number());
  py::dict all(**keywords);
  all["max_version"] = py::make_tuple(kMajor, 0);
  all["copy"] = false;
  try {
    return array.attr("__dlpack__")(**all);
  } catch (py::error_already_set &error) {
    if (!error.matches(PyExc_TypeError))
      throw;
  }
  return array.attr("__dlpack__")(**keywords);
}

/// The tensor in a capsule. The capsule stays as it is: whoever made it frees
/// the tensor with it.
const DLTensor &tensorIn(const char *argument, const py::object &capsule,
                         uint64_t &flags) {
  flags = 0;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor"))
    // DLManagedTensor begins with the tensor.
    return *static_cast<DLTensor *>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    throw ArgumentError(argument, "expected a DLPack capsule, got " +
                                      py::repr(capsule).cast<std::string>());
  auto *managed = static_cast<DLManagedTensorVersioned *>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
  // Nothing but the version may be read of another major version.
  if (managed->version.major != kMajor)
    throw ArgumentError(
        argument, "expected DLPack " + std::to_string(kMajor) + ".x, got " +
                      std::to_string(managed->version.major) + "." +
                      std::to_string(managed->version.minor));
  flags = managed->flags;
  return managed->tensor;
}
} // namespace

Borrowed borrowDLPack(const char *argument, py::handle array,
                      const CallStream &stream) {
  Borrowed result;
  result.owner = exportArray(array, stream);
  uint64_t flags = 0;
  const DLTensor &dl = tensorIn(argument, result.owner, flags);
  if (dl.device.type != kCPU && dl.device.type != kCUDAHost &&
      !isOnDevice(dl.device.type))
    throw ArgumentError(argument, "expected a host or CUDA array, got DLPack "
                                  "device type " +
                                      std::to_string(dl.device.type));
  Tensor &tensor = result.tensor;
  tensor.place.cuda = isOnDevice(dl.device.type);
  tensor.place.ordinal = tensor.place.cuda ? dl.device.id : 0;
  tensor.type = dtypeOf(dl.dtype);
  // A write to a copy would be lost.
  tensor.readOnly = (flags & (kReadOnly | kIsCopied)) != 0;
  if (dl.data)
    tensor.data = static_cast<char *>(dl.data) + dl.byteOffset;
  tensor.shape.assign(dl.shape, dl.shape + dl.ndim);
  if (dl.strides)
    tensor.strides.assign(dl.strides, dl.strides + dl.ndim);
  else
    tensor.strides = compactStrides(tensor.shape);
  return result;
}

} // namespace mlatile::python
