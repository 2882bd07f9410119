#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tick.h"

namespace nearfar::frontend {

/// Counts over time, in at most so many buckets: when time outgrows them, neighbours are added up
/// and each is twice as long.
template <std::size_t kinds>
class TimeSeries {
 public:
  using Counts = std::array<std::uint64_t, kinds>;

  void add(std::size_t kind, Tick at, std::uint64_t count = 1) {
    if (at < begin_) return;
    while ((at - begin_) / width_ >= most) fold();
    const auto bucket = static_cast<std::size_t>((at - begin_) / width_);
    if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
    buckets_[bucket][kind] += count;
  }

  /// Forgets everything; time begins at `begin`.
  void restart(Tick begin) { *this = TimeSeries(begin); }

  explicit TimeSeries(Tick begin = Tick{}) : begin_(begin) {}

  [[nodiscard]] Tick width() const { return width_; }
  [[nodiscard]] const std::vector<Counts>& buckets() const { return buckets_; }

 private:
  static constexpr std::uint64_t most = 256;

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
  Tick width_{1'000'000};
  std::vector<Counts> buckets_;
};

}  // namespace nearfar::frontend
