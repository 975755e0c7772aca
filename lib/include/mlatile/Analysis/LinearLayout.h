// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bit-linear maps: the algebra under every layout of the compiler.
//
// 1. The idea
//
// Where does register r of lane l of warp w stand in a tile? On this hardware
// the answer is nearly always made of bits: bit i of the lane number
// contributes a fixed coordinate b_i, and the contributions of all set bits are
// combined with XOR. A map of that kind is linear over the field with two
// elements, GF(2), where + is XOR and * is AND: f(x ^ y) = f(x) ^ f(y), f(0) =
// 0. It is known completely once f(1), f(2), f(4), ... are known; these values
// are the *bases*. So a layout is a short list of coordinates, and every
// question about layouts is linear algebra on words of bits:
//
//   is an element held twice?        the bases are dependent
//   is every element held?           the rank equals the number of output bits
//   who holds element (i, j)?        solve a linear system (`pseudoInvert`)
//   move from layout A to layout B   x -> A^-1(B(x)), a layout again
//   rows reduced away                drop that output (`removeOutDim`)
//   XOR swizzle of shared memory     a linear map from (row, chunk) to chunk
//
// 2. A worked table
//
// The f32 accumulator of `mma.m16n8` (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"): lane l = 4 g + t holds in register r the element
// (g + 8 (r / 2), 2 t + r % 2). As bases, outputs (row, col):
//
//   reg   1 -> (0, 1)     lane  1 -> (0, 2)     lane  4 -> (1, 0)
//   reg   2 -> (8, 0)     lane  2 -> (0, 4)     lane  8 -> (2, 0)
//                                               lane 16 -> (4, 0)
//
// Register 3 of lane 13 = 1 + 4 + 8: (0,1) ^ (8,0) ^ (0,2) ^ (1,0) ^ (2,0)
// = (11, 3), as the formula says with g = 3, t = 1. Seven independent bases,
// seven output bits (16 x 8): a bijection.
//
// With four warps side by side along the columns one adds
// warp 1 -> (0, 8), warp 2 -> (0, 16). As operand A of the next product the
// same tile is read by all four warps: then both warp bases are (0, 0), and a
// zero basis is what *replicated* (broadcast) means.
//
// A swizzled row of eight 16-byte chunks stores chunk c of row r in place
// c ^ (r % 8). Bases, output (row, place):
//
//   chunk 1 -> (0, 1)   chunk 2 -> (0, 2)   chunk 4 -> (0, 4)
//   row   1 -> (1, 1)   row   2 -> (2, 2)   row   4 -> (4, 4)
//
// Column c of eight consecutive rows lies in eight different places: the map
// row -> place has rank 3. That is the whole proof that an `ldmatrix` phase is
// free of bank conflicts; with stride padding no such proof in bits exists, and
// SharedLayout counts instead.
//
// 3. Putting layouts together
//
//   identity1D(8, "lane", "col")       lane bits select columns
//   * identity1D(2, "reg", "row")      new dims are added
//   * identity1D(4, "lane", "row")     a repeated dim is *extended*: the new
//                                      lane bits stand above the old ones, and
//                                      their row coordinates are shifted above
//                                      the row bits in use
//   * zeros1D(4, "warp", "row")        four warps hold copies
//
// The product is block-diagonal, so what the left factor does stays as it was:
// `divideLeft` takes it off again, which is how one asks "does this layout
// start with an ldmatrix tile?".
//
// 4. What it cannot do, and what it costs
//
// Sizes are powers of two. A tile of 448 or 576 columns is not; such a size is
// a power-of-two block repeated (DistributedLayout::reps), and only the block
// is linear. Padding of rows is affine, not linear, and stays out for the same
// reason. Strided algebras (shape:stride pairs) say both directly, but they
// need a separate notion for swizzles and lane order, and inverting or
// composing them has side conditions; here both always exist and take a few
// XORs on 64-bit words. The bits of all outputs together are limited to 62, as
// are those of all inputs; a layout that needs more is refused.
//
// Flattening (`applyFlat`, `reshapeIns`, `reshapeOuts`, free variables) counts
// the first-named dim as the fastest, for inputs and outputs alike. Row-major
// tensors have their last dim fastest: transpose first.
#ifndef MLATILE_ANALYSIS_LINEARLAYOUT_H
#define MLATILE_ANALYSIS_LINEARLAYOUT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlatile {

/// Bits of all outputs together, and of all inputs.
inline constexpr int kMaxLayoutBits = 62;

/// A GF(2)-linear map from named inputs to named outputs, all of power-of-two
/// size. Immutable; every operation returns a new layout. Operations that can
/// be asked something impossible return an empty optional and, where `error` is
/// given, say why.
class LinearLayout {
public:
  /// Coordinates, one an output dim, in the order of the outputs.
  using Coords = std::vector<int64_t>;
  /// `bases[i]` is where bit i of this input leads.
  struct In {
    std::string name;
    std::vector<Coords> bases;
  };
  /// `size` is a power of two; coordinates lie in [0, size).
  struct Out {
    std::string name;
    int64_t size;
  };
  using Named = std::pair<std::string, int64_t>;
  using Result = std::optional<LinearLayout>;

