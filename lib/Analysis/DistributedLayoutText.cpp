// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of distributed layouts, as it stands in an attribute.
#include "Fail.h"
#include "mlatile/Analysis/DistributedLayout.h"

namespace mlatile {
namespace {

using Coords = DistributedLayout::Coords;
using Bases = DistributedLayout::Bases;

std::string listText(const Coords &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string basesText(const Bases &bases) {
  std::string text = "[";
  for (size_t i = 0; i < bases.size(); ++i)
    text += (i ? ", " : "") + listText(bases[i]);
  return text + "]";
}

/// A recursive-descent parser; after the first error everything fails.
class Parser {
public:
  Parser(std::string_view text, std::string *error)
      : text(text), error(error) {}

  bool keyword(std::string_view name) {
    skipSpace();
    if (text.substr(at, name.size()) != name)
      return expected(quoted(name));
    at += name.size();
    return symbol('=');
  }

  bool symbol(char c) {
    if (accept(c))
      return true;
    return expected(std::string("'") + c + "'");
  }

  bool integers(Coords &values) {
    return list([&] { return integer(values.emplace_back()); });
  }

  bool bases(Bases &values) {
    return list([&] { return integers(values.emplace_back()); });
  }

  bool end() {
    skipSpace();
    return at == text.size() || expected("the end");
  }

private:
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' ||
                                text[at] == '\t' || text[at] == '\r'))
      ++at;
  }

  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  bool integer(int64_t &value) {
    skipSpace();
    size_t start = at;
    value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      value = value * 10 + (text[at] - '0');
      if (value > (int64_t(1) << 40)) {
        at = start;
        return expected("an integer below 2^40");
      }
    }
    return at > start || expected("an integer");
  }

  template <class Element>
  bool list(Element element) {
    if (!symbol('['))
      return false;
    if (accept(']'))
      return true;
    do
      if (!element())
        return false;
    while (accept(','));
    return symbol(']');
  }

  bool expected(const std::string &what) {
    std::string got = at < text.size() ? quoted(text.substr(at, 8)) : "the end";
    fail(error, "column " + std::to_string(at + 1) + ": expected " + what +
                    ", got " + got);
    return false;
  }

  std::string_view text;
  std::string *error;
  size_t at = 0;
};

} // namespace

std::string DistributedLayout::str() const {
  return "reg = " + basesText(reg) + ", lane = " + basesText(lane) +
         ", warp = " + basesText(warp) + ", reps = " + listText(repeats);
}

DistributedLayout::Result DistributedLayout::parse(std::string_view text,
                                                   std::string *error) {
  Parser parser(text, error);
  Bases reg, lane, warp;
  Coords reps;
  bool ok = parser.keyword("reg") && parser.bases(reg) && parser.symbol(',') &&
            parser.keyword("lane") && parser.bases(lane) &&
            parser.symbol(',') && parser.keyword("warp") &&
            parser.bases(warp) && parser.symbol(',') &&
            parser.keyword("reps") && parser.integers(reps) && parser.end();
  if (!ok)
    return std::nullopt;
  return create(std::move(reg), std::move(lane), std::move(warp),
                std::move(reps), error);
}

} // namespace mlatile
