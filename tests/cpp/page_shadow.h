#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/rng.h"
#include "sim/request.h"

namespace nearfar::sim::testing {

inline constexpr std::uint64_t spaces = 2;          ///< address spaces
inline constexpr std::uint64_t pages_in_space = 160;
inline constexpr std::uint64_t frames = 400;
inline constexpr std::uint64_t lines_in_use = 3;    ///< of a page, from its first on
inline constexpr Bytes space_bytes = Bytes{1} << 40;

/// Whether an address of a space, and where, is mapped; what lies in each line of memory.
class Shadow {
 public:
  explicit Shadow(Rng& rng) : rng_(rng), contents_(frames * lines_in_use) {
    for (std::uint64_t frame = frames; frame-- > 0;) free_.push_back(frame);
    for (std::uint64_t page = 0; page < spaces * pages_in_space; ++page) {
      // A third of the second space's pages are the first's, shared.
      if (page >= pages_in_space && page % 3 == 0) {
        share(page, page - pages_in_space);
      } else {
        map(page);
      }
    }
  }

  /// The page's frame; pages of both spaces are numbered through.
  [[nodiscard]] std::optional<std::uint64_t> frame_of(std::uint64_t page) const {
    const auto found = frame_of_.find(page);
    return found == frame_of_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] DataHandle content(std::uint64_t frame, std::uint64_t line) const {
    return contents_[frame * lines_in_use + line];
  }
  DataHandle overwrite(std::uint64_t frame, std::uint64_t line) {
    return contents_[frame * lines_in_use + line] = ++last_;
  }

  /// munmap: the frame is free, unless another page has it too, and is the next to be used again.
  void unmap(std::uint64_t page) {
    const std::uint64_t frame = frame_of_.at(page);
    frame_of_.erase(page);
    for (const auto& [other, theirs] : frame_of_) {
      if (theirs == frame) return;
    }
    free_.push_back(frame);
  }
  /// A new page has a frame with new contents. Returns it.
  std::uint64_t map(std::uint64_t page) {
    const std::uint64_t frame = free_.back();
    free_.pop_back();
    frame_of_[page] = frame;
    return frame;
  }
  void share(std::uint64_t page, std::uint64_t with) { frame_of_[page] = frame_of_.at(with); }
  /// mremap: the pages change places.
  void exchange(std::uint64_t one, std::uint64_t other) {
    std::swap(frame_of_.at(one), frame_of_.at(other));
  }
  /// Migration: the same contents elsewhere, for all pages that have the frame. Returns both.
  std::pair<std::uint64_t, std::uint64_t> migrate(std::uint64_t page) {
    const std::uint64_t from = frame_of_.at(page);
    const std::size_t at = rng_.below(free_.size());
    const std::uint64_t to = free_[at];
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
    for (auto& [other, frame] : frame_of_) {
      if (frame == from) frame = to;
    }
    free_.push_back(from);
    for (std::uint64_t line = 0; line < lines_in_use; ++line) {
      contents_[to * lines_in_use + line] = content(from, line);
    }
    return {from, to};
  }

 private:
  Rng& rng_;
  std::map<std::uint64_t, std::uint64_t> frame_of_;
  std::vector<std::uint64_t> free_;
  std::vector<DataHandle> contents_;
  DataHandle last_ = 0;
};

}  // namespace nearfar::sim::testing