  /// The layout without dims: the unit of the product.
  LinearLayout() = default;
  /// From bases. Errors: a repeated name, a size that is not a power of two, a
  /// basis with the wrong number of coordinates or a coordinate out of range.
  static Result create(std::vector<In> ins, std::vector<Out> outs,
                       std::string *error = nullptr);
  /// x -> x for x in [0, size).
  static Result identity1D(int64_t size, std::string_view in,
                           std::string_view out, std::string *error = nullptr);
  /// x -> 0 for x in [0, size): the input is broadcast. The output has
  /// `outSize` places, of which only place 0 is reached.
  static Result zeros1D(int64_t size, std::string_view in, std::string_view out,
                        int64_t outSize = 1, std::string *error = nullptr);

  //===--- shape ----------------------------------------------------------===//
  std::span<const In> ins() const { return inputs; }
  std::span<const Out> outs() const { return outputs; }
  /// Position of a dim, or -1.
  int inIndex(std::string_view name) const;
  int outIndex(std::string_view name) const;
  /// Bits of a dim; 0 for a dim that does not exist (size 1).
  int inBits(std::string_view name) const;
  int outBits(std::string_view name) const;
  int64_t inSize(std::string_view name) const {
    return int64_t(1) << inBits(name);
  }
  int64_t outSize(std::string_view name) const {
    return int64_t(1) << outBits(name);
  }
  int totalInBits() const { return static_cast<int>(columns.size()); }
  int totalOutBits() const;

  //===--- evaluation -----------------------------------------------------===//
  /// Inputs and outputs by position. Missing inputs are zero; bits above an
  /// input's size do not count.
  Coords apply(std::span<const int64_t> in) const;
  /// By name. Errors: an unknown or repeated input, a value out of range.
  /// Missing inputs are zero.
  std::optional<std::vector<Named>> apply(const std::vector<Named> &in,
                                          std::string *error = nullptr) const;
  /// On flattened inputs and outputs (first dim fastest).
  uint64_t applyFlat(uint64_t in) const;

  //===--- algebra --------------------------------------------------------===//
  /// First this layout, then `next`. Every output must be an input of `next`,
  /// which may be larger, and every input of `next` must be an output.
  Result compose(const LinearLayout &next, std::string *error = nullptr) const;
  /// Direct product: dims of the right factor extend equal-named dims of the
  /// left one upwards. Empty if a factor is empty or the bits exceed 62.
  friend Result operator*(const Result &left, const Result &right) {
    return product(left, right);
  }
  /// The q with *this == divisor * q, if there is one (dims that q would use
  /// with size 1 are left out of it).
  Result divideLeft(const LinearLayout &divisor) const;
  /// The inverse of a bijective layout.
  Result invert(std::string *error = nullptr) const;
  /// A right inverse of a surjective layout: for every output the input that
  /// reaches it with all free variables zero (so the smallest register, lane 0,
  /// warp 0 among the copies).
  Result pseudoInvert(std::string *error = nullptr) const;

  int rank() const;
  bool isSurjective() const { return rank() == totalOutBits(); }
  bool isInjective() const { return rank() == totalInBits(); }
  bool isBijective() const { return isSurjective() && isInjective(); }
  /// For every input, the bits that depend on lower ones (of this and of
  /// earlier inputs): without them every reached output is reached just once.
  std::vector<int64_t> freeVariableMasks() const;
  /// The bits of an input whose basis is zero: flipping one changes nothing.
  int64_t broadcastMask(std::string_view in) const;

  //===--- dims -----------------------------------------------------------===//
  /// Keeps the named dims, in the order given; the other inputs are zero, the
  /// other outputs are dropped.
  Result sublayout(const std::vector<std::string> &keepIns,
                   const std::vector<std::string> &keepOuts,
                   std::string *error = nullptr) const;
  /// Projects one output away, as a reduction over it does.
  Result removeOutDim(std::string_view out, std::string *error = nullptr) const;
  Result renameIn(std::string_view from, std::string_view to,
                  std::string *error = nullptr) const;
  Result renameOut(std::string_view from, std::string_view to,
                   std::string *error = nullptr) const;
  /// Splits or joins dims; the sizes must multiply to the same number.
  Result reshapeIns(const std::vector<Named> &dims,
                    std::string *error = nullptr) const;
  Result reshapeOuts(const std::vector<Named> &dims,
                     std::string *error = nullptr) const;

  //===--- identity and text ----------------------------------------------===//
  bool operator==(const LinearLayout &other) const;
  size_t hash() const;
  /// "reg = [[0, 1], [8, 0]], lane = [...] -> (row 16, col 8)".
  std::string str() const;

private:
  static Result product(const Result &left, const Result &right);
  static Result fromFlat(std::vector<Named> inBits, std::vector<Named> outBits,
                         std::span<const uint64_t> flat);
  std::vector<Named> inDims() const;
  std::vector<Named> outDims() const;
  uint64_t packed(std::span<const int64_t> coords) const;
  Coords unpacked(uint64_t flat) const;

  std::vector<In> inputs;
  std::vector<Out> outputs;
  std::vector<uint64_t> columns; // the bases of all inputs, flattened
};

} // namespace mlatile
#endif
