#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "base/archive.h"
#include "sim/request.h"

namespace nearfar::sim {

/// Where a component puts its completions, in time order. It keeps its memory when it is cleared,
/// so a steady simulation allocates nothing.
///
/// Every request passes through here once for each component that stands in its way, and how many
/// completions there are is asked at every event. So the count is kept, which a std::vector would
/// divide for, and putting one in is a copy in place.
class Sink {
 public:
  using iterator = std::vector<Completion>::iterator;
  using const_iterator = std::vector<Completion>::const_iterator;

  [[gnu::always_inline]] void push_back(const Completion& completion) {
    if (size_ == places_) [[unlikely]]
      grow();
    completions_[size_++] = completion;
  }
  void clear() { size_ = 0; }
  /// Whether the next one takes more memory.
  [[nodiscard]] bool full() const { return size_ == places_; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] Completion& operator[](std::size_t i) { return completions_[i]; }
  [[nodiscard]] const Completion& operator[](std::size_t i) const { return completions_[i]; }
  [[nodiscard]] Completion& front() { return completions_[0]; }
  [[nodiscard]] const Completion& front() const { return completions_[0]; }
  [[nodiscard]] Completion& back() { return completions_[size_ - 1]; }
  [[nodiscard]] const Completion& back() const { return completions_[size_ - 1]; }

  [[nodiscard]] iterator begin() { return completions_.begin(); }
  [[nodiscard]] iterator end() { return begin() + static_cast<std::ptrdiff_t>(size_); }
  [[nodiscard]] const_iterator begin() const { return completions_.begin(); }
  [[nodiscard]] const_iterator end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }

  void state(Archive& archive) {
    completions_.resize(size_);
    archive(completions_);
    size_ = places_ = completions_.size();
  }

 private:
  [[gnu::noinline]] void grow() {
    places_ = places_ == 0 ? 16 : 2 * places_;
    completions_.resize(places_);
  }

  std::vector<Completion> completions_;  ///< the first `size_` count
  std::size_t size_ = 0;
  std::size_t places_ = 0;  ///< of `completions_`
};

}  // namespace nearfar::sim
