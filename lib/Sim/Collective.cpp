// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of warp and CTA collectives.
#include "Rewrite.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include <optional>

using namespace mlatile::sim;
using llvm::StringRef;
using llvm::StringSwitch;

namespace {

std::optional<Element> parseElement(StringRef name) {
  return StringSwitch<std::optional<Element>>(name)
      .Case("e4m3", Element::E4M3)
      .Case("e5m2", Element::E5M2)
      .Case("e3m2", Element::E3M2)
      .Case("e2m3", Element::E2M3)
      .Case("e2m1", Element::E2M1)
      .Default(std::nullopt);
}

void argumentsUpTo(Collective &out, unsigned count) {
  out.op.inputs = count;
  for (unsigned i = 0; i < count; ++i)
    out.arguments.push_back(i);
}

/// Inputs a, b, c and what follows them; one register an argument.
bool finishMma(Collective &out, unsigned extra = 0) {
  MmaShapeInfo &mma = out.op.mma;
  mma.regsC = mma.halfAccumulator ? 2 : 4;
  out.op.code = OpCode::Mma;
  out.op.outputs = mma.regsC;
  out.wholeWarp = true;
  argumentsUpTo(out, mma.regsA + mma.regsB + mma.regsC + extra);
  return true;
}

/// mma.m16n8kK.row.col[.kind.f8f6f4].types
bool parseMma(llvm::ArrayRef<StringRef> words, Collective &out) {
  MmaShapeInfo &mma = out.op.mma;
  if (words.size() < 4 || words[1] != "row" || words[2] != "col")
    return false;
  StringRef shape = words[0];
  bool kind = words[3] == "kind";
  if (kind && (words.size() < 5 || words[4] != "f8f6f4"))
    return false;
  llvm::ArrayRef<StringRef> types = words.drop_front(kind ? 5 : 3);
  bool wide = shape == "m16n8k32";
  if (!wide && shape != "m16n8k16" && shape != "m16n8k8")
    return false;

  if (types.size() == 1 && types[0] == "bf16" && !wide) {
    mma.kind = MmaKind::BF16;
    mma.a = mma.b = Element::BF16;
  } else if (types.size() == 2 && types[0] == types[1] && !wide &&
             (types[0] == "f32" || types[0] == "f16")) {
    mma.kind = MmaKind::F16;
    mma.a = mma.b = Element::F16;
    mma.halfAccumulator = types[0] == "f16";
  } else if (types.size() == 4 && types[0] == types[3] &&
             (types[0] == "f32" || types[0] == "f16") && shape != "m16n8k8") {
    auto a = parseElement(types[1]), b = parseElement(types[2]);
    if (!a || !b)
      return false;
    mma.kind = kind ? MmaKind::F8F6F4 : MmaKind::F8;
    mma.a = *a;
    mma.b = *b;
    mma.bits = 8;
    mma.halfAccumulator = types[0] == "f16";
  } else {
    return false;
  }
  // Operands of full length fill four and two registers.
  mma.k = wide ? 32 : shape == "m16n8k16" ? 16 : 8;
  bool full = mma.k == 256 / mma.bits;
  mma.regsA = full ? 4 : 2;
  mma.regsB = full ? 2 : 1;
  return finishMma(out);
}

/// mma.block.scale.m16n8kK.row.col.KIND[.scale.NX].f32.A.B.f32.TYPE
bool parseBlockScale(llvm::ArrayRef<StringRef> words, Collective &out) {
  MmaShapeInfo &mma = out.op.mma;
  if (words.size() < 9 || words[1] != "row" || words[2] != "col")
    return false;
  StringRef kind = words[3];
  llvm::ArrayRef<StringRef> rest = words.drop_front(4);
  unsigned blocks = kind == "mxf8f6f4" ? 1 : kind == "mxf4" ? 2 : 0;
  if (rest[0] == "scale") {
    blocks = StringSwitch<unsigned>(rest[1])
                 .Case("1x", 1)
                 .Case("2x", 2)
                 .Case("4x", 4)
                 .Default(0);
    rest = rest.drop_front(2);
  }
  if (!blocks || rest.size() != 5)
    return false;
  auto a = parseElement(rest[1]), b = parseElement(rest[2]);
  if (!a || !b || rest[0] != "f32" || rest[3] != "f32")
    return false;
  mma.kind = kind == "mxf8f6f4" ? MmaKind::MXF8F6F4
             : kind == "mxf4"   ? MmaKind::MXF4
                                : MmaKind::MXF4NVF4;
  mma.a = *a;
  mma.b = *b;
  mma.bits = kind == "mxf8f6f4" ? 8 : 4;
  mma.k = 256 / mma.bits;
  mma.scaleBlocks = blocks;
  mma.scale = rest[4] == "ue4m3" ? ScaleType::UE4M3 : ScaleType::UE8M0;
  return finishMma(out, 6);
}

/// ldmatrix.sync.aligned.SHAPE.xN[.trans].TYPE, stmatrix alike
bool parseMatrixMove(llvm::ArrayRef<StringRef> words, bool store,
                     Collective &out) {
  if (words.size() < 5)
    return false;
  StringRef shape = words[2];
  MatrixInfo &form = out.op.matrix;
  unsigned count = StringSwitch<unsigned>(words[3])
                       .Case("x1", 1)
                       .Case("x2", 2)
                       .Case("x4", 4)
                       .Default(0);
  form.transposed = words[4] == "trans";
  std::string type = llvm::join(words.drop_front(form.transposed ? 5 : 4), ".");
  if (!count)
    return false;
  form.m16n16 = shape == "m16n16";
  form.registers = form.m16n16 ? 2 * count : count;
  form.addresses = form.m16n16 ? 16 * count : 8 * count;
  if (shape == "m8n8" && type == "b16")
    form.form = MatrixForm::B16;
  else if (type == "b8" && shape == (store ? "m16n8" : "m16n16"))
    form.form = MatrixForm::B8;
  else if (type == "b8x16.b4x16_p64" && !store)
    form.form = MatrixForm::B4;
  else
    return false;
  out.wholeWarp = true;
  if (store) {
    out.op.code = OpCode::StMatrix;
    out.writes = true;
    argumentsUpTo(out, 1 + form.registers);
  } else {
    out.op.code = OpCode::LdMatrix;
    out.reads = true;
    out.op.outputs = form.registers;
    argumentsUpTo(out, 1);
  }
  return true;
}

template <typename Mode>
void setMode(Collective &out, OpCode code, Mode mode) {
  out.op.code = code;
  out.op.mode = static_cast<uint8_t>(mode);
}

/// vote, match, redux, elect, warp synchronisation
bool parseVote(StringRef name, Collective &out) {
  auto simple = [&](unsigned value, int mask, unsigned outputs) {
    out.op.inputs = 1;
    out.op.outputs = outputs;
    out.arguments.push_back(value);
    out.maskArgument = mask;
    return true;
  };
  if (name.consume_front("vote.")) {
    auto mode = StringSwitch<std::optional<VoteMode>>(name)
                    .Case("all.sync", VoteMode::All)
                    .Case("any.sync", VoteMode::Any)
                    .Case("uni.sync", VoteMode::Uniform)
                    .Case("ballot.sync", VoteMode::Ballot)
                    .Default(std::nullopt);
    if (!mode)
      return false;
    setMode(out, OpCode::Vote, *mode);
    return simple(1, 0, 1);
  }
  if (name.consume_front("redux.sync.")) {
    auto mode = StringSwitch<std::optional<ReduxMode>>(name)
                    .Case("add", ReduxMode::Add)
                    .Case("min", ReduxMode::Min)
                    .Case("max", ReduxMode::Max)
                    .Case("umin", ReduxMode::UMin)
                    .Case("umax", ReduxMode::UMax)
                    .Case("and", ReduxMode::And)
                    .Case("or", ReduxMode::Or)
                    .Case("xor", ReduxMode::Xor)
                    .Default(std::nullopt);
    if (!mode)
      return false;
    setMode(out, OpCode::Redux, *mode);
    return simple(0, 1, 1);
  }
  if (name.consume_front("match.")) {
    bool all = name.consume_front("all.sync.");
    if (!all && !name.consume_front("any.sync."))
      return false;
    out.op.code = all ? OpCode::MatchAll : OpCode::MatchAny;
    out.op.wide = name.starts_with("i64");
    return simple(1, 0, all ? 2 : 1);
  }
  if (name == "elect.sync") {
    out.op.code = OpCode::Elect;
    out.op.outputs = 2;
    out.maskArgument = 0;
    return true;
  }
  if (name == "bar.warp.sync") {
    out.op.code = OpCode::WarpSync;
    out.maskArgument = 0;
    out.alone = true;
    return true;
  }
  return false;
}

bool parseShuffle(StringRef name, Collective &out) {
  auto [modeName, type] = name.split('.');
  auto mode = StringSwitch<std::optional<ShuffleMode>>(modeName)
                  .Case("up", ShuffleMode::Up)
                  .Case("down", ShuffleMode::Down)
                  .Case("bfly", ShuffleMode::Butterfly)
                  .Case("idx", ShuffleMode::Index)
                  .Default(std::nullopt);
  if (!mode)
    return false;
  setMode(out, OpCode::Shuffle, *mode);
  out.maskArgument = 0;
  out.arguments = {1, 2, 3};
  out.op.inputs = 3;
  out.op.outputs = type.ends_with("p") ? 2 : 1;
  return true;
}

/// barrier.cta.{sync,arrive,red.OP}[.aligned].{all,count}. Without .aligned
/// lanes may arrive at different places; here they must still converge.
bool parseBarrier(StringRef name, Collective &out) {
  out.alone = true;
  unsigned outputs = 0, extra = 0;
  if (name.consume_front("sync.")) {
    out.op.code = OpCode::BarrierSync;
  } else if (name.consume_front("arrive.")) {
    out.op.code = OpCode::BarrierArrive;
  } else if (name.consume_front("red.")) {
    auto [op, rest] = name.split('.');
    auto mode = StringSwitch<std::optional<BarrierReduction>>(op)
                    .Case("popc", BarrierReduction::Count)
                    .Case("and", BarrierReduction::And)
                    .Case("or", BarrierReduction::Or)
                    .Default(std::nullopt);
    if (!mode)
      return false;
    setMode(out, OpCode::BarrierReduce, *mode);
    name = rest;
    outputs = extra = 1;
  } else {
    return false;
  }
  name.consume_front("aligned.");
  bool counted = name == "count";
  if (!counted && name != "all")
    return false;
  out.op.outputs = outputs;
  // Inputs: id, count (0: all), predicate.
  out.op.inputs = 2 + extra;
  out.op.in[1] = kImmediate;
  out.arguments.push_back(0);
  out.arguments.push_back(counted ? 1 : ~0u);
  if (extra)
    out.arguments.push_back(counted ? 2 : 1);
  return true;
}

/// barrier.cluster.{arrive[.relaxed],wait}[.aligned], as the CTA's.
bool parseClusterBarrier(StringRef name, Collective &out) {
  out.alone = true;
  name.consume_back(".aligned");
  if (name != "wait" && name != "arrive" && name != "arrive.relaxed")
    return false;
  out.op.code = name == "wait" ? OpCode::ClusterWait : OpCode::ClusterArrive;
  out.op.second = name == "arrive.relaxed";
  return true;
}

} // namespace

