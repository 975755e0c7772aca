// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.kernel: the kernel ABI (docs/Pipeline.md, "Kernel ABI") and the arena.
#include "mlatile/Conversion/TileToNVVM/Patterns.h"
#include "mlatile/Dialect/Tile/IR/Tile.h"
#include "mlatile/Dialect/TileGPU/IR/TileGPU.h"
#include "mlatile/Target/RegisterBudget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace mlatile {

static std::string arenaName(StringRef kernel) {
  return (kSharedArenaPrefix + kernel).str();
}

Value arenaAddress(OpBuilder &builder, Location loc, int64_t offset) {
  OpBuilder::InsertionGuard guard(builder);
  setToEntry(builder);
  Operation *function = builder.getInsertionBlock()->getParentOp();
  while (!isa<FunctionOpInterface>(function) && function->getParentOp())
    function = function->getParentOp(); // of a role
  auto name =
      function->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace);
  Value arena = LLVM::AddressOfOp::create(
      builder, loc, type, arenaName(name ? name.getValue() : StringRef()));
  if (!offset)
    return arena;
  return LLVM::GEPOp::create(builder, loc, type, builder.getI8Type(), arena,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

namespace {

/// Bytes of the arena: what the plan says, else up to the end of the last
/// place.
FailureOr<int64_t> arenaBytes(tile::KernelOp kernel) {
  int64_t end = 0;
  WalkResult walk = kernel.walk([&](tilegpu::AllocOp alloc) {
    if (!alloc.getOffset()) {
      alloc.emitOpError("expected an offset, which tilegpu-plan-shared sets");
      return WalkResult::interrupt();
    }
    int64_t offset = static_cast<int64_t>(*alloc.getOffset());
    end = std::max(end, offset + alloc.getNumBytes());
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  auto planned = kernel->getAttrOfType<IntegerAttr>(kSharedBytesAttr);
  if (!planned)
    return end;
  if (planned.getInt() < end)
    return kernel.emitOpError("expected at least ")
           << end << " bytes of shared memory, got " << kSharedBytesAttr
           << " = " << planned.getInt();
  return planned.getInt();
}

/// One dictionary for the host, see kArgsAttr.
DictionaryAttr describe(Builder &builder, StringRef name, Type type) {
  SmallVector<NamedAttribute> fields;
  auto add = [&](StringRef key, Attribute value) {
    fields.emplace_back(builder.getStringAttr(key), value);
  };
  add("name", builder.getStringAttr(name));
  if (auto view = dyn_cast<tile::ViewType>(type)) {
    add("kind", builder.getStringAttr("view"));
    add("rank", builder.getI64IntegerAttr(view.getRank()));
    add("element", TypeAttr::get(view.getElementType()));
  } else if (auto pool = dyn_cast<tile::PoolType>(type)) {
    add("kind", builder.getStringAttr("pool"));
    add("format", pool.getFormat());
  } else {
    add("kind", builder.getStringAttr("scalar"));
    add("element", TypeAttr::get(type));
  }
  return builder.getDictionaryAttr(fields);
}

bool hasWaitUntil(tile::KernelOp kernel) {
  return kernel->walk([](tile::WaitUntilOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// PTX ISA 4.4, "Identifiers", less '%'; a dot would name an intrinsic.
bool isEntryName(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '$';
         });
}

/// CTAs that an SM should have room for, which bounds the registers of a
/// thread: as many as shared memory lets in, while what loops carry stays in
/// registers.
int64_t residentCtas(tile::KernelOp kernel, int64_t warps, int64_t sharedBytes,
                     const Target &target) {
  int64_t carried = 0;
  // Loops are blocks by now.
  for (Block &block : kernel.getBody()) {
    int64_t registers = 0;
    for (Value value : block.getArguments())
      if (auto layout = tilegpu::LayoutAttr::of(value.getType()))
        registers += layout.getDistributed().numRegs();
    carried = std::max(carried, registers);
  }
  int64_t byShared =
      target.sharedBytesPerSM /
      (sharedBytes + target.sharedBytesPerSM - target.sharedBytesPerBlock);
  int64_t byRegisters =
      ctasByRegisters(target.registersPerSM, registerBudget(carried), warps);
  int64_t resident =
      std::min({byShared, byRegisters, int64_t(target.maxBlocksPerSM)});
  if (kernel.getClusterSize().value_or(1) > 1)
    resident = std::min(resident, kClusterCtas);
  return std::max<int64_t>(resident, 1);
}

struct KernelPattern : ConvertOpToLLVMPattern<tile::KernelOp> {
  KernelPattern(TileTypeConverter &types, const Target &target)
      : ConvertOpToLLVMPattern(types), target(target) {}

  LogicalResult
  matchAndRewrite(tile::KernelOp kernel, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isEntryName(kernel.getSymName()))
      return kernel.emitOpError("expected a name of letters, digits, '_' and "
                                "'$', got '")
             << kernel.getSymName() << "'";
    std::optional<int64_t> warps = kernel.getWarpCount();
    if (!warps)
      return kernel.emitOpError("expected a number of warps; is the kernel "
                                "specialised?");
    std::optional<int64_t> cluster = kernel.getClusterSize();
    if (!cluster)
      return kernel.emitOpError("expected a number of blocks in a cluster; is "
                                "the kernel specialised?");
    if (32 * *warps > target.maxThreadsPerBlock)
      return kernel.emitOpError("expected at most ")
             << target.maxThreadsPerBlock << " threads, got " << 32 * *warps;
    FailureOr<int64_t> bytes = arenaBytes(kernel);
    if (failed(bytes))
      return failure();
    if (*bytes > target.sharedBytesPerBlock)
      return kernel.emitOpError("expected at most ")
             << target.sharedBytesPerBlock << " bytes of shared memory on "
             << target.name << ", got " << *bytes;

    // One flat list of parameters from one or several an argument.
    SmallVector<Type> converted, flat;
    SmallVector<Attribute> described;
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      Type to = getTypeConverter()->convertType(type);
      if (!to)
        return kernel.emitOpError("cannot pass argument '")
               << kernel.getArgName(i) << "' of type " << type;
      converted.push_back(to);
      if (auto fields = dyn_cast<LLVM::LLVMStructType>(to))
        llvm::append_range(flat, fields.getBody());
      else
        flat.push_back(to);
      described.push_back(describe(rewriter, kernel.getArgName(i), type));
    }

    Location loc = kernel.getLoc();
    MLIRContext *context = getContext();
    if (*bytes > 0)
      LLVM::GlobalOp::create(
          rewriter, loc, LLVM::LLVMArrayType::get(rewriter.getI8Type(), *bytes),
          /*isConstant=*/false, LLVM::Linkage::Internal,
          arenaName(kernel.getSymName()), Attribute(), kSharedArenaAlignment,
          kSharedSpace);
    auto function = LLVM::LLVMFuncOp::create(
        rewriter, loc, kernel.getSymName(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), flat));
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                      rewriter.getUnitAttr());
    function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                      rewriter.getDenseI32ArrayAttr({int32_t(32 * *warps)}));
    if (*cluster > 1)
      function->setAttr(
          NVVM::NVVMDialect::getClusterDimAttrName(),
          rewriter.getDenseI32ArrayAttr({int32_t(*cluster), 1, 1}));
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      rewriter.getI32IntegerAttr(static_cast<int32_t>(
                          residentCtas(kernel, *warps, *bytes, target))));
    function->setAttr(kSharedBytesAttr, rewriter.getI64IntegerAttr(*bytes));
    function->setAttr(kArgsAttr, rewriter.getArrayAttr(described));
    if (hasWaitUntil(kernel))
      function->setAttr(kCoresidentAttr, rewriter.getUnitAttr());

    // A prologue gathers the parameters; the body's arguments become values of
    // it.
    SmallVector<Location> locs(flat.size(), loc);
    Block *body = &kernel.getBody().front();
    Block *entry = rewriter.createBlock(&function.getBody(), {}, flat, locs);
    TypeConverter::SignatureConversion signature(converted.size());
    ValueRange parameters = entry->getArguments();
    for (auto [i, type] : llvm::enumerate(converted)) {
      size_t count = 1;
      if (auto fields = dyn_cast<LLVM::LLVMStructType>(type)) {
        count = fields.getBody().size();
        signature.remapInput(
            i, TileTypeConverter::packStruct(rewriter, loc, type,
                                             parameters.take_front(count)));
      } else {
        signature.remapInput(i, parameters.front());
      }
      parameters = parameters.drop_front(count);
    }
    rewriter.inlineRegionBefore(kernel.getBody(), function.getBody(),
                                function.getBody().end());
    Block *newBody =
        rewriter.applySignatureConversion(body, signature, getTypeConverter());
    rewriter.setInsertionPointToEnd(entry);
    LLVM::BrOp::create(rewriter, loc, ValueRange(), newBody);
    rewriter.eraseOp(kernel);
    return success();
  }

private:
  const Target &target;
};

struct ReturnPattern : ConvertOpToLLVMPattern<tile::ReturnOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult
  matchAndRewrite(tile::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

} // namespace

void populateKernelPatterns(TileTypeConverter &types, const Target &target,
                            RewritePatternSet &patterns) {
  patterns.add<KernelPattern>(types, target);
  patterns.add<ReturnPattern>(types);
}

} // namespace mlatile
