// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/KernelSpec.h"

namespace mlatile {

std::string KernelSpec::name() const {
  std::string text = file + "-" + symbol;
  for (const auto &[key, value] : params)
    text += "-" + key + "=" + value;
  return text + "-" + target;
}

} // namespace mlatile
