// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of sparse MLA: arguments are checked and planned before anything
// runs, then launched.
#ifndef MLATILE_RUNTIME_CALL_H
#define MLATILE_RUNTIME_CALL_H

#include "mlatile/Runtime/Kernel.h"
#include "mlatile/Runtime/Plan.h"
#include "mlatile/Runtime/Tensor.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace mlatile {

/// Arguments of one call, named as in Python (docs/HostApi.md). T stands for
/// the row axes: [T, ...] or [B, S, ...], the same in all of them.
struct Arguments {
  Tensor q;       ///< bfloat16 [T, H, d_qk]
  Tensor kvCache; ///< uint8 [pages, page_bytes], or a 3-D or 4-D view of pages
  Tensor indices; ///< int32 [T, W] or [T, 1, W], slots
  std::string kvFormat;
  int64_t pageSize = 0;
  double smScale = 0;
  std::optional<Tensor> topkLength; ///< int32 [T]

  /// The second cache: pool, indices and page size all, or none of them.
  std::optional<Tensor> extraKvCache, extraIndices, extraTopkLength;
  std::optional<int64_t> extraPageSize;
  std::optional<std::string> extraKvFormat; ///< default: kvFormat

  std::optional<Tensor> attnSink;  ///< float32 [H]
  std::optional<Tensor> out;       ///< bfloat16 [T, H, d_v]
  std::optional<Tensor> lse;       ///< float32 [T, H]
  std::optional<Tensor> workspace; ///< uint8 [bytes]
  bool returnLse = false;          ///< an lse is wanted though none is given
  std::string lseBase = "2";

  std::string kernel = "auto";
  std::string compute = "auto";
  std::optional<int64_t> numSplits;
  std::string merge = "auto";                ///< of a Problem
  std::map<std::string, std::string> params; ///< as of Problem
  std::optional<int64_t> pageStride, extraPageStride;
  std::optional<int64_t> rowStride;
  std::optional<std::string> device; ///< "sim", "cuda"; default: the arrays'
  bool hasStream = false;
  std::shared_ptr<const KernelSource> source;
  std::string target;            ///< empty: the device's
  std::optional<int64_t> numSMs; ///< default: the device's
};

/// A strided array as a kernel sees it.
struct View {
  void *data = nullptr;
  std::string element; ///< "bf16", "f32", "i32"
  std::vector<int64_t> extents;
  std::vector<int64_t> strides; ///< elements, all but the last dimension's (1)
};

/// A paged pool as a kernel sees it; strides in bytes.
struct Pool {
  void *data = nullptr;
  int64_t slots = 0, pageSize = 0, pageStride = 0, rowStride = 0;
};

/// A checked and planned call. Views keep the strides of the arguments: nothing
/// is copied.
struct Call {
  std::shared_ptr<const Plan> plan;
  Place place;
  float smScale = 0;
  View q, indices, lengths, sink, out, lse; ///< rows framed as [B, S]
  Pool kv;
  View extraIndices, extraLengths; ///< empty without a second cache
  Pool extraKv;
  std::vector<int64_t> rowShape; ///< [T] or [B, S]
  int64_t dimV = 0;
  void *workspace = nullptr;

  std::vector<int64_t> outShape() const;
  std::vector<int64_t> lseShape() const;
  bool needsOut() const { return !hasOut; }
  bool needsLse() const {
    return plan->problem.lse != LseKind::None && !hasLse;
  }
  bool needsWorkspace() const { return plan->workspaceBytes > 0 && !workspace; }
  /// Give what prepare() found missing; checked as the arguments are.
  void setOut(const Tensor &tensor);
  void setLse(const Tensor &tensor);
  void setWorkspace(const Tensor &tensor);

  bool hasOut = false, hasLse = false;

private:
  friend Call prepare(const Arguments &arguments);
  /// What is written must not overlap anything that was given before it.
  void claim(const char *argument, const Tensor &tensor);
  std::vector<std::pair<std::string, Tensor>> claimed;
};

/// Checks all arguments and plans. Throws ArgumentError or UnsupportedError.
Call prepare(const Arguments &arguments);

struct LaunchOptions {
  void *stream = nullptr; ///< CUDA stream
  /// CUDA: grids whose CTAs wait for each other are launched as cooperative
  /// ones, which the driver never runs in part. Without it they must have the
  /// card to themselves.
  bool cooperative = true;
  unsigned seed = 0;            ///< executor: order of the warps
  bool checked = false;         ///< executor: report races and bad accesses
  unsigned hostThreads = 0;     ///< executor: 0 is one a processor
  std::string *stats = nullptr; ///< executor: receives counts, a JSON array
  /// CUDA: told each kernel of the call when it is in the stream.
  std::function<void(const Kernel &)> launched;
};

/// Runs a call: compiles what is not there yet, then launches. Returns when the
/// work is done on the executor, when it is in the stream on CUDA (without a
/// workspace of the caller's: when it is done). While the stream is captured
/// into a graph nothing is allocated, loaded or compiled: a call that would
/// need it is an ArgumentError (workspace) or an UnsupportedError (kernels).
/// Throws CompileError, LaunchError, UnsupportedError.
void launch(const Call &call, const LaunchOptions &options = {});

/// Gets all kernels of a plan and loads them on the device, so that a launch
/// in a capture has them. ArgumentError where the plan is for another target.
void preload(const Plan &plan, int ordinal = 0);

} // namespace mlatile
#endif
