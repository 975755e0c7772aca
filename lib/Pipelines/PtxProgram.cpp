// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlatile/Pipelines/PtxProgram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlatile::ptx {
namespace {

constexpr uint64_t kMostThreads = 1024;

bool isNameChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%';
}

/// The text behind white space and comments.
llvm::StringRef skipSpace(llvm::StringRef text) {
  for (;;) {
    text = text.ltrim();
    if (text.starts_with("//"))
      text = text.drop_until([](char c) { return c == '\n'; });
    else if (text.starts_with("/*"))
      text = text.drop_front(std::min(text.find("*/", 2), text.size() - 2) + 2);
    else
      return text;
  }
}

/// Takes everything up to `end`, which is dropped.
llvm::StringRef takeUntil(llvm::StringRef &text, char end) {
  auto [head, tail] = text.split(end);
  text = tail;
  return head;
}

/// Operands of an instruction: separated by commas outside of brackets.
void splitOperands(llvm::StringRef text,
                   llvm::SmallVectorImpl<llvm::StringRef> &operands) {
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    depth +=
        (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c != ',' || (depth > 0 && i < text.size()))
      continue;
    llvm::StringRef operand = text.slice(start, i).trim();
    if (!operand.empty())
      operands.push_back(operand);
    start = i + 1;
  }
}

/// Registers that an instruction writes: those of its first operand, as in
/// "%r1", "{%r1, %r2}" or "%r1|%p1".
void forEachWritten(const Instruction &instruction,
                    llvm::function_ref<void(llvm::StringRef)> visit) {
  static constexpr llvm::StringLiteral noResult[] = {
      "st.",      "bra",        "bar",      "ret",    "exit",
      "trap",     "red.",       "fence",    "membar", "cp.async",
      "prefetch", "setmaxnreg", "stmatrix", "brx",    "call"};
  if (instruction.operands.empty() ||
      llvm::any_of(noResult, [&](llvm::StringRef prefix) {
        return instruction.opcode.starts_with(prefix);
      }))
    return;
  llvm::StringRef text = instruction.operands.front();
  if (text.starts_with("["))
    return;
  llvm::SmallVector<llvm::StringRef, 8> registers;
  llvm::SplitString(text, registers, "{}|, \t\n");
  for (llvm::StringRef reg : registers)
    visit(reg);
}

bool endsBlock(llvm::StringRef opcode) {
  return opcode == "bra" || opcode.starts_with("bra.") || opcode == "ret" ||
         opcode.starts_with("ret.") || opcode == "exit" || opcode == "trap" ||
         opcode.starts_with("brx.");
}

/// Builds the blocks of one body.
class BodyParser {
public:
  BodyParser(llvm::StringRef body, std::vector<Block> &blocks)
      : text(body), blocks(blocks) {}

  llvm::Error parse() {
    blocks.emplace_back();
    while (!(text = skipSpace(text)).empty()) {
      if (text.front() == '.')
        skipDirective();
      else if (text.front() == '{' || text.front() == '}' ||
               text.front() == ';')
        text = text.drop_front(); // scopes of calls and inline assembly
      else if (llvm::Error error = statement())
        return error;
    }
    return connect();
  }

private:
  void skipDirective() {
    // Line numbers end with the line, declarations with a semicolon.
    bool line = text.starts_with(".loc") || text.starts_with(".file");
    takeUntil(text, line ? '\n' : ';');
  }

  llvm::Error statement() {
    llvm::StringRef name = text.take_while(isNameChar);
    llvm::StringRef rest = skipSpace(text.drop_front(name.size()));
    if (!name.empty() && rest.starts_with(":") && !rest.starts_with("::")) {
      text = skipSpace(rest.drop_front());
      if (text.starts_with(".branchtargets")) {
        text = text.drop_front(strlen(".branchtargets"));
        splitOperands(takeUntil(text, ';'), tables[name]);
        return llvm::Error::success();
      }
      begin(name);
      return llvm::Error::success();
    }
    if (!text.contains(';'))
      return llvm::createStringError("PTX: expected ';' after '" +
                                     text.take_front(40).trim() + "'");
    return instruction(takeUntil(text, ';').trim());
  }

  llvm::Error instruction(llvm::StringRef all) {
    Instruction result;
    llvm::StringRef whole = all;
    if (all.consume_front("@")) {
      result.negated = all.consume_front("!");
      result.predicate = all.take_while(isNameChar);
      all = skipSpace(all.drop_front(result.predicate.size()));
    }
    result.opcode = all.take_until(llvm::isSpace);
    if (result.opcode.empty())
      return llvm::createStringError("PTX: expected an instruction, got '" +
                                     whole.take_front(40) + "'");
    splitOperands(all.drop_front(result.opcode.size()), result.operands);
    if (ended)
      begin("");
    ended = endsBlock(result.opcode);
    blocks.back().instructions.push_back(std::move(result));
    return llvm::Error::success();
  }

