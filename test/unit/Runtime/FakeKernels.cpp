// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They read their parameters as docs/Pipeline.md section 4 says, independently
// of the packer.
#include "FakeKernels.h"

#include "../../../tools/mlatile-run/Numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

using Json = nlohmann::ordered_json;
using namespace mlatile::run;

namespace {
/// Reads flattened parameters one after another.
class Parameters {
public:
  explicit Parameters(void *const *args) : next(args) {}
  template <typename T>
  T get() {
    T value;
    std::memcpy(&value, *next++, sizeof value);
    return value;
  }

private:
  void *const *next;
};

template <typename T>
struct Strided {
  char *base;
  std::vector<int64_t> extents, strides;
  Strided(Parameters &p, int rank) : base(p.get<char *>()) {
    for (int i = 0; i < rank; ++i)
      extents.push_back(p.get<int64_t>());
    for (int i = 0; i + 1 < rank; ++i)
      strides.push_back(p.get<int64_t>());
    strides.push_back(1);
  }
  T &at(std::initializer_list<int64_t> index) const {
    int64_t offset = 0;
    size_t i = 0;
    for (int64_t value : index)
      offset += value * strides[i++];
    return reinterpret_cast<T *>(base)[offset];
  }
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Factor of the unnormalised output and natural-log lse.
void finish(double m, double l, double sink, double &factor, double &lse) {
  double top = std::max(m, sink);
  if (std::isinf(top)) {
    factor = 0;
    lse = top;
    return;
  }
  double total = l * std::exp(m - top) + std::exp(sink - top);
  factor = std::exp(m - top) / total;
  lse = top + std::log(total);
}

struct Row {
  double m = -kInfinity, l = 0;
  std::vector<double> o = std::vector<double>(512);
};

/// Nearest, ties to even, of what is in range.
uint16_t toF16(double value) {
  int exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, -14); // below it are subnormals
  double ulps = std::nearbyint(std::ldexp(std::fabs(value), 10 - exponent));
  return static_cast<uint16_t>(static_cast<int>(ulps) + (exponent + 14) * 1024 +
                               (std::signbit(value) ? 0x8000 : 0));
}

double fromF16(uint16_t word) {
  int exponent = word >> 10 & 31, fraction = word & 1023;
  double value = exponent ? std::ldexp(1024 + fraction, exponent - 25)
                          : std::ldexp(fraction, -24);
  return word & 0x8000 ? -value : value;
}

/// What splits leave for the merge.
struct Partials {
  Strided<uint16_t> o;
  Strided<float> u, m, l;
  explicit Partials(Parameters &p) : o(p, 4), u(p, 3), m(p, 3), l(p, 3) {}

  void store(int64_t r, int64_t split, int64_t h, const Row &row) const {
    double most = 0x1p-110;
    for (double value : row.o)
      most = std::max(most, std::fabs(value));
    float unit = std::ldexp(1.0f, std::ilogb(most) - 7);
    for (int64_t d = 0; d < 512; ++d)
      o.at({r, split, h, d}) = toF16(row.o[static_cast<size_t>(d)] / unit);
    u.at({r, split, h}) = unit;
    m.at({r, split, h}) = static_cast<float>(row.m);
    l.at({r, split, h}) = static_cast<float>(row.l);
  }

  Row join(int64_t r, int64_t splits, int64_t h) const {
    Row row;
    for (int64_t i = 0; i < splits; ++i) {
      double mi = m.at({r, i, h}), top = std::max(row.m, mi);
      if (std::isinf(top))
        continue;
      double old = std::exp(row.m - top), factor = std::exp(mi - top);
      row.l = row.l * old + l.at({r, i, h}) * factor;
      factor *= u.at({r, i, h});
      for (int64_t d = 0; d < 512; ++d) {
        double &sum = row.o[static_cast<size_t>(d)];
        sum = sum * old + fromF16(o.at({r, i, h, d})) * factor;
      }
      row.m = top;
    }
    return row;
  }
};

void storeRow(const Json &params, const Strided<uint16_t> &out,
              const Strided<float> &lse, const Strided<float> &sink, int64_t b,
              int64_t s, int64_t h, const Row &row) {
  double z = params["HAS_SINK"].get<bool>() ? sink.at({h}) : -kInfinity;
  double factor, natural;
  finish(row.m, row.l, z, factor, natural);
  for (int64_t d = 0; d < 512; ++d)
    out.at({b, s, h, d}) = toBF16(row.o[static_cast<size_t>(d)] * factor);
  int kind = params["LSE"].get<int>();
  if (kind)
    lse.at({b, s, h}) =
        static_cast<float>(kind == 1 ? natural * 1.4426950408889634 : natural);
}

/// A dsv4 pool and its lists.
struct List {
  uint8_t *pool;
  int64_t slots, pageSize, pageStride, rowStride;
  Strided<int32_t> indices, lengths;
  explicit List(Parameters &p)
      : pool(p.get<uint8_t *>()), slots(p.get<int64_t>()),
        pageSize(p.get<int64_t>()), pageStride(p.get<int64_t>()),
        rowStride(p.get<int64_t>()), indices(p, 3), lengths(p, 3) {}
  int64_t width() const { return indices.extents[2]; }
  int64_t length(bool hasLengths, int64_t b, int64_t s) const {
    if (!hasLengths)
      return width();
    return std::clamp<int64_t>(lengths.at({b, s, 0}), 0, width());
  }

