// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Files.h"

#include "mlatile/Runtime/Error.h"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace mlatile {
namespace fs = std::filesystem;

std::string fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(hash));
  return text;
}

std::optional<std::string> readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void writeFile(const fs::path &path, const std::string &bytes) {
  fs::path beside = path;
  beside += ".part";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.flush();
    if (!file)
      throw Error("cannot write " + beside.string());
  }
  std::error_code failed;
  fs::rename(beside, path, failed);
  if (failed)
    throw Error("cannot write " + path.string() + ": " + failed.message());
}

} // namespace mlatile
