// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of the extension module, one file each.
#ifndef MLATILE_PYTHON_SRC_BINDINGS_H
#define MLATILE_PYTHON_SRC_BINDINGS_H

#include "mlatile/mlatile.h"

#include <pybind11/pybind11.h>

// pybind11's types are hidden, and so must be what holds them.
#pragma GCC visibility push(hidden)
namespace mlatile::python {
namespace py = pybind11;

/// A tensor over an array's memory, and the object that keeps it alive.
struct Borrowed {
  Tensor tensor;
  py::object owner;
};

/// The stream that a call's kernels go to: device arrays are borrowed so that
/// it waits for what their library still has to do with them. A stream that is
/// being captured waits for nothing outside the graph.
class CallStream {
public:
  explicit CallStream(uintptr_t handle) : stream(handle) {}
  void *handle() const { return reinterpret_cast<void *>(stream); }
  /// As the protocols number it: 1 is the legacy default stream, 2 that of the
  /// thread.
  uintptr_t number() const { return stream ? stream : 1; }
  /// Asks the driver, once.
  bool captured() const {
    if (!known)
      known = isCapturing(handle());
    return *known;
  }

private:
  uintptr_t stream;
  mutable std::optional<bool> known;
};

/// NumPy arrays, and anything with __dlpack__ or __cuda_array_interface__.
/// ArgumentError names the argument.
Borrowed borrow(const char *argument, py::handle array,
                const CallStream &stream);

/// One way each; `borrow` chooses.
Borrowed borrowDLPack(const char *argument, py::handle array,
                      const CallStream &stream);
Borrowed borrowCudaArray(const char *argument, py::handle array,
                         const CallStream &stream);

/// Strides in elements from strides in bytes.
std::vector<int64_t> elementStrides(const char *argument,
                                    const std::vector<int64_t> &shape,
                                    const std::vector<int64_t> &byteStrides,
                                    int64_t itemBytes);
/// Strides of a C-contiguous array.
std::vector<int64_t> compactStrides(const std::vector<int64_t> &shape);

/// Measured ways as dictionaries: the candidate and its error.
py::list measuredWays(const std::vector<MeasuredWay> &ways);

void bindPlans(py::module_ &module);
void bindCalls(py::module_ &module);
void bindKernels(py::module_ &module);

} // namespace mlatile::python
#pragma GCC visibility pop
#endif
