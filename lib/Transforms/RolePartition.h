// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operation of a kernel goes to which role (docs/Roles.md).
#ifndef MLATILE_LIB_TRANSFORMS_ROLEPARTITION_H
#define MLATILE_LIB_TRANSFORMS_ROLEPARTITION_H

#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlatile {

enum class Role { Gather, First, Second };
inline constexpr int kNumRoles = 3;

/// The part of a kernel from its first loop with a gather on, or from the loop
/// around that one, and who does what of it.
class RolePartition {
public:
  /// Fails with an error that says why there is nothing to partition.
  /// `converts`: `Gather` reads its rows itself, does all that follows from
  /// them alone, and what the others need of that crosses.
  /// `gatherWarps`: of `Gather`.
  static mlir::FailureOr<RolePartition>
  compute(tile::KernelOp kernel, bool converts, int64_t gatherWarps);

  /// The operations of the part, in order, without the kernel's end.
  llvm::ArrayRef<mlir::Operation *> getPart() const { return part; }
  /// The loops with a gather, in order. Each stands in the kernel's body, or in
  /// a loop that stands there.
  llvm::ArrayRef<mlir::scf::ForOp> getLoops() const { return loops; }

  /// `op` stands in a block of the part.
  bool needs(Role role, mlir::Operation *op) const {
    return of(role).ops.contains(op);
  }
  /// Whether a role needs value `i` that a loop carries.
  bool needs(Role role, mlir::scf::ForOp loop, unsigned i) const {
    return of(role).carried.contains({loop, i});
  }
  /// Values of a role that other roles use, by the block in which they are
  /// defined.
  using Crossing = llvm::MapVector<mlir::Block *, llvm::SetVector<mlir::Value>>;
  const Crossing &getCrossing(Role from) const {
    return crossing[static_cast<int>(from)];
  }
  /// Whether a role uses a value of another one.
  bool receives(Role role, mlir::Value value) const {
    return of(role).received.contains(value);
  }
  /// Whether a tile that `Gather` sends is one of a view, which it copies.
  bool isCopied(mlir::Value value) const { return copied.contains(value); }
  /// Roles other than `Gather` that read the rows of a gather.
  bool reads(Role role, mlir::Operation *gather) const {
    return of(role).gathers.contains(gather);
  }
  /// Whether an operation is cheaper to do again than its result to hand over.
  static bool isExpansion(mlir::Operation *op);
  /// Whether a value is defined before the part.
  bool isBefore(mlir::Value value) const;
  /// Whether a role makes a tile from before the part itself: constants and
  /// what expands.
  static bool isMadeAgain(mlir::Operation *op);

private:
  /// Which products a value depends on. Ordered.
  enum class Depends { OnNone, OnFirst, OnSecond };
  struct Needs {
    llvm::SetVector<mlir::Operation *> ops, gathers;
    llvm::SetVector<std::pair<mlir::Operation *, unsigned>> carried;
    llvm::SetVector<mlir::Value> received;
  };

  RolePartition(tile::KernelOp kernel, bool converts, int64_t gatherWarps)
      : kernel(kernel), converts(converts), gatherWarps(gatherWarps) {}

  mlir::LogicalResult findPart();
  mlir::LogicalResult findProducts();
  void propagate();
  bool propagate(mlir::Operation *op);
  bool raise(mlir::Value value, Depends to);
  Depends dependsOn(mlir::Value value) const { return depends.lookup(value); }
  Depends dependsOn(mlir::Operation *op) const;

  mlir::LogicalResult findSinks(mlir::Block &block);
  /// In a loop around those with a gather no role loads what another one
  /// stores: it may be an iteration ahead.
  mlir::LogicalResult checkLoads();
  mlir::LogicalResult cross(Role from, Role role, mlir::Value value,
                            mlir::Operation *user);
  mlir::LogicalResult need(Role role, mlir::Value value, mlir::Operation *user);
  mlir::LogicalResult need(Role role, mlir::Operation *op);
  /// Whether a tile follows from gathered rows, and from no product.
  bool isOfRows(mlir::Value value);
  /// Whether a tile is read once an item, in a loop around those with a gather
  /// and before them: neither of rows nor of products nor of constants alone.
  bool isOfItem(mlir::Value value);
  /// Whether `Gather` can send a tile by a copy, and the form of roles asks it.
  bool canCopy(mlir::Value value) const;
  mlir::LogicalResult needCarried(Role role, mlir::scf::ForOp loop, unsigned i);

  Needs &of(Role role) { return roles[static_cast<int>(role)]; }
  const Needs &of(Role role) const { return roles[static_cast<int>(role)]; }

  tile::KernelOp kernel;
  bool converts;
  int64_t gatherWarps;
  llvm::SmallVector<mlir::Operation *> part;
  llvm::SmallVector<mlir::scf::ForOp> loops;
  llvm::DenseMap<mlir::Value, Depends> depends;
  llvm::DenseMap<mlir::Value, bool> ofRows, ofItem;
  llvm::SetVector<mlir::Operation *> products, second;
  llvm::SmallDenseSet<mlir::Value> copied;
  Needs roles[kNumRoles];
  Crossing crossing[kNumRoles];
};

/// The values that an operation uses: its operands, and what operations inside
/// use of values from outside.
void forEachUsed(mlir::Operation *op,
                 llvm::function_ref<void(mlir::Value)> callback);

} // namespace mlatile
#endif
