// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow of shared memory: the last write of each word and what was read since,
// by byte where accesses are smaller than a word.
#include "Checker.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlatile::sim;
using llvm::formatv;

namespace {

constexpr uint32_t kWordKey = 4; ///< keys of a word: 4, its bytes: 0 to 3

template <typename F>
void forLanes(uint32_t mask, F f) {
  for (; mask; mask &= mask - 1)
    f(static_cast<uint32_t>(llvm::countr_zero(mask)));
}

} // namespace

Actor Checker::actor(Lane *lane, uint32_t site) {
  const Thread &t = thread(lane);
  return {lane, laneBit(lane), t.now, site, t.known.get()};
}

/// A lane of `earlier` that the actor does not come after.
uint32_t Checker::unorderedLane(const Access &earlier,
                                const Actor &actor) const {
  bool sameWarp = actor.by->warpId == earlier.agent / 32;
  for (uint32_t mask = earlier.mask; mask; mask &= mask - 1) {
    uint32_t lane = llvm::countr_zero(mask);
    if (actor.known->of(earlier.agent + lane) >= earlier.time)
      continue;
    // A lane comes after what it did itself.
    if (actor.mask & ~(sameWarp ? 1u << lane : 0))
      return lane;
  }
  return kNobody;
}

bool Checker::ordered(const Access &earlier, const Actor &actor) const {
  if (earlier.agent < lanes)
    return actor.known->ofWarp(earlier.agent / 32) >= earlier.time ||
           unorderedLane(earlier, actor) == kNobody;
  if (actor.known->of(earlier.agent) >= earlier.time)
    return true;
  if (llvm::popcount(actor.mask) != 1)
    return false;
  const Thread &t = threads[actor.by->tid];
  return (t.copyEngine == earlier.agent && t.copiesDone >= earlier.time) ||
         (t.storeEngine == earlier.agent && t.storesDone >= earlier.time);
}

std::string Checker::describe(const Access &access, uint32_t lane) const {
  bool copy = access.agent >= lanes;
  uint32_t tid = copy ? access.mask : access.agent + lane;
  return formatv("{0} {1} warp {2} lane {3}", cta.siteName(access.site),
                 copy ? "issued by" : "by", tid / 32, tid % 32)
      .str();
}

std::string Checker::raceText(const Granule &at, const Access &earlier,
                              bool earlierWrites, const Actor &actor,
                              const char *verb) const {
  bool copy = earlier.agent >= lanes;
  uint32_t lane = copy ? 0 : unorderedLane(earlier, actor);
  uint32_t mine = actor.mask;
  if (!copy && actor.by->warpId == earlier.agent / 32)
    mine &= ~(1u << lane);
  Access now{0, actor.by->warpId * 32, mine, actor.site};
  return formatv("race on shared memory, {0} bytes at offset {1}: {2} {3}, and "
                 "{4} {5}: {6}",
                 at.bytes, at.offset, describe(earlier, lane),
                 earlierWrites ? "writes" : "reads",
                 describe(now, llvm::countr_zero(mine)), verb,
                 copy ? "the second thread neither waited for the copy nor "
                        "synchronised with a thread that had"
                      : "nothing orders them")
      .str();
}

// A failing lane runs no destructors: texts are put together in functions of
// their own.
void Checker::failRace(const Granule &at, const Access &earlier,
                       bool earlierWrites, const Actor &actor,
                       const char *verb) {
  failAt(actor.by, ~0u, raceText(at, earlier, earlierWrites, actor, verb));
}

Checker::Granule Checker::wordAt(uint32_t word) {
  return {&writes[word], &reads[word * nwarps], word * 8 + kWordKey, word * 4,
          4};
}

Checker::Granule Checker::byteAt(uint32_t word, uint32_t byte) {
  uint32_t index = (splits[word] - 1) * 4 + byte;
  return {&splitWrites[index], &splitReads[index * nwarps], word * 8 + byte,
          word * 4 + byte, 1};
}

void Checker::split(uint32_t word) {
  if (splits[word])
    return;
  uint32_t block;
  if (freeSplits.empty()) {
    block = splitWrites.size() / 4;
    splitWrites.resize(splitWrites.size() + 4);
    splitReads.resize(splitReads.size() + size_t(4) * nwarps);
  } else {
    block = freeSplits.back();
    freeSplits.pop_back();
  }
  splits[word] = block + 1;
  llvm::SmallVector<Access, 2> lateReads;
  if (!late.empty()) {
    lateReads = late.lookup(word * 8 + kWordKey);
    late.erase(word * 8 + kWordKey);
  }
  for (uint32_t byte = 0; byte < 4; ++byte) {
    Granule at = byteAt(word, byte);
    *at.write = writes[word];
    std::copy_n(&reads[word * nwarps], nwarps, at.reads);
    if (!lateReads.empty())
      late[at.key] = lateReads;
  }
}

