#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace nearfar::sim::dram {

/// A first-in first-out queue in a ring that only ever grows, so a steady simulation
/// allocates nothing.
template <typename T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - first_; }
  [[nodiscard]] T& front() { return ring_[first_ & mask_]; }
  [[nodiscard]] const T& front() const { return ring_[first_ & mask_]; }

  void pop() { ++first_; }

  /// Makes room for one more at the back, to be filled in by the caller.
  T& push() {
    if (size() > mask_) [[unlikely]]
      grow();
    return ring_[end_++ & mask_];
  }
  void push(const T& item) { push() = item; }

  /// Inserts behind every item that does not come after `item`; cheap when it belongs near
  /// the back.
  template <typename After>
  void push_in_order(const T& item, After comes_after) {
    push(item);
    for (std::size_t i = end_ - 1; i != first_; --i) {
      T& before = ring_[(i - 1) & mask_];
      T& here = ring_[i & mask_];
      if (!comes_after(before, here)) return;
      std::swap(before, here);
    }
  }

 private:
  void grow() {
    std::vector<T> wider(2 * ring_.size());
    const std::size_t count = size();
    for (std::size_t i = 0; i < count; ++i) wider[i] = ring_[(first_ + i) & mask_];
    ring_ = std::move(wider);
    mask_ = ring_.size() - 1;
    first_ = 0;
    end_ = count;
  }

  std::vector<T> ring_ = std::vector<T>(16);
  std::size_t mask_ = 15;  ///< of a power of two, the ring's size
  std::size_t first_ = 0;  ///< positions count on for ever; the ring index is `& mask_`
  std::size_t end_ = 0;
};

}  // namespace nearfar::sim::dram
