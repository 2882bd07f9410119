#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tick.h"

namespace nearfar {

/// Counts over time, in a limited number of buckets: when time outgrows them, neighbours are added
/// up and each is twice as long. What happened before time begins is in the first.
template <std::size_t kinds>
class TimeSeries {
 public:
  using Counts = std::array<std::uint64_t, kinds>;

  explicit TimeSeries(Tick begin = Tick{}) : begin_(begin) {}

  void add(std::size_t kind, Tick at, std::uint64_t count = 1) { bucket_of(at)[kind] += count; }

  /// What came evenly between `from` and `to`: every bucket gets its share, and all of it is
  /// given.
  void spread(std::size_t kind, Tick from, Tick to, std::uint64_t count) {
    from = max(from, begin_);
    if (count == 0) return;
    if (to <= from) return add(kind, to, count);
    (void)bucket_of(to - Tick(1));  // no bucket becomes longer from here on
    std::uint64_t given = 0;
    for (Tick at = from; at < to;) {
      const Tick until = min(to, begin_ + width_ * ((at - begin_) / width_ + 1));
      const auto product = static_cast<unsigned __int128>(count) * (until - from).ps();
      const auto due = static_cast<std::uint64_t>(product / (to - from).ps());
      bucket_of(at)[kind] += due - given;
      given = due;
      at = until;
    }
  }

  /// Makes its buckets as long as those of a series that has outgrown more of them.
  void widen(Tick width) {
    while (width_ < width) fold();
  }

  /// Forgets everything but the memory it has; time begins at `begin`.
  void restart(Tick begin) {
    begin_ = begin;
    width_ = shortest;
    buckets_.clear();
  }

  [[nodiscard]] Tick width() const { return width_; }
  /// When the bucket ends that `at`, no earlier than the beginning, is in.
  [[nodiscard]] Tick end_of(Tick at) const {
    return begin_ + width_ * ((at - begin_) / width_ + 1);
  }
  [[nodiscard]] const std::vector<Counts>& buckets() const { return buckets_; }

 private:
  static constexpr std::uint64_t most = 256;
  static constexpr Tick shortest{1'000'000};

  Counts& bucket_of(Tick at) {
    const Tick since = at < begin_ ? Tick{} : at - begin_;
    while (since / width_ >= most) fold();
    const auto bucket = static_cast<std::size_t>(since / width_);
    if (bucket >= buckets_.size()) {
      buckets_.reserve(most);  // once: it never has more
      buckets_.resize(bucket + 1);
    }
    return buckets_[bucket];
  }

  void fold() {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (i % 2 == 0) {
        buckets_[i / 2] = buckets_[i];
      } else {
        for (std::size_t kind = 0; kind < kinds; ++kind) buckets_[i / 2][kind] += buckets_[i][kind];
      }
    }
    buckets_.resize((buckets_.size() + 1) / 2);
    width_ = width_ * 2;
  }

  Tick begin_;
  Tick width_ = shortest;
  std::vector<Counts> buckets_;
};

}  // namespace nearfar
