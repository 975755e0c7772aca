// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays of other libraries, without copies and without their headers.
#include "bindings.h"

#include <pybind11/numpy.h>

namespace mlatile::python {

std::vector<int64_t> elementStrides(const char *argument,
                                    const std::vector<int64_t> &shape,
                                    const std::vector<int64_t> &byteStrides,
                                    int64_t itemBytes) {
  std::vector<int64_t> strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1 && (itemBytes == 0 || byteStrides[i] % itemBytes != 0))
      throw ArgumentError(argument, "expected strides of whole elements, got " +
                                        std::to_string(byteStrides[i]) +
                                        " bytes in dimension " +
                                        std::to_string(i));
    strides.push_back(itemBytes ? byteStrides[i] / itemBytes : 0);
  }
  return strides;
}

std::vector<int64_t> compactStrides(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

namespace {
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
  tensor.shape.assign(array.shape(), array.shape() + array.ndim());
  tensor.strides = elementStrides(
      argument, tensor.shape, {array.strides(), array.strides() + array.ndim()},
      array.attr("itemsize").cast<int64_t>());
  return result;
}

bool isOnCuda(py::handle array) {
  return py::hasattr(array, "__cuda_array_interface__");
}
} // namespace

Borrowed borrow(const char *argument, py::handle array,
                const CallStream &stream) {
  if (py::isinstance<py::array>(array))
    return borrowNumpy(argument, py::reinterpret_borrow<py::array>(array));
  if (py::hasattr(array, "__dlpack__") &&
      py::hasattr(array, "__dlpack_device__")) {
    try {
      return borrowDLPack(argument, array, stream);
    } catch (const py::error_already_set &error) {
      // Types that a library cannot share in this way may go in the other.
      std::string why = error.what();
      if (!isOnCuda(array))
        throw ArgumentError(argument, "expected an array that DLPack can "
                                      "share: " +
                                          why);
    }
  }
  if (isOnCuda(array))
    return borrowCudaArray(argument, array, stream);
  throw ArgumentError(
      argument,
      "expected an array (NumPy, DLPack or __cuda_array_interface__), got " +
          py::type::handle_of(array).attr("__name__").cast<std::string>());
}

} // namespace mlatile::python
