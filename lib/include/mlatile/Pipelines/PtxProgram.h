// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the PTX of one kernel: instructions, basic blocks, loops, and which
// warps run a block. Only as much of PTX as NVPTX writes (PTX ISA 4, "Syntax").
#ifndef MLATILE_PIPELINES_PTXPROGRAM_H
#define MLATILE_PIPELINES_PTXPROGRAM_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <utility>
#include <vector>

namespace mlatile::ptx {

/// One instruction. All text points into the PTX.
struct Instruction {
  llvm::StringRef predicate; ///< register behind '@'; empty: always
  bool negated = false;      ///< '@!'
  llvm::StringRef opcode;    ///< with all its qualifiers
  /// Trimmed; "{%r1, %r2}" and "[%rd1+16]" are one each.
  llvm::SmallVector<llvm::StringRef, 4> operands;
};

struct Block {
  llvm::StringRef label; ///< empty where control only falls into it
  std::vector<Instruction> instructions;
  /// Of a conditional branch: where it goes if taken, then what follows.
  llvm::SmallVector<unsigned, 2> successors;
};

/// A kernel as blocks; block 0 is the entry. Registers of NVPTX's output are
/// virtual: most are written once.
class Program {
public:
  /// The body of `.entry name`; with an empty name, of the first. `ptx` must
  /// outlive the result.
  static llvm::Expected<Program> parse(llvm::StringRef ptx,
                                       llvm::StringRef name = "");

  llvm::StringRef name;
  unsigned threads = 0; ///< of a CTA, by .reqntid; 0: not stated
  std::vector<Block> blocks;

  /// (block, instruction) of every write to a register.
  using Place = std::pair<unsigned, unsigned>;
  llvm::ArrayRef<Place> writes(llvm::StringRef reg) const;
  /// The instruction that writes a register, if there is one only.
  const Instruction *onlyWrite(llvm::StringRef reg) const;
  const Instruction &at(Place place) const {
    return blocks[place.first].instructions[place.second];
  }

private:
  llvm::StringMap<llvm::SmallVector<Place, 2>> writePlaces;
};

/// A natural loop: all back edges of one header together.
struct Loop {
  unsigned header;
  llvm::BitVector blocks; ///< inner loops included
  llvm::SmallVector<unsigned, 2> latches;
  int parent = -1; ///< index of the loop around it
};

/// All loops, outer ones before those inside them. An edge into the middle of a
/// cycle makes no loop.
std::vector<Loop> findLoops(const Program &program);

/// How often the body of a loop runs, where the PTX says so: a counter that
/// starts at a constant, moves by one and is compared with a third.
std::optional<uint64_t> tripCount(const Program &program, const Loop &loop);

/// For each block the warps that may run it. Branches on values that depend on
/// %tid.x alone are followed for each thread; at all others both ways are
/// taken. One warp where the number of threads is not stated.
std::vector<llvm::BitVector> warpsOfBlocks(const Program &program);

} // namespace mlatile::ptx
#endif
