// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of a PTX program and their trip counts.
#include "mlatile/Pipelines/PtxProgram.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace mlatile::ptx {
namespace {

/// Immediate dominators (Cooper, Harvey, Kennedy: "A simple, fast dominance
/// algorithm").
class Dominators {
public:
  explicit Dominators(const Program &program)
      : program(program), number(program.blocks.size(), -1),
        immediate(program.blocks.size(), -1),
        predecessors(program.blocks.size()) {
    if (program.blocks.empty())
      return;
    visitInPostorder();
    for (unsigned block : order)
      for (unsigned next : program.blocks[block].successors)
        predecessors[next].push_back(block);
    immediate[0] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (unsigned block : llvm::reverse(order)) {
        if (block == 0)
          continue;
        int dominator = -1;
        for (unsigned before : predecessors[block])
          if (immediate[before] >= 0)
            dominator = dominator < 0 ? int(before) : common(before, dominator);
        if (immediate[block] != dominator) {
          immediate[block] = dominator;
          changed = true;
        }
      }
    }
  }

  bool reachable(unsigned block) const { return immediate[block] >= 0; }
  bool dominates(unsigned above, unsigned block) const {
    if (!reachable(above) || !reachable(block))
      return false;
    while (block != above && block != 0)
      block = immediate[block];
    return block == above;
  }
  llvm::ArrayRef<unsigned> before(unsigned block) const {
    return predecessors[block];
  }

private:
  void visitInPostorder() {
    // (block, next successor); kernels are too long for recursion.
    std::vector<std::pair<unsigned, unsigned>> path{{0, 0}};
    llvm::BitVector seen(program.blocks.size());
    seen.set(0);
    while (!path.empty()) {
      auto &[block, at] = path.back();
      if (at == program.blocks[block].successors.size()) {
        number[block] = int(order.size());
        order.push_back(block);
        path.pop_back();
        continue;
      }
      unsigned next = program.blocks[block].successors[at++];
      if (!seen.test(next)) {
        seen.set(next);
        path.emplace_back(next, 0);
      }
    }
  }

  int common(int a, int b) const {
    while (a != b) {
      while (number[a] < number[b])
        a = immediate[a];
      while (number[b] < number[a])
        b = immediate[b];
    }
    return a;
  }

  const Program &program;
  std::vector<unsigned> order; ///< reachable blocks, postorder
  std::vector<int> number;     ///< place in `order`
  std::vector<int> immediate;
  std::vector<llvm::SmallVector<unsigned, 4>> predecessors;
};

/// An integer as PTX writes it: 12, -3, 0x1F. Of at most 32 bits, so that
/// counting with it cannot overflow.
std::optional<int64_t> immediate(llvm::StringRef text) {
  int64_t value;
  constexpr int64_t kMost = int64_t(1) << 32;
  if (text.getAsInteger(0, value) || value > kMost || value < -kMost)
    return std::nullopt;
  return value;
}

/// A value as a register of the loop's header plus a constant.
struct Linear {
  llvm::StringRef reg; ///< empty: the constant alone
  int64_t offset = 0;
};

class Counter {
public:
  Counter(const Program &program, const Loop &loop)
      : program(program), loop(loop), dominators(program) {}

  std::optional<uint64_t> trips() const {
    for (unsigned block : loop.blocks.set_bits())
      if (std::optional<uint64_t> count = tripsByExit(block))
        return count;
    return std::nullopt;
  }

private:
  bool inside(unsigned block) const { return loop.blocks.test(block); }

