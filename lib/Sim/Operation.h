// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A collective as the rewriter hands it to the runtime. Lanes exchange values
// through rows of 32 words: lane i writes and reads column i.
#ifndef MLATILE_LIB_SIM_OPERATION_H
#define MLATILE_LIB_SIM_OPERATION_H

#include "mlatile/Sim/Executor.h"
#include <array>
#include <cstdint>
#include <vector>

namespace mlatile::sim {

enum class OpCode : uint8_t {
  Mma,
  LdMatrix,
  StMatrix,
  MovMatrix,
  Shuffle,
  Vote,
  Redux,
  MatchAny,
  MatchAll,
  Elect,
  WarpSync,
  BarrierSync,
  BarrierArrive,
  BarrierReduce,
  ClusterArrive,
  ClusterWait
};

/// Element types of mma operands.
enum class Element : uint8_t { F16, BF16, E4M3, E5M2, E3M2, E2M3, E2M1 };
/// Type of block scales.
enum class ScaleType : uint8_t { None, UE8M0, UE4M3 };

struct MmaShapeInfo {
  MmaKind kind = MmaKind::BF16;
  Element a = Element::BF16, b = Element::BF16;
  uint8_t bits = 16; ///< of an element in its register
  uint8_t k = 16;
  uint8_t regsA = 4, regsB = 2, regsC = 4;
  bool halfAccumulator = false;
  ScaleType scale = ScaleType::None;
  uint8_t scaleBlocks = 0; ///< 1, 2 or 4 along k
};

enum class MatrixForm : uint8_t { B16, B8, B4 };
struct MatrixInfo {
  MatrixForm form = MatrixForm::B16;
  bool transposed = false;
  bool m16n16 = false;
  uint8_t registers = 1;
  uint8_t addresses = 8; ///< lanes that supply a row address
};

enum class ShuffleMode : uint8_t { Up, Down, Butterfly, Index };
enum class VoteMode : uint8_t { All, Any, Uniform, Ballot };
enum class ReduxMode : uint8_t { Add, Min, Max, UMin, UMax, And, Or, Xor };
enum class BarrierReduction : uint8_t { Count, And, Or };

inline constexpr uint16_t kImmediate = 0xffff;
inline constexpr unsigned kMaxInputs = 16, kMaxOutputs = 4;

struct Op {
  OpCode code = OpCode::WarpSync;
  uint8_t mode = 0;    ///< of ShuffleMode and its like
  bool second = false; ///< the second result (predicate) is wanted
  bool wide = false;   ///< 64-bit value in two rows
  uint8_t inputs = 0, outputs = 0;
  uint32_t site = 0;
  MmaShapeInfo mma;
  MatrixInfo matrix;
  std::array<uint16_t, kMaxInputs> in{};
  std::array<uint32_t, kMaxInputs> value{}; ///< where in[i] is kImmediate
  std::array<uint16_t, kMaxOutputs> out{};

  uint32_t input(unsigned i, const uint32_t *rows, unsigned lane) const {
    return in[i] == kImmediate ? value[i] : rows[in[i] * 32u + lane];
  }
};

/// Collectives of one basic block that a warp executes in one rendezvous.
struct Group {
  std::vector<Op> ops;
  uint32_t rows = 0;
  uint32_t site = 0;
  bool wholeWarp = false; ///< some op needs all 32 lanes
  bool aligned = true;
};

} // namespace mlatile::sim
#endif
