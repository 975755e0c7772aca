// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Analysis/LinearLayout.h"

#include "Fail.h"
#include "PowerOfTwo.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace mlatile {
namespace {

using In = LinearLayout::In;
using Out = LinearLayout::Out;
using Named = LinearLayout::Named;

template <class Dims>
int indexOf(const Dims &dims, std::string_view name) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name)
      return static_cast<int>(i);
  return -1;
}

/// The size check shared by everything that takes a size.
bool checkSize(int64_t size, std::string_view name, std::string *error) {
  if (isPowerOfTwo(size))
    return true;
  fail(error, "dim " + quoted(name) + ": expected a power of two, got " +
                  std::to_string(size));
  return false;
}

/// Checks dims for a reshape and sums their bits.
bool checkReshape(const std::vector<Named> &dims, int bits,
                  std::string *error) {
  int sum = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto &[name, size] = dims[i];
    if (!checkSize(size, name, error))
      return false;
    for (size_t j = 0; j < i; ++j)
      if (dims[j].first == name) {
        fail(error, "dim " + quoted(name) + " is named twice");
        return false;
      }
    sum += log2Exact(size);
  }
  if (sum == bits)
    return true;
  fail(error, "reshape: expected sizes of " + std::to_string(bits) +
                  " bits in total, got " + std::to_string(sum));
  return false;
}

} // namespace

//===--- construction -----------------------------------------------------===//

LinearLayout::Result LinearLayout::create(std::vector<In> ins,
                                          std::vector<Out> outs,
                                          std::string *error) {
  LinearLayout layout;
  int outBits = 0;
  size_t inBits = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (indexOf(outs, outs[i].name) != static_cast<int>(i))
      return fail(error, "output " + quoted(outs[i].name) + " is named twice");
    if (!checkSize(outs[i].size, outs[i].name, error))
      return std::nullopt;
    outBits += log2Exact(outs[i].size);
  }
  for (size_t i = 0; i < ins.size(); ++i) {
    if (indexOf(ins, ins[i].name) != static_cast<int>(i))
      return fail(error, "input " + quoted(ins[i].name) + " is named twice");
    inBits += ins[i].bases.size();
  }
  if (outBits > kMaxLayoutBits || inBits > kMaxLayoutBits)
    return fail(error,
                "expected at most 62 bits of inputs and of outputs, got " +
                    std::to_string(inBits) + " and " + std::to_string(outBits));
  for (const In &in : ins)
    for (size_t bit = 0; bit < in.bases.size(); ++bit) {
      const Coords &basis = in.bases[bit];
      std::string where = "input " + quoted(in.name) + ", basis " +
                          std::to_string(bit) + ": expected ";
      if (basis.size() != outs.size())
        return fail(error, where + std::to_string(outs.size()) +
                               " coordinates, got " +
                               std::to_string(basis.size()));
      for (size_t d = 0; d < outs.size(); ++d)
        if (basis[d] < 0 || basis[d] >= outs[d].size)
          return fail(error, where + "a coordinate below " +
                                 std::to_string(outs[d].size) + " in " +
                                 quoted(outs[d].name) + ", got " +
                                 std::to_string(basis[d]));
    }
  layout.inputs = std::move(ins);
  layout.outputs = std::move(outs);
  for (const In &in : layout.inputs)
    for (const Coords &basis : in.bases)
      layout.columns.push_back(layout.packed(basis));
  return layout;
}

LinearLayout::Result LinearLayout::fromFlat(std::vector<Named> inBits,
                                            std::vector<Named> outBits,
                                            std::span<const uint64_t> flat) {
  LinearLayout layout;
  for (auto &[name, bits] : outBits)
    layout.outputs.push_back({std::move(name), int64_t(1) << bits});
  layout.columns.assign(flat.begin(), flat.end());
  size_t column = 0;
  for (auto &[name, bits] : inBits) {
    In in{std::move(name), {}};
    for (int64_t bit = 0; bit < bits; ++bit)
      in.bases.push_back(layout.unpacked(flat[column++]));
    layout.inputs.push_back(std::move(in));
  }
  return layout;
}

LinearLayout::Result LinearLayout::identity1D(int64_t size, std::string_view in,
                                              std::string_view out,
                                              std::string *error) {
  if (!checkSize(size, in, error))
    return std::nullopt;
  In input{std::string(in), {}};
  for (int64_t step = 1; step < size; step *= 2)
    input.bases.push_back({step});
  return create({std::move(input)}, {{std::string(out), size}}, error);
}

