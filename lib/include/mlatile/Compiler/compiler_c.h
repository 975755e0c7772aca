/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * C interface of libmlatile_compiler.so: the compiler and the CPU executor. The
 * run-time library opens it when it needs a kernel that it does not have, so
 * nothing here names an LLVM type. Meant for the run-time library of the same
 * build; applications use <mlatile/mlatile_c.h>.
 *
 * Every function may be called from any thread. A function that returns int
 * gives MLATILE_COMPILER_OK or one of the other statuses; then *error, where
 * error is not null, is a message that the caller frees with
 * mlatile_compiler_free_string, and all other outputs are untouched. No
 * exception crosses this interface.
 */
#ifndef MLATILE_COMPILER_COMPILER_C_H
#define MLATILE_COMPILER_COMPILER_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(MLATILE_COMPILER_BUILDING)
#define MLATILE_COMPILER_API __attribute__((visibility("default")))
#else
#define MLATILE_COMPILER_API
#endif

/* Raised when a signature, a struct or the meaning of a key changes. */
#define MLATILE_COMPILER_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

enum mlatile_compiler_status {
  MLATILE_COMPILER_OK = 0,
  /* The request itself is wrong: not JSON, unknown key, unknown kernel file,
   * symbol or target. */
  MLATILE_COMPILER_BAD_REQUEST = 1,
  /* The kernel does not compile: diagnostics with file:line:col, one a line. */
  MLATILE_COMPILER_COMPILE_ERROR = 2,
  /* ptxas is missing, too old for the target, or refused the PTX. */
  MLATILE_COMPILER_PTXAS_ERROR = 3,
  /* The executor refuses the kernel or found an error while it ran. */
  MLATILE_COMPILER_SIM_ERROR = 4,
  /* Anything else, for example no memory. */
  MLATILE_COMPILER_INTERNAL_ERROR = 5,
  /* A value that the kernel's parameters or requirements refuse: diagnostics
   * with file:line:col. */
  MLATILE_COMPILER_BAD_PARAMS = 6
};

/* MLATILE_COMPILER_ABI_VERSION of the library. */
MLATILE_COMPILER_API int mlatile_compiler_abi_version(void);

/* Frees a string that this library returned; null is allowed. */
MLATILE_COMPILER_API void mlatile_compiler_free_string(char *string);

/* ---- compiling ---------------------------------------------------------- */

/* A named piece of a result. Text is followed by a zero byte that size does
 * not count. */
struct mlatile_blob {
  const char *name;
  const void *data;
  size_t size;
};

/* What a compilation gives. Owned by the library until it is freed. */
struct mlatile_compiled {
  const char *meta_json; /* see below */
  size_t num_blobs;
  const struct mlatile_blob *blobs;
};

/* Compiles one kernel.
 *
 * request_json: one object,
 *   "kernel_file"  name of an embedded kernel file ("decode"); or
 *   "source"       MLIR text, with "source_name" for diagnostics
 *   "steps"        {path: MLIR text}: files of steps that are looked at before
 *                  those of $MLATILE_KERNEL_PATH and the built-in ones
 *   "kernel"       symbol of the kernel (needed where the file has several)
 *   "params"       {"BH": 16, "FMT": "dsv4", "SPLIT": true}: numbers, strings,
 *                  booleans
 *   "target"       "sm_120a"
 *   "cubin"        true: assemble too (default false)
 *   "ptxas"        path of ptxas (default: discovered)
 *   "ptxas_opt"    0 to 3 (default 3)
 *   "dump_dir"     folder for the IR after every pass (default: none)
 *
 * Blobs of the result: "ptx" (text), "llvm" (bitcode; what mlatile_sim_load
 * takes), "mlir" (text: the specialised kernel, before lowering), and "cubin"
 * where it was asked for.
 *
 * meta_json: one object,
 *   "name"          symbol of the kernel in PTX and cubin
 *   "target", "kernel_file"
 *   "params"        as bound, defaults included
 *   "threads"       of a CTA
 *   "shared_bytes"  of the shared arena: all that a CTA takes
 *   "dynamic_shared_bytes"  what a launch passes, on CUDA and to
 *                   mlatile_sim_launch: shared_bytes without what the module
 *                   declares at its size, which is there anyway
 *   "coresident"    true: blocks wait for others of their launch, so that all
 *                   must be able to run at the same time
 *   "args"          [{"name": "q", "kind": "view", "rank": 3,
 *                     "element": "bf16"}, ...]; kind is view, pool or scalar;
 *                   flattened in the order of docs/Pipeline.md section 4
 *   "buffers"       {"name": [offset, bytes]}: places in the shared arena
 *   "seconds"       {stage: seconds}
 *   "instructions"  of the PTX, each once
 *   "loops"         loops over candidates, else all outermost ones, in order:
 *                   [{"candidates": of an iteration, or null; with them
 *                   "stages" and "formats"; and, in warp instructions of the
 *                   CTA an iteration, "mma": {kind: n}, "conversions",
 *                   "ldmatrix", "async_copies", "bulk_copies", "cta_barriers",
 *                   "named_barriers", "instructions"; "shared_traffic": bytes;
 *                   "unknown_loops": inner ones counted once; where warps
 *                   have roles "roles": the same counts of each, with "warps"},
 *                   ...]
 *   "ptxas"         null, or {"path", "version", "registers", "spill_stores",
 *                   "spill_loads", "stack", "static_shared"}; bytes
 */