bool mlatile::sim::parseCollective(StringRef name, Collective &out) {
  llvm::SmallVector<StringRef> words;
  if (name.consume_front("mma.block.scale.")) {
    name.split(words, '.');
    return parseBlockScale(words, out);
  }
  if (name.consume_front("mma.")) {
    name.split(words, '.');
    return parseMma(words, out);
  }
  if (name.consume_front("ldmatrix.") || name.starts_with("stmatrix.")) {
    bool store = name.consume_front("stmatrix.");
    name.split(words, '.');
    return parseMatrixMove(words, store, out);
  }
  if (name.consume_front("shfl.sync."))
    return parseShuffle(name, out);
  if (name.consume_front("barrier.cta."))
    return parseBarrier(name, out);
  if (name.consume_front("barrier.cluster."))
    return parseClusterBarrier(name, out);
  return parseVote(name, out);
}

bool mlatile::sim::parseMovMatrix(const llvm::CallBase &call, Collective &out) {
  const auto *assembly =
      llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  if (!assembly)
    return false;
  StringRef text = StringRef(assembly->getAsmString()).trim();
  text.consume_back(";");
  if (!text.consume_front("movmatrix.sync.aligned.m8n8.trans.b16") ||
      text.trim() != "$0, $1" || call.arg_size() != 1 ||
      !call.getType()->isIntegerTy(32) ||
      !call.getArgOperand(0)->getType()->isIntegerTy(32))
    return false;
  out.op.code = OpCode::MovMatrix;
  out.op.outputs = 1;
  out.wholeWarp = true;
  argumentsUpTo(out, 1);
  return true;
}
