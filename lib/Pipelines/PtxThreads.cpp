// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which warps run a block: registers that depend on %tid.x alone are computed
// for every thread of a CTA, and branches on them followed.
#include "mlatile/Pipelines/PtxProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <memory>

namespace mlatile::ptx {
namespace {

/// One value a thread; null: not known before the launch.
using Values = std::shared_ptr<const std::vector<uint64_t>>;

/// Width and sign of a scalar type, "u32".
struct ScalarType {
  unsigned bits = 0; ///< 0: not an integer type
  bool isSigned = false;

  static ScalarType parse(llvm::StringRef text) {
    if (text == "pred")
      return {1, false};
    ScalarType type;
    type.isSigned = text.starts_with("s");
    if (text.empty() || !llvm::is_contained({'s', 'u', 'b'}, text.front()) ||
        text.drop_front().getAsInteger(10, type.bits) || type.bits > 64)
      return {};
    return type;
  }
  uint64_t wrap(uint64_t value) const {
    return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
  }
  int64_t extend(uint64_t value) const {
    value = wrap(value);
    if (!isSigned || bits >= 64 || bits == 0 || !(value >> (bits - 1)))
      return int64_t(value);
    return int64_t(value | ~((uint64_t(1) << bits) - 1));
  }
};

/// An opcode without its rounding and mode qualifiers: "mul.lo.s32" is
/// operation "mul", mode "lo", type s32.
struct Operation {
  llvm::StringRef name, mode;
  ScalarType type, from; ///< `from`: source type of cvt

  explicit Operation(llvm::StringRef opcode) {
    llvm::SmallVector<llvm::StringRef, 4> parts;
    opcode.split(parts, '.');
    name = parts.front();
    type = ScalarType::parse(parts.back());
    if (parts.size() > 2)
      mode = parts[1];
    if (name == "cvt" && parts.size() == 3) {
      from = type;
      type = ScalarType::parse(parts[1]);
    }
  }
};

/// The result of one thread, or nothing where the operation is not modelled.
std::optional<uint64_t> evaluate(const Operation &op,
                                 llvm::ArrayRef<uint64_t> x) {
  ScalarType t = op.type;
  if (t.bits == 0 || x.empty())
    return std::nullopt;
  auto s = [&](unsigned i) { return t.extend(x[i]); };
  auto u = [&](unsigned i) { return t.wrap(x[i]); };
  auto result = [&](uint64_t value) -> std::optional<uint64_t> {
    return t.wrap(value);
  };
  if (x.size() == 1) {
    if (op.name == "mov")
      return result(x[0]);
    if (op.name == "not")
      return result(~x[0]);
    if (op.name == "neg")
      return result(0 - x[0]);
    if (op.name == "cvt" && op.from.bits)
      return result(uint64_t(op.from.extend(x[0])));
    return std::nullopt;
  }
  if (x.size() == 2) {
    if (op.name == "setp") {
      bool lt = t.isSigned ? s(0) < s(1) : u(0) < u(1);
      bool eq = u(0) == u(1);
      return llvm::StringSwitch<std::optional<uint64_t>>(op.mode)
          .Cases({"lt", "lo"}, lt)
          .Cases({"le", "ls"}, lt || eq)
          .Cases({"gt", "hi"}, !lt && !eq)
          .Cases({"ge", "hs"}, !lt)
          .Case("eq", eq)
          .Case("ne", !eq)
          .Default(std::nullopt);
    }
    if (op.name == "add")
      return result(x[0] + x[1]);
    if (op.name == "sub")
      return result(x[0] - x[1]);
    if (op.name == "and")
      return result(x[0] & x[1]);
    if (op.name == "or")
      return result(x[0] | x[1]);
    if (op.name == "xor")
      return result(x[0] ^ x[1]);
    if (op.name == "mul" && op.mode == "lo")
      return result(x[0] * x[1]);
    if (op.name == "mul" && op.mode == "wide" && t.bits <= 32)
      return uint64_t(s(0)) * uint64_t(s(1));
    if (op.name == "shl")
      return result(x[1] >= t.bits ? 0 : x[0] << x[1]);
    if (op.name == "shr") {
      uint64_t by = std::min<uint64_t>(x[1], t.bits);
      if (t.isSigned)
        return result(uint64_t(s(0) >> std::min<uint64_t>(by, 63)));
      return result(by >= 64 ? 0 : u(0) >> by);
    }
    if (op.name == "min")
      return t.isSigned ? result(std::min(s(0), s(1)))
                        : result(std::min(u(0), u(1)));
    if (op.name == "max")
      return t.isSigned ? result(std::max(s(0), s(1)))
                        : result(std::max(u(0), u(1)));
    if ((op.name == "div" || op.name == "rem") && !t.isSigned && u(1))
      return result(op.name == "div" ? u(0) / u(1) : u(0) % u(1));
    return std::nullopt;
  }
  if (op.name == "selp")
    return result(x[2] & 1 ? x[0] : x[1]);
  if (op.name == "mad" && op.mode == "lo")
    return result(x[0] * x[1] + x[2]);
  if (op.name == "bfe" && !t.isSigned && x[1] < t.bits)
    return result(u(0) >> x[1] & ScalarType{unsigned(x[2])}.wrap(~uint64_t(0)));
  return std::nullopt;
}

class ThreadValues {
public:
  explicit ThreadValues(const Program &program)
      : program(program), threads(std::max(program.threads, 1u)) {}

