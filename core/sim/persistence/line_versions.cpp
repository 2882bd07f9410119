#include "sim/persistence/line_versions.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace nearfar::sim::persistence {
namespace {

/// A line's outcomes are kept in memory, 100 bytes each.
constexpr std::uint64_t most_versions = 1 << 20;

}  // namespace

LineVersions::LineVersions(const Program& program, std::uint32_t line)
    : program_(program), line_(line), complete_words_(program.lines()[line].initial) {
  append(0, 0, complete_words_);
  newest_ = 0;
}

void LineVersions::extend(std::uint32_t end) {
  newest_ = versions_.size();
  const auto& stores = program_.lines()[line_].stores;
  while (end_ < end) {
    const std::uint32_t op = stores[end_];
    if (program_[op].kind != Kind::nt_store) {
      complete_words_[program_.word_of(op)] = program_[op].value;
      append(++end_, 0, complete_words_);
      continue;
    }
    std::uint32_t run_end = end_;
    while (run_end < end && program_[stores[run_end]].kind == Kind::nt_store) ++run_end;
    append_run(run_end);
  }
}

/// Of a run of non-temporal stores, each word has seen none, or its first, or its first two...
/// independently of the other words.
void LineVersions::append_run(std::uint32_t end) {
  const auto& stores = program_.lines()[line_].stores;
  std::array<std::vector<std::uint32_t>, words_per_line> by_word;
  for (std::uint32_t i = end_; i < end; ++i) by_word[program_.word_of(stores[i])].push_back(i);
  const bool too_long = end - end_ > 64;
  std::uint64_t outcomes = 1;
  for (const auto& of_word : by_word) outcomes *= too_long ? 1 : of_word.size() + 1;
  if (too_long || outcomes > most_versions) {
    throw InputError("operation " + std::to_string(stores[end_]) + " is the first of " +
                     std::to_string(end - end_) +
                     " non-temporal stores to one line, which can end in too many ways; expected "
                     "a fence between them");
  }
  std::array<std::size_t, words_per_line> seen{};
  for (std::uint64_t n = 1; n < outcomes; ++n) {
    std::size_t word = 0;
    while (++seen[word] > by_word[word].size()) seen[word++] = 0;
    Words words = complete_words_;
    std::uint64_t some = 0;
    for (std::uint32_t w = 0; w < words_per_line; ++w) {
      for (std::size_t i = 0; i < seen[w]; ++i) some |= std::uint64_t{1} << (by_word[w][i] - end_);
      if (seen[w] > 0) words[w] = program_[stores[by_word[w][seen[w] - 1]]].value;
    }
    const bool whole = n + 1 == outcomes;
    append(whole ? end : end_, whole ? 0 : some, words);
    if (whole) complete_words_ = words;
  }
  end_ = end;
}

void LineVersions::append(std::uint32_t complete, std::uint64_t some, const Words& words) {
  versions_.push_back({complete, some, words, fingerprint(line_, words)});
}

void LineVersions::settle(std::uint32_t count) {
  const auto first = std::find_if(versions_.begin(), versions_.end(),
                                  [&](const auto& version) { return version.complete >= count; });
  newest_ -= std::min(newest_, static_cast<std::size_t>(first - versions_.begin()));
  versions_.erase(versions_.begin(), first);
}

}  // namespace nearfar::sim::persistence
