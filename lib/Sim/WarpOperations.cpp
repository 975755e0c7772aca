// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the collectives of a group. Every operation reads all its input
// rows before it writes a result, as a result may take over an input's row.
#include "Checker.h"
#include "Matrix.h"
#include "Mma.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstring>

using namespace mlatile::sim;

namespace {

/// What a lane reads that has no defined source.
constexpr uint32_t kPoison = 0xffffffffu;

template <typename F>
void forLanes(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(static_cast<unsigned>(llvm::countr_zero(mask)));
}

uint32_t *outRow(Warp &warp, const Op &op, unsigned i) {
  return warp.rows + op.out[i] * 32u;
}

/// PTX ISA, "shfl.sync". Inputs: value, lane or distance, clamp and segments.
void shuffle(Warp &warp, const Op &op, uint32_t active) {
  uint32_t value[32], from[32];
  bool inRange[32];
  forLanes(active, [&](unsigned lane) {
    value[lane] = op.input(0, warp.rows, lane);
    int b = op.input(1, warp.rows, lane) & 31;
    uint32_t c = op.input(2, warp.rows, lane);
    int clamp = c & 31, segments = c >> 8 & 31;
    int self = lane, most = (self & segments) | (clamp & ~segments);
    int source = self;
    bool ok = false;
    switch (static_cast<ShuffleMode>(op.mode)) {
    case ShuffleMode::Up:
      source = self - b;
      ok = source >= most;
      break;
    case ShuffleMode::Down:
      source = self + b;
      ok = source <= most;
      break;
    case ShuffleMode::Butterfly:
      source = self ^ b;
      ok = source <= most;
      break;
    case ShuffleMode::Index:
      source = (self & segments) | (b & ~segments);
      ok = source <= most;
      break;
    }
    from[lane] = ok ? source : self;
    inRange[lane] = ok;
  });
  forLanes(active, [&](unsigned lane) {
    outRow(warp, op, 0)[lane] =
        active >> from[lane] & 1 ? value[from[lane]] : kPoison;
    if (op.outputs > 1)
      outRow(warp, op, 1)[lane] = inRange[lane];
  });
}

void vote(Warp &warp, const Op &op, uint32_t active) {
  uint32_t ballot = 0;
  forLanes(active, [&](unsigned lane) {
    ballot |= (op.input(0, warp.rows, lane) & 1) << lane;
  });
  uint32_t result = 0;
  switch (static_cast<VoteMode>(op.mode)) {
  case VoteMode::All:
    result = ballot == active;
    break;
  case VoteMode::Any:
    result = ballot != 0;
    break;
  case VoteMode::Uniform:
    result = ballot == active || !ballot;
    break;
  case VoteMode::Ballot:
    result = ballot;
    break;
  }
  forLanes(active, [&](unsigned lane) { outRow(warp, op, 0)[lane] = result; });
}

uint32_t combine(ReduxMode mode, uint32_t a, uint32_t b) {
  int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (mode) {
  case ReduxMode::Add:
    return a + b;
  case ReduxMode::Min:
    return std::min(x, y);
  case ReduxMode::Max:
    return std::max(x, y);
  case ReduxMode::UMin:
    return std::min(a, b);
  case ReduxMode::UMax:
    return std::max(a, b);
  case ReduxMode::And:
    return a & b;
  case ReduxMode::Or:
    return a | b;
  case ReduxMode::Xor:
    return a ^ b;
  }
  return 0;
}

void redux(Warp &warp, const Op &op, uint32_t active) {
  bool first = true;
  uint32_t result = 0;
  forLanes(active, [&](unsigned lane) {
    uint32_t value = op.input(0, warp.rows, lane);
    result =
        first ? value : combine(static_cast<ReduxMode>(op.mode), result, value);
    first = false;
  });
  forLanes(active, [&](unsigned lane) { outRow(warp, op, 0)[lane] = result; });
}

uint64_t matchValue(Warp &warp, const Op &op, unsigned lane) {
  uint64_t value = op.input(0, warp.rows, lane);
  if (op.wide)
    value |= static_cast<uint64_t>(op.input(1, warp.rows, lane)) << 32;
  return value;
}

void match(Warp &warp, const Op &op, uint32_t active) {
  uint64_t value[32];
  forLanes(active,
           [&](unsigned lane) { value[lane] = matchValue(warp, op, lane); });
  uint32_t equal[32];
  bool all = true;
  forLanes(active, [&](unsigned lane) {
    equal[lane] = 0;
    forLanes(active, [&](unsigned other) {
      equal[lane] |= static_cast<uint32_t>(value[other] == value[lane])
                     << other;
    });
    all &= equal[lane] == active;
  });
  forLanes(active, [&](unsigned lane) {
    if (op.code == OpCode::MatchAny) {
      outRow(warp, op, 0)[lane] = equal[lane];
      return;
    }
    outRow(warp, op, 0)[lane] = all ? active : 0;
    outRow(warp, op, 1)[lane] = all;
  });
}

/// Which lane is chosen is unspecified but the same each time for one mask.
void elect(Warp &warp, const Op &op, uint32_t active) {
  uint32_t skip = 0;
  if (uint64_t seed = warp.cta->launch->seed)
    skip = (seed * 0x9e3779b97f4a7c15ull ^ active) % llvm::popcount(active);
  uint32_t left = active;
  while (skip--)
    left &= left - 1;
  unsigned leader = llvm::countr_zero(left);
  forLanes(active, [&](unsigned lane) {
    outRow(warp, op, 0)[lane] = leader;
    outRow(warp, op, 1)[lane] = lane == leader;
  });
}

void countMma(Cta &cta, MmaKind kind) {
  Stats &stats = cta.stats;
  bool first =
      stats.mmaWithCopiesInFlight + stats.mmaWithoutCopiesInFlight == 0;
  ++stats.mma[static_cast<unsigned>(kind)];
  ++(cta.inFlight ? stats.mmaWithCopiesInFlight
                  : stats.mmaWithoutCopiesInFlight);
  stats.minCopiesInFlight =
      first ? cta.inFlight : std::min(stats.minCopiesInFlight, cta.inFlight);
  stats.maxCopiesInFlight = std::max(stats.maxCopiesInFlight, cta.inFlight);
}

} // namespace

