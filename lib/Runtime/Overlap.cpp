// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two strided arrays share a byte. Bounding ranges do not tell: halves
// of the rows of one buffer interleave and are disjoint.
#include "TensorChecks.h"

#include <algorithm>
#include <cstdlib>

namespace mlatile {
namespace {

__extension__ using Wide = __int128;

/// Addresses step * x, x from 0 to count.
struct Term {
  Wide step, count;
};

/// Appends a tensor's dimensions and the bytes of an element; gives its lowest
/// and its highest address.
std::pair<Wide, Wide> addTerms(const Tensor &tensor, std::vector<Term> &terms) {
  Wide bytes = itemBytes(tensor.type);
  Wide low = static_cast<Wide>(reinterpret_cast<uintptr_t>(tensor.data));
  Wide high = low + bytes - 1;
  terms.push_back({1, bytes - 1});
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    Wide step = bytes * tensor.strides[i], count = tensor.shape[i] - 1;
    (step < 0 ? low : high) += step * count;
    terms.push_back({step < 0 ? -step : step, count});
  }
  return {low, high};
}

/// Terms by falling step; those that continue one another as one.
std::vector<Term> joined(std::vector<Term> terms) {
  std::erase_if(terms, [](const Term &t) { return !t.step || !t.count; });
  std::sort(terms.begin(), terms.end(),
            [](const Term &a, const Term &b) { return a.step < b.step; });
  std::vector<Term> result;
  for (const Term &term : terms) {
    if (!result.empty()) {
      Term &last = result.back();
      if (term.step % last.step == 0 &&
          term.step <= last.step * (last.count + 1)) {
        last.count += term.step / last.step * term.count;
        continue;
      }
    }
    result.push_back(term);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

class Solver {
public:
  explicit Solver(std::vector<Term> sorted) : terms(std::move(sorted)) {
    rest.assign(terms.size() + 1, 0);
    for (size_t i = terms.size(); i-- > 0;)
      rest[i] = rest[i + 1] + terms[i].step * terms[i].count;
  }

  /// Whether the terms from the i-th on can make the sum.
  bool makes(Wide sum, size_t i = 0) {
    if (sum < 0 || sum > rest[i])
      return false;
    if (i == terms.size())
      return true;
    const auto &[step, count] = terms[i];
    Wide most = std::min(count, sum / step);
    Wide least = sum <= rest[i + 1] ? 0 : (sum - rest[i + 1] + step - 1) / step;
    for (Wide x = most; x >= least && budget-- > 0; --x)
      if (makes(sum - x * step, i + 1))
        return true;
    return false;
  }

private:
  std::vector<Term> terms;
  std::vector<Wide> rest;
  // Strides that nest, as those of real arrays do, need a few steps; what is
  // not found in so many counts as disjoint.
  int budget = 100000;
};
} // namespace

bool overlap(const Tensor &a, const Tensor &b) {
  if (isEmpty(a) || isEmpty(b) || !(a.place == b.place))
    return false;
  // low(a) + sum(a) = high(b) - sum(b)
  std::vector<Term> terms;
  Wide low = addTerms(a, terms).first, high = addTerms(b, terms).second;
  return Solver(joined(std::move(terms))).makes(high - low);
}

} // namespace mlatile
