// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints layouts as tables: where the registers of a tile stand.
#include "Tables.h"
#include "mlatile/Analysis/SharedLayout.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

namespace cl = llvm::cl;
using namespace mlatile;

static cl::OptionCategory category("mlatile-layout options");

static cl::opt<std::string>
    what(cl::Positional, cl::Required,
         cl::desc("<accumulator | operand-a | operand-b | blocked | rows | "
                  "replicated | 'reg = [[0, 1], ...], lane = ..., warp = ..., "
                  "reps = [...]'>"),
         cl::cat(category));
static cl::opt<std::string>
    shapeText("shape",
              cl::desc("sizes of the tile, such as 16x448 (default: one block "
                       "of the fragment; A is m x k, B is k x n)"),
              cl::cat(category));
static cl::opt<std::string> warpsText(
    "warps",
    cl::desc("warps along m and n, such as 1x4; a single number: along n"),
    cl::init("1"), cl::cat(category));
static cl::opt<int> bits("bits",
                         cl::desc("bits of an operand element: 16, 8 or 4"),
                         cl::init(16), cl::cat(category));
static cl::opt<std::string> packText(
    "pack",
    cl::desc("log2 of the elements that share 16 bits, where ldmatrix reads 8 "
             "or 4 bits: along m and n of the accumulator, such as 0x1, or "
             "along k of an operand of 16 bits, such as 2"),
    cl::cat(category));
static cl::opt<int>
    elementBytes("bytes",
                 cl::desc("bytes of an element of blocked or of --stride"),
                 cl::init(2), cl::cat(category));
static cl::list<int>
    slices("slice",
           cl::desc("reduce this dim away first (may be given repeatedly)"),
           cl::cat(category));
static cl::opt<std::string>
    target("to",
           cl::desc("a second layout, as text: what does a conversion "
                    "have to cross?"),
           cl::cat(category));
static cl::opt<int64_t> rowStride(
    "stride",
    cl::desc("count bank conflicts of a shared buffer with this row stride in "
             "bytes (0: padded rows)"),
    cl::init(-1), cl::cat(category));
static cl::opt<int> warp("warp", cl::desc("the warp of the thread table"),
                         cl::init(0), cl::cat(category));
enum class View { Bases, Elements, Threads };
static cl::bits<View>
    views("view", cl::desc("tables to print (default: all)"),
          cl::CommaSeparated,
          cl::values(clEnumValN(View::Bases, "bases", "one line a basis"),
                     clEnumValN(View::Elements, "elements",
                                "who holds an element of the block"),
                     clEnumValN(View::Threads, "threads",
                                "what a lane holds in its registers")),
          cl::cat(category));

/// "16x448" as numbers.
static bool parseSizes(llvm::StringRef text, std::vector<int64_t> &sizes) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  for (llvm::StringRef part : parts)
    if (part.getAsInteger(10, sizes.emplace_back()))
      return false;
  return true;
}

/// --pack of the accumulator (along m and n) or of an operand (along k).
static bool readPack(llvm::StringRef name, std::vector<int64_t> &pack,
                     std::string &error) {
  size_t count = name == "accumulator" ? 2 : 1;
  if (packText.empty()) {
    pack.assign(count, 0);
    return true;
  }
  if (!parseSizes(packText, pack) || pack.size() != count ||
      std::any_of(pack.begin(), pack.end(),
                  [](int64_t n) { return n < 0 || n > 2; })) {
    error = "--pack: expected " +
            std::string(count == 2 ? "two numbers up to 2, such as 0x1"
                                   : "a number up to 2") +
            ", got '" + packText + "'";
    return false;
  }
  if (count == 1 && pack[0] && bits != 16) {
    error =
        "--pack: expected an operand of 16 bits, got " + std::to_string(bits);
    return false;
  }
  return true;
}

