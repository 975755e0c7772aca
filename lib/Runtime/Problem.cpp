// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/Problem.h"

#include "Text.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Target/Format.h"
#include "mlatile/Target/Target.h"

#include <sstream>

namespace mlatile {

const CacheFormat &formatNamed(const std::string &argument,
                               const std::string &name) {
  if (const CacheFormat *format = findCacheFormat(name))
    return *format;
  std::vector<std::string> names;
  for (const CacheFormat &format : cacheFormats())
    names.emplace_back(format.name);
  throw ArgumentError(argument,
                      "expected " + oneOf(names) + ", got '" + name + "'");
}

const Target &targetNamed(const std::string &name) {
  if (const Target *target = findTarget(name.empty() ? "sm_120a" : name))
    return *target;
  std::vector<std::string> names;
  for (const Target &target : targets())
    names.emplace_back(target.name);
  throw ArgumentError("target",
                      "expected " + oneOf(names) + ", got '" + name + "'");
}

int64_t pageBytes(const CacheFormat &format, int64_t pageSize,
                  int64_t rowStride) {
  if (format.place == ScalePlace::Footer)
    return pageSize * (rowStride + format.scaleRow);
  return (pageSize - 1) * rowStride + format.usedRow();
}

namespace {
void checkRowStride(const CacheFormat &format, int64_t rowStride) {
  if (format.place == ScalePlace::Footer)
    throw ArgumentError("row_stride",
                        "expected none: it is for formats with inline scales, "
                        "and `" +
                            std::string(format.name) +
                            "` has them in the page footer; got " +
                            std::to_string(rowStride));
  if (rowStride < format.usedRow() || rowStride > kMaxCount)
    throw ArgumentError(
        "row_stride", "expected at least " + std::to_string(format.usedRow()) +
                          " bytes for `" + std::string(format.name) +
                          "`, got " + std::to_string(rowStride));
  checkMultipleOf16("row_stride", "a row stride", rowStride);
}
} // namespace

void validate(const Problem &problem) {
  checkRange("num_tokens", problem.numTokens, 0, kMaxCount);
  checkRange("num_heads", problem.numHeads, 1, 128);
  checkRange("width", problem.width, 1, kMaxCount);
  const CacheFormat &format = formatNamed("kv_format", problem.kvFormat);
  if (format.extraPoolOnly)
    throw ArgumentError("kv_format", "`" + problem.kvFormat +
                                         "` may stand only in the extra cache");
  checkRange("page_size", problem.pageSize, 1, kMaxCount);
  if (problem.rowStride)
    checkRowStride(format, *problem.rowStride);
  if (problem.pageStride) {
    int64_t row = problem.rowStride.value_or(format.dataRow);
    int64_t bytes = pageBytes(format, problem.pageSize, row);
    checkMultipleOf16("page_stride", "a page stride", *problem.pageStride);
    if (*problem.pageStride < bytes)
      throw ArgumentError("page_stride",
                          "expected at least " + std::to_string(bytes) +
                              " bytes (" + std::to_string(problem.pageSize) +
                              " tokens of `" + problem.kvFormat + "`), got " +
                              std::to_string(*problem.pageStride));
  }

  if (problem.extraWidth) {
    checkRange("extra_width", *problem.extraWidth, 1, kMaxCount);
    if (!problem.extraPageSize)
      throw ArgumentError("extra_page_size",
                          "expected a value with extra_width, got none");
    checkRange("extra_page_size", *problem.extraPageSize, 1, kMaxCount);
    if (problem.extraKvFormat) {
      const CacheFormat &extra =
          formatNamed("extra_kv_format", *problem.extraKvFormat);
      if (extra.dimV() != format.dimV() || extra.dimQK() != format.dimQK())
        throw ArgumentError("extra_kv_format",
                            "expected a format with d_qk " +
                                std::to_string(format.dimQK()) + " and d_v " +
                                std::to_string(format.dimV()) + " as `" +
                                problem.kvFormat + "` has, got `" +
                                *problem.extraKvFormat + "`");
    }
  } else if (problem.extraPageSize) {
    throw ArgumentError("extra_page_size",
                        "expected none without extra_width, got " +
                            std::to_string(*problem.extraPageSize));
  } else if (problem.extraKvFormat) {
    throw ArgumentError("extra_kv_format",
                        "expected none without extra_width, got '" +
                            *problem.extraKvFormat + "'");
  }

  checkOneOf("kernel", problem.kernel, {"auto", "decode", "prefill", "swapab"});
  checkOneOf("compute", problem.compute, {"auto", "bf16", "fp8", "fp8_fast"});
  if (problem.numSplits)
    checkRange("num_splits", *problem.numSplits, 1, kMaxCount);
  targetNamed(problem.target);
  if (problem.numSMs)
    checkRange("num_sms", *problem.numSMs, 1, kMaxCount);
}

std::string Problem::key() const {
  std::ostringstream text;
  // Strings are quoted by length so that no value can imitate a separator.
  auto string = [&](const std::string &value) {
    text << value.size() << ':' << value << '|';
  };
  auto number = [&](const std::optional<int64_t> &value) {
    if (value)
      text << *value;
    text << '|';
  };
  text << numTokens << '|' << numHeads << '|' << width << '|' << pageSize
       << '|';
  string(kvFormat);
  number(extraWidth);
  number(extraPageSize);
  text << extraKvFormat.has_value();
  string(extraKvFormat.value_or(""));
  text << hasSink << hasLengths << static_cast<int>(lse) << '|';
  number(pageStride);
  number(rowStride);
  string(kernel);
  string(compute);
  number(numSplits);
  string(target);
  number(numSMs);
  if (source) {
    string(source->name);
    string(source->text);
    for (const auto &[name, value] : source->params) {
      string(name);
      string(value);
    }
  }
  return text.str();
}

} // namespace mlatile