  /// Puts entry n of a row into the softmax, unless it is skipped.
  void add(Row &row, int64_t n, const Strided<uint16_t> &q, float scale,
           int64_t b, int64_t s, int64_t h) const {
    int64_t slot = indices.at({b, s, n});
    if (slot < 0 || slot >= slots)
      return;
    uint8_t *page = pool + slot / pageSize * pageStride;
    uint8_t *data = page + slot % pageSize * rowStride;
    uint8_t *scales = page + pageSize * rowStride + slot % pageSize * 8;
    std::vector<double> key(512);
    double sum = 0;
    for (int d = 0; d < 512; ++d) {
      uint16_t word = 0;
      if (d >= 448)
        std::memcpy(&word, data + 448 + 2 * (d - 448), 2);
      key[static_cast<size_t>(d)] =
          d < 448 ? fromE4M3(data[d]) * fromUE8M0(scales[d / 64])
                  : fromBF16(word);
      sum += fromBF16(q.at({b, s, h, d})) * key[static_cast<size_t>(d)];
    }
    double logit = scale * sum, m = std::max(row.m, logit);
    double old = std::exp(row.m - m), weight = std::exp(logit - m);
    row.l = row.l * old + weight;
    for (size_t d = 0; d < 512; ++d)
      row.o[d] = row.o[d] * old + weight * key[d];
    row.m = m;
  }
};
} // namespace

bool isTrue(const Json &params, const char *name) {
  return params.contains(name) && params[name].get<bool>();
}

bool takesExtra(const Json &params) { return params.contains("HAS_EXTRA"); }

void attentionCta(const Json &params, int64_t pid, void *const *args) {
  Parameters p(args);
  bool splitKernel = params.contains("SPLIT");
  Strided<uint16_t> q(p, 4);
  std::vector<List> lists = {List(p)};
  if (takesExtra(params)) {
    List extra(p);
    if (params["HAS_EXTRA"].get<bool>())
      lists.push_back(extra);
  }
  Strided<float> sink(p, 1);
  Strided<uint16_t> out(p, 4);
  Strided<float> lse(p, 3);
  std::optional<Partials> parts;
  if (splitKernel) {
    parts.emplace(p);
    Strided<int32_t> counters(p, 1);
  }
  float scale = p.get<float>();
  int64_t splits = splitKernel ? p.get<int64_t>() : 1;

  int64_t BH = params["BH"].get<int64_t>(), BN = params["BN"].get<int64_t>();
  int64_t S = q.extents[1], H = q.extents[2];
  int64_t headTiles = (H + BH - 1) / BH;
  int64_t split = pid % splits, tile = pid / splits % headTiles;
  int64_t r = pid / splits / headTiles, b = r / S, s = r % S;
  // Splits go over the tiles of the first list, then those of the second.
  int64_t tiles = 0;
  for (const List &list : lists)
    tiles += (list.width() + BN - 1) / BN;
  int64_t perSplit = (tiles + splits - 1) / splits;
  // The first block of a cluster does the work of all.
  if (params.value("CLUSTER", 1) > 1) {
    if (split)
      return;
    perSplit = tiles;
  }
  for (int64_t h = tile * BH; h < std::min(H, (tile + 1) * BH); ++h) {
    Row row;
    int64_t before = 0; // tiles of the lists before
    for (size_t i = 0; i < lists.size(); ++i) {
      const List &list = lists[i];
      int64_t end = list.length(
          params[i ? "HAS_EXTRA_LENGTH" : "HAS_LENGTH"].get<bool>(), b, s);
      int64_t from = std::max<int64_t>(split * perSplit - before, 0) * BN;
      int64_t to = std::min(((split + 1) * perSplit - before) * BN, end);
      for (int64_t n = from; n < to; ++n)
        list.add(row, n, q, scale, b, s, h);
      before += (list.width() + BN - 1) / BN;
    }
    if (!splitKernel || !params["SPLIT"].get<bool>()) {
      storeRow(params, out, lse, sink, b, s, h, row);
      continue;
    }
    parts->store(r, split, h, row);
  }
}

bool mergeSlices(const Json &params, void *const *args) {
  Parameters p(args);
  Strided<uint16_t> q(p, 4);
  List list(p);
  if (takesExtra(params)) [[maybe_unused]]
    List extra(p);
  Strided<float> sink(p, 1);
  Strided<uint16_t> out(p, 4);
  Strided<float> lse(p, 3);
  Partials parts(p);
  Strided<int32_t> counters(p, 1);
  p.get<float>();
  int64_t splits = p.get<int64_t>(), BH = params["BH"].get<int64_t>();
  int64_t rows = q.extents[0] * q.extents[1], H = q.extents[2];
  for (int64_t i = 0; i < rows * ((H + BH - 1) / BH); ++i)
    if (counters.at({i}))
      return false;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < H; ++h)
      storeRow(params, out, lse, sink, r / q.extents[1], r % q.extents[1], h,
               parts.join(r, splits, h));
  return true;
}

void mergeCta(const Json &params, int64_t pid, void *const *args) {
  Parameters p(args);
  Partials parts(p);
  Strided<float> sink(p, 1);
  Strided<uint16_t> out(p, 4);
  Strided<float> lse(p, 3);
  int64_t splits = p.get<int64_t>();
  int64_t BH = params["BH"].get<int64_t>(), BD = params["BD"].get<int64_t>();
  int64_t H = out.extents[2];
  int64_t columns = (out.extents[3] + BD - 1) / BD;
  int64_t headTiles = (H + BH - 1) / BH;
  if (pid % columns) // one column tile does the whole row
    return;
  int64_t tile = pid / columns % headTiles, r = pid / columns / headTiles;
  for (int64_t h = tile * BH; h < std::min(H, (tile + 1) * BH); ++h)
    storeRow(params, out, lse, sink, r / out.extents[1], r % out.extents[1], h,
             parts.join(r, splits, h));
}