  void begin(llvm::StringRef label) {
    Block &last = blocks.back();
    ended = false;
    if (!last.instructions.empty())
      blocks.emplace_back();
    // Several labels may name one place.
    if (!label.empty())
      labels[label] = blocks.size() - 1;
    if (blocks.back().label.empty())
      blocks.back().label = label;
  }

  llvm::Error connect() {
    for (unsigned i = 0; i < blocks.size(); ++i) {
      Block &block = blocks[i];
      bool falls = true;
      if (!block.instructions.empty() &&
          endsBlock(block.instructions.back().opcode)) {
        const Instruction &last = block.instructions.back();
        falls = !last.predicate.empty();
        llvm::SmallVector<llvm::StringRef, 2> targets;
        if (last.opcode.starts_with("bra"))
          targets.append(last.operands.begin(), last.operands.end());
        else if (last.opcode.starts_with("brx") && last.operands.size() > 1)
          targets = tables.lookup(last.operands[1]);
        for (llvm::StringRef target : targets) {
          auto label = labels.find(target);
          if (label == labels.end())
            return llvm::createStringError("PTX: no label '" + target + "'");
          block.successors.push_back(label->second);
        }
      }
      if (falls && i + 1 < blocks.size())
        block.successors.push_back(i + 1);
    }
    return llvm::Error::success();
  }

  llvm::StringRef text;
  std::vector<Block> &blocks;
  bool ended = false; ///< the last instruction was a branch
  llvm::StringMap<unsigned> labels;
  llvm::StringMap<llvm::SmallVector<llvm::StringRef, 2>> tables;
};

/// The text from '{' to its '}', both left out; empty where there is none.
llvm::StringRef bracedBody(llvm::StringRef text) {
  size_t open = text.find('{');
  if (open == llvm::StringRef::npos)
    return "";
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '{') - (text[i] == '}');
    if (depth == 0)
      return text.slice(open + 1, i);
  }
  return "";
}

} // namespace

llvm::Expected<Program> Program::parse(llvm::StringRef ptx,
                                       llvm::StringRef name) {
  Program program;
  for (llvm::StringRef rest = ptx;;) {
    size_t entry = rest.find(".entry");
    if (entry == llvm::StringRef::npos)
      return llvm::createStringError("PTX: no kernel '" + name + "'");
    rest = skipSpace(rest.drop_front(entry + strlen(".entry")));
    program.name = rest.take_while(isNameChar);
    if (name.empty() || program.name == name) {
      ptx = rest;
      break;
    }
  }
  // Directives of the kernel stand between its parameters and its body.
  llvm::StringRef head = ptx.take_front(ptx.find('{'));
  if (size_t at = head.find(".reqntid"); at != llvm::StringRef::npos) {
    uint64_t threads = 1, extent = 0;
    llvm::StringRef extents = head.drop_front(at + strlen(".reqntid"));
    do {
      extents = extents.ltrim();
      if (extents.consumeInteger(10, extent))
        return llvm::createStringError("PTX: expected a number after .reqntid");
      // No target has more, and warpsOfBlocks takes memory for each.
      if (extent > kMostThreads || (threads *= extent) > kMostThreads)
        return llvm::createStringError(
            llvm::formatv("PTX: expected at most {0} threads", kMostThreads));
      extents = extents.ltrim();
    } while (extents.consume_front(","));
    program.threads = static_cast<unsigned>(threads);
  }
  llvm::StringRef body = bracedBody(ptx);
  if (body.empty())
    return llvm::createStringError("PTX: kernel '" + program.name +
                                   "' has no body");
  if (llvm::Error error = BodyParser(body, program.blocks).parse())
    return std::move(error);
  for (unsigned b = 0; b < program.blocks.size(); ++b)
    for (unsigned i = 0; i < program.blocks[b].instructions.size(); ++i)
      forEachWritten(program.blocks[b].instructions[i],
                     [&](llvm::StringRef reg) {
                       program.writePlaces[reg].push_back({b, i});
                     });
  return program;
}

llvm::ArrayRef<Program::Place> Program::writes(llvm::StringRef reg) const {
  auto found = writePlaces.find(reg);
  if (found == writePlaces.end())
    return {};
  return found->second;
}

const Instruction *Program::onlyWrite(llvm::StringRef reg) const {
  llvm::ArrayRef<Place> places = writes(reg);
  return places.size() == 1 ? &at(places.front()) : nullptr;
}

} // namespace mlatile::ptx