  /// The value of an operand; null where it is not known.
  Values of(llvm::StringRef operand, int depth = 0) {
    int64_t number;
    if (!operand.getAsInteger(0, number))
      return all([&](unsigned) { return uint64_t(number); });
    if (operand == "%tid.x")
      return program.threads ? all([](unsigned t) { return t; }) : nullptr;
    if (operand == "%laneid")
      return all([](unsigned t) { return t % 32; });
    if (operand == "%ntid.x")
      return program.threads ? all([&](unsigned) { return threads; }) : nullptr;
    if (operand == "%tid.y" || operand == "%tid.z")
      return all([](unsigned) { return 0; });
    auto [known, fresh] = memo.try_emplace(operand, nullptr);
    if (!fresh)
      return known->second;
    Values result = compute(operand, depth);
    memo[operand] = result;
    return result;
  }

private:
  template <typename F>
  Values all(F value) const {
    auto result = std::make_shared<std::vector<uint64_t>>(threads);
    for (unsigned t = 0; t < threads; ++t)
      (*result)[t] = value(t);
    return result;
  }

  Values compute(llvm::StringRef reg, int depth) {
    const Instruction *write = program.onlyWrite(reg);
    if (depth > 64 || !write || !write->predicate.empty() ||
        write->operands.size() < 2 || write->operands[0] != reg)
      return nullptr;
    Operation op(write->opcode);
    llvm::SmallVector<Values, 3> sources;
    for (llvm::StringRef source : llvm::drop_begin(write->operands)) {
      Values value = of(source, depth + 1);
      if (!value)
        return nullptr;
      sources.push_back(value);
    }
    auto result = std::make_shared<std::vector<uint64_t>>(threads);
    llvm::SmallVector<uint64_t, 3> operands(sources.size());
    for (unsigned t = 0; t < threads; ++t) {
      for (auto [i, source] : llvm::enumerate(sources))
        operands[i] = (*source)[t];
      std::optional<uint64_t> value = evaluate(op, operands);
      if (!value)
        return nullptr;
      (*result)[t] = *value;
    }
    return result;
  }

  const Program &program;
  unsigned threads;
  llvm::StringMap<Values> memo;
};

} // namespace

std::vector<llvm::BitVector> warpsOfBlocks(const Program &program) {
  unsigned threads = std::max(program.threads, 1u), warps = (threads + 31) / 32;
  std::vector<llvm::BitVector> result(program.blocks.size(),
                                      llvm::BitVector(warps));
  if (program.blocks.empty())
    return result;
  // Lanes of each warp that may go to the first successor and to the second.
  std::vector<std::pair<llvm::BitVector, llvm::BitVector>> ways;
  ThreadValues values(program);
  for (const Block &block : program.blocks) {
    llvm::BitVector taken(warps, true), falls(warps, true);
    if (block.successors.size() == 2) {
      const Instruction &branch = block.instructions.back();
      if (Values predicate = values.of(branch.predicate)) {
        taken.reset();
        falls.reset();
        for (unsigned t = 0; t < threads; ++t)
          (bool((*predicate)[t]) != branch.negated ? taken : falls).set(t / 32);
      }
    }
    ways.emplace_back(std::move(taken), std::move(falls));
  }
  result[0].set();
  llvm::SmallVector<unsigned> work{0};
  while (!work.empty()) {
    unsigned block = work.pop_back_val();
    llvm::ArrayRef<unsigned> next = program.blocks[block].successors;
    for (auto [i, successor] : llvm::enumerate(next)) {
      llvm::BitVector reach = result[block];
      if (next.size() == 2)
        reach &= i == 0 ? ways[block].first : ways[block].second;
      llvm::BitVector added = reach;
      added.reset(result[successor]);
      if (added.none())
        continue;
      result[successor] |= reach;
      work.push_back(successor);
    }
  }
  return result;
}

} // namespace mlatile::ptx
