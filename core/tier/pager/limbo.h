#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/pager/page_table.h"
#include "tier/pager/sizes.h"

namespace nearfar::tier {

/// Pages on their way out, first in, first out. Until its turn comes, a page that is wanted again
/// is taken back: a second chance that costs no copy. A position is a page of the staging memory.
class Limbo {
 public:
  static constexpr std::size_t most = 1024;

  explicit Limbo(std::size_t capacity = most) : capacity_(capacity < most ? capacity : most) {}

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Positions between the oldest page and the newest, those taken back included.
  [[nodiscard]] std::size_t span() const { return span_; }
  [[nodiscard]] std::size_t pages() const { return pages_; }
  [[nodiscard]] bool full() const { return span_ == capacity_; }

  /// The position that the next page takes. Not when full.
  [[nodiscard]] std::size_t next_position() const { return (first_ + span_) % capacity_; }
  void push(PageNumber page) {
    ring_[next_position()] = page;
    ++span_;
    ++pages_;
  }

  /// How many pages there is room for behind `align`.
  [[nodiscard]] std::size_t room_aligned(std::size_t alignment) const {
    const std::size_t skipped = (alignment - next_position() % alignment) % alignment;
    return span_ + skipped < capacity_ ? capacity_ - span_ - skipped : 0;
  }
  /// Leaves positions empty, so that the next page takes a multiple of `alignment`.
  void align(std::size_t alignment) {
    for (; next_position() % alignment != 0; ++span_) ring_[next_position()] = no_page;
    (void)oldest();
  }

  [[nodiscard]] PageNumber at(std::size_t position) const { return ring_[position]; }

  /// The position of the oldest page, past positions that are empty; `capacity()` if there is none.
  [[nodiscard]] std::size_t oldest() {
    while (span_ > 0 && ring_[first_] == no_page) {
      first_ = (first_ + 1) % capacity_;
      --span_;
    }
    return span_ == 0 ? capacity_ : first_;
  }

  /// Empties a position, wherever in the ring it is.
  void remove(std::size_t position) {
    ring_[position] = no_page;
    --pages_;
    (void)oldest();
  }

  /// Another page has taken the contents of the one at `position`: mremap.
  void rename(std::size_t position, PageNumber page) { ring_[position] = page; }

 private:
  std::array<PageNumber, most> ring_{};
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t span_ = 0;
  std::size_t pages_ = 0;
};

/// Positions of pages on their way out of limbo, in the order in which they came there.
struct Leaving {
  std::array<std::size_t, most_at_once> positions;
  std::size_t count = 0;

  /// How many from the `first` on lie side by side in the staging memory.
  [[nodiscard]] std::size_t run(std::size_t first) const {
    std::size_t length = 1;
    while (first + length < count && positions[first + length] == positions[first] + length)
      ++length;
    return length;
  }
};

}  // namespace nearfar::tier
