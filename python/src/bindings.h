// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of the extension module, one file each.
#ifndef MLATILE_PYTHON_SRC_BINDINGS_H
#define MLATILE_PYTHON_SRC_BINDINGS_H

#include "mlatile/mlatile.h"

#include <pybind11/pybind11.h>

namespace mlatile::python {
namespace py = pybind11;

/// A tensor over an array's memory, and the object that keeps it alive.
struct Borrowed {
  Tensor tensor;
  py::object owner;
};

/// NumPy arrays, and anything with __dlpack__. ArgumentError names the
/// argument.
Borrowed borrow(const char *argument, py::handle array);

void bindPlans(py::module_ &module);
void bindCalls(py::module_ &module);
void bindKernels(py::module_ &module);

} // namespace mlatile::python
#endif
