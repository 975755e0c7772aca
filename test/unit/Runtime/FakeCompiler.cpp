// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libmlatile_compiler.so: answers compile requests with the meta
// of the kernel files and runs a plain C++ version of its kernels, so that
// the run-time library is tested on its own, without LLVM. It reads its
// parameters as docs/Pipeline.md section 4 says, independently of the packer.
#define MLATILE_COMPILER_BUILDING
#include "mlatile/Compiler/compiler_c.h"

#include "../../../tools/mlatile-run/Numbers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Json = nlohmann::ordered_json;
using namespace mlatile::run;

namespace {
std::atomic<int> compileCount = 0;

char *copyOf(const std::string &text) { return strdup(text.c_str()); }

int fail(int status, const std::string &text, char **error) {
  if (error)
    *error = copyOf(text);
  return status;
}

struct Compiled : mlatile_compiled {
  std::string meta;
  std::vector<std::string> contents;
  std::vector<mlatile_blob> entries;
};

Json argument(const char *name, const char *kind, int rank,
              const char *element) {
  return {{"name", name}, {"kind", kind}, {"rank", rank}, {"element", element}};
}
Json view(const char *name, int rank, const char *element) {
  return argument(name, "view", rank, element);
}
Json scalar(const char *name, const char *element) {
  return argument(name, "scalar", 0, element);
}
Json pool(const char *name) { return argument(name, "pool", 0, ""); }

bool isTrue(const Json &params, const char *name) {
  return params.contains(name) && params[name].get<bool>();
}

/// Kernels that know of a second cache have its arguments, used or not.
bool takesExtra(const Json &params) { return params.contains("HAS_EXTRA"); }

Json argumentsOf(const std::string &kernel, const Json &params) {
  if (kernel == "gather")
    return {pool("pool"), view("ids", 1, "i32"), view("sums", 2, "f32"),
            scalar("per_program", "index")};
  if (kernel == "mma")
    return {view("a", 2, "bf16"), view("b", 2, "bf16"), view("sums", 2, "f32"),
            scalar("steps", "index")};
  if (kernel == "read")
    return {view("data", 2, "f32"), view("sums", 2, "f32"),
            scalar("per_program", "index")};
  Json parts = {view("part_o", 4, "f32"), view("part_m", 3, "f32"),
                view("part_l", 3, "f32")};
  Json results = {view("out", 4, "bf16"), view("lse", 3, "f32")};
  Json args = Json::array();
  auto append = [&](const Json &list) {
    args.insert(args.end(), list.begin(), list.end());
  };
  if (kernel != "merge") {
    append({view("q", 4, "bf16"), pool("kv"), view("indices", 3, "i32"),
            view("lengths", 3, "i32")});
    if (takesExtra(params))
      append({pool("extra_kv"), view("extra_indices", 3, "i32"),
              view("extra_lengths", 3, "i32")});
    args.push_back(view("sink", 1, "f32"));
    append(results);
    if (kernel == "decode") {
      append(parts);
      args.push_back(view("counters", 1, "i32"));
    }
    args.push_back(scalar("sm_scale", "f32"));
    if (kernel == "decode")
      args.push_back(scalar("num_splits", "index"));
  } else {
    append(parts);
    args.push_back(view("sink", 1, "f32"));
    append(results);
    args.push_back(scalar("num_splits", "index"));
  }
  return args;
}

/// Kernels that measure the card do nothing here.
bool isFloor(const Json &request) {
  return request.value("kernel_file", "") == "floors";
}

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
  std::vector<Strided<float>> parts;
  if (splitKernel) {
    for (int rank : {4, 3, 3})
      parts.emplace_back(p, rank);
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
    for (int64_t d = 0; d < 512; ++d)
      parts[0].at({split, r, h, d}) =
          static_cast<float>(row.o[static_cast<size_t>(d)]);
    parts[1].at({split, r, h}) = static_cast<float>(row.m);
    parts[2].at({split, r, h}) = static_cast<float>(row.l);
  }
}

