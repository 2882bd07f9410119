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

void Prefetcher::observe(const Seen& seen, std::vector<Line>& wanted) {
  if (config_.adjacent && !seen.hit) wanted.push_back(seen.line ^ 1);
  if (config_.stream) follow(seen, wanted);
}

/// The sequence in `page`, or one that has come to its edge; null if there is none.
Prefetcher::Stream* Prefetcher::stream_of(std::uint64_t page) {
  auto before = streams_.end();
  for (auto stream = streams_.begin(); stream != streams_.end(); ++stream) {
    if (stream->page == page) return &*stream;
    if (stream->page == no_page || stream->length < confirmed) continue;
    if (page == (stream->upward ? stream->page + 1 : stream->page - 1)) before = stream;
  }
  return config_.next_page && before != streams_.end() ? &*before : nullptr;
}

void Prefetcher::follow(const Seen& seen, std::vector<Line>& wanted) {
  const Line line = seen.line;
  const std::uint64_t page = line / page_lines;
  Stream* const found = stream_of(page);
  if (found == nullptr) {
    *std::min_element(streams_.begin(), streams_.end(), [](const auto& a, const auto& b) {
      return a.used < b.used;
    }) = Stream{.page = page, .used = ++clock_, .last = line, .fetched = line};
    return;
  }
  Stream& stream = *found;
  stream.page = page;
  stream.used = ++clock_;
  if (line == stream.last) return;
  const bool upward = line > stream.last;
  if (upward != stream.upward || stream.length == 0) {
    stream.upward = upward;
    stream.length = 0;
    stream.fetched = line;
  }
  stream.last = line;
  if (++stream.length >= confirmed) run_ahead(stream, seen, wanted);
}

void Prefetcher::run_ahead(Stream& stream, const Seen& seen, std::vector<Line>& wanted) const {
  const auto ahead = [&](Line of) {
    return static_cast<std::int64_t>(stream.upward ? of - stream.last : stream.last - of);
  };
  if (ahead(stream.fetched) < 0) stream.fetched = stream.last;
  const std::uint32_t most = reach(seen);
  for (std::uint32_t i = 0; i < config_.degree; ++i) {
    if (!stream.upward && stream.fetched == 0) return;
    const Line next = stream.upward ? stream.fetched + 1 : stream.fetched - 1;
    const bool runs_on = next / page_lines == stream.page || config_.next_page;
    if (!runs_on || ahead(next) > most) return;
    stream.fetched = next;
    wanted.push_back(next);
  }
}

/// How far ahead it runs: less, the fewer of the upper half of the registers are free.
std::uint32_t Prefetcher::reach(const Seen& seen) const {
  const std::uint32_t free = seen.registers - std::min(seen.registers, seen.outstanding);
  return std::min(config_.distance, config_.distance * 2 * free / seen.registers);
}

}  // namespace nearfar::sim::cpu
