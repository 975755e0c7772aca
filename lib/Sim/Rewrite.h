// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an NVPTX module to host code: the steps, in order.
#ifndef MLATILE_LIB_SIM_REWRITE_H
#define MLATILE_LIB_SIM_REWRITE_H

#include "Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mlatile::sim {

/// A kernel on its way to the host.
struct Rewrite {
  llvm::Module *module = nullptr;
  llvm::Function *entry = nullptr; ///< void(Lane *, const void *const *)
  llvm::Value *lane = nullptr;
  std::string kernelName;

  std::vector<std::string> sites;
  std::vector<std::unique_ptr<Group>> groups;
  unsigned arguments = 0;
  unsigned requiredThreads = 0; ///< nvvm.reqntid, 0 if absent
  unsigned maxThreads = 1024;
  unsigned clusterSize = 1; ///< nvvm.cluster_dim
  uint64_t staticSharedBytes = 0;
  uint32_t rows = 0;

  /// Index of the name of a place in the kernel.
  uint32_t siteOf(const llvm::Instruction &inst, llvm::StringRef what);
};

/// Checks the module, inlines every call, gives the kernel the executor's
/// signature and drops everything else.
llvm::Error isolateKernel(Rewrite &rewrite);
/// Splits structs and arrays held in SSA values into their elements, so that
/// collectives see their true operands.
void splitAggregates(llvm::Function &function);
/// Gives shared globals their place in the CTA's arena.
llvm::Error placeSharedGlobals(Rewrite &rewrite);
/// Checked mode: has every access to memory checked before it happens.
void instrumentAccesses(Rewrite &rewrite);
/// Replaces what a lane does alone: special registers, mathematics,
/// conversions, copies, mbarriers. Errors on anything unknown.
llvm::Error lowerThreadOperations(Rewrite &rewrite);
/// Replaces collectives by rendezvous, as many at once as can be.
llvm::Error groupCollectives(Rewrite &rewrite);

/// Call of a runtime function at a known address.
llvm::CallInst *callRuntime(llvm::IRBuilder<> &b, const void *function,
                            llvm::Type *result,
                            llvm::ArrayRef<llvm::Value *> args,
                            bool pure = false);

/// Host function of a scalar intrinsic, by its name after "llvm.nvvm."; null
/// if there is none. All take and return 32-bit or 16-bit words, floats,
/// doubles, or 64-bit integers.
const void *scalarFunction(llvm::StringRef name);

/// A collective, by intrinsic name after "llvm.nvvm.", or movmatrix.
struct Collective {
  Op op;
  /// Arguments that become inputs, in order.
  llvm::SmallVector<unsigned, 16> arguments;
  int maskArgument = -1;
  bool alone = false;                 ///< orders memory: never grouped
  bool reads = false, writes = false; ///< shared memory
  bool wholeWarp = false;
};
/// False: not a collective. `error` is set if it is one that is not supported.
bool parseCollective(llvm::StringRef name, Collective &out);
/// True for the inline assembly of movmatrix.
bool parseMovMatrix(const llvm::CallBase &call, Collective &out);

} // namespace mlatile::sim
#endif