/// A row of the partial results, joined and stored.
void mergeRow(const Json &params, const std::vector<Strided<float>> &parts,
              const Strided<float> &sink, const Strided<uint16_t> &out,
              const Strided<float> &lse, int64_t splits, int64_t r, int64_t h) {
  int64_t S = out.extents[1];
  Row row;
  for (int64_t i = 0; i < splits; ++i) {
    double mi = parts[1].at({i, r, h}), m = std::max(row.m, mi);
    if (std::isinf(m))
      continue;
    double old = std::exp(row.m - m), factor = std::exp(mi - m);
    row.l = row.l * old + parts[2].at({i, r, h}) * factor;
    for (int64_t d = 0; d < 512; ++d)
      row.o[static_cast<size_t>(d)] = row.o[static_cast<size_t>(d)] * old +
                                      parts[0].at({i, r, h, d}) * factor;
    row.m = m;
  }
  storeRow(params, out, lse, sink, r / S, r % S, h, row);
}

/// What all CTAs of a grid do once their partial results are there. False: a
/// counter was not zero.
bool mergeSlices(const Json &params, void *const *args) {
  Parameters p(args);
  Strided<uint16_t> q(p, 4);
  List list(p);
  if (takesExtra(params)) [[maybe_unused]]
    List extra(p);
  Strided<float> sink(p, 1);
  Strided<uint16_t> out(p, 4);
  Strided<float> lse(p, 3);
  std::vector<Strided<float>> parts;
  for (int rank : {4, 3, 3})
    parts.emplace_back(p, rank);
  Strided<int32_t> counters(p, 1);
  p.get<float>();
  int64_t splits = p.get<int64_t>(), BH = params["BH"].get<int64_t>();
  int64_t rows = q.extents[0] * q.extents[1], H = q.extents[2];
  for (int64_t i = 0; i < rows * ((H + BH - 1) / BH); ++i)
    if (counters.at({i}))
      return false;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < H; ++h)
      mergeRow(params, parts, sink, out, lse, splits, r, h);
  return true;
}

void mergeCta(const Json &params, int64_t pid, void *const *args) {
  Parameters p(args);
  std::vector<Strided<float>> parts;
  for (int rank : {4, 3, 3})
    parts.emplace_back(p, rank);
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
    mergeRow(params, parts, sink, out, lse, splits, r, h);
}
} // namespace

struct mlatile_sim_program {
  Json request;
};

