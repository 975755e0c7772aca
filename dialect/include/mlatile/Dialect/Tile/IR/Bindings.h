// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replacing the names of parameters in types: by values when a kernel is
// specialised, by names or values when a step is called.
#ifndef MLATILE_DIALECT_TILE_IR_BINDINGS_H
#define MLATILE_DIALECT_TILE_IR_BINDINGS_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>

namespace mlatile::tile {

/// What names stand for; a name that is not here stands for itself. Sorted, so
/// that messages and keys are the same in every run.
class Bindings {
public:
  Bindings() = default;
  /// Those of one call; of a name that is bound twice the first counts.
  explicit Bindings(mlir::ArrayAttr bindings);

  void set(BindingAttr binding);
  bool empty() const { return entries.empty(); }
  /// Null where the name stands for itself.
  BindingAttr lookup(llvm::StringRef name) const;
  /// All of them, sorted by name: equal if and only if the bindings are.
  mlir::ArrayAttr asAttr(mlir::MLIRContext *context) const;

  /// The bindings of a step that is called, with `call`, by a step that is
  /// itself called with these.
  Bindings within(const Bindings &call) const;

  /// The type with its names replaced.
  mlir::Type apply(mlir::Type type) const;
  /// Lets `replacer` replace names. A tile without names left loses its
  /// `#tile.dims`: if it had one before (`dropStatic`) always, else only where
  /// that took a replacement. The bindings must outlive the replacer.
  void addTo(mlir::AttrTypeReplacer &replacer, bool dropStatic) const;

private:
  std::map<std::string, BindingAttr, std::less<>> entries;
};

/// Where a name stands, which says what it must be.
enum class NameUse {
  Dim,     ///< of a tile or rows: an integer
  ViewDim, ///< an integer, or free
  Format,  ///< of a pool or rows
  Index,   ///< tile.param, of type index
  Bool,    ///< tile.param, of type i1
  Number,  ///< tile.require: an integer or a boolean
};
using NameCallback = llvm::function_ref<void(mlir::StringAttr, NameUse)>;

/// The names in a type of the dialect or in a tile.
void forEachName(mlir::Type type, NameCallback callback);
/// The names in an op of its own: results, arguments of its blocks, tile.param,
/// tile.require; not those of ops inside, nor those of a call's bindings.
void forEachName(mlir::Operation *op, NameCallback callback);

} // namespace mlatile::tile
#endif
