// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TensorChecks.h"

#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace mlatile {

void checkType(const char *argument, const Tensor &tensor, DType expected) {
  if (tensor.type != expected)
    throw ArgumentError(argument, "expected " + std::string(name(expected)) +
                                      ", got " +
                                      std::string(name(tensor.type)));
}

void checkShape(const char *argument, const Tensor &tensor,
                const std::vector<int64_t> &expected,
                const std::string &meaning) {
  if (tensor.shape != expected)
    throw ArgumentError(argument, "expected shape " + shapeText(expected) +
                                      " (" + meaning + "), got " +
                                      shapeText(tensor.shape));
}

bool isEmpty(const Tensor &tensor) {
  return std::find(tensor.shape.begin(), tensor.shape.end(), 0) !=
         tensor.shape.end();
}

void checkLastContiguous(const char *argument, const Tensor &tensor) {
  if (isEmpty(tensor))
    return;
  if (tensor.shape.back() > 1 && tensor.strides.back() != 1)
    throw ArgumentError(
        argument, "expected a contiguous last dimension, got stride " +
                      std::to_string(tensor.strides.back()) + " elements");
}

void checkAligned(const char *argument, const Tensor &tensor, int64_t bytes) {
  uint64_t rest =
      reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uint64_t>(bytes);
  if (rest != 0 && !isEmpty(tensor))
    throw ArgumentError(argument, "expected an address that is a multiple of " +
                                      std::to_string(bytes) +
                                      " bytes, got one that is " +
                                      std::to_string(rest) + " past");
}

void checkWritable(const char *argument, const Tensor &tensor) {
  if (tensor.readOnly)
    throw ArgumentError(argument,
                        "expected a writable array, got a read-only one");
  // Dimensions in order of stride must not reach into the next one.
  std::vector<size_t> order;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0)
      return;
    if (tensor.shape[i] > 1)
      order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(tensor.strides[a]) < std::abs(tensor.strides[b]);
  });
  int64_t span = 1;
  for (size_t i : order) {
    int64_t stride = std::abs(tensor.strides[i]);
    if (stride < span)
      throw ArgumentError(
          argument, "expected elements that do not overlap, got stride " +
                        std::to_string(tensor.strides[i]) + " in dimension " +
                        std::to_string(i) + ", where " + std::to_string(span) +
                        " elements lie between");
    span += (tensor.shape[i] - 1) * stride;
  }
}

void checkPlace(const char *argument, const Tensor &tensor,
                const Place &expected) {
  auto text = [](const Place &place) {
    return place.cuda ? "CUDA device " + std::to_string(place.ordinal)
                      : std::string("the host");
  };
  if (!(tensor.place == expected))
    throw ArgumentError(argument, "expected an array on " + text(expected) +
                                      ", where q is, got one on " +
                                      text(tensor.place));
}

View frameRows(const Tensor &tensor, int64_t rowAxes,
               const std::string &element) {
  View view;
  view.data = tensor.data;
  view.element = element;
  if (rowAxes == 1) {
    view.extents.push_back(1);
    view.strides.push_back(0); // never multiplied by anything but 0
  }
  view.extents.insert(view.extents.end(), tensor.shape.begin(),
                      tensor.shape.end());
  view.strides.insert(view.strides.end(), tensor.strides.begin(),
                      tensor.strides.end());
  view.strides.pop_back();
  return view;
}

} // namespace mlatile