static DistributedLayout::Result layoutFromOptions(std::string &error) {
  std::vector<int64_t> shape, warps;
  if (!shapeText.empty() && !parseSizes(shapeText, shape)) {
    error = "--shape: expected sizes such as 16x448, got '" + shapeText + "'";
    return std::nullopt;
  }
  if (!parseSizes(warpsText, warps) || warps.size() > 2 ||
      std::any_of(warps.begin(), warps.end(),
                  [](int64_t n) { return n < 1 || n > 32; })) {
    error = "--warps: expected numbers up to 32 such as 1x4, got '" +
            warpsText + "'";
    return std::nullopt;
  }
  llvm::StringRef name = what.getValue();
  if (name.starts_with("reg"))
    return DistributedLayout::parse(what, &error);

  bool isMma =
      name == "accumulator" || name == "operand-a" || name == "operand-b";
  if (warps.size() == 1 && isMma)
    warps.insert(warps.begin(), 1);
  int numWarps = warps[0] * (warps.size() == 2 ? warps[1] : 1);
  auto defaultShape = [&](int64_t rows, int64_t cols) {
    if (shape.empty())
      shape = {rows, cols};
    if (shape.size() == 2)
      return true;
    error = "--shape: expected two sizes, got '" + shapeText + "'";
    return false;
  };
  if (isMma) {
    std::vector<int64_t> pack;
    if (!readPack(name, pack, error))
      return std::nullopt;
    if (name == "accumulator") {
      int64_t rows = pack[0] ? 8 << pack[0] : 16, cols = 8 << pack[1];
      return defaultShape(rows * warps[0], cols * warps[1])
                 ? DistributedLayout::mmaAccumulator(shape[0], shape[1],
                                                     warps[0], warps[1],
                                                     pack[0], pack[1], &error)
                 : std::nullopt;
    }
    // The factories refuse other bits.
    int64_t k = pack[0] ? 8 << pack[0] : bits > 0 ? 256 / bits : 1;
    if (!(name == "operand-a" ? defaultShape(16 * warps[0], k)
                              : defaultShape(k, 8 * warps[1])))
      return std::nullopt;
    bool isA = name == "operand-a";
    if (pack[0]) {
      auto make = isA ? &DistributedLayout::mmaPackedOperandA
                      : &DistributedLayout::mmaPackedOperandB;
      return make(shape[0], shape[1], pack[0], warps[0], warps[1], &error);
    }
    auto make =
        isA ? &DistributedLayout::mmaOperandA : &DistributedLayout::mmaOperandB;
    return make(shape[0], shape[1], bits, warps[0], warps[1], &error);
  }
  if (name != "blocked" && name != "rows" && name != "replicated") {
    error = "expected accumulator, operand-a, operand-b, blocked, rows, "
            "replicated or a layout that begins with 'reg', got '" +
            what + "'";
    return std::nullopt;
  }
  if (shape.empty()) {
    error = "--shape: expected the sizes of the tile";
    return std::nullopt;
  }
  if (name == "blocked")
    return DistributedLayout::blocked(shape, elementBytes, numWarps, &error);
  if (name == "replicated")
    return DistributedLayout::replicated(shape, numWarps, &error);
  if (shape.size() != 1) {
    error = "--shape: expected one size, got '" + shapeText + "'";
    return std::nullopt;
  }
  return DistributedLayout::rowsOverThreads(shape[0], numWarps, &error);
}

static int fail(const std::string &message) {
  llvm::errs() << "mlatile-layout: error: " << message << "\n";
  return 1;
}

static int printShared(const DistributedLayout &layout) {
  std::vector<int64_t> shape = layout.shape();
  if (shape.empty() || shape.size() > 2)
    return fail("--stride: expected a layout of rank 1 or 2");
  int64_t rows = shape.size() == 2 ? shape[0] : 1;
  std::string error;
  SharedLayout::Result buffer =
      rowStride == 0
          ? SharedLayout::padded(rows, shape.back(), elementBytes, &error)
          : SharedLayout::create(rows, shape.back(), elementBytes, rowStride,
                                 {}, &error);
  if (!buffer)
    return fail(error);
  llvm::outs() << "\nshared: " << buffer->str() << "\n"
               << "size: " << buffer->sizeBytes() << " bytes; ldmatrix: ";
  if (buffer->ldmatrixAligned())
    llvm::outs() << buffer->worstLdmatrixConflicts()
                 << " extra wavefronts a phase\n";
  else
    llvm::outs() << "rows are not aligned to 16 bytes\n";
  llvm::outs() << "access of warp " << warp << ": vectors of "
               << buffer->vectorBytes(layout) << " bytes, "
               << buffer->accessConflicts(layout, warp)
               << " extra wavefronts in all\n";
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Prints a layout: who holds which element of a register tile.\n");
  std::string error;
  DistributedLayout::Result layout = layoutFromOptions(error);
  for (int dim : slices)
    if (layout)
      layout = layout->slice(dim, &error);
  if (!layout)
    return fail(error);
  if (warp < 0 || warp >= layout->numWarps())
    return fail("--warp: expected a warp below " +
                std::to_string(layout->numWarps()) + ", got " +
                std::to_string(warp));

  llvm::raw_ostream &os = llvm::outs();
  printSummary(os, *layout);
  bool all = views.getBits() == 0;
  if (all || views.isSet(View::Bases)) {
    os << "\n";
    printBases(os, *layout);
  }
  if (all || views.isSet(View::Elements)) {
    os << "\n";
    printElements(os, *layout);
  }
  if (all || views.isSet(View::Threads)) {
    os << "\n";
    printThreads(os, *layout, warp);
  }
  if (!target.empty()) {
    DistributedLayout::Result to = DistributedLayout::parse(target, &error);
    if (!to)
      return fail("--to: " + error);
    os << "\n";
    printConversion(os, *layout, *to);
  }
  return rowStride >= 0 ? printShared(*layout) : 0;
}
