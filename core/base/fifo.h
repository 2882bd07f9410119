#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.h"

namespace nearfar {

/// A first-in first-out queue in a ring that only ever grows, so a steady simulation
/// allocates nothing.
template <typename T>
class Fifo {
 public:
  Fifo() = default;
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] const T& front() const { return *first_; }

  void pop() { first_ = after(first_); }

  /// The first items, as many of them as lie side by side in the ring.
  [[nodiscard]] std::span<T> first() {
    return {first_, static_cast<std::size_t>((end_ < first_ ? ring_end_ : end_) - first_)};
  }
  /// Takes out the first `count` of those that first() shows.
  void drop(std::size_t count) {
    first_ += count;
    if (first_ == ring_end_) first_ = ring_.data();
  }

  [[gnu::always_inline]] void push(const T& item) {
    *end_ = item;
    end_ = after(end_);
    if (end_ == first_) [[unlikely]]
      grow();
  }

  /// Inserts behind every item that does not come after `item`; cheap when it belongs near
  /// the back.
  template <typename After>
  void push_in_order(const T& item, After comes_after) {
    push(item);
    for (T* here = before(end_); here != first_; here = before(here)) {
      if (!comes_after(*before(here), *here)) return;
      std::swap(*before(here), *here);
    }
  }

  void state(Archive& archive) {
    std::vector<T> items;
    for (T* item = first_; item != end_; item = after(item)) items.push_back(*item);
    archive(items);
    first_ = end_ = ring_.data();
    for (const T& item : items) push(item);
  }

 private:
  [[nodiscard]] T* after(T* item) { return item + 1 == ring_end_ ? ring_.data() : item + 1; }
  [[nodiscard]] T* before(T* item) { return (item == ring_.data() ? ring_end_ : item) - 1; }

  /// The ring is full: `first_` and `end_` have met.
  [[gnu::noinline]] void grow() {
    std::vector<T> wider;
    wider.reserve(2 * ring_.size());
    wider.insert(wider.end(), first_, ring_end_);
    wider.insert(wider.end(), ring_.data(), first_);
    wider.resize(2 * ring_.size());
    end_ = wider.data() + ring_.size();
    ring_ = std::move(wider);
    first_ = ring_.data();
    ring_end_ = first_ + ring_.size();
  }

  std::vector<T> ring_ = std::vector<T>(16);
  T* ring_end_ = ring_.data() + ring_.size();
  T* first_ = ring_.data();
  T* end_ = ring_.data();  ///< where the next goes; a place of the ring is always free
};

}  // namespace nearfar
