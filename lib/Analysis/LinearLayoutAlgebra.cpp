// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products, quotients and inverses of linear layouts.
#include "Fail.h"
#include "mlatile/Analysis/BitSpan.h"
#include "mlatile/Analysis/LinearLayout.h"

namespace mlatile {

using In = LinearLayout::In;
using Out = LinearLayout::Out;

LinearLayout::Result LinearLayout::compose(const LinearLayout &next,
                                           std::string *error) const {
  for (const Out &out : outputs) {
    if (next.inIndex(out.name) < 0)
      return fail(error, "compose: output " + quoted(out.name) +
                             " is no input of the next layout");
    if (out.size > next.inSize(out.name))
      return fail(error, "compose: " + quoted(out.name) +
                             ": expected an input of at least " +
                             std::to_string(out.size) + ", got " +
                             std::to_string(next.inSize(out.name)));
  }
  std::vector<int> from; // output of this for each input of next
  for (const In &in : next.inputs) {
    from.push_back(outIndex(in.name));
    if (from.back() < 0)
      return fail(error, "compose: input " + quoted(in.name) +
                             " of the next layout is no output");
  }
  std::vector<In> ins = inputs;
  std::vector<int64_t> values(from.size());
  for (In &in : ins)
    for (Coords &basis : in.bases) {
      for (size_t i = 0; i < from.size(); ++i)
        values[i] = basis[from[i]];
      basis = next.apply(values);
    }
  return create(std::move(ins), next.outputs, error);
}

LinearLayout::Result LinearLayout::product(const Result &left,
                                           const Result &right) {
  if (!left || !right)
    return std::nullopt;
  int bits = left->totalOutBits() + right->totalOutBits();
  if (bits > kMaxLayoutBits)
    return std::nullopt;
  std::vector<Out> outs = left->outputs;
  std::vector<int> place, shift; // of the right factor's outputs
  for (const Out &out : right->outputs) {
    int at = left->outIndex(out.name);
    place.push_back(at < 0 ? static_cast<int>(outs.size()) : at);
    shift.push_back(left->outBits(out.name));
    if (at < 0)
      outs.push_back(out);
    else
      outs[at].size *= out.size;
  }
  std::vector<In> ins = left->inputs;
  for (In &in : ins)
    for (Coords &basis : in.bases)
      basis.resize(outs.size(), 0);
  for (const In &in : right->inputs) {
    int at = left->inIndex(in.name);
    if (at < 0) {
      at = static_cast<int>(ins.size());
      ins.push_back({in.name, {}});
    }
    for (const Coords &basis : in.bases) {
      Coords moved(outs.size(), 0);
      for (size_t d = 0; d < basis.size(); ++d)
        moved[place[d]] = basis[d] << shift[d];
      ins[at].bases.push_back(std::move(moved));
    }
  }
  return create(std::move(ins), std::move(outs));
}

LinearLayout::Result
LinearLayout::divideLeft(const LinearLayout &divisor) const {
  std::vector<Out> outs;
  std::vector<int> kept, shifts;
  for (const Out &out : divisor.outputs)
    if (outIndex(out.name) < 0 || outSize(out.name) < out.size)
      return std::nullopt;
  for (size_t d = 0; d < outputs.size(); ++d) {
    int shift = divisor.outBits(outputs[d].name);
    int64_t size = outputs[d].size >> shift;
    if (size == 1 && divisor.outIndex(outputs[d].name) >= 0)
      continue;
    outs.push_back({outputs[d].name, size});
    kept.push_back(static_cast<int>(d));
    shifts.push_back(shift);
  }
  std::vector<In> ins;
  for (const In &in : divisor.inputs)
    if (inIndex(in.name) < 0 || inBits(in.name) < divisor.inBits(in.name))
      return std::nullopt;
  for (const In &in : inputs) {
    size_t skip = divisor.inBits(in.name);
    if (skip == in.bases.size() && divisor.inIndex(in.name) >= 0)
      continue;
    In rest{in.name, {}};
    for (size_t bit = skip; bit < in.bases.size(); ++bit) {
      Coords basis;
      for (size_t i = 0; i < kept.size(); ++i)
        basis.push_back(in.bases[bit][kept[i]] >> shifts[i]);
      rest.bases.push_back(std::move(basis));
    }
    ins.push_back(std::move(rest));
  }
  // The product decides: it sees low bits that were lost and the order of dims.
  Result quotient = create(std::move(ins), std::move(outs));
  if (product(divisor, quotient) != *this)
    return std::nullopt;
  return quotient;
}

LinearLayout::Result LinearLayout::pseudoInvert(std::string *error) const {
  BitSpan span;
  for (uint64_t column : columns)
    span.insert(column);
  int bits = totalOutBits();
  if (span.rank() != bits)
    return fail(error, "invert: expected a surjective layout of rank " +
                           std::to_string(bits) + ", got rank " +
                           std::to_string(span.rank()));
  std::vector<uint64_t> flat;
  for (int bit = 0; bit < bits; ++bit) {
    auto solution = span.solve(uint64_t(1) << bit);
    if (!solution)
      return fail(error, "invert: no input reaches bit " + std::to_string(bit));
    flat.push_back(*solution);
  }
  return fromFlat(outDims(), inDims(), flat);
}

LinearLayout::Result LinearLayout::invert(std::string *error) const {
  if (!isInjective())
    return fail(error, "invert: expected independent bases, got " +
                           std::to_string(totalInBits()) + " bases of rank " +
                           std::to_string(rank()));
  return pseudoInvert(error);
}

int LinearLayout::rank() const {
  BitSpan span;
  for (uint64_t column : columns)
    span.insert(column);
  return span.rank();
}

std::vector<int64_t> LinearLayout::freeVariableMasks() const {
  std::vector<int64_t> masks;
  BitSpan span;
  size_t column = 0;
  for (const In &in : inputs) {
    int64_t mask = 0;
    for (size_t bit = 0; bit < in.bases.size(); ++bit)
      if (!span.insert(columns[column++]))
        mask |= int64_t(1) << bit;
    masks.push_back(mask);
  }
  return masks;
}

int64_t LinearLayout::broadcastMask(std::string_view in) const {
  int64_t mask = 0;
  int i = inIndex(in);
  if (i < 0)
    return 0;
  for (size_t bit = 0; bit < inputs[i].bases.size(); ++bit)
    if (packed(inputs[i].bases[bit]) == 0)
      mask |= int64_t(1) << bit;
  return mask;
}

} // namespace mlatile