LinearLayout::Result LinearLayout::zeros1D(int64_t size, std::string_view in,
                                           std::string_view out,
                                           int64_t outSize,
                                           std::string *error) {
  if (!checkSize(size, in, error))
    return std::nullopt;
  In input{std::string(in), std::vector<Coords>(log2Exact(size), Coords{0})};
  return create({std::move(input)}, {{std::string(out), outSize}}, error);
}

//===--- shape ------------------------------------------------------------===//

int LinearLayout::inIndex(std::string_view name) const {
  return indexOf(inputs, name);
}
int LinearLayout::outIndex(std::string_view name) const {
  return indexOf(outputs, name);
}
int LinearLayout::inBits(std::string_view name) const {
  int i = inIndex(name);
  return i < 0 ? 0 : static_cast<int>(inputs[i].bases.size());
}
int LinearLayout::outBits(std::string_view name) const {
  int i = outIndex(name);
  return i < 0 ? 0 : log2Exact(outputs[i].size);
}
int LinearLayout::totalOutBits() const {
  int bits = 0;
  for (const Out &out : outputs)
    bits += log2Exact(out.size);
  return bits;
}

std::vector<Named> LinearLayout::outDims() const {
  std::vector<Named> dims;
  for (const Out &out : outputs)
    dims.emplace_back(out.name, log2Exact(out.size));
  return dims;
}

std::vector<Named> LinearLayout::inDims() const {
  std::vector<Named> dims;
  for (const In &in : inputs)
    dims.emplace_back(in.name, static_cast<int64_t>(in.bases.size()));
  return dims;
}

uint64_t LinearLayout::packed(std::span<const int64_t> coords) const {
  uint64_t flat = 0;
  int shift = 0;
  for (size_t d = 0; d < outputs.size(); ++d) {
    flat |= static_cast<uint64_t>(coords[d]) << shift;
    shift += log2Exact(outputs[d].size);
  }
  return flat;
}

LinearLayout::Coords LinearLayout::unpacked(uint64_t flat) const {
  Coords coords;
  for (const Out &out : outputs) {
    coords.push_back(static_cast<int64_t>(flat) & (out.size - 1));
    flat >>= log2Exact(out.size);
  }
  return coords;
}

//===--- evaluation -------------------------------------------------------===//

uint64_t LinearLayout::applyFlat(uint64_t in) const {
  uint64_t flat = 0;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (in >> bit & 1)
      flat ^= columns[bit];
  return flat;
}

LinearLayout::Coords LinearLayout::apply(std::span<const int64_t> in) const {
  uint64_t flat = 0;
  size_t column = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t bit = 0; bit < inputs[i].bases.size(); ++bit, ++column)
      if (i < in.size() && (in[i] >> bit & 1))
        flat ^= columns[column];
  return unpacked(flat);
}

std::optional<std::vector<Named>>
LinearLayout::apply(const std::vector<Named> &in, std::string *error) const {
  std::vector<int64_t> values(inputs.size(), -1);
  for (const auto &[name, value] : in) {
    int i = inIndex(name);
    if (i < 0)
      return fail(error, "unknown input " + quoted(name));
    if (values[i] >= 0)
      return fail(error, "input " + quoted(name) + " is given twice");
    if (value < 0 || value >= inSize(name))
      return fail(error, "input " + quoted(name) + ": expected a value below " +
                             std::to_string(inSize(name)) + ", got " +
                             std::to_string(value));
    values[i] = value;
  }
  for (int64_t &value : values)
    value = std::max<int64_t>(value, 0);
  Coords coords = apply(values);
  std::vector<Named> result;
  for (size_t d = 0; d < outputs.size(); ++d)
    result.emplace_back(outputs[d].name, coords[d]);
  return result;
}

//===--- dims -------------------------------------------------------------===//

