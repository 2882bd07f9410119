#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/archive.h"

namespace nearfar {

/// Storage for objects in flight: O(1) take and give back, indices stay valid, memory is
/// reused and never returned, so a steady simulation allocates nothing.
template <typename T>
class Slab {
 public:
  using Index = std::uint32_t;

  Index take(T value) {
    const Index index = take_any();
    items_[index] = std::move(value);
    return index;
  }

  /// Takes an object as it was given back, its memory included.
  Index take_any() {
    if (free_count_ == 0) [[unlikely]]
      grow();
    return free_[--free_count_];
  }

  /// Whether the next object taken takes more memory.
  [[nodiscard]] bool all_in_use() const { return free_count_ == 0; }
  void give_back(Index index) { free_[free_count_++] = index; }

  [[nodiscard]] T& operator[](Index index) { return items_[index]; }
  [[nodiscard]] const T& operator[](Index index) const { return items_[index]; }
  [[nodiscard]] std::size_t in_use() const { return free_.size() - free_count_; }

  void state(Archive& archive) { archive(items_, free_, free_count_); }

 private:
  [[gnu::noinline]] void grow() {
    items_.emplace_back();
    free_.push_back(0);
    free_[free_count_++] = static_cast<Index>(items_.size() - 1);
  }

  std::vector<T> items_;
  std::vector<Index> free_;  ///< a place for every item; the first `free_count_` are free
  std::size_t free_count_ = 0;
};

}  // namespace nearfar