  /// Follows moves and additions of constants, through registers that are
  /// written once, to a register that is written before and in the loop.
  std::optional<Linear> resolve(llvm::StringRef text) const {
    Linear result;
    for (int steps = 0; steps < 16; ++steps) {
      if (std::optional<int64_t> value = immediate(text))
        return Linear{"", *value + result.offset};
      if (program.writes(text).size() > 1) {
        result.reg = text;
        return result;
      }
      const Instruction *write = program.onlyWrite(text);
      if (!write || !write->predicate.empty())
        return std::nullopt;
      if (!step(*write, text, result.offset))
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// One move or addition: `text` becomes its source.
  static bool step(const Instruction &write, llvm::StringRef &text,
                   int64_t &offset) {
    if (write.opcode.starts_with("mov.") && write.operands.size() == 2) {
      text = write.operands[1];
      return true;
    }
    bool subtracts = write.opcode.starts_with("sub.");
    if ((!subtracts && !write.opcode.starts_with("add.")) ||
        write.operands.size() != 3)
      return false;
    std::optional<int64_t> by = immediate(write.operands[2]);
    if (!by)
      return false;
    text = write.operands[1];
    offset += subtracts ? -*by : *by;
    return true;
  }

  struct Induction {
    int64_t start, step;
    Program::Place place; ///< of the write in the loop
  };

  /// Start and step of a register that is written once before the loop and once
  /// in it.
  std::optional<Induction> induction(llvm::StringRef reg) const {
    llvm::ArrayRef<Program::Place> places = program.writes(reg);
    if (places.size() != 2 ||
        inside(places[0].first) == inside(places[1].first))
      return std::nullopt;
    auto [before, within] = inside(places[0].first)
                                ? std::pair(places[1], places[0])
                                : std::pair(places[0], places[1]);
    const Instruction &first = program.at(before);
    const Instruction &next = program.at(within);
    if (!first.opcode.starts_with("mov.") || first.operands.size() != 2 ||
        !next.predicate.empty())
      return std::nullopt;
    std::optional<Linear> start = resolve(first.operands[1]);
    llvm::StringRef source = reg;
    int64_t moved = 0;
    if (!start || !start->reg.empty() || !step(next, source, moved))
      return std::nullopt;
    if (source != reg) {
      std::optional<Linear> rest = resolve(source);
      if (!rest || rest->reg != reg)
        return std::nullopt;
      moved += rest->offset;
    }
    if (moved == 0)
      return std::nullopt;
    return Induction{start->offset, moved, within};
  }

  /// Whether a block of the loop other than this one does more than branch.
  bool worksBeside(unsigned block) const {
    return llvm::any_of(loop.blocks.set_bits(), [&](unsigned other) {
      return other != block &&
             llvm::any_of(program.blocks[other].instructions,
                          [](const Instruction &instruction) {
                            return !instruction.opcode.starts_with("bra");
                          });
    });
  }

  std::optional<uint64_t> tripsByExit(unsigned block) const {
    const Block &exit = program.blocks[block];
    if (exit.successors.size() != 2 ||
        inside(exit.successors[0]) == inside(exit.successors[1]))
      return std::nullopt;
    const Instruction &branch = exit.instructions.back();
    bool leavesIf = !inside(exit.successors[0]); // taken branch leaves
    llvm::StringRef predicate = branch.predicate;
    if (branch.negated)
      leavesIf = !leavesIf;
    const Instruction *compare = program.onlyWrite(predicate);
    while (compare && compare->opcode == "not.pred" &&
           compare->operands.size() == 2) {
      leavesIf = !leavesIf;
      predicate = compare->operands[1];
      compare = program.onlyWrite(predicate);
    }
    if (!compare || !compare->opcode.starts_with("setp.") ||
        compare->operands.size() != 3)
      return std::nullopt;
    std::optional<Linear> left = resolve(compare->operands[1]),
                          right = resolve(compare->operands[2]);
    if (!left || !right || left->reg.empty() == right->reg.empty())
      return std::nullopt;
    bool onRight = left->reg.empty();
    const Linear &moving = onRight ? *right : *left;
    std::optional<Induction> counter = induction(moving.reg);
    if (!counter)
      return std::nullopt;

    Program::Place at = program.writes(predicate).front();
    bool after = counter->place.first == at.first
                     ? counter->place.second < at.second
                     : dominators.dominates(counter->place.first, at.first);
    // A test at the head runs once more than what follows it.
    bool atHead = block == loop.header && worksBeside(block);
    int64_t value =
        counter->start + moving.offset + (after ? counter->step : 0);
    int64_t bound = onRight ? left->offset : right->offset;
    llvm::StringRef relation =
        compare->opcode.split('.').second.split('.').first;
    constexpr uint64_t kMost = 1 << 20;
    for (uint64_t tests = 1; tests <= kMost; ++tests, value += counter->step) {
      std::optional<bool> holds = onRight
                                      ? compareValues(relation, bound, value)
                                      : compareValues(relation, value, bound);
      if (!holds)
        return std::nullopt;
      if (*holds == leavesIf)
        return atHead ? tests - 1 : tests;
    }
    return std::nullopt;
  }

  static std::optional<bool> compareValues(llvm::StringRef relation, int64_t a,
                                           int64_t b) {
    if (relation == "lt" || relation == "lo")
      return a < b;
    if (relation == "le" || relation == "ls")
      return a <= b;
    if (relation == "gt" || relation == "hi")
      return a > b;
    if (relation == "ge" || relation == "hs")
      return a >= b;
    if (relation == "eq")
      return a == b;
    if (relation == "ne")
      return a != b;
    return std::nullopt;
  }

  const Program &program;
  const Loop &loop;
  Dominators dominators;
};

} // namespace

std::vector<Loop> findLoops(const Program &program) {
  Dominators dominators(program);
  unsigned count = program.blocks.size();
  std::map<unsigned, Loop> byHeader;
  for (unsigned block = 0; block < count; ++block) {
    for (unsigned header : program.blocks[block].successors) {
      if (!dominators.dominates(header, block))
        continue;
      Loop &loop =
          byHeader
              .try_emplace(header, Loop{header, llvm::BitVector(count), {}, -1})
              .first->second;
      loop.latches.push_back(block);
      loop.blocks.set(header);
      llvm::SmallVector<unsigned> work{block};
      while (!work.empty()) {
        unsigned next = work.pop_back_val();
        if (loop.blocks.test(next))
          continue;
        loop.blocks.set(next);
        llvm::append_range(work, dominators.before(next));
      }
    }
  }
  std::vector<Loop> loops;
  for (auto &[header, loop] : byHeader)
    loops.push_back(std::move(loop));
  llvm::sort(loops, [](const Loop &a, const Loop &b) {
    unsigned sizeA = a.blocks.count(), sizeB = b.blocks.count();
    return sizeA != sizeB ? sizeA > sizeB : a.header < b.header;
  });
  // The smallest one around a loop is the last before it that has its header.
  for (unsigned i = 0; i < loops.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (loops[j].blocks.test(loops[i].header))
        loops[i].parent = int(j);
  return loops;
}

std::optional<uint64_t> tripCount(const Program &program, const Loop &loop) {
  return Counter(program, loop).trips();
}

} // namespace mlatile::ptx