extern "C" {
MLATILE_COMPILER_API int fake_compile_count(void) { return compileCount; }

int mlatile_compiler_abi_version(void) { return MLATILE_COMPILER_ABI_VERSION; }
void mlatile_compiler_free_string(char *string) { std::free(string); }

int mlatile_compiler_compile(const char *text, mlatile_compiled **result,
                             char **error) {
  ++compileCount;
  Json request = Json::parse(text);
  if (request.value("source", "").find("syntax error") != std::string::npos)
    return fail(MLATILE_COMPILER_COMPILE_ERROR,
                request["source_name"].get<std::string>() +
                    ":3:7: error: expected an operation",
                error);
  bool cubin = request["cubin"].get<bool>();
  if (cubin && std::getenv("FAKE_NO_PTXAS"))
    return fail(MLATILE_COMPILER_PTXAS_ERROR, "no ptxas found", error);
  std::string kernel = request["kernel"].get<std::string>();
  Json meta = {{"name", kernel},
               {"target", request["target"]},
               {"params", request["params"]},
               {"threads", 128},
               {"shared_bytes", 40960},
               {"dynamic_shared_bytes", 40000},
               {"coresident", isTrue(request["params"], "SLICES")},
               {"args", argumentsOf(kernel, request["params"])},
               {"buffers", {{"k", {0, 40000}}}},
               {"seconds", {{"total", 0.0}}}};
  meta["ptxas"] = nullptr;
  if (cubin)
    meta["ptxas"] = {{"version", "13.0"},
                     {"registers", 128},
                     {"spill_stores", 0},
                     {"spill_loads", 0},
                     {"static_shared", 960}};
  auto *compiled = new Compiled;
  compiled->meta = meta.dump();
  compiled->contents = {"// ptx of " + kernel, request.dump(), "// mlir"};
  const char *names[] = {"ptx", "llvm", "mlir", "cubin"};
  if (cubin)
    compiled->contents.push_back("cubin of " + request.dump());
  for (size_t i = 0; i < compiled->contents.size(); ++i)
    compiled->entries.push_back(
        {names[i], compiled->contents[i].data(), compiled->contents[i].size()});
  compiled->meta_json = compiled->meta.c_str();
  compiled->num_blobs = compiled->entries.size();
  compiled->blobs = compiled->entries.data();
  *result = compiled;
  return MLATILE_COMPILER_OK;
}

void mlatile_compiler_free_compiled(mlatile_compiled *compiled) {
  delete static_cast<Compiled *>(compiled);
}

int mlatile_compiler_describe(const char *text, char **result, char **error) {
  Json request = Json::parse(text);
  std::string source = request["source"].get<std::string>();
  if (request.contains("params") && source.find("refuse") != std::string::npos)
    return fail(MLATILE_COMPILER_BAD_PARAMS, "requirement violated", error);
  Json kernels = Json::array();
  for (const char *name : {"decode", "merge"}) {
    if (source.find(name) == std::string::npos)
      continue;
    Json args = argumentsOf(name, Json::object());
    if (source.find("querys") != std::string::npos)
      args[0]["name"] = "querys";
    if (source.find("flat") != std::string::npos)
      args[0]["rank"] = 3;
    kernels.push_back(
        {{"name", name}, {"params", {{{"name", "BN"}}}}, {"args", args}});
  }
  *result = copyOf(kernels.dump());
  return MLATILE_COMPILER_OK;
}

int mlatile_compiler_info(const char *, char **info, char **) {
  *info = copyOf("{\"build_id\": \"fake\"}");
  return MLATILE_COMPILER_OK;
}

int mlatile_sim_load(const void *ir, size_t size, const char *,
                     mlatile_sim_program **program, char **) {
  std::string text(static_cast<const char *>(ir), size);
  *program = new mlatile_sim_program{Json::parse(text)};
  return MLATILE_COMPILER_OK;
}

MLATILE_COMPILER_API size_t
fake_parameter_count(const mlatile_sim_program *program) {
  const Json &params = program->request["params"];
  if (isFloor(program->request)) {
    std::string kernel = program->request["kernel"];
    return kernel == "gather" ? 5 + 2 + 3 + 1
           : kernel == "mma"  ? 3 + 3 + 3 + 1
                              : 3 + 3 + 1;
  }
  size_t extra = takesExtra(params) ? 5 + 6 + 6 : 0;
  size_t partials = params.contains("SPLIT") ? 8 + 6 + 6 + 2 + 1 : 0;
  return program->request["kernel"] == "merge"
             ? 8 + 6 + 6 + 2 + 8 + 6 + 1
             : 8 + 5 + 6 + 6 + 2 + 8 + 6 + 1 + extra + partials;
}

int mlatile_sim_launch(mlatile_sim_program *program, unsigned gridX,
                       unsigned gridY, unsigned gridZ, unsigned block,
                       size_t shared, void *const *args, size_t count,
                       const char *options, char **stats, char **error) {
  const Json &params = program->request["params"];
  bool merge = program->request["kernel"] == "merge";
  size_t expected = fake_parameter_count(program);
  if (count != expected || gridY != 1 || gridZ != 1 || block != 128 ||
      shared != 40000)
    return fail(MLATILE_COMPILER_SIM_ERROR,
                "expected " + std::to_string(expected) + " parameters, got " +
                    std::to_string(count),
                error);
  for (unsigned pid = 0; pid < gridX && !isFloor(program->request); ++pid)
    (merge ? mergeCta : attentionCta)(params, pid, args);
  if (isTrue(params, "SLICES") && !mergeSlices(params, args))
    return fail(MLATILE_COMPILER_SIM_ERROR, "a counter is not zero", error);
  if (stats)
    *stats =
        copyOf(Json{{"grid", gridX}, {"options", Json::parse(options)}}.dump());
  return MLATILE_COMPILER_OK;
}

void mlatile_sim_free(mlatile_sim_program *program) { delete program; }
}
