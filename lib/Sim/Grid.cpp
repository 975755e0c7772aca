// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Grid.h"
#include "Cluster.h"
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

/// The order of clusters is part of what a seed varies.
uint64_t shuffled(uint64_t i, uint64_t count, uint64_t seed) {
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
    Cluster *cluster = freeCluster();
    if (!cluster)
      return true; // the grid has been stopped
    size_t size = cluster->ctas.size();
    for (size_t i = 0; i < size && !grid.stop; ++i) {
      uint64_t rank = (i + grid.context.seed) % size;
      Cta *cta = cluster->ctas[rank];
      ++grid.progress;
      returned(cta, cta->run(grid.context, number + rank));
    }
    return true;
  }

  /// One whose CTAs have not started; null if there is no memory.
  Cluster *freeCluster() {
    if (unused.empty()) {
      auto cluster = std::make_unique<Cluster>();
      while (cluster->ctas.size() < grid.context.clusterSize) {
        Cta *cta = newCta();
        if (!cta)
          return nullptr;
        cta->cluster = cluster.get();
        cta->rank = cluster->ctas.size();
        cluster->ctas.push_back(cta);
      }
      unused.push_back(cluster.get());
      clusters.push_back(std::move(cluster));
    }
    Cluster *cluster = unused.back();
    unused.pop_back();
    cluster->round = cluster->arrived = cluster->ended = 0;
    for (Cta *cta : cluster->ctas)
      cta->life = Cta::Life::Unborn;
    return cluster;
  }

  Cta *newCta() {
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
    Cluster *cluster = cta->cluster;
    if (++cluster->ended < cluster->ctas.size())
      return;
    unused.push_back(cluster);
    grid.running -= cluster->ctas.size();
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
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<Cta *> waiting;
  std::vector<Cluster *> unused;
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
  uint64_t size = context.clusterSize, now = running;
  do {
    if (now + size > resident)
      return count;
  } while (!running.compare_exchange_weak(now, now + size));
  uint64_t i = next.fetch_add(size);
  if (i < count)
    return shuffled(i / size, count / size, context.seed) * size;
  running -= size;
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
