// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Runtime/Problem.h"

#include "ProblemChecks.h"
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

void checkPageStride(const std::string &prefix, const CacheFormat &format,
                     int64_t pageSize, int64_t rowStride, int64_t pageStride) {
  std::string name = prefix + "page_stride";
  int64_t bytes = pageBytes(format, pageSize, rowStride);
  checkMultipleOf16(name.c_str(), "a page stride", pageStride);
  if (pageStride < bytes)
    throw ArgumentError(name, "expected at least " + std::to_string(bytes) +
                                  " bytes (" + std::to_string(pageSize) +
                                  " tokens of `" + std::string(format.name) +
                                  "`), got " + std::to_string(pageStride));
}

void checkPair(const Problem &problem) {
  if (!problem.extraWidth)
    return;
  const CacheFormat &main = formatNamed("kv_format", problem.kvFormat);
  const CacheFormat &extra =
      formatNamed("extra_kv_format", problem.extraFormat());
  auto parts = [](const CacheFormat &format) {
    std::string text = "`" + std::string(format.name) + "` has keys of " +
                       std::to_string(format.nope) + " quantised and " +
                       std::to_string(format.rope) + " bf16 elements";
    if (format.rope)
      text += format.ropeInValue ? ", all in the value"
                                 : ", the bf16 ones not in the value";
    return text;
  };
  if (main.nope != extra.nope || main.rope != extra.rope ||
      main.ropeInValue != extra.ropeInValue)
    throw UnsupportedError("formats `" + std::string(main.name) + "` and `" +
                           std::string(extra.name) +
                           "` cannot stand together: " + parts(main) + "; " +
                           parts(extra));
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

void validateExtra(const Problem &problem, const CacheFormat &format) {
  auto without = [](const char *argument, bool given, const std::string &got) {
    if (given)
      throw ArgumentError(argument,
                          "expected none without extra_width, got " + got);
  };
  if (!problem.extraWidth) {
    without("extra_page_size", problem.extraPageSize.has_value(),
            std::to_string(problem.extraPageSize.value_or(0)));
    without("extra_kv_format", problem.extraKvFormat.has_value(),
            "'" + problem.extraKvFormat.value_or("") + "'");
    without("extra_page_stride", problem.extraPageStride.has_value(),
            std::to_string(problem.extraPageStride.value_or(0)));
    without("has_extra_topk_length", problem.hasExtraLengths, "true");
    return;
  }
  checkRange("extra_width", *problem.extraWidth, 1, kMaxCount);
  if (!problem.extraPageSize)
    throw ArgumentError("extra_page_size",
                        "expected a value with extra_width, got none");
  checkRange("extra_page_size", *problem.extraPageSize, 1, kMaxCount);
  const CacheFormat &extra =
      formatNamed("extra_kv_format", problem.extraFormat());
  if (extra.dimV() != format.dimV() || extra.dimQK() != format.dimQK())
    throw ArgumentError(
        "extra_kv_format",
        "expected a format with d_qk " + std::to_string(format.dimQK()) +
            " and d_v " + std::to_string(format.dimV()) + " as `" +
            problem.kvFormat + "` has, got `" + problem.extraFormat() + "`");
  if (problem.extraPageStride)
    checkPageStride("extra_", extra, *problem.extraPageSize, extra.dataRow,
                    *problem.extraPageStride);
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
  if (problem.pageStride)
    checkPageStride("", format, problem.pageSize,
                    problem.rowStride.value_or(format.dataRow),
                    *problem.pageStride);
  validateExtra(problem, format);

  checkOneOf("kernel", problem.kernel, {"auto", "decode", "prefill", "swapab"});
  checkOneOf("compute", problem.compute, {"auto", "bf16", "fp8", "fp8_fast"});
  checkOneOf("merge", problem.merge,
             {"auto", "launch", "dependent", "slices", "cluster"});
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
  text << hasSink << hasLengths << hasExtraLengths << static_cast<int>(lse)
       << '|';
  number(pageStride);
  number(extraPageStride);
  number(rowStride);
  string(kernel);
  string(compute);
  number(numSplits);
  string(merge);
  string(target);
  number(numSMs);
  string(card);
  auto pairs = [&](const std::map<std::string, std::string> &map) {
    text << map.size() << '|';
    for (const auto &[name, value] : map) {
      string(name);
      string(value);
    }
  };
  pairs(params);
  if (source) {
    string(source->name);
    string(source->text);
    pairs(source->params);
    pairs(source->steps);
  }
  return text.str();
}

} // namespace mlatile
