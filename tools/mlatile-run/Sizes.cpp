// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a problem takes, before anything is allocated.
#include "Inputs.h"
#include "mlatile/Runtime/Error.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace mlatile::run {
namespace {

std::string gibibytes(double bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / 0x1p30);
  return text;
}
} // namespace

void checkSizes(const InputOptions &o, int64_t results) {
  const Layout &layout = layoutNamed(o.format);
  // Floating point, since products of legal values pass 64 bits.
  double rows = static_cast<double>(o.tokens);
  double heads = rows * static_cast<double>(o.heads + o.slice);
  double stride = static_cast<double>(std::max(o.width, o.indicesStride));
  double pages = static_cast<double>(o.pages);
  double size = static_cast<double>(o.pageSize);
  if (!o.pages)
    pages = std::max(2.0, 65536 / size);
  double page =
      size * static_cast<double>(o.rowStride.value_or(layout.dataRow) +
                                 layout.scaleRow);
  page = std::max(page, static_cast<double>(o.pageStride.value_or(0)));
  double pool = pages * (page + size); // and a byte a slot while it is made
  if (o.extraWidth) {
    const Layout &extra = layoutNamed(o.extraFormat);
    auto extraSize = static_cast<double>(o.extraPageSize);
    pool += std::max(2 * extraSize, 65536.0) * (extra.dataRow + extra.scaleRow);
    stride += static_cast<double>(o.extraWidth);
  }
  double indices = 4 * rows * stride * static_cast<double>(o.candidateSets + 1);
  double q = 2 * heads * layout.dimQK();
  double out = static_cast<double>(results) * heads * (2 * layout.dimV() + 4);
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                  static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double all = pool + indices + q + out;
  if (all > memory)
    throw Error("expected a problem that fits into the memory of this machine "
                "(" +
                gibibytes(memory) + "), got one of " + gibibytes(all) +
                ": pool " + gibibytes(pool) + ", indices " +
                gibibytes(indices) + ", q " + gibibytes(q) + ", results " +
                gibibytes(out));
}

} // namespace mlatile::run
