// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA array interface, versions 0 to 3 (Numba's documentation).
#include "bindings.h"

#include <pybind11/stl.h>

#include <map>

namespace mlatile::python {
namespace {
/// "<f4", "|u1". bfloat16 and the float8 types have no letter of their own:
/// libraries write them as raw bytes, V2 and V1.
DType dtypeOf(const char *argument, const std::string &text) {
  static const std::map<std::string, DType> types = {
      {"i1", DType::I8},   {"i2", DType::I16}, {"i4", DType::I32},
      {"i8", DType::I64},  {"u1", DType::U8},  {"u2", DType::U16},
      {"u4", DType::U32},  {"u8", DType::U64}, {"f2", DType::F16},
      {"f4", DType::F32},  {"f8", DType::F64}, {"b1", DType::Bool},
      {"V2", DType::BF16}, {"V1", DType::F8},
  };
  if (text.size() < 3)
    throw ArgumentError(argument,
                        "expected a typestr as '<f4', got '" + text + "'");
  if (text[0] == '>' && text.substr(2) != "1")
    throw ArgumentError(argument,
                        "expected native byte order, got '" + text + "'");
  auto found = types.find(text.substr(1));
  return found == types.end() ? DType::Other : found->second;
}

/// Makes the stream of the call wait for the array's.
void order(const char *argument, const py::dict &interface, const Place &place,
           const CallStream &stream) {
  if (!interface.contains("stream") || interface["stream"].is_none())
    return;
  auto number = interface["stream"].cast<uintptr_t>();
  if (number == 0)
    throw ArgumentError(argument, "expected a stream of 1 (legacy default), 2 "
                                  "(default of the thread) or a handle in "
                                  "__cuda_array_interface__, got 0");
  if (number != stream.number() && !stream.captured())
    waitForStream(stream.handle(), reinterpret_cast<void *>(number),
                  place.ordinal);
}

Tensor read(const char *argument, const py::dict &interface) {
  if (interface.contains("mask") && !interface["mask"].is_none())
    throw ArgumentError(argument, "expected an array without a mask, got one "
                                  "with");
  Tensor tensor;
  tensor.type = dtypeOf(argument, interface["typestr"].cast<std::string>());
  tensor.shape = interface["shape"].cast<std::vector<int64_t>>();
  auto [address, readOnly] =
      interface["data"].cast<std::pair<uintptr_t, bool>>();
  tensor.data = reinterpret_cast<void *>(address);
  tensor.readOnly = readOnly;
  if (!interface.contains("strides") || interface["strides"].is_none()) {
    tensor.strides = compactStrides(tensor.shape);
  } else {
    auto bytes = interface["strides"].cast<std::vector<int64_t>>();
    if (bytes.size() != tensor.shape.size())
      throw ArgumentError(argument, "expected as many strides as dimensions in "
                                    "__cuda_array_interface__, got " +
                                        std::to_string(bytes.size()) +
                                        " of shape " + shapeText(tensor.shape));
    tensor.strides =
        elementStrides(argument, tensor.shape, bytes, itemBytes(tensor.type));
  }
  return tensor;
}
} // namespace

Borrowed borrowCudaArray(const char *argument, py::handle array,
                         const CallStream &stream) {
  Borrowed result;
  result.owner = py::reinterpret_borrow<py::object>(array);
  py::dict interface;
  try {
    interface = array.attr("__cuda_array_interface__").cast<py::dict>();
    result.tensor = read(argument, interface);
  } catch (const py::builtin_exception &error) { // a cast, or a missing key
    throw ArgumentError(argument,
                        std::string("expected __cuda_array_interface__ with "
                                    "shape, typestr and data: ") +
                            error.what());
  } catch (const py::error_already_set &error) {
    throw ArgumentError(argument,
                        std::string("expected __cuda_array_interface__ with "
                                    "shape, typestr and data: ") +
                            error.what());
  }
  Tensor &tensor = result.tensor;
  tensor.place.cuda = true;
  // An array without elements has no address that could tell its device.
  bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) !=
               tensor.shape.end();
  if (!empty) {
    if (whyNoCudaDevice().empty())
      tensor.place.ordinal = deviceOfAddress(tensor.data);
    if (tensor.place.ordinal < 0)
      throw ArgumentError(argument, "expected the address of device memory in "
                                    "__cuda_array_interface__, got another");
  }
  if (whyNoCudaDevice().empty())
    order(argument, interface, tensor.place, stream);
  return result;
}

} // namespace mlatile::python