LinearLayout::Result
LinearLayout::sublayout(const std::vector<std::string> &keepIns,
                        const std::vector<std::string> &keepOuts,
                        std::string *error) const {
  std::vector<Out> outs;
  std::vector<int> kept;
  for (const std::string &name : keepOuts) {
    kept.push_back(outIndex(name));
    if (kept.back() < 0)
      return fail(error, "unknown output " + quoted(name));
    outs.push_back(outputs[kept.back()]);
  }
  std::vector<In> ins;
  for (const std::string &name : keepIns) {
    int i = inIndex(name);
    if (i < 0)
      return fail(error, "unknown input " + quoted(name));
    In in{name, {}};
    for (const Coords &basis : inputs[i].bases) {
      Coords &projected = in.bases.emplace_back();
      for (int d : kept)
        projected.push_back(basis[d]);
    }
    ins.push_back(std::move(in));
  }
  return create(std::move(ins), std::move(outs), error);
}

LinearLayout::Result LinearLayout::removeOutDim(std::string_view out,
                                                std::string *error) const {
  std::vector<std::string> keepIns, keepOuts;
  if (outIndex(out) < 0)
    return fail(error, "unknown output " + quoted(out));
  for (const In &in : inputs)
    keepIns.push_back(in.name);
  for (const Out &dim : outputs)
    if (dim.name != out)
      keepOuts.push_back(dim.name);
  return sublayout(keepIns, keepOuts, error);
}

LinearLayout::Result LinearLayout::renameIn(std::string_view from,
                                            std::string_view to,
                                            std::string *error) const {
  std::vector<In> ins = inputs;
  int i = inIndex(from);
  if (i < 0)
    return fail(error, "unknown input " + quoted(from));
  ins[i].name = to;
  return create(std::move(ins), outputs, error);
}

LinearLayout::Result LinearLayout::renameOut(std::string_view from,
                                             std::string_view to,
                                             std::string *error) const {
  std::vector<Out> outs = outputs;
  int i = outIndex(from);
  if (i < 0)
    return fail(error, "unknown output " + quoted(from));
  outs[i].name = to;
  return create(inputs, std::move(outs), error);
}

LinearLayout::Result LinearLayout::reshapeIns(const std::vector<Named> &dims,
                                              std::string *error) const {
  if (!checkReshape(dims, totalInBits(), error))
    return std::nullopt;
  std::vector<Named> bits;
  for (const auto &[name, size] : dims)
    bits.emplace_back(name, log2Exact(size));
  return fromFlat(std::move(bits), outDims(), columns);
}

LinearLayout::Result LinearLayout::reshapeOuts(const std::vector<Named> &dims,
                                               std::string *error) const {
  if (!checkReshape(dims, totalOutBits(), error))
    return std::nullopt;
  std::vector<Named> bits;
  for (const auto &[name, size] : dims)
    bits.emplace_back(name, log2Exact(size));
  return fromFlat(inDims(), std::move(bits), columns);
}

//===--- identity and text ------------------------------------------------===//

bool LinearLayout::operator==(const LinearLayout &other) const {
  auto sameIn = [](const In &a, const In &b) {
    return a.name == b.name && a.bases == b.bases;
  };
  auto sameOut = [](const Out &a, const Out &b) {
    return a.name == b.name && a.size == b.size;
  };
  return std::ranges::equal(inputs, other.inputs, sameIn) &&
         std::ranges::equal(outputs, other.outputs, sameOut);
}

size_t LinearLayout::hash() const {
  size_t seed = inputs.size();
  auto mix = [&](uint64_t value) {
    seed = (seed ^ value) * 0x9e3779b97f4a7c15ull;
    seed ^= seed >> 29;
  };
  std::hash<std::string> hashName;
  for (const In &in : inputs) {
    mix(hashName(in.name));
    mix(in.bases.size());
  }
  for (const Out &out : outputs) {
    mix(hashName(out.name));
    mix(out.size);
  }
  for (uint64_t column : columns)
    mix(column);
  return seed;
}

std::string LinearLayout::str() const {
  std::string text;
  for (size_t i = 0; i < inputs.size(); ++i) {
    text += (i ? ", " : "") + inputs[i].name + " = [";
    for (size_t bit = 0; bit < inputs[i].bases.size(); ++bit) {
      text += bit ? ", [" : "[";
      const Coords &basis = inputs[i].bases[bit];
      for (size_t d = 0; d < basis.size(); ++d)
        text += (d ? ", " : "") + std::to_string(basis[d]);
      text += "]";
    }
    text += "]";
  }
  text += inputs.empty() ? "-> (" : " -> (";
  for (size_t d = 0; d < outputs.size(); ++d)
    text += (d ? ", " : "") + outputs[d].name + " " +
            std::to_string(outputs[d].size);
  return text + ")";
}

} // namespace mlatile
