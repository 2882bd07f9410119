#include "sim/cpu/prefetcher.h"

#include <algorithm>

namespace nearfar::sim::cpu {
namespace {

/// Steps in one direction after which it is believed. PerMA-Bench (VLDB 2022): with the prefetchers
/// on, random reads of 512 bytes reach the media's rate, those of 1 KiB half of it and less.
constexpr std::uint32_t confirmed = 8;

}  // namespace

Prefetcher::Prefetcher(const PrefetchConfig& config)
    : config_(config), streams_(config.stream ? config.streams : 0) {}

void Prefetcher::observe(Line line, bool hit, std::vector<Line>& wanted) {
  if (config_.adjacent && !hit) wanted.push_back(line ^ 1);
  if (config_.stream) follow(line, wanted);
}

void Prefetcher::follow(Line line, std::vector<Line>& wanted) {
  const std::uint64_t page = line / page_lines;
  const auto at = static_cast<std::uint32_t>(line % page_lines);
  auto found = std::find_if(streams_.begin(), streams_.end(),
                            [&](const Stream& stream) { return stream.page == page; });
  if (found == streams_.end()) {
    found = std::min_element(streams_.begin(), streams_.end(),
                             [](const auto& a, const auto& b) { return a.used < b.used; });
    *found = Stream{.page = page, .used = ++clock_, .last = at, .fetched = at};
    return;
  }
  Stream& stream = *found;
  stream.used = ++clock_;
  if (at == stream.last) return;
  const std::int32_t direction = at > stream.last ? 1 : -1;
  if (direction != stream.direction) {
    stream.direction = direction;
    stream.length = 0;
    stream.fetched = at;
  }
  stream.last = at;
  if (++stream.length >= confirmed) run_ahead(stream, wanted);
}

void Prefetcher::run_ahead(Stream& stream, std::vector<Line>& wanted) const {
  const auto step = [&](std::uint32_t from) { return from + (stream.direction > 0 ? 1u : ~0u); };
  const auto ahead = [&](std::uint32_t of) {
    return stream.direction > 0 ? static_cast<std::int64_t>(of) - stream.last
                                : static_cast<std::int64_t>(stream.last) - of;
  };
  if (ahead(stream.fetched) < 0) stream.fetched = stream.last;
  for (std::uint32_t i = 0; i < config_.degree; ++i) {
    const std::uint32_t next = step(stream.fetched);
    if (next >= page_lines || ahead(next) > config_.distance) return;
    stream.fetched = next;
    wanted.push_back(stream.page * page_lines + next);
  }
}

}  // namespace nearfar::sim::cpu
