// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/PtxCounts.h"
#include "mlatile/Pipelines/PtxProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <numeric>

namespace mlatile::ptx {
namespace {

using Parts = llvm::SmallVector<llvm::StringRef, 12>;

/// Bits of a PTX type, packed ones as a whole; 0 where it is none.
unsigned typeBits(llvm::StringRef part) {
  return llvm::StringSwitch<unsigned>(part)
      .Cases({"e2m1", "e2m3", "e3m2"}, 8)
      .Cases({"b8", "u8", "s8", "e4m3", "e5m2", "ue8m0", "ue4m3", "e2m1x2"}, 8)
      .Cases({"b16", "u16", "s16", "f16", "bf16"}, 16)
      .Cases({"e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "ue8m0x2"}, 16)
      .Cases({"b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"}, 32)
      .Cases({"b64", "u64", "s64", "f64", "f32x2"}, 64)
      .Case("b128", 128)
      .Default(0);
}

bool isNarrowFloat(llvm::StringRef part) {
  part.consume_back("x2") || part.consume_back("x4");
  return llvm::is_contained(
      {"e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "ue8m0", "ue4m3", "f16", "bf16"},
      part);
}

/// PTX ISA 9.7.14: shape, then types of D, A, B and C, and that of the scales.
std::string mmaKind(const Parts &parts) {
  std::string shape, kind;
  llvm::SmallVector<llvm::StringRef, 5> types;
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    if (part.starts_with("m") && part.contains('n') && part.contains('k') &&
        part.size() > 1 && llvm::isDigit(part[1]))
      shape = part.str();
    else if (part.starts_with("kind::"))
      kind = part.drop_front(strlen("kind::")).str() + ".";
    else if (typeBits(part) || part == "s4" || part == "u4" || part == "b1")
      types.push_back(part);
  }
  if (types.size() < 4)
    return shape + "." + kind + "unknown";
  std::string name = shape + "." + kind + types[1].str();
  if (types[2] != types[1])
    name += "." + types[2].str();
  if (types[0] == "f16")
    name += ".f16acc";
  return name;
}

/// Bytes a lane of a load or store: "ld.shared.v4.b32" moves 16.
unsigned bytesOfAccess(const Parts &parts) {
  unsigned vector = 1, bits = typeBits(parts.back());
  for (llvm::StringRef part : parts)
    if (part == "v2" || part == "v4" || part == "v8")
      vector = part.back() - '0';
  return vector * bits / 8;
}

/// Bytes of shared memory that a warp's ldmatrix or stmatrix touches.
unsigned bytesOfMatrix(const Parts &parts) {
  unsigned matrices = 1, bytes = 128; // 8 rows of 16 bytes
  for (llvm::StringRef part : parts) {
    if (part == "x2" || part == "x4")
      matrices = part.back() - '0';
    if (part == "m16n16")
      bytes = 256;
  }
  return matrices * bytes;
}

bool has(const Parts &parts, llvm::StringRef part) {
  // "shared::cta" is shared too.
  return llvm::any_of(parts, [&](llvm::StringRef p) {
    return p == part || p.starts_with((part + "::").str());
  });
}

/// Adds what `times` warps make of one instruction.
void count(LoopCounts &counts, const Instruction &instruction, uint64_t times) {
  Parts parts;
  instruction.opcode.split(parts, '.');
  llvm::StringRef name = parts.front();
  counts.instructions += times;
  if (name == "mma") {
    counts.mma[mmaKind(parts)] += times;
  } else if (name == "cvt") {
    if (llvm::any_of(parts, isNarrowFloat))
      counts.conversions += times;
  } else if (name == "ldmatrix" || name == "stmatrix") {
    if (name == "ldmatrix")
      counts.ldmatrix += times;
    counts.sharedBytes += times * bytesOfMatrix(parts);
  } else if (name == "ld" || name == "st") {
    if (has(parts, "shared"))
      counts.sharedBytes += times * 32 * bytesOfAccess(parts);
  } else if (instruction.opcode.starts_with("cp.async.bulk")) {
    bool copies = has(parts, "global") && has(parts, "shared");
    counts.bulkCopies += copies && parts[3] != "prefetch" ? times : 0;
  } else if (instruction.opcode.starts_with("cp.async") &&
             has(parts, "global")) {
    counts.asyncCopies += times;
    unsigned bytes = 0;
    if (instruction.operands.size() > 2 &&
        !instruction.operands[2].getAsInteger(10, bytes))
      counts.sharedBytes += times * 32 * bytes;
  } else if ((name == "bar" || name == "barrier") && !has(parts, "warp") &&
             !has(parts, "cluster")) {
    // The number of threads is the operand behind the barrier's; a reduction
    // has its result before and its predicate behind both.
    bool reduces = has(parts, "red");
    size_t own = reduces ? 3 : 1;
    (instruction.operands.size() > own ? counts.namedBarriers
                                       : counts.ctaBarriers) += times;
  }
}

/// A loop that waits for a phase of an mbarrier: it spins, it does not work.
bool isWait(const Program &program, const Loop &loop) {
  for (unsigned block : loop.blocks.set_bits())
    for (const Instruction &instruction : program.blocks[block].instructions)
      if (instruction.opcode.starts_with("mbarrier.try_wait") ||
          instruction.opcode.starts_with("mbarrier.test_wait"))
        return loop.blocks.count() <= 2;
  return false;
}

} // namespace

void LoopCounts::add(const LoopCounts &other, uint64_t times) {
  for (const auto &[kind, count] : other.mma)
    mma[kind] += count * times;
  conversions += other.conversions * times;
  ldmatrix += other.ldmatrix * times;
  asyncCopies += other.asyncCopies * times;
  bulkCopies += other.bulkCopies * times;
  ctaBarriers += other.ctaBarriers * times;
  namedBarriers += other.namedBarriers * times;
  instructions += other.instructions * times;
  sharedBytes += other.sharedBytes * times;
  unknownLoops += other.unknownLoops;
}

llvm::Expected<KernelCounts> countInstructions(llvm::StringRef ptx,
                                               llvm::StringRef name) {
  auto program = Program::parse(ptx, name);
  if (!program)
    return program.takeError();
  KernelCounts result;
  std::vector<llvm::BitVector> warps = warpsOfBlocks(*program);
  std::vector<Loop> loops = findLoops(*program);
  std::vector<LoopCounts> counts(loops.size());
  std::vector<int> loopOf(program->blocks.size(), -1);
  for (auto [i, loop] : llvm::enumerate(loops)) // inner ones come later
    for (unsigned block : loop.blocks.set_bits())
      loopOf[block] = int(i);
  for (auto [i, block] : llvm::enumerate(program->blocks)) {
    result.instructions += block.instructions.size();
    if (loopOf[i] >= 0)
      for (const Instruction &instruction : block.instructions)
        count(counts[loopOf[i]], instruction, warps[i].count());
  }
  result.warps = warps.empty() ? 0 : warps.front().size();
  for (size_t i = loops.size(); i-- > 0;) {
    if (loops[i].parent < 0)
      continue;
    std::optional<uint64_t> trips = 1;
    if (!isWait(*program, loops[i]))
      trips = tripCount(*program, loops[i]);
    LoopCounts &outer = counts[loops[i].parent];
    outer.unknownLoops += !trips;
    outer.add(counts[i], trips.value_or(1));
  }
  for (auto [i, loop] : llvm::enumerate(loops)) {
    if (loop.parent >= 0)
      counts[i].depth = counts[loop.parent].depth + 1;
    counts[i].warps = warps[loop.header].count();
  }
  std::vector<size_t> order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return loops[a].header < loops[b].header;
  });
  for (size_t i : order)
    result.loops.push_back(std::move(counts[i]));
  return result;
}

} // namespace mlatile::ptx
