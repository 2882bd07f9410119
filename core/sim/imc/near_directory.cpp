#include "sim/imc/near_directory.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/rng.h"

namespace nearfar::sim::imc {
namespace {

/// Ways of a page: a small one wastes little when accesses are scattered.
constexpr std::uint32_t page_ways = 16;
constexpr std::size_t first_pages = 64;

}  // namespace

NearDirectory::NearDirectory(std::uint64_t sets, std::uint32_t ways, NearPolicy policy,
                             std::uint64_t seed)
    : sets_(sets),
      ways_(ways),
      page_sets_(std::max(1u, page_ways / ways)),
      policy_(policy),
      seed_(seed),
      pages_(first_pages, empty),
      places_(first_pages),
      shift_(static_cast<std::uint32_t>(64 - std::countr_zero(first_pages))) {}

void NearDirectory::stamp(std::uint64_t line, std::uint32_t way) {
  const std::size_t first = first_way(set_of(line));
  stamps_[first + way] = ++clocks_[first / ways_];
}

NearDirectory::Victim NearDirectory::insert(std::uint64_t line) {
  const std::uint64_t set = set_of(line);
  const std::size_t first = first_way(set);
  const std::uint32_t way = ways_ == 1 ? 0 : victim(set, first);
  Way& here = ways_of_[first + way];
  const Victim thrown{way, here.line != empty, here.line, here.dirty};
  here = {line, 0};
  if (ways_ > 1) stamps_[first + way] = ++clocks_[first / ways_];
  return thrown;
}

std::uint64_t NearDirectory::mark_dirty(std::uint64_t line, std::uint32_t way,
                                        std::uint64_t blocks) {
  Way& here = ways_of_[first_way(set_of(line)) + way];
  const std::uint64_t clean = blocks & ~here.dirty;
  here.dirty |= blocks;
  return clean;
}

std::uint32_t NearDirectory::victim(std::uint64_t set, std::size_t first) {
  const std::uint64_t clock = clocks_[first / ways_];
  std::uint32_t oldest = 0;
  for (std::uint32_t way = 0; way < ways_; ++way) {
    if (ways_of_[first + way].line == empty) return way;
    if (stamps_[first + way] < stamps_[first + oldest]) oldest = way;
  }
  if (policy_ != NearPolicy::random) return oldest;
  Rng rng(seed_ ^ (set * 0x9e3779b97f4a7c15u + clock));
  return static_cast<std::uint32_t>(rng.below(ways_));
}

[[gnu::noinline]] std::size_t NearDirectory::search(std::uint64_t number) {
  const std::size_t mask = pages_.size() - 1;
  std::size_t at = home(number);
  for (; pages_[at] != empty; at = (at + 1) & mask) {
    if (pages_[at] == number) return places_[at];
  }
  const auto place = static_cast<std::uint32_t>(in_use_++);
  pages_[at] = number;
  places_[at] = place;
  const std::size_t ways = std::size_t{page_sets_} * ways_;
  ways_of_.resize(ways_of_.size() + ways);
  if (ways_ > 1) {
    stamps_.resize(ways_of_.size());
    clocks_.resize(clocks_.size() + page_sets_);
  }
  if (2 * in_use_ > pages_.size()) grow();
  return place;
}

void NearDirectory::grow() {
  std::vector<std::uint64_t> pages(2 * pages_.size(), empty);
  std::vector<std::uint32_t> places(pages.size());
  --shift_;
  const std::size_t mask = pages.size() - 1;
  for (std::size_t from = 0; from < pages_.size(); ++from) {
    if (pages_[from] == empty) continue;
    std::size_t at = home(pages_[from]);
    while (pages[at] != empty) at = (at + 1) & mask;
    pages[at] = pages_[from];
    places[at] = places_[from];
  }
  pages_ = std::move(pages);
  places_ = std::move(places);
}

}  // namespace nearfar::sim::imc