void mlatile::sim::execute(Warp &warp, const Group &group, uint32_t active,
                           Lane *by) {
  Cta &cta = *warp.cta;
  for (const Op &op : group.ops) {
    switch (op.code) {
    case OpCode::Mma:
      countMma(cta, op.mma.kind);
      if (const char *wrong = runMma(op, warp.rows))
        failAt(by, op.site, wrong);
      break;
    case OpCode::LdMatrix:
      ++cta.stats.ldmatrix;
      runLdMatrix(warp, op, by);
      break;
    case OpCode::StMatrix:
      ++cta.stats.stmatrix;
      runStMatrix(warp, op, by);
      break;
    case OpCode::MovMatrix:
      ++cta.stats.movmatrix;
      runMovMatrix(warp, op);
      break;
    case OpCode::Shuffle:
      ++cta.stats.shuffles;
      shuffle(warp, op, active);
      break;
    case OpCode::Vote:
      ++cta.stats.shuffles;
      vote(warp, op, active);
      break;
    case OpCode::Redux:
      ++cta.stats.shuffles;
      redux(warp, op, active);
      break;
    case OpCode::MatchAny:
    case OpCode::MatchAll:
      ++cta.stats.shuffles;
      match(warp, op, active);
      break;
    case OpCode::Elect:
      ++cta.stats.shuffles;
      elect(warp, op, active);
      break;
    case OpCode::WarpSync:
      if (cta.checker)
        cta.checker->syncWarp(warp, active);
      break;
    case OpCode::BarrierSync:
    case OpCode::BarrierArrive:
    case OpCode::BarrierReduce:
    case OpCode::ClusterArrive:
    case OpCode::ClusterWait:
      llvm_unreachable("barriers are completed by the rendezvous");
    }
  }
}
