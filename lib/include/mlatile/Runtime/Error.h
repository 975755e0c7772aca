// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the run-time library throws. Messages start in lower case, name the
// argument, the value seen and what is accepted.
#ifndef MLATILE_RUNTIME_ERROR_H
#define MLATILE_RUNTIME_ERROR_H

#include <stdexcept>
#include <string>
#include <utility>

namespace mlatile {

/// Root of all errors of the library.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A malformed value, shape, stride or type of one argument.
class ArgumentError : public Error {
public:
  /// The message becomes "argument `NAME`: PROBLEM".
  ArgumentError(std::string argument, const std::string &problem)
      : Error("argument `" + argument + "`: " + problem),
        name(std::move(argument)) {}
  /// The argument, spelled as in Python.
  const std::string &argument() const { return name; }

private:
  std::string name;
};

/// A valid problem that is not built, or that the target or machine lacks.
class UnsupportedError : public Error {
public:
  using Error::Error;
};

/// The compiler, ptxas or the executor failed; the message holds its log.
class CompileError : public Error {
public:
  using Error::Error;
};

/// The device refused a launch, or a kernel failed while it ran.
class LaunchError : public Error {
public:
  using Error::Error;
};

} // namespace mlatile
#endif
