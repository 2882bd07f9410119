#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "pager_rig.h"

namespace nearfar::tier {

/// What a program does to its pages, one step.
struct Step {
  enum class Kind { read, write, clear, discard, will_need, cold };
  Kind kind = Kind::read;
  PageNumber page = 0;
  std::size_t pages = 1;  ///< of the last three
};

/// Makes steps from a seed, with no state of the standard library's distributions: the same on
/// every machine.
class Generator {
 public:
  explicit Generator(std::uint64_t seed, std::size_t pages) : random_(seed), pages_(pages) {}

  /// A program that fills its memory, goes through it in both directions, looks things up in it,
  /// gives parts back and takes them again. `length` times.
  [[nodiscard]] std::vector<Step> program(std::size_t rounds) {
    for (std::size_t round = 0; round < rounds; ++round) {
      fill(0, pages_, round == 0);
      for (std::size_t i = 0; i < pages_; ++i) add(Step::Kind::read, i);
      look_up(pages_);
      for (std::size_t i = pages_ / 2; i-- > 0;) add(Step::Kind::read, i);
      give_back(pages_ / 8);
      look_up(pages_ / 2);
      steps_.push_back({Step::Kind::cold, at(pages_ / 4), pages_ / 16});
      steps_.push_back({Step::Kind::will_need, at(pages_ / 2), pages_ / 16});
      for (std::size_t i = 0; i < pages_ / 32; ++i) add(Step::Kind::clear, below(pages_));
    }
    return std::move(steps_);
  }

 private:
  [[nodiscard]] static PageNumber at(std::size_t page) { return static_cast<PageNumber>(page); }
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }
  void add(Step::Kind kind, std::size_t page) { steps_.push_back({kind, at(page), 1}); }

  void fill(std::size_t first, std::size_t count, bool all) {
    for (std::size_t i = 0; i < count; ++i)
      if (all || below(4) == 0) add(Step::Kind::write, first + i);
  }
  /// Half of the steps go to a sixteenth of the pages, a fifth of all write.
  void look_up(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t page = below(2) == 0 ? below(pages_ / 16) * 16 : below(pages_);
      add(below(5) == 0 ? Step::Kind::write : Step::Kind::read, page);
    }
  }
  void give_back(std::size_t count) {
    const std::size_t first = below(pages_ - count);
    steps_.push_back({Step::Kind::discard, at(first), count});
    fill(first, count, true);
  }

  std::mt19937_64 random_;
  std::size_t pages_;
  std::vector<Step> steps_;
};

/// The touches of a record of faults (python/nearfar/results/faults.py says how one is made):
/// what faulted, and what was touched in limbo; writes are not recorded, so every fourth is one.
[[nodiscard]] inline std::vector<Step> read_record(const std::string& path, std::size_t& pages) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t head[4] = {};
  file.read(reinterpret_cast<char*>(head), sizeof head);
  if (!file || (head[0] & 0xffffffffffffffU) != 0x31746c756166666eU % (std::uint64_t{1} << 56U))
    throw std::runtime_error(path + ": is no record of faults");
  std::vector<Step> steps;
  std::uint32_t last = 0;
  for (std::uint64_t word = 0; file.read(reinterpret_cast<char*>(&word), sizeof word);) {
    const std::uint64_t event = word >> 60U;
    const auto page = static_cast<PageNumber>(word >> 32U & 0xfffffffU);
    if (event != 1 && event != 3 && event != 6) continue;
    last = std::max(last, page);
    if (event == 6) {
      steps.push_back({Step::Kind::discard, page, 1});
    } else {
      steps.push_back({steps.size() % 4 == 0 ? Step::Kind::write : Step::Kind::read, page, 1});
    }
  }
  pages = (last / 512 + 2) * 512;
  return steps;
}

/// Rigs by the names of workloads: near memory holds a quarter of the pages, or three eighths where
/// groups of 2 MiB move as one.
[[nodiscard]] inline RigOptions options_of(const std::string& workload) {
  if (workload == "small") return {.pages = 8192, .limit = 2048};
  if (workload == "huge") return {.pages = 65536, .limit = 24576};
  if (workload == "copying")
    return {.pages = 8192, .limit = 2048, .eviction = os::Eviction::copy, .huge_pages = false};
  if (workload == "compressed")
    return {.pages = 8192, .limit = 2048, .compression = Compression::lz4};
  if (workload == "file") return {.pages = 8192, .limit = 2048, .far_in_memory = false};
  throw std::runtime_error("no such workload: " + workload);
}

/// Runs steps on a rig, checking every word that is read.
inline void run(PagerRig& rig, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    const os::Place begin = rig.place(step.page);
    const os::Place end = begin + step.pages * os::page_bytes;
    switch (step.kind) {
      case Step::Kind::read:
      case Step::Kind::write:
        if (!rig.touch(step.page, step.kind == Step::Kind::write))
          throw std::runtime_error("a page did not come");
        break;
      case Step::Kind::clear:
        rig.clear(step.page);
        break;
      case Step::Kind::discard:
        // As the service does when the kernel tells: the state first, then the memory.
        rig.call([&] {
          rig.pager().remap().on_removed(begin, end);
          return 0;
        });
        rig.memory().advise(begin, end - begin, MADV_DONTNEED);
        for (std::size_t i = 0; i < step.pages; ++i)
          rig.word(static_cast<PageNumber>(step.page + i)) = 0;
        break;
      case Step::Kind::will_need:
      case Step::Kind::cold:
        rig.call([&] {
          if (step.kind == Step::Kind::cold) {
            rig.pager().advice().cold(begin, end);
          } else {
            rig.pager().advice().will_need(begin, end);
          }
          return 0;
        });
        break;
    }
  }
}

}  // namespace nearfar::tier
