// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Boundary.h"
#include "mlatile/Compiler/Compiler.h"
#include "mlatile/Compiler/compiler_c.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <new>

namespace mlatile {

char SimError::ID;

char *copyString(llvm::StringRef text) {
  char *copy = static_cast<char *>(malloc(text.size() + 1));
  if (!copy)
    throw std::bad_alloc();
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

namespace {

int statusOf(const llvm::Error &error) {
  if (error.isA<SimError>())
    return MLATILE_COMPILER_SIM_ERROR;
  return MLATILE_COMPILER_INTERNAL_ERROR;
}

int statusOf(CompilerError::Kind kind) {
  switch (kind) {
  case CompilerError::Kind::Request:
    return MLATILE_COMPILER_BAD_REQUEST;
  case CompilerError::Kind::Params:
    return MLATILE_COMPILER_BAD_PARAMS;
  case CompilerError::Kind::Compile:
    return MLATILE_COMPILER_COMPILE_ERROR;
  case CompilerError::Kind::Ptxas:
    return MLATILE_COMPILER_PTXAS_ERROR;
  }
  return MLATILE_COMPILER_INTERNAL_ERROR;
}

/// The message, or none where there is no memory for it.
void report(char **error, llvm::StringRef message) noexcept {
  if (!error)
    return;
  try {
    *error = copyString(message);
  } catch (...) {
    *error = nullptr;
  }
}

} // namespace

int guarded(char **error, llvm::function_ref<llvm::Error()> body) {
  try {
    llvm::Error result = body();
    if (!result)
      return MLATILE_COMPILER_OK;
    int status = statusOf(result);
    std::string message;
    llvm::handleAllErrors(
        std::move(result),
        [&](const CompilerError &e) {
          status = statusOf(e.getKind());
          message = e.message();
        },
        [&](const llvm::ErrorInfoBase &e) { message = e.message(); });
    report(error, message);
    return status;
  } catch (const std::exception &e) {
    report(error, e.what());
  } catch (...) {
    report(error, "unknown exception");
  }
  return MLATILE_COMPILER_INTERNAL_ERROR;
}

llvm::Expected<llvm::json::Object> parseObject(const char *json,
                                               llvm::StringRef what) {
  if (!json)
    return llvm::createStringError(what + ": expected a JSON object, got null");
  auto value = llvm::json::parse(json);
  if (!value)
    return llvm::createStringError(what + ": " +
                                   llvm::toString(value.takeError()));
  llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(what + ": expected a JSON object");
  return std::move(*object);
}

std::string compilerBuildId() {
  // Contents, not times: a library that is copied or rebuilt to the same code
  // is the same compiler.
  static const std::string id = [] {
    Dl_info self;
    if (!dladdr(reinterpret_cast<void *>(&compilerBuildId), &self))
      return std::string("unknown");
    auto file = llvm::MemoryBuffer::getFile(self.dli_fname);
    if (!file)
      return std::string("unknown");
    auto hash =
        llvm::SHA256::hash(llvm::arrayRefFromStringRef((*file)->getBuffer()));
    return llvm::toHex(hash, /*LowerCase=*/true);
  }();
  return id;
}

} // namespace mlatile