MLATILE_COMPILER_API int
mlatile_compiler_compile(const char *request_json,
                         struct mlatile_compiled **result, char **error);

MLATILE_COMPILER_API void
mlatile_compiler_free_compiled(struct mlatile_compiled *compiled);

/* What a cache key must cover besides the kernel's own bytes and parameters,
 * as one object: "abi", "build_id", "llvm_version", "pipeline", and "kernels":
 * {file: SHA-256 of its text and of the steps that it may link}, for the
 * embedded kernels or those of $MLATILE_KERNEL_PATH. With "ptxas": {"path",
 * "version"}, or null where none is found. request_json may be null or give
 * "ptxas". */
MLATILE_COMPILER_API int mlatile_compiler_info(const char *request_json,
                                               char **info_json, char **error);

/* Parses and verifies a kernel file, binds and lowers nothing. The request is
 * that of mlatile_compiler_compile; of its keys the source, "kernel" and
 * "params" count: these parameters of that kernel are checked, with all that it
 * requires of them; others may be missing.
 *
 * result_json: one object for each kernel, in an array,
 *   "name"    its symbol
 *   "params"  [{"name": "BH", "kind": "index", "default": 16}, ...]; kind is
 *             index, i1 or format; default is null where there is none, and
 *             "derived": "FMT.nope" stands in its place where it is one
 *   "args"    as in meta_json
 *
 * A kernel that is written as LLVM has neither params nor args. */
MLATILE_COMPILER_API int mlatile_compiler_describe(const char *request_json,
                                                   char **result_json,
                                                   char **error);

/* ---- executor ----------------------------------------------------------- */

struct mlatile_sim_program;

/* Makes a kernel ready to run on the CPU.
 *
 * llvm_ir, size: LLVM bitcode or text, the module that went to PTX.
 * kernel: symbol; null where the module has one kernel. */
MLATILE_COMPILER_API int mlatile_sim_load(const void *llvm_ir, size_t size,
                                          const char *kernel,
                                          struct mlatile_sim_program **program,
                                          char **error);

/* Runs a grid to its end. One program may be launched by several threads.
 *
 * shared_bytes: dynamic shared memory of a CTA.
 * args: one pointer a kernel parameter, to its value, as for cuLaunchKernel;
 *   num_args must equal the number of parameters.
 * options_json: null or one object,
 *   "seed"          warp order (default 0)
 *   "host_threads"  CTAs run on that many threads (default: one a processor)
 *   "resident_ctas" CTAs that may run at the same time (default 0: all)
 *   "checked"       report races and bad accesses (default false)
 *   "buffers"       [[address, bytes, "name", writable, pending], ...]: for
 *                   checked mode, the global memory that the kernel may touch;
 *                   pending: the launch before writes it, to be touched behind
 *                   griddepcontrol.wait only. writable (default true) and
 *                   pending (default false) may be left out. None: no bounds
 * stats_json: null, or receives an object with counts of what ran
 *   ("seconds", "instructions": {name: warp instructions}, ...); free it with
 *   mlatile_compiler_free_string. */
MLATILE_COMPILER_API int
mlatile_sim_launch(struct mlatile_sim_program *program, unsigned grid_x,
                   unsigned grid_y, unsigned grid_z, unsigned block_x,
                   size_t shared_bytes, void *const *args, size_t num_args,
                   const char *options_json, char **stats_json, char **error);

MLATILE_COMPILER_API void mlatile_sim_free(struct mlatile_sim_program *program);

#ifdef __cplusplus
}
#endif
#endif
