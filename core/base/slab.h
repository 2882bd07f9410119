#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace nearfar {

/// Storage for objects in flight: O(1) take and give back, indices stay valid, memory is
/// reused and never returned, so a steady simulation allocates nothing.
template <typename T>
class Slab {
 public:
  using Index = std::uint32_t;

  Index take(T value) {
    if (free_.empty()) {
      items_.push_back(std::move(value));
      return static_cast<Index>(items_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    items_[index] = std::move(value);
    return index;
  }

  /// Takes an object as it was given back, its memory included.
  Index take_any() {
    if (free_.empty()) {
      items_.emplace_back();
      return static_cast<Index>(items_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    return index;
  }

  void give_back(Index index) { free_.push_back(index); }

  [[nodiscard]] T& operator[](Index index) { return items_[index]; }
  [[nodiscard]] const T& operator[](Index index) const { return items_[index]; }
  [[nodiscard]] std::size_t in_use() const { return items_.size() - free_.size(); }

 private:
  std::vector<T> items_;
  std::vector<Index> free_;
};

}  // namespace nearfar
