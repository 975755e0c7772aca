// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Grid.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <thread>

using namespace mlatile::sim;
using Clock = std::chrono::steady_clock;

namespace {

/// A grid in which nothing happens for so long is stuck.
constexpr std::chrono::milliseconds kStall{2000};

/// CTAs keep their memory from launch to launch.
class CtaPool {
public:
  std::unique_ptr<Cta> take() {
    std::lock_guard<std::mutex> lock(mutex);
    if (free.empty())
      return std::make_unique<Cta>();
    std::unique_ptr<Cta> cta = std::move(free.back());
    free.pop_back();
    return cta;
  }
  void put(std::unique_ptr<Cta> cta) {
    std::lock_guard<std::mutex> lock(mutex);
    if (free.size() < std::max(1u, std::thread::hardware_concurrency()))
      free.push_back(std::move(cta));
  }

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Cta>> free;
};

CtaPool &pool() {
  static CtaPool instance;
  return instance;
}

/// The order of CTAs is part of what a seed varies.
uint64_t shuffledCta(uint64_t i, uint64_t count, uint64_t seed) {
  if (!seed)
    return i;
  uint64_t at = (i + seed % count) % count;
  return seed & 2 ? count - 1 - at : at;
}

} // namespace

/// One host thread with the CTAs that it has started.
class Grid::Worker {
public:
  explicit Worker(Grid &grid) : grid(grid) { ++grid.workers; }
  ~Worker() {
    setIdle(false);
    --grid.workers;
    for (std::unique_ptr<Cta> &cta : ctas) {
      {
        std::lock_guard<std::mutex> lock(grid.mutex);
        grid.stats += cta->stats;
      }
      pool().put(std::move(cta));
    }
  }

  void run() {
    while (!grid.stop) {
      if (startOne())
        continue;
      if (grid.stop || waiting.empty())
        break; // the rest is with other workers
      if (!resumeAll())
        stall();
    }
  }

private:
  bool startOne() {
    uint64_t number = grid.take();
    if (number == grid.count)
      return false;
    setIdle(false);
    Cta *cta = freeCta();
    if (!cta)
      return true; // the grid has been stopped
    ++grid.progress;
    returned(cta, cta->run(grid.context, number));
    return true;
  }

  Cta *freeCta() {
    if (!unused.empty()) {
      Cta *cta = unused.back();
      unused.pop_back();
      return cta;
    }
    std::unique_ptr<Cta> cta = pool().take();
    if (llvm::Error refused =
            cta->reserve(grid.context, /*withGuards=*/ctas.empty())) {
      grid.fail(~0ull, llvm::toString(std::move(refused)));
      return nullptr;
    }
    cta->stats = Stats();
    ctas.push_back(std::move(cta));
    return ctas.back().get();
  }

  /// False: none of them did anything but wait.
  bool resumeAll() {
    std::vector<Cta *> round;
    round.swap(waiting);
    bool moved = false;
    for (Cta *cta : round) {
      if (grid.stop)
        return true;
      uint64_t steps = cta->steps;
      Cta::State state = cta->resume();
      if (state != Cta::State::Waits || cta->steps != steps) {
        setIdle(false);
        ++grid.progress;
        moved = true;
      }
      returned(cta, state);
    }
    return moved;
  }

  void returned(Cta *cta, Cta::State state) {
    if (state == Cta::State::Waits) {
      waiting.push_back(cta);
      return;
    }
    if (state == Cta::State::Failed)
      grid.fail(cta->index, std::move(cta->error));
    unused.push_back(cta);
    --grid.running;
  }

  /// After a round in which nothing happened here.
  void stall() {
    uint64_t progress = grid.progress;
    if (!idle || progress != seen) {
      setIdle(true);
      seen = progress;
      since = Clock::now();
    } else if (grid.idleWorkers == grid.workers &&
               Clock::now() - since > kStall) {
      grid.fail(waiting.front()->index, grid.describeStall(*waiting.front()));
    }
    std::this_thread::yield();
  }

  void setIdle(bool now) {
    if (idle != now)
      grid.idleWorkers += now ? 1 : -1;
    idle = now;
  }

  Grid &grid;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<Cta *> waiting, unused;
  bool idle = false;
  uint64_t seen = 0;
  Clock::time_point since;
};

Grid::Grid(const LaunchContext &context, uint64_t count, uint64_t resident)
    : context(context), count(count),
      resident(resident ? std::min(resident, count) : count) {}

void Grid::run(unsigned threads) {
  threads = std::max<uint64_t>(1, std::min<uint64_t>(threads, resident));
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back([this] { Worker(*this).run(); });
  Worker(*this).run();
  for (std::thread &other : others)
    other.join();
}

uint64_t Grid::take() {
  uint64_t now = running;
  do {
    if (now >= resident)
      return count;
  } while (!running.compare_exchange_weak(now, now + 1));
  uint64_t i = next++;
  if (i < count)
    return shuffledCta(i, count, context.seed);
  --running;
  return count;
}

void Grid::fail(uint64_t cta, std::string message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (error.empty() || cta < failedCta) {
    failedCta = cta;
    error = std::move(message);
  }
  stop = true;
}

std::string Grid::describeStall(const Cta &cta) const {
  uint64_t started = std::min<uint64_t>(next, count);
  std::string text = describeDeadlock(cta);
  text += llvm::formatv("\n  {0} of the grid's {1} CTAs wait, {2} have not "
                        "started",
                        running.load(), count, count - started)
              .str();
  if (started < count)
    text += llvm::formatv(": {0} at most run at the same time", resident).str();
  return text;
}
