// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays of other libraries, without copies and without their headers.
#include "bindings.h"

#include <pybind11/numpy.h>

namespace mlatile::python {
namespace {

// DLPack 0.8 (dlpack.h), as far as it is read here.
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
constexpr int32_t kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3;

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
    return DType::Bool;
  default: // 7 to 17: the float8 and smaller types
    return type.code >= 7 && type.bits == 8 ? DType::F8 : DType::Other;
  }
}

Borrowed borrowNumpy(const char *argument, const py::array &array) {
  Borrowed result;
  result.owner = array;
  Tensor &tensor = result.tensor;
  py::dtype dtype = array.dtype();
  if (!dtype.attr("isnative").cast<bool>())
    throw ArgumentError(argument, "expected native byte order, got " +
                                      py::str(dtype).cast<std::string>());
  tensor.type = dtypeNamed(dtype.attr("name").cast<std::string>());
  tensor.data = const_cast<void *>(array.data());
  tensor.readOnly = !array.writeable();
  auto item = array.attr("itemsize").cast<py::ssize_t>();
  for (py::ssize_t i = 0; i < array.ndim(); ++i) {
    tensor.shape.push_back(array.shape(i));
    py::ssize_t bytes = array.strides(i);
    if (array.shape(i) > 1 && (item == 0 || bytes % item != 0))
      throw ArgumentError(argument, "expected strides of whole elements, got " +
                                        std::to_string(bytes) +
                                        " bytes in dimension " +
                                        std::to_string(i));
    tensor.strides.push_back(item ? bytes / item : 0);
  }
  return result;
}

Borrowed borrowDLPack(const char *argument, py::handle array) {
  Borrowed result;
  try {
    auto device = array.attr("__dlpack_device__")().cast<py::tuple>();
    // -1: the producer does not make us wait; the caller names the stream.
    result.owner = device[0].cast<int>() == kDLCUDA
                       ? array.attr("__dlpack__")(py::arg("stream") = -1)
                       : array.attr("__dlpack__")();
  } catch (py::error_already_set &error) {
    throw ArgumentError(argument, std::string("expected an array that DLPack "
                                              "can share: ") +
                                      error.what());
  }
  auto *dl = static_cast<DLTensor *>(
      PyCapsule_GetPointer(result.owner.ptr(), "dltensor"));
  if (!dl) {
    PyErr_Clear();
    throw ArgumentError(argument, "expected a DLPack capsule");
  }
  Tensor &tensor = result.tensor;
  if (dl->device.type != kDLCPU && dl->device.type != kDLCUDA &&
      dl->device.type != kDLCUDAHost)
    throw ArgumentError(argument, "expected a host or CUDA array, got DLPack "
                                  "device type " +
                                      std::to_string(dl->device.type));
  tensor.place.cuda = dl->device.type == kDLCUDA;
  tensor.place.ordinal = tensor.place.cuda ? dl->device.id : 0;
  tensor.type = dtypeOf(dl->dtype);
  tensor.data = static_cast<char *>(dl->data) + dl->byteOffset;
  tensor.shape.assign(dl->shape, dl->shape + dl->ndim);
  if (dl->strides) {
    tensor.strides.assign(dl->strides, dl->strides + dl->ndim);
  } else {
    tensor.strides.assign(tensor.shape.size(), 1);
    for (size_t i = tensor.shape.size(); i-- > 1;)
      tensor.strides[i - 1] = tensor.strides[i] * tensor.shape[i];
  }
  return result;
}
} // namespace

Borrowed borrow(const char *argument, py::handle array) {
  if (py::isinstance<py::array>(array))
    return borrowNumpy(argument, py::reinterpret_borrow<py::array>(array));
  if (py::hasattr(array, "__dlpack__") &&
      py::hasattr(array, "__dlpack_device__"))
    return borrowDLPack(argument, array);
  throw ArgumentError(
      argument,
      "expected an array (NumPy or DLPack), got " +
          py::type::handle_of(array).attr("__name__").cast<std::string>());
}

} // namespace mlatile::python
