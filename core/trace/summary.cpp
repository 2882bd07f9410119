#include "trace/summary.h"

#include <algorithm>
#include <bit>

namespace nearfar::trace {

void Summary::add(const Record& record, const Timing& timing) {
  const bool first = records_++ == 0;
  ++by_access_[static_cast<std::size_t>(record.access)];
  if (record.thread >= by_thread_.size()) {
    by_thread_.resize(record.thread + std::size_t{1});
    threads_.resize(by_thread_.size());
  }
  ++by_thread_[record.thread];

  if (record.absolute) {
    if (first) first_ = record.cycles;
    last_ = std::max(last_, record.cycles);
  } else if (!first || timing.counts == Counts::instructions) {
    last_ += record.cycles;
  }
  if (!is_fence(record.access)) touch(record);
}

void Summary::touch(const Record& record) {
  const Address end = record.address + (record.size - 1);
  const bool any = !pages_.empty();
  lowest_ = any ? std::min(lowest_, record.address) : record.address;
  highest_ = std::max(highest_, end < record.address ? record.address : end);

  const std::uint64_t line = record.address.block(line_bytes);
  const std::uint64_t lines =
      (record.address.value() % line_bytes + record.size - 1) / line_bytes + 1;
  Thread& thread = threads_[record.thread];
  if (thread.begun && (line == thread.last_line || line == thread.last_line + 1)) ++sequential_;
  thread = {true, line + lines - 1};

  constexpr std::uint64_t lines_a_page = page_bytes / line_bytes;
  std::uint64_t counted = ~std::uint64_t{0};  // the page that has this access already
  for (std::uint64_t at = line; at < line + lines; ++at) {
    Touched& page = pages_[at / lines_a_page];
    page.lines |= std::uint64_t{1} << at % lines_a_page;
    if (at / lines_a_page != counted) ++page.accesses;
    counted = at / lines_a_page;
  }
}

std::uint64_t Summary::accesses() const {
  return records_ - count(Access::store_fence) - count(Access::full_fence);
}

std::uint64_t Summary::lines() const {
  std::uint64_t sum = 0;
  for (const auto& [page, touched] : pages_) {
    sum += static_cast<std::uint64_t>(std::popcount(touched.lines));
  }
  return sum;
}

std::vector<Summary::Page> Summary::hottest(std::size_t count) const {
  std::vector<Page> all;
  all.reserve(pages_.size());
  for (const auto& [page, touched] : pages_) {
    all.push_back({Address(page * page_bytes), touched.accesses});
  }
  const auto hotter = [](const Page& a, const Page& b) {
    return a.accesses != b.accesses ? a.accesses > b.accesses : a.address < b.address;
  };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
  std::partial_sort(all.begin(), end, all.end(), hotter);
  all.erase(end, all.end());
  return all;
}

}  // namespace nearfar::trace