/// After a write of the whole word.
void Checker::unsplit(uint32_t word) {
  writes[word] = *byteAt(word, 0).write;
  std::fill_n(&reads[word * nwarps], nwarps, WarpRead());
  freeSplits.push_back(splits[word] - 1);
  splits[word] = 0;
}

/// Remembers a read. One that neither comes after the warp's last nor joins it
/// keeps both.
void Checker::setRead(const Granule &at, const Actor &actor) {
  uint32_t warp = actor.by->warpId;
  WarpRead &last = at.reads[warp];
  if (last.time == actor.time) {
    last.mask |= actor.mask;
    last.site = actor.site;
    return;
  }
  if ((last.mask & ~actor.mask) && actor.known->ofWarp(warp) < last.time) {
    uint32_t left = 0;
    forLanes(last.mask & ~actor.mask, [&](uint32_t lane) {
      if (actor.known->of(warp * 32 + lane) < last.time)
        left |= 1u << lane;
    });
    if (left)
      late[at.key].push_back({last.time, warp * 32, left, last.site});
  }
  last = {actor.time, actor.mask, actor.site};
}

/// The usual read of a whole word; false: look closer.
bool Checker::readQuickly(uint32_t word, const Actor &actor) {
  const Access &write = writes[word];
  const Clock &known = *actor.known;
  bool after =
      write.agent < lanes
          ? known.ofWarp(write.agent / 32) >= write.time
          : write.agent != kNobody && known.of(write.agent) >= write.time;
  if (!after || splits[word])
    return false;
  uint32_t warp = actor.by->warpId;
  WarpRead &last = reads[word * nwarps + warp];
  if (last.time == actor.time)
    last.mask |= actor.mask;
  else if (known.ofWarp(warp) >= last.time || !(last.mask & ~actor.mask))
    last = {actor.time, actor.mask, actor.site};
  else
    return false;
  last.site = actor.site;
  return true;
}

void Checker::readGranule(const Granule &at, const Actor &actor) {
  if (at.write->agent == kNobody)
    failAt(actor.by, ~0u,
           formatv("{0} by warp {1} lane {2} reads shared memory that nobody "
                   "has written, offset {3}",
                   cta.siteName(actor.site), actor.by->warpId,
                   llvm::countr_zero(actor.mask), at.offset)
               .str());
  if (!ordered(*at.write, actor))
    failRace(at, *at.write, true, actor, "reads");
  setRead(at, actor);
}

void Checker::writeGranule(const Granule &at, const Actor &actor,
                           const Access &next, const void *value) {
  if (!peers.reads.empty())
    afterPeerReads(at, actor, next);
  Access &last = *at.write;
  uint32_t joined = 0, joinedTime = next.time;
  if (last.agent != kNobody && !ordered(last, actor)) {
    // Lanes of a warp may write the same value in one instruction.
    bool same = value && last.agent == next.agent && last.site == next.site &&
                !std::memcmp(cta.shared + at.offset, value, at.bytes);
    if (!same)
      failRace(at, last, true, actor, "writes");
    joined = last.mask;
    joinedTime = std::min(last.time, next.time);
  }
  for (uint32_t warp = 0; warp < nwarps; ++warp) {
    WarpRead &read = at.reads[warp];
    if (!read.mask)
      continue;
    Access earlier{read.time, warp * 32, read.mask, read.site};
    if (!ordered(earlier, actor))
      failRace(at, earlier, false, actor, "writes");
    read.mask = 0;
  }
  if (!late.empty())
    if (auto found = late.find(at.key); found != late.end()) {
      for (const Access &earlier : found->second)
        if (!ordered(earlier, actor))
          failRace(at, earlier, false, actor, "writes");
      late.erase(found);
    }
  last = next;
  if (joined) {
    last.mask |= joined;
    last.time = joinedTime;
  }
}

void Checker::writeRange(const Actor &actor, uint32_t offset, uint32_t bytes,
                         const Access &next, const void *value) {
  auto *from = static_cast<const uint8_t *>(value);
  granules(offset, bytes, [&](const Granule &at) {
    writeGranule(at, actor, next, from ? from + (at.offset - offset) : nullptr);
  });
  for (uint32_t word = (offset + 3) / 4; word < (offset + bytes) / 4; ++word)
    if (splits[word])
      unsplit(word);
}

