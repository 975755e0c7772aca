// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LaneExchange.h"
#include "mlatile/Conversion/TileToNVVM/TileTypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <map>

using namespace mlir;

namespace mlatile {

constexpr int kMostBytes = 16;

std::optional<LaneExchange> LaneExchange::plan(const DistributedLayout &from,
                                               int bytes) {
  int dim = from.rank() - 1;
  // Every lane takes part, with its own elements.
  if (dim < 0 || (bytes != 2 && bytes != 4) || from.laneFreeMask() != 0 ||
      !from.registersAdd())
    return std::nullopt;
  LaneExchange result(from, bytes);
  result.width = from.vectors(dim, kMostBytes / bytes).width;
  if (result.width * bytes < 4)
    return std::nullopt;
  for (int width = result.width; width * bytes < kMostBytes; width *= 2) {
    const DistributedLayout &now = result.to;
    DistributedLayout::Coords next(now.rank(), 0);
    next[dim] = width;
    auto lanes = now.laneBases();
    auto lane = llvm::find(lanes, next);
    int64_t distance = now.blockShape()[dim];
    if (lane == lanes.end() || now.reps()[dim] % 2)
      break;
    int bit = static_cast<int>(lane - lanes.begin());
    auto regs = now.regBases();
    regs.push_back(next);
    (*lane)[dim] = distance;
    auto reps = now.reps();
    reps[dim] /= 2;
    auto swapped =
        DistributedLayout::create(regs, lanes, now.warpBases(), reps);
    if (!swapped || !swapped->registersAdd())
      break;
    result.to = *swapped;
    result.steps.push_back({bit, distance});
  }
  if (result.steps.empty())
    return std::nullopt;
  return result;
}

int64_t LaneExchange::evenRepetitions(const DistributedLayout &from,
                                      int bytes) {
  auto longest = [&](int64_t repetitions) {
    auto reps = from.reps();
    reps.back() = repetitions;
    auto window = DistributedLayout::create(from.regBases(), from.laneBases(),
                                            from.warpBases(), reps);
    auto exchange = window ? plan(*window, bytes) : std::nullopt;
    return exchange ? exchange->steps.size() : 0;
  };
  if (from.rank() == 0)
    return 0;
  int64_t all = from.reps().back();
  for (int64_t even = kMostBytes / bytes; even > 1; even /= 2) {
    int64_t most = all / even * even;
    if (most > 0 && most < all && longest(most) > longest(all))
      return most;
  }
  return 0;
}

SmallVector<Value> LaneExchange::apply(OpBuilder &builder, Location loc,
                                       ArrayRef<Value> regs) const {
  int dim = from.rank() - 1;
  Type word = builder.getI32Type(), element = regs.front().getType();
  int perWord = 4 / bytes;
  // Pieces as words, by the place of their first element.
  std::map<DistributedLayout::Coords, SmallVector<Value>> pieces;
  auto vectors = from.vectors(dim, width);
  for (size_t i = 0; i < vectors.registers.size(); i += width) {
    auto &words = pieces[from.regCoord(vectors.registers[i])];
    for (int e = 0; e < width; e += perWord) {
      SmallVector<Value, 2> elements;
      for (int k = 0; k < perWord; ++k)
        elements.push_back(regs[vectors.registers[i + e + k]]);
      words.push_back(LLVM::BitcastOp::create(
          builder, loc, word, packVector(builder, loc, elements)));
    }
  }
  Value thread = threadId(builder, loc);
  for (auto [lane, distance] : steps) {
    Value bit = LLVM::AndOp::create(builder, loc, thread,
                                    constI32(builder, loc, 1 << lane));
    Value upper = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                                       bit, constI32(builder, loc, 0));
    auto choose = [&](Value ifUpper, Value otherwise) -> Value {
      return LLVM::SelectOp::create(builder, loc, upper, ifUpper, otherwise);
    };
    std::map<DistributedLayout::Coords, SmallVector<Value>> longer;
    for (auto &[place, first] : pieces) {
      if (place[dim] / distance % 2)
        continue;
      auto partner = place;
      partner[dim] += distance;
      ArrayRef<Value> second = pieces.at(partner);
      SmallVector<Value> low, high;
      for (auto [a, b] : llvm::zip_equal(first, second)) {
        Value got = NVVM::ShflOp::create(
            builder, loc, word, constI32(builder, loc, -1), choose(a, b),
            constI32(builder, loc, 1 << lane), constI32(builder, loc, 31),
            NVVM::ShflKind::bfly, UnitAttr());
        Value kept = choose(b, a);
        low.push_back(choose(got, kept));
        high.push_back(choose(kept, got));
      }
      low.append(high);
      longer[place] = std::move(low);
    }
    pieces = std::move(longer);
  }

  SmallVector<Value> result(to.numRegs());
  auto wide = to.vectors(dim, kMostBytes / bytes);
  for (size_t i = 0; i < wide.registers.size(); i += wide.width) {
    ArrayRef<Value> words = pieces.at(to.regCoord(wide.registers[i]));
    for (int e = 0; e < wide.width; ++e) {
      Value value = words[e / perWord];
      if (perWord == 1)
        value = LLVM::BitcastOp::create(builder, loc, element, value);
      else
        value = LLVM::ExtractElementOp::create(
            builder, loc,
            LLVM::BitcastOp::create(builder, loc,
                                    VectorType::get(perWord, element), value),
            constI32(builder, loc, e % perWord));
      result[wide.registers[i + e]] = value;
    }
  }
  return result;
}

} // namespace mlatile
