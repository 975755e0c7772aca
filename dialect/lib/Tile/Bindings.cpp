// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Dialect/Tile/IR/Bindings.h"

using namespace mlir;

namespace mlatile::tile {

Bindings::Bindings(ArrayAttr bindings) {
  if (bindings)
    for (auto binding : bindings.getAsRange<BindingAttr>())
      entries.emplace(binding.getName().str(), binding);
}

void Bindings::set(BindingAttr binding) {
  entries.insert_or_assign(binding.getName().str(), binding);
}

BindingAttr Bindings::lookup(StringRef name) const {
  auto it = entries.find(std::string_view(name));
  return it == entries.end() ? BindingAttr() : it->second;
}

ArrayAttr Bindings::asAttr(MLIRContext *context) const {
  SmallVector<Attribute> list;
  for (const auto &[name, binding] : entries)
    list.push_back(binding);
  return ArrayAttr::get(context, list);
}

Bindings Bindings::within(const Bindings &call) const {
  Bindings result = *this;
  for (const auto &[name, binding] : call.entries) {
    BindingAttr outer =
        binding.getTo() ? lookup(binding.getTo().getValue()) : BindingAttr();
    result.set(outer ? BindingAttr::get(binding.getContext(), binding.getName(),
                                        outer.getTo(), outer.getValue())
                     : binding);
  }
  return result;
}

Type Bindings::apply(Type type) const {
  AttrTypeReplacer replacer;
  addTo(replacer, /*dropStatic=*/false);
  return replacer.replace(type);
}

/// Verifiers see to it that a dimension is bound to an integer or a name.
static SmallVector<Attribute> replaceDims(const Bindings &bindings,
                                          ArrayRef<Attribute> dims) {
  SmallVector<Attribute> replaced;
  for (Attribute dim : dims) {
    auto name = dyn_cast<StringAttr>(dim);
    BindingAttr binding =
        name ? bindings.lookup(name.getValue()) : BindingAttr();
    if (binding && binding.getTo())
      dim = binding.getTo();
    else if (binding)
      if (auto number = dyn_cast<IntegerAttr>(binding.getValue()))
        dim = IntegerAttr::get(IntegerType::get(dim.getContext(), 64),
                               number.getType().isIndex()
                                   ? number.getInt()
                                   : number.getValue().getZExtValue());
    replaced.push_back(dim);
  }
  return replaced;
}

static std::pair<StringAttr, bool>
replaceFormat(const Bindings &bindings, StringAttr format, bool isBound) {
  BindingAttr binding =
      isBound ? BindingAttr() : bindings.lookup(format.getValue());
  if (binding && binding.getTo())
    return {binding.getTo(), false};
  if (binding)
    if (auto name = dyn_cast<StringAttr>(binding.getValue()))
      return {name, true};
  return {format, isBound};
}

void Bindings::addTo(AttrTypeReplacer &replacer, bool dropStatic) const {
  replacer.addReplacement([this, dropStatic](RankedTensorType tensor)
                              -> std::optional<std::pair<Type, WalkResult>> {
    auto dims = dyn_cast_if_present<DimsAttr>(tensor.getEncoding());
    if (!dims)
      return std::nullopt;
    SmallVector<Attribute> bound = replaceDims(*this, dims.getDims());
    if (!dropStatic && ArrayRef(bound) == dims.getDims())
      return std::make_pair(Type(tensor), WalkResult::skip());
    SmallVector<int64_t> shape;
    for (Attribute dim : bound) {
      auto size = dyn_cast<IntegerAttr>(dim);
      shape.push_back(size ? size.getInt() : ShapedType::kDynamic);
    }
    Attribute encoding;
    if (llvm::is_contained(shape, ShapedType::kDynamic))
      encoding = DimsAttr::get(tensor.getContext(), bound);
    return std::make_pair(
        Type(RankedTensorType::get(shape, tensor.getElementType(), encoding)),
        WalkResult::skip());
  });
  replacer.addReplacement([this](ViewType view) {
    return std::make_pair(Type(ViewType::get(view.getContext(),
                                             replaceDims(*this, view.getDims()),
                                             view.getElementType())),
                          WalkResult::skip());
  });
  replacer.addReplacement([this](PoolType pool) {
    auto [format, isBound] =
        replaceFormat(*this, pool.getFormat(), pool.getBound());
    return std::make_pair(
        Type(PoolType::get(pool.getContext(), format, isBound)),
        WalkResult::skip());
  });
  replacer.addReplacement([this](RowsType rows) {
    auto [format, isBound] =
        replaceFormat(*this, rows.getFormat(), rows.getBound());
    return std::make_pair(
        Type(RowsType::get(rows.getContext(), format, isBound,
                           replaceDims(*this, rows.getDims()))),
        WalkResult::skip());
  });
}

static void forEachDim(ArrayRef<Attribute> dims, NameUse use,
                       NameCallback callback) {
  for (Attribute dim : dims)
    if (auto name = dyn_cast<StringAttr>(dim))
      callback(name, use);
}

void forEachName(Type type, NameCallback callback) {
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    if (auto dims = dyn_cast_if_present<DimsAttr>(tensor.getEncoding()))
      forEachDim(dims.getDims(), NameUse::Dim, callback);
  } else if (auto view = dyn_cast<ViewType>(type)) {
    forEachDim(view.getDims(), NameUse::ViewDim, callback);
  } else if (auto pool = dyn_cast<PoolType>(type)) {
    if (!pool.getBound())
      callback(pool.getFormat(), NameUse::Format);
  } else if (auto rows = dyn_cast<RowsType>(type)) {
    if (!rows.getBound())
      callback(rows.getFormat(), NameUse::Format);
    forEachDim(rows.getDims(), NameUse::Dim, callback);
  }
}

void forEachName(Operation *op, NameCallback callback) {
  for (Type type : op->getResultTypes())
    forEachName(type, callback);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        forEachName(type, callback);
  if (auto param = dyn_cast<ParamOp>(op))
    callback(param.getNameAttr(),
             param.getType().isInteger(1) ? NameUse::Bool : NameUse::Index);
  else if (auto require = dyn_cast<RequireOp>(op))
    for (auto name : require.getNames().getAsRange<StringAttr>())
      callback(name, NameUse::Number);
}

} // namespace mlatile::tile
