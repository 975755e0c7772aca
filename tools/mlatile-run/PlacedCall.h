// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrays of one problem where it runs, and its call.
#ifndef MLATILE_TOOLS_RUN_PLACEDCALL_H
#define MLATILE_TOOLS_RUN_PLACEDCALL_H

#include "Job.h"

#include <memory>
#include <vector>

namespace mlatile::run {

/// Results on the host, as arrays with the heads that slice adds.
struct Results {
  std::vector<uint16_t> out;                   ///< bf16 [T, H + slice, d_v]
  std::vector<float> lse;                      ///< [T, H + slice], or empty
  bool operator==(const Results &other) const; ///< bit by bit
};

/// Makes the inputs of a job and places them; launch() needs placeResults().
class PlacedCall {
public:
  explicit PlacedCall(const JobOptions &options);
  ~PlacedCall();
  PlacedCall(const PlacedCall &) = delete;
  PlacedCall &operator=(const PlacedCall &) = delete;

  Inputs inputs;
  Call call;

  /// Gives the call its outputs and, on a device, its workspace.
  void placeResults();
  /// Bytes of 0xFF (NaN) into all that a call writes.
  void clearResults();
  /// Rewrites the arrays of indices and lengths in place.
  void useCandidates(size_t set);
  /// What a call left. Waits for nothing.
  Results fetch() const;

private:
  struct Array; ///< one buffer on the host and its mirror on the device
  template <typename T>
  Array &place(std::vector<T> &host, bool clear = false);
  template <typename T>
  Tensor tensor(Array &array, std::vector<T> &host, DType type,
                std::vector<int64_t> shape) const;
  /// The heads of the problem of an array [T, H + slice, last].
  Tensor heads(Tensor tensor) const;
  /// Rows as [batch, T / batch] where the options say so.
  Tensor framed(Tensor tensor) const;
  Arguments makeArguments();
  void placeCandidates(Cache &cache, std::optional<Tensor> &lengths,
                       Tensor &indices);

  const JobOptions options;
  std::vector<std::unique_ptr<Array>> arrays;
  std::vector<std::pair<Cache *, std::pair<Array *, Array *>>> candidates;
  std::vector<uint16_t> out;
  std::vector<float> lse;
  std::vector<uint8_t> scratch;
  Array *outArray = nullptr, *lseArray = nullptr, *scratchArray = nullptr;
};

} // namespace mlatile::run
#endif
