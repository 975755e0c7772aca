// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix.
#include "Matrix.h"
#include "Checker.h"
#include "Transpose.h"
#include "mlatile/Target/Instructions.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cstring>

using namespace mlatile;
using namespace mlatile::sim;

namespace {

constexpr int kLanes = isa::kWarpLanes;

// What the 16-byte forms below rely on.
constexpr bool rowsAreContiguous() {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int reg = 0; reg < 4; ++reg)
      for (int half = 0; half < 2; ++half) {
        int g = lane / 4, i = 2 * (lane % 4) + half;
        if (isa::matrixB16(false, lane, reg, half) !=
                isa::RowElement{8 * reg + g, i} ||
            isa::matrixB16(true, lane, reg, half) !=
                isa::RowElement{8 * reg + i, g})
          return false;
      }
  return true;
}
static_assert(rowsAreContiguous());

/// Collects and checks the row addresses.
void readAddresses(Warp &warp, const Op &op, Lane *by,
                   uint8_t *(&addresses)[32]) {
  Cta &cta = *warp.cta;
  if (op.in[0] != kImmediate && cta.sharedBytes >= 16) {
    // The usual case: all are fine.
    const uint32_t *words = warp.rows + op.in[0] * 32u;
    auto base = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(cta.shared));
    uint32_t largest = 0, low = 0;
    for (unsigned i = 0; i < op.matrix.addresses; ++i) {
      largest = std::max(largest, words[i] - base);
      low |= words[i];
      addresses[i] =
          reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(words[i]));
    }
    if (largest <= cta.sharedBytes - 16 && low % 16 == 0)
      return;
  }
  for (unsigned i = 0; i < op.matrix.addresses; ++i) {
    uint32_t word = op.input(0, warp.rows, i);
    auto *address = reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(word));
    if (!cta.owns(address, 16))
      failAt(by, op.site,
             llvm::formatv("row address of lane {0} of warp {1} is outside "
                           "shared memory: offset {2} of {3} bytes",
                           i, warp.index, address - cta.shared, cta.sharedBytes)
                 .str());
    if (word % 16)
      failAt(by, op.site,
             llvm::formatv("row address of lane {0} of warp {1} is not 16-byte "
                           "aligned: shared offset {2}",
                           i, warp.index, address - cta.shared)
                 .str());
    addresses[i] = address;
  }
}

/// One 8 x 8 matrix of 16-bit elements, transposed. The rows come from
/// `load`, column i goes to `store`.
template <typename Load, typename Store>
void transposeB16(Load load, Store store) {
#if defined(__x86_64__)
  __m128i x[8];
  for (int i = 0; i < 8; ++i)
    x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(load(i)));
  transpose8x8(x);
  for (int i = 0; i < 8; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(store(i)), x[i]);
#else
  uint16_t x[8][8], y[8];
  for (int i = 0; i < 8; ++i)
    std::memcpy(x[i], load(i), 16);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j)
      y[j] = x[j][i];
    std::memcpy(store(i), y, 16);
  }
#endif
}

uint32_t *outRow(Warp &warp, const Op &op, unsigned i) {
  return warp.rows + op.out[i] * 32u;
}

uint8_t nibble(const uint8_t *row, int i) {
  return row[i / 2] >> 4 * (i % 2) & 15;
}

/// A register of every other form, byte by byte.
uint32_t loadBytes(const MatrixInfo &form, uint8_t *const *rows, int lane,
                   int reg) {
  uint32_t word = 0;
  for (int byte = 0; byte < 4; ++byte) {
    isa::RowElement from = form.m16n16 ? isa::ldmatrixB8Trans(lane, reg, byte)
                                       : isa::ldmatrixB4(lane, reg, byte);
    const uint8_t *row = rows[from.lane];
    uint32_t value = form.form == MatrixForm::B4 ? nibble(row, from.element)
                                                 : row[from.element];
    word |= value << 8 * byte;
  }
  return word;
}

} // namespace

void mlatile::sim::runLdMatrix(Warp &warp, const Op &op, Lane *by) {
  const MatrixInfo &form = op.matrix;
  uint8_t *rows[32];
  readAddresses(warp, op, by, rows);
  if (Checker *checker = warp.cta->checker.get())
    checker->matrix(warp, op, rows, by);
  if (form.form != MatrixForm::B16) {
    uint32_t words[4][kLanes];
    for (int reg = 0; reg < form.registers; ++reg)
      for (int lane = 0; lane < kLanes; ++lane)
        words[reg][lane] = loadBytes(form, rows, lane, reg);
    for (int reg = 0; reg < form.registers; ++reg)
      std::memcpy(outRow(warp, op, reg), words[reg], sizeof words[reg]);
    return;
  }
  for (int reg = 0; reg < form.registers; ++reg) {
    uint32_t *out = outRow(warp, op, reg);
    if (form.transposed)
      transposeB16([&](int i) { return rows[8 * reg + i]; },
                   [&](int g) { return out + 4 * g; });
    else
      for (int g = 0; g < 8; ++g)
        std::memcpy(out + 4 * g, rows[8 * reg + g], 16);
  }
}

void mlatile::sim::runStMatrix(Warp &warp, const Op &op, Lane *by) {
  const MatrixInfo &form = op.matrix;
  uint8_t *rows[32];
  readAddresses(warp, op, by, rows);
  if (Checker *checker = warp.cta->checker.get())
    checker->matrix(warp, op, rows, by);
  for (int reg = 0; reg < form.registers; ++reg) {
    uint32_t in[kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      in[lane] = op.input(1 + reg, warp.rows, lane);
    if (form.form == MatrixForm::B8) {
      for (int lane = 0; lane < kLanes; ++lane)
        for (int byte = 0; byte < 4; ++byte) {
          isa::RowElement to = isa::stmatrixB8Trans(lane, reg, byte);
          rows[to.lane][to.element] = in[lane] >> 8 * byte;
        }
    } else if (form.transposed) {
      transposeB16([&](int g) { return in + 4 * g; },
                   [&](int i) { return rows[8 * reg + i]; });
    } else {
      for (int g = 0; g < 8; ++g)
        std::memcpy(rows[8 * reg + g], in + 4 * g, 16);
    }
  }
}

void mlatile::sim::runMovMatrix(Warp &warp, const Op &op) {
  uint32_t in[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    in[lane] = op.input(0, warp.rows, lane);
  uint32_t *out = outRow(warp, op, 0);
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t word = 0;
    for (int half = 0; half < 2; ++half) {
      isa::RowElement from = isa::movmatrixTrans(lane, half);
      word |= (in[from.lane] >> 16 * from.element & 0xffff) << 16 * half;
    }
    out[lane] = word;
  }
}