void Checker::read(Lane *lane, uint32_t offset, uint32_t bytes, uint32_t site) {
  Actor by = actor(lane, site);
  for (; bytes >= 4 && offset % 4 == 0; offset += 4, bytes -= 4)
    if (!readQuickly(offset / 4, by))
      granules(offset, 4, [&](const Granule &at) { readGranule(at, by); });
  granules(offset, bytes, [&](const Granule &at) { readGranule(at, by); });
}

void Checker::write(Lane *lane, uint32_t offset, uint32_t bytes,
                    const void *value, uint32_t site) {
  Actor by = actor(lane, site);
  writeRange(by, offset, bytes, {by.time, lane->warpId * 32, by.mask, site},
             value);
}

void Checker::copyIssued(Lane *lane, uint32_t offset, uint32_t bytes,
                         uint32_t site) {
  Thread &t = thread(lane);
  if (t.copyEngine == kNobody)
    t.copyEngine = newEngine();
  Actor by = actor(lane, site);
  writeRange(by, offset, bytes,
             {++t.copiesIssued, t.copyEngine, lane->tid, site}, nullptr);
}

void Checker::bulkIssued(Lane *lane, const Mbarrier &bar, uint32_t offset,
                         uint32_t bytes, uint32_t site) {
  PhaseOrder &phase = order(bar);
  if (phase.engine == kNobody)
    phase.engine = newEngine();
  checkProxies(actor(lane, site), offset, bytes, "writes");
  writeRange(actor(lane, site), offset, bytes,
             {++phase.issued, phase.engine, lane->tid, site}, nullptr);
}

void Checker::bulkStoreIssued(Lane *lane, uint32_t offset, uint32_t bytes,
                              uint32_t site) {
  Thread &t = thread(lane);
  if (t.storeEngine == kNobody)
    t.storeEngine = newEngine();
  ++t.storesIssued;
  Actor by = actor(lane, site);
  checkProxies(by, offset, bytes, "reads");
  granules(offset, bytes, [&](const Granule &at) {
    readGranule(at, by);
    late[at.key].push_back({t.storesIssued, t.storeEngine, lane->tid, site});
  });
}

/// Who reads or writes word `word` of row `row`; see Target/Instructions.h.
static uint32_t lanesOfWord(const MatrixInfo &form, uint32_t row,
                            uint32_t word) {
  if (form.form != MatrixForm::B16)
    return kFullMask;
  uint32_t g = row % 8;
  return form.transposed ? 0x11u << (8 * word + g / 2) : 1u << (4 * g + word);
}

void Checker::matrix(Warp &warp, const Op &op, uint8_t *const *rows, Lane *by) {
  const Thread &first = threads[tidOf(warp, 0)];
  bool uniform = true;
  for (uint32_t lane = 1; lane < 32; ++lane) {
    const Thread &t = threads[tidOf(warp, lane)];
    uniform &= t.known == first.known && t.now == first.now;
  }
  bool stores = op.code == OpCode::StMatrix;
  // Packed 4-bit rows are 8 bytes and 8 of padding.
  uint32_t words = op.matrix.form == MatrixForm::B4 ? 2 : 4;
  for (uint32_t row = 0; row < op.matrix.addresses; ++row)
    for (uint32_t word = 0; word < words; ++word) {
      uint32_t offset = rows[row] - cta.shared + 4 * word;
      uint32_t mask = lanesOfWord(op.matrix, row, word);
      Actor actor{by, mask, first.now, op.site, first.known.get()};
      if (uniform) {
        matrixRow(actor, stores, offset);
        continue;
      }
      for (uint32_t left = mask; left; left &= left - 1) {
        Actor one = this->actor(&warp.lanes[llvm::countr_zero(left)], op.site);
        // One of the lanes stands for all that write.
        if (stores && left != mask)
          break;
        matrixRow(one, stores, offset);
      }
    }
}

void Checker::matrixRow(const Actor &actor, bool stores, uint32_t offset) {
  if (!stores && readQuickly(offset / 4, actor))
    return;
  granules(offset, 4, [&](const Granule &at) {
    if (stores)
      writeGranule(at, actor,
                   {actor.time, actor.by->warpId * 32, actor.mask, actor.site},
                   nullptr);
    else
      readGranule(at, actor);
  });
  if (stores && splits[offset / 4])
    unsplit(offset / 4);
}
