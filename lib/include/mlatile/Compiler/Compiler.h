// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel of a kernel file, for one set of parameters and one target, from
// MLIR text to PTX and cubin. compiler_c.h is the same for those who must not
// see LLVM.
#ifndef MLATILE_COMPILER_COMPILER_H
#define MLATILE_COMPILER_COMPILER_H

#include "mlatile/Compiler/KernelFiles.h"
#include "mlatile/Pipelines/PtxCounts.h"
#include "mlatile/Pipelines/Ptxas.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlatile {

/// How far a kernel is taken, and the text that is kept.
enum class Stage {
  Tile,    ///< parameters bound
  TileGPU, ///< laid out, staged, planned, synchronised
  NVVM,    ///< LLVM and NVVM dialects
  LLVM,    ///< LLVM IR
  PTX,
  Cubin,
};

/// Sub-class of the errors of `compile`.
class CompilerError : public llvm::ErrorInfo<CompilerError> {
public:
  enum class Kind {
    Request, ///< unknown file, kernel, parameter or target
    Params,  ///< values that the kernel does not take; diagnostics too
    Compile, ///< the kernel is wrong; the message is its diagnostics
    Ptxas,   ///< no ptxas, too old, or it refused the PTX
  };
  static char ID;

  CompilerError(Kind kind, std::string message)
      : kind(kind), text(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }
  Kind getKind() const { return kind; }

private:
  Kind kind;
  std::string text;
};

struct KernelRequest {
  /// MLIR text or bytecode; with none, `kernelFile` names an embedded file.
  std::optional<std::string> source;
  std::string sourceName = "<source>"; ///< in diagnostics
  std::string kernelFile;              ///< for example "decode"
  /// Files of steps that are looked at before knownSteps().
  std::vector<StepFile> steps;
  /// Symbol of the kernel; may be left out where the file has one.
  std::string kernel;
  std::map<std::string, std::string> params;
  std::string target = "sm_120a";
  Stage stage = Stage::PTX;
  std::string ptxas;   ///< path; empty: discovered
  int ptxasLevel = 3;  ///< -O of ptxas
  std::string dumpDir; ///< IR after every pass goes there; empty: nowhere
};

/// A parameter of the kernel as the host sees it (docs/Pipeline.md, section 4).
struct KernelArg {
  std::string name, kind; ///< kind: view, pool or scalar
  int64_t rank = 0;
  std::string element;
};

/// A loop over candidates at the second level: one that gathers rows.
struct CandidateLoop {
  int64_t depth = 0;      ///< loops around it
  int64_t candidates = 0; ///< of one iteration
  int64_t stages = 0;     ///< iterations that shared memory has room for
  std::vector<std::string> formats; ///< of the pools, in order
};

struct CompiledKernel {
  std::string name, target, kernelFile;
  std::map<std::string, std::string> params; ///< as bound, defaults included
  unsigned threads = 0;                      ///< of a CTA; 0 if not stated
  uint64_t sharedBytes = 0;                  ///< of the arena of a CTA
  /// What a launch passes: `sharedBytes` without what the LLVM module declares
  /// at its size.
  uint64_t dynamicSharedBytes = 0;
  /// Blocks wait for others of their launch.
  bool coresident = false;
  std::vector<KernelArg> args;
  /// Places in the arena: name, offset, bytes; places may overlap in time. A
  /// name that stands several times becomes "name", "name.1", ...
  std::vector<std::tuple<std::string, int64_t, int64_t>> buffers;
  std::vector<CandidateLoop> candidateLoops;           ///< in order
  std::vector<std::pair<std::string, double>> seconds; ///< by stage, in order

  std::string mlir;    ///< text after specialisation
  std::string tilegpu; ///< text at the second level, where it was gone through
  std::string nvvm;    ///< text; only where Stage::NVVM was asked for
  std::string bitcode; ///< LLVM bitcode: what NVPTX and the executor take
  std::string llvmIR;  ///< the same as text; only for Stage::LLVM
  std::string ptx;
  std::optional<ptx::KernelCounts> counts; ///< of `ptx`
  std::string cubin;
  std::optional<PtxasTool> ptxas;
  PtxasReport report; ///< meaningful with `ptxas`

  /// The "meta_json" of compiler_c.h.
  llvm::json::Object meta() const;
};

/// Compiles. Needs no set-up; any number of threads at a time. Every error is a
/// CompilerError; its text has every diagnostic as "file:line:col: error: ...".
llvm::Expected<CompiledKernel> compile(const KernelRequest &request);

/// Parses and verifies a kernel file and says what its kernels are, for
/// "mlatile_compiler_describe". `kernel` and `params`, where given, are checked
/// as far as they go: other parameters may be missing.
llvm::Expected<llvm::json::Array> describe(const KernelRequest &request);

} // namespace mlatile
#endif
