// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roofline.h"
#include "FormatText.h"

#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace mlatile::bench {
namespace {
using run::format;

constexpr double kPlotWidth = 1180, kHeight = 760;
constexpr double kLeft = 76, kRight = 40, kTop = 64, kBottom = 64;
/// With more points, numbers stand at them and the names beside the picture.
constexpr size_t kMostNames = 24;
constexpr double kLegendWidth = 270;
constexpr size_t kLegendLines = 60;
constexpr double kColumn = 10; ///< points so near stand over each other
constexpr double kLabelHeight = 12, kLetterWidth = 5.6; ///< at 10 px

std::string escaped(const std::string &text) {
  std::string result;
  for (char letter : text)
    result += letter == '<'   ? "&lt;"
              : letter == '>' ? "&gt;"
              : letter == '&' ? "&amp;"
              : letter == '"' ? "&quot;"
                              : std::string(1, letter);
  return result;
}

/// Logarithmic, whole decades or halves of them at both ends.
struct Axis {
  double low, high; ///< values
  double from, to;  ///< pixels

  double at(double value) const {
    return from + (std::log10(value) - std::log10(low)) /
                      (std::log10(high) - std::log10(low)) * (to - from);
  }
};

/// 1, 2, 5, 10, 20, ... within the axis.
std::vector<double> ticks(const Axis &axis) {
  std::vector<double> values;
  for (double decade = std::pow(10, std::floor(std::log10(axis.low)));
       decade <= axis.high * 1.001; decade *= 10)
    for (double step : {1.0, 2.0, 5.0})
      if (double value = decade * step;
          value >= axis.low * 0.999 && value <= axis.high * 1.001)
        values.push_back(value);
  return values;
}

/// The next of 1, 2, 5, 10 ... that is not larger, not smaller.
double below(double value) {
  double decade = std::pow(10, std::floor(std::log10(value)));
  double rest = value / decade;
  return decade * (rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
}
double above(double value) {
  double low = below(value);
  return low >= value * 0.999 ? low : below(value * 2.5001);
}

struct Box {
  double left, top, right, bottom;
  bool meets(const Box &other) const {
    return left < other.right && other.left < right && top < other.bottom &&
           other.top < bottom;
  }
};

/// A point with its name.
struct Label {
  double x, y; ///< of the point
  std::string name;
  bool right = true;
  double middle = 0; ///< height of the text
};

/// Ascending heights moved apart to a label's height, as little as possible in
/// squares: an isotonic regression by pooling.
void spread(std::vector<double> &heights) {
  struct Pool {
    double sum, count;
    double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  for (size_t i = 0; i < heights.size(); ++i) {
    pools.push_back({heights[i] - static_cast<double>(i) * kLabelHeight, 1});
    while (pools.size() > 1 &&
           pools[pools.size() - 2].mean() > pools.back().mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  size_t i = 0;
  for (const Pool &pool : pools)
    for (int n = 0; n < pool.count; ++n, ++i)
      heights[i] = pool.mean() + static_cast<double>(i) * kLabelHeight;
}

class Picture {
public:
  explicit Picture(const Results &results) : results(results) {
    for (const Result &row : results.rows)
      if (row.error.empty())
        rows.push_back(&row);
    if (!results.gatherRate || !results.mmaRate || rows.empty())
      throw ArgumentError("svg", "expected floors and at least one time for a "
                                 "picture, got none");
    peak = *results.mmaRate * 1e-12;
    slope = *results.gatherRate * 1e-12; // TFLOP/s at 1 FLOP a byte
    double least = 1e30, most = 0, lowest = 1e30;
    for (const Result *row : rows) {
      least = std::min(least, row->intensity());
      most = std::max(most, row->intensity());
      lowest = std::min(lowest, row->teraflops());
    }
    // The corner of the roof is in it.
    most = std::max(most, peak / slope);
    x = {below(least * 0.8), above(most * 2), kLeft, kPlotWidth - kRight};
    y = {below(lowest * 0.8), above(peak * 1.2), kHeight - kBottom, kTop};
  }

  std::string text() {
    size_t columns =
        hasNumbers() ? (rows.size() + kLegendLines - 1) / kLegendLines : 0;
    double width = kPlotWidth + static_cast<double>(columns) * kLegendWidth;
    std::string svg =
        format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
               "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
               "font-family=\"Helvetica, Arial, sans-serif\">\n"
               "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n",
               width, kHeight, width, kHeight, width, kHeight);
    svg += label(kLeft, 26, 17, "#1a1a1a", "start",
                 "Sparse MLA on " + results.device.name);
    svg += label(kLeft, 46, 12, "#555555", "start",
                 results.protocol.warm ? "L2 warm; floors measured in the same "
                                         "run"
                                       : "L2 cold; floors measured in the same "
                                         "run");
    return svg + grid() + roofs() + points() + legend() + "</svg>\n";
  }

private:
  bool hasNumbers() const { return rows.size() > kMostNames; }

  /// Number, name and time of each point.
  std::string legend() const {
    std::string svg;
    for (size_t i = 0; hasNumbers() && i < rows.size(); ++i) {
      size_t column = i / kLegendLines, place = i % kLegendLines;
      double left = kPlotWidth + static_cast<double>(column) * kLegendWidth;
      double at = kTop + 6 + static_cast<double>(place) * 11.2;
      svg += label(left + 16, at, 10, "#1f5fa8", "end", std::to_string(i + 1));
      svg += label(left + 22, at, 10, "#1a1a1a", "start", rows[i]->named.name);
      svg += label(left + kLegendWidth - 14, at, 10, "#444444", "end",
                   format("%.4g us", rows[i]->time.median));
    }
    return svg;
  }

  static std::string label(double px, double py, int size, const char *colour,
                           const char *anchor, const std::string &text,
                           const char *more = "") {
    return format("<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" fill=\"%s\" "
                  "text-anchor=\"%s\"%s>",
                  px, py, size, colour, anchor, more) +
           escaped(text) + "</text>\n";
  }

  static std::string line(double x1, double y1, double x2, double y2,
                          const char *style) {
    return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>"
                  "\n",
                  x1, y1, x2, y2, style);
  }

  std::string grid() const {
    std::string svg;
    const char *faint = "stroke=\"#e4e4e4\" stroke-width=\"1\"";
    for (double value : ticks(x)) {
      svg += line(x.at(value), y.from, x.at(value), y.to, faint);
      svg += label(x.at(value), y.from + 18, 11, "#444444", "middle",
                   format("%g", value));
    }
    for (double value : ticks(y)) {
      svg += line(x.from, y.at(value), x.to, y.at(value), faint);
      svg += label(x.from - 8, y.at(value) + 4, 11, "#444444", "end",
                   format("%g", value));
    }
    svg += label((x.from + x.to) / 2, kHeight - 18, 13, "#1a1a1a", "middle",
                 "arithmetic intensity, FLOP a gathered byte");
    svg +=
        label(20, (y.from + y.to) / 2, 13, "#1a1a1a", "middle", "TFLOP/s",
              format(" transform=\"rotate(-90 20 %.1f)\"", (y.from + y.to) / 2)
                  .c_str());
    return svg;
  }

  std::string roofs() const {
    // From where the slope enters the picture to the corner, then level.
    double enters = std::max(x.low, y.low / slope), corner = peak / slope;
    const char *roof = "stroke=\"#b03030\" stroke-width=\"2\"";
    std::string svg;
    double angle = 0;
    if (enters < corner) {
      double x1 = x.at(enters), y1 = y.at(enters * slope);
      double x2 = x.at(corner), y2 = y.at(peak);
      svg += line(x1, y1, x2, y2, roof);
      angle = std::atan2(y2 - y1, x2 - x1) * 180 / 3.14159265358979;
      double mx = x1 + (x2 - x1) / 2, my = y1 + (y2 - y1) / 2 - 8;
      svg +=
          label(mx, my, 12, "#b03030", "middle",
                format("random gather %.2f TB/s", slope),
                format(" transform=\"rotate(%.1f %.1f %.1f)\"", angle, mx, my)
                    .c_str());
    }
    double flat = std::max(corner, x.low);
    svg += line(x.at(flat), y.at(peak), x.to, y.at(peak), roof);
    svg += label(x.to - 4, y.at(peak) - 8, 12, "#b03030", "end",
                 format("mma, bf16: %.0f TFLOP/s", peak));
    return svg;
  }

  static double widthOf(const std::string &name) {
    return kLetterWidth * static_cast<double>(name.size()) + 4;
  }

  /// The labels of one column on one side, top to bottom as their points: next
  /// to them, or as near as the others let them.
  void place(std::vector<Label *> side, std::vector<Box> &taken) const {
    std::vector<double> middles;
    for (const Label *label : side)
      middles.push_back(label->y);
    spread(middles);
    double above = kTop;
    for (size_t i = 0; i < side.size(); ++i) {
      Label &label = *side[i];
      double left =
          label.right ? label.x + 9 : label.x - 9 - widthOf(label.name);
      double middle = std::max(middles[i], above + kLabelHeight / 2);
      auto boxAt = [&](double at) -> Box {
        return {left, at - kLabelHeight / 2, left + widthOf(label.name),
                at + kLabelHeight / 2};
      };
      auto covers = [&](double at) {
        return std::any_of(
            taken.begin(), taken.end(),
            [box = boxAt(at)](const Box &other) { return box.meets(other); });
      };
      double at = middle;
      while (covers(at) && at < y.from - kLabelHeight)
        at += 2;
      label.middle = at;
      taken.push_back(boxAt(at));
      above = at + kLabelHeight / 2;
    }
  }

  /// Right of their points where there is room, else left.
  void placeColumn(std::vector<Label> &column, std::vector<Box> &taken) const {
    double rightEnd = 0, leftEnd = 0;
    std::vector<Label *> right, left;
    for (Label &label : column) {
      double top = label.y - kLabelHeight / 2;
      bool roomLeft = label.x - 9 - widthOf(label.name) > x.from;
      bool roomRight = label.x + 9 + widthOf(label.name) < kPlotWidth;
      label.right =
          !roomLeft || (roomRight && (rightEnd <= top || rightEnd <= leftEnd));
      double &end = label.right ? rightEnd : leftEnd;
      end = std::max(end, top) + kLabelHeight;
      (label.right ? right : left).push_back(&label);
    }
    place(std::move(right), taken);
    place(std::move(left), taken);
  }

  std::string points() const {
    std::vector<Label> all;
    std::vector<Box> taken;
    for (size_t i = 0; i < rows.size(); ++i) {
      Label label{x.at(rows[i]->intensity()), y.at(rows[i]->teraflops()),
                  hasNumbers() ? std::to_string(i + 1) : rows[i]->named.name};
      taken.push_back({label.x - 4, label.y - 4, label.x + 4, label.y + 4});
      all.push_back(std::move(label));
    }
    std::sort(all.begin(), all.end(), [](const Label &a, const Label &b) {
      return std::tie(a.x, a.y, a.name) < std::tie(b.x, b.y, b.name);
    });
    std::string leaders, marks, names;
    for (size_t first = 0, next; first < all.size(); first = next) {
      next = first;
      while (next < all.size() && all[next].x < all[first].x + kColumn)
        ++next;
      std::vector<Label> column(all.begin() + static_cast<ptrdiff_t>(first),
                                all.begin() + static_cast<ptrdiff_t>(next));
      std::sort(column.begin(), column.end(),
                [](const Label &a, const Label &b) {
                  return std::tie(a.y, a.name) < std::tie(b.y, b.name);
                });
      placeColumn(column, taken);
      for (const Label &one : column) {
        double at = one.right ? one.x + 9 : one.x - 9;
        if (std::fabs(one.middle - one.y) > 3)
          leaders += line(one.x, one.y, at, one.middle,
                          "stroke=\"#9ab0c8\" stroke-width=\"0.8\"");
        marks += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" "
                        "fill=\"#1f5fa8\"/>\n",
                        one.x, one.y);
        names +=
            label(at + (one.right ? 2 : -2), one.middle + 3.5, 10, "#1a1a1a",
                  one.right ? "start" : "end", one.name, " class=\"point\"");
      }
    }
    return leaders + marks + names;
  }

  const Results &results;
  std::vector<const Result *> rows;
  double peak = 0, slope = 0;
  Axis x{}, y{};
};
} // namespace

std::string rooflineSvg(const Results &results) {
  return Picture(results).text();
}

} // namespace mlatile::bench
