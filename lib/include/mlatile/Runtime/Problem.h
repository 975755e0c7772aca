// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a caller has, without its data: everything that planning needs.
#ifndef MLATILE_RUNTIME_PROBLEM_H
#define MLATILE_RUNTIME_PROBLEM_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace mlatile {

struct CacheFormat;
struct Target;

/// What is stored as lse: log of the softmax denominator.
enum class LseKind { None = 0, Base2 = 1, BaseE = 2 };

/// A kernel file that takes the place of the built-in one: same kernels, same
/// arguments, other formulas.
struct KernelSource {
  std::string name; ///< for diagnostics, usually the path
  std::string text; ///< MLIR
  std::map<std::string, std::string> params; ///< bound besides the planned ones
  /// Files of steps that come before those of the compiler: path and MLIR. They
  /// are part of the kernel: other steps are another kernel.
  std::map<std::string, std::string> steps = {};
};

/// One sparse-MLA problem. Fields that are left out are chosen by the planner.
struct Problem {
  int64_t numTokens = 0; ///< query rows, T or B * S; at least 0
  int64_t numHeads = 0;  ///< query heads, 1 to 128
  int64_t width = 0;     ///< candidates a row, at least 1
  std::string kvFormat;  ///< a name of cacheFormats()
  int64_t pageSize = 0;  ///< tokens a page, at least 1

  std::optional<int64_t> extraWidth; ///< second cache; absent if there is none
  std::optional<int64_t> extraPageSize;
  std::optional<std::string> extraKvFormat; ///< default: kvFormat

  bool hasSink = false;
  bool hasLengths = false;
  bool hasExtraLengths = false; ///< of the second cache's lists
  LseKind lse = LseKind::None;

  std::optional<int64_t> pageStride;      ///< bytes, a multiple of 16
  std::optional<int64_t> extraPageStride; ///< of the second cache
  std::optional<int64_t> rowStride;       ///< bytes, inline formats only

  std::string kernel = "auto";      ///< "auto", "decode", "prefill", "swapab"
  std::string compute = "auto";     ///< "auto", "bf16", "fp8", "fp8_fast"
  std::optional<int64_t> numSplits; ///< at least 1
  /// How splits are joined: "auto", "launch", "dependent", "slices",
  /// "cluster".
  std::string merge = "auto";
  /// Parameters of the attention kernel in the place of the planned ones (BH,
  /// BN, WARPS, ROLES), to measure others.
  std::map<std::string, std::string> params;
  std::string target;            ///< empty: "sm_120a"
  std::optional<int64_t> numSMs; ///< default: the card table's
  /// The device's name, as the driver says it: measured times of others do not
  /// count. Empty: any card with that target and number of SMs.
  std::string card;
  std::shared_ptr<const KernelSource> source; ///< null: the built-in kernels

  /// Format of the second cache; meaningful where there is one.
  const std::string &extraFormat() const {
    return extraKvFormat ? *extraKvFormat : kvFormat;
  }
  /// All fields as text, equal if and only if the problems are.
  std::string key() const;
};

/// Checks every field on its own and against the format. Throws ArgumentError.
void validate(const Problem &problem);

/// The format of that name; ArgumentError lists the accepted names.
const CacheFormat &formatNamed(const std::string &argument,
                               const std::string &name);
/// The target of that name, "sm_120a" if empty; ArgumentError otherwise.
const Target &targetNamed(const std::string &name);

/// Bytes that the last token of a page of the format ends at.
int64_t pageBytes(const CacheFormat &format, int64_t pageSize,
                  int64_t rowStride);

/// Longest list of candidates, largest page, most rows of one call.
inline constexpr int64_t kMaxCount = 2147483647;

} // namespace mlatile
#endif
