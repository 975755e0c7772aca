// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files.
#ifndef MLATILE_LIB_RUNTIME_FILES_H
#define MLATILE_LIB_RUNTIME_FILES_H

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mlatile {

/// FNV-1a, 16 hexadecimal digits.
std::string fnv1a(std::string_view bytes);

/// Nothing where it cannot be opened.
std::optional<std::string> readFile(const std::filesystem::path &path);

/// Written beside and renamed, so that a reader never sees half a file. Throws
/// Error.
void writeFile(const std::filesystem::path &path, const std::string &bytes);

} // namespace mlatile
#endif
