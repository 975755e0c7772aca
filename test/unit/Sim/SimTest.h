// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as LLVM IR text, run on the executor.
#ifndef MLATILE_TEST_UNIT_SIM_SIMTEST_H
#define MLATILE_TEST_UNIT_SIM_SIMTEST_H

#include "mlatile/Sim/Executor.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

namespace mlatile::sim::test {

/// `body` between the header every kernel shares and `ret void`. It sees
/// %tid, %lane, %warp (i32), the pointers %p0, %p1 ... to global memory and
/// @smem, the dynamic shared array.
inline std::string kernel(const std::string &body, unsigned pointers,
                          const std::string &declarations = "",
                          const std::string &attributes = "") {
  std::string text =
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "@smem = external addrspace(3) global [0 x i8], align 1024\n"
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
      "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
      "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n" +
      declarations + "\ndefine ptx_kernel void @k(";
  for (unsigned i = 0; i < pointers; ++i)
    text +=
        std::string(i ? ", " : "") + "ptr addrspace(1) %p" + std::to_string(i);
  return text + ") " + attributes +
         " {\nentry:\n"
         "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
         "  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
         "  %warp = lshr i32 %tid, 5\n" +
         body + "\n  ret void\n}\n";
}

/// Runs the kernel @k of `text`; the error's text, empty if there was none.
inline std::string run(const std::string &text, unsigned threads,
                       const std::vector<void *> &pointers,
                       LaunchDims dims = {}, Options options = {},
                       Stats *stats = nullptr) {
  auto program = Program::createFromIR(text, "k", options);
  if (!program)
    return llvm::toString(program.takeError());
  std::vector<const void *> args;
  for (void *const &pointer : pointers)
    args.push_back(&pointer);
  dims.blockX = threads;
  if (!dims.dynamicSharedBytes)
    dims.dynamicSharedBytes = 4096;
  if (llvm::Error error = (*program)->launch(dims, args, options, stats))
    return llvm::toString(std::move(error));
  return "";
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Numbers without pattern, the same everywhere.
class Random {
public:
  explicit Random(uint32_t seed) : state(seed * 2654435761u + 1) {}
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
  }

private:
  uint32_t state;
};

} // namespace mlatile::sim::test
#endif
