// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of a call: checks, in the order of the signature, and views.
#include "mlatile/Runtime/Call.h"

#include "ProblemChecks.h"
#include "TensorChecks.h"
#include "Text.h"
#include "mlatile/Runtime/CudaDevice.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"

#include <cmath>

namespace mlatile {
namespace {

std::vector<int64_t> withTail(std::vector<int64_t> rows,
                              std::initializer_list<int64_t> tail) {
  rows.insert(rows.end(), tail);
  return rows;
}

/// "[T, H, d_v]" or "[B, S, H, d_v]".
std::string meaning(const Call &call, const std::string &tail) {
  std::string rows = call.rowShape.size() == 1 ? "T" : "B, S";
  return "[" + rows + tail + "]";
}

int64_t rowAxes(const Call &call) {
  return static_cast<int64_t>(call.rowShape.size());
}

void checkDevice(const Arguments &a, const Place &place) {
  if (a.device)
    checkOneOf("device", *a.device, {"sim", "cuda"});
  if (a.device == "cuda" && !place.cuda)
    throw ArgumentError("device", "expected device arrays for 'cuda', got host "
                                  "arrays");
  if (a.device == "sim" && place.cuda)
    throw ArgumentError("device", "expected host arrays for 'sim', got device "
                                  "arrays");
  if (a.hasStream && !place.cuda)
    throw ArgumentError("stream", "expected none with host arrays: the "
                                  "executor has no streams");
}

void checkQuery(const Tensor &q, const CacheFormat &format, Call &call) {
  checkType("q", q, DType::BF16);
  if (q.rank() != 3 && q.rank() != 4)
    throw ArgumentError("q", "expected [T, H, d_qk] or [B, S, H, d_qk], got " +
                                 shapeText(q.shape));
  if (q.shape.back() != format.dimQK())
    throw ArgumentError("q", "expected d_qk " + std::to_string(format.dimQK()) +
                                 " for `" + std::string(format.name) +
                                 "`, got " + shapeText(q.shape));
  int64_t heads = q.shape[q.shape.size() - 2];
  if (heads < 1 || heads > 128)
    throw ArgumentError("q", "expected 1 to 128 heads, got " +
                                 std::to_string(heads) + " (shape " +
                                 shapeText(q.shape) + ")");
  checkLastContiguous("q", q);
  checkAligned("q", q, 2);
  call.rowShape.assign(q.shape.begin(), q.shape.end() - 2);
  // Each axis before their product, which is then below 2^62.
  int64_t rows = 1;
  for (int64_t extent : call.rowShape)
    rows = std::min(extent, kMaxCount + 1) * rows;
  if (rows > kMaxCount)
    throw ArgumentError("q", "expected at most " + std::to_string(kMaxCount) +
                                 " rows, got shape " + shapeText(q.shape));
  call.q = frameRows(q, rowAxes(call), "bf16");
}

/// [T, W], also [T, 1, W] where the rows are flat.
Tensor checkIndices(const char *argument, const Tensor &given,
                    const Call &call) {
  checkType(argument, given, DType::I32);
  Tensor indices = given;
  bool flat = call.rowShape.size() == 1;
  if (flat && indices.rank() == 3 && indices.shape[1] == 1) {
    indices.shape.erase(indices.shape.begin() + 1);
    indices.strides.erase(indices.strides.begin() + 1);
  }
  if (indices.rank() != rowAxes(call) + 1 ||
      !std::equal(call.rowShape.begin(), call.rowShape.end(),
                  indices.shape.begin())) {
    std::string rows = shapeText(call.rowShape);
    rows.pop_back();
    throw ArgumentError(argument, "expected shape " + rows + ", W]" +
                                      (flat ? " or " + rows + ", 1, W]" : "") +
                                      " (the rows of q), got " +
                                      shapeText(given.shape));
  }
  if (indices.shape.back() < 1 || indices.shape.back() > kMaxCount)
    throw ArgumentError(
        argument, "expected a width of 1 to " + std::to_string(kMaxCount) +
                      ", got " + std::to_string(indices.shape.back()) +
                      " (shape " + shapeText(given.shape) + ")");
  checkLastContiguous(argument, indices);
  checkAligned(argument, indices, 4);
  return indices;
}

/// Checked, and with a trailing axis of one, so that rows may have any stride.
View checkLengths(const char *argument, const Tensor &given, const Call &call) {
  checkType(argument, given, DType::I32);
  checkShape(argument, given, call.rowShape, meaning(call, ""));
  checkAligned(argument, given, 4);
  checkPlace(argument, given, call.place);
  Tensor lengths = given;
  lengths.shape.push_back(1);
  lengths.strides.push_back(1);
  return frameRows(lengths, rowAxes(call), "i32");
}

/// The second cache: complete or absent, well formed either way.
void checkExtra(const Arguments &a, const CacheFormat &format, Call &call,
                Problem &problem) {
  auto without = [](const char *argument, bool given) {
    if (given)
      throw ArgumentError(argument,
                          "expected none without extra_kv_cache, got one");
  };
  if (!a.extraKvCache) {
    without("extra_indices", a.extraIndices.has_value());
    without("extra_topk_length", a.extraTopkLength.has_value());
    without("extra_page_size", a.extraPageSize.has_value());
    without("extra_kv_format", a.extraKvFormat.has_value());
    without("extra_page_stride", a.extraPageStride.has_value());
    return;
  }
  if (!a.extraIndices)
    throw ArgumentError("extra_indices",
                        "expected an array with extra_kv_cache, got none");
  if (!a.extraPageSize)
    throw ArgumentError("extra_page_size",
                        "expected a value with extra_kv_cache, got none");
  checkRange("extra_page_size", *a.extraPageSize, 1, kMaxCount);
  const CacheFormat &extra =
      a.extraKvFormat ? formatNamed("extra_kv_format", *a.extraKvFormat)
                      : format;
  if (a.extraPageStride)
    checkPageStride("extra_", extra, *a.extraPageSize, extra.dataRow,
                    *a.extraPageStride);
  call.extraKv = checkPool("extra_kv_cache", "extra_", *a.extraKvCache, extra,
                           *a.extraPageSize, a.extraPageStride, std::nullopt);
  checkPlace("extra_kv_cache", *a.extraKvCache, call.place);
  Tensor indices = checkIndices("extra_indices", *a.extraIndices, call);
  checkPlace("extra_indices", indices, call.place);
  call.extraIndices = frameRows(indices, rowAxes(call), "i32");
  if (a.extraTopkLength) {
    call.extraLengths =
        checkLengths("extra_topk_length", *a.extraTopkLength, call);
    problem.hasExtraLengths = true;
  }
  problem.extraWidth = indices.shape.back();
  problem.extraPageSize = a.extraPageSize;
  problem.extraKvFormat = a.extraKvFormat;
}

/// What a call reads, by name.
std::vector<std::pair<std::string, Tensor>> inputsOf(const Arguments &a) {
  std::vector<std::pair<std::string, Tensor>> inputs = {
      {"q", a.q}, {"kv_cache", a.kvCache}, {"indices", a.indices}};
  auto add = [&](const char *name, const std::optional<Tensor> &tensor) {
    if (tensor)
      inputs.emplace_back(name, *tensor);
  };
  add("topk_length", a.topkLength);
  add("extra_kv_cache", a.extraKvCache);
  add("extra_indices", a.extraIndices);
  add("extra_topk_length", a.extraTopkLength);
  add("attn_sink", a.attnSink);
  return inputs;
}

LseKind lseKind(const Arguments &a) {
  checkOneOf("lse_base", a.lseBase, {"2", "e"});
  if (!a.returnLse && !a.lse)
    return LseKind::None;
  return a.lseBase == "2" ? LseKind::Base2 : LseKind::BaseE;
}
} // namespace

std::vector<int64_t> Call::outShape() const {
  return withTail(rowShape, {plan->problem.numHeads, dimV});
}

std::vector<int64_t> Call::lseShape() const {
  return withTail(rowShape, {plan->problem.numHeads});
}

void Call::claim(const char *argument, const Tensor &tensor) {
  for (const auto &[name, other] : claimed)
    if (overlap(tensor, other))
      throw ArgumentError(argument, "expected memory of its own, got an array "
                                    "that overlaps `" +
                                        name + "`");
  claimed.emplace_back(argument, tensor);
}

void Call::setOut(const Tensor &tensor) {
  checkType("out", tensor, DType::BF16);
  checkShape("out", tensor, outShape(), meaning(*this, ", H, d_v"));
  checkLastContiguous("out", tensor);
  checkWritable("out", tensor);
  checkPlace("out", tensor, place);
  checkAligned("out", tensor, 2);
  claim("out", tensor);
  out = frameRows(tensor, rowAxes(*this), "bf16");
  hasOut = true;
}

void Call::setLse(const Tensor &tensor) {
  checkType("lse", tensor, DType::F32);
  checkShape("lse", tensor, lseShape(), meaning(*this, ", H"));
  checkLastContiguous("lse", tensor);
  checkWritable("lse", tensor);
  checkPlace("lse", tensor, place);
  checkAligned("lse", tensor, 4);
  claim("lse", tensor);
  lse = frameRows(tensor, rowAxes(*this), "f32");
  hasLse = true;
}

void Call::setWorkspace(const Tensor &tensor) {
  if (tensor.type != DType::U8)
    checkType("workspace", tensor, DType::U8);
  if (tensor.rank() != 1)
    throw ArgumentError("workspace",
                        "expected [bytes], got " + shapeText(tensor.shape));
  checkLastContiguous("workspace", tensor);
  if (tensor.shape[0] < plan->workspaceBytes)
    throw ArgumentError("workspace",
                        "expected at least " +
                            std::to_string(plan->workspaceBytes) +
                            " bytes (workspace_bytes of the plan), got " +
                            std::to_string(tensor.shape[0]));
  checkWritable("workspace", tensor);
  checkPlace("workspace", tensor, place);
  checkAligned("workspace", tensor, 256);
  claim("workspace", tensor);
  workspace = tensor.data;
}

Call prepare(const Arguments &a) {
  const CacheFormat &format = formatNamed("kv_format", a.kvFormat);
  if (format.extraPoolOnly)
    throw ArgumentError("kv_format", "`" + a.kvFormat +
                                         "` may stand only in the extra cache");
  Call call;
  call.place = a.q.place;
  call.dimV = format.dimV();
  checkDevice(a, call.place);
  checkQuery(a.q, format, call);

  checkRange("page_size", a.pageSize, 1, kMaxCount);
  Problem problem;
  problem.kvFormat = a.kvFormat;
  problem.pageSize = a.pageSize;
  problem.rowStride = a.rowStride;
  problem.numTokens = call.q.extents[0] * call.q.extents[1];
  problem.numHeads = call.q.extents[2];
  // Options first checked on their own, so that a bad stride argument is
  // reported as such and not as a disagreement with the array.
  problem.width = 1;
  problem.pageStride = a.pageStride;
  problem.kernel = a.kernel;
  problem.compute = a.compute;
  problem.numSplits = a.numSplits;
  problem.merge = a.merge;
  problem.params = a.params;
  problem.target = a.target;
  problem.numSMs = a.numSMs;
  validate(problem);

  call.kv = checkPool("kv_cache", "", a.kvCache, format, a.pageSize,
                      a.pageStride, a.rowStride);
  checkPlace("kv_cache", a.kvCache, call.place);
  Tensor indices = checkIndices("indices", a.indices, call);
  checkPlace("indices", indices, call.place);
  call.indices = frameRows(indices, rowAxes(call), "i32");
  problem.width = indices.shape.back();

  if (!std::isfinite(a.smScale) ||
      !std::isfinite(static_cast<float>(a.smScale)))
    throw ArgumentError("sm_scale", "expected a finite float32, got " +
                                        std::to_string(a.smScale));
  call.smScale = static_cast<float>(a.smScale);

  if (a.topkLength) {
    call.lengths = checkLengths("topk_length", *a.topkLength, call);
    problem.hasLengths = true;
  }
  checkExtra(a, format, call, problem);
  if (a.attnSink) {
    checkType("attn_sink", *a.attnSink, DType::F32);
    checkShape("attn_sink", *a.attnSink, {problem.numHeads}, "[H]");
    checkLastContiguous("attn_sink", *a.attnSink);
    checkAligned("attn_sink", *a.attnSink, 4);
    checkPlace("attn_sink", *a.attnSink, call.place);
    call.sink = {a.attnSink->data, "f32", {problem.numHeads}, {}};
    problem.hasSink = true;
  }
  problem.lse = lseKind(a);
  problem.pageStride = call.kv.pageStride;
  problem.source = a.source;
  if (call.place.cuda) {
    std::optional<DeviceInfo> device = cudaDevice(call.place.ordinal);
    if (!device)
      throw UnsupportedError("device arrays cannot be used: " +
                             whyNoCudaDevice(call.place.ordinal));
    if (device->target.empty())
      throw UnsupportedError("no target fits " + device->name);
    if (problem.target.empty())
      problem.target = device->target;
    if (!problem.numSMs)
      problem.numSMs = device->sms;
    problem.card = device->name;
  }

  call.plan = plan(problem);
  // Inputs may share memory among themselves.
  call.claimed = inputsOf(a);
  if (a.out)
    call.setOut(*a.out);
  if (a.lse)
    call.setLse(*a.lse);
  if (a.workspace)
    call.setWorkspace(*a.workspace);
  return call;
}

} // namespace mlatile
