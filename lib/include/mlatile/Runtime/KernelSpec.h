// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names one specialised kernel.
#ifndef MLATILE_RUNTIME_KERNELSPEC_H
#define MLATILE_RUNTIME_KERNELSPEC_H

#include <map>
#include <memory>
#include <string>

namespace mlatile {
struct KernelSource;

/// One kernel of one kernel file, with all parameters that the planner binds.
struct KernelSpec {
  std::string file;   ///< built-in kernel file without suffix, "decode"
  std::string symbol; ///< kernel in the file, "decode" or "merge"
  std::map<std::string, std::string> params; ///< "true"/"false", numbers, names
  std::string target;                        ///< "sm_120a"
  std::shared_ptr<const KernelSource> source; ///< null: the built-in file

  /// A readable name of file, symbol, parameters and target, usable as a file
  /// name: "decode-merge-BD=512-BH=1-HAS_SINK=true-LSE=0-WARPS=4-sm_90a".
  std::string name() const;
};

} // namespace mlatile
#endif
