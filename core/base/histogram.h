#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace nearfar {

/// A histogram of 64-bit values with bounded *relative* error, in integers only.
///
/// Buckets are log-linear, as in HdrHistogram: values below 256 have a bucket each; above,
/// every power of two is cut into 128 equal buckets, so a bucket is at most 1/128 of its
/// values wide. 7,424 buckets (59 KB) cover all 64 bits; adding costs a few instructions
/// and allocates nothing.
///
/// A quantile is the upper end of the bucket it falls into: never below the true value,
/// and less than 0.79 % above it. The largest value and the sum are exact.
class Histogram {
 public:
  void add(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    sum_ += value;
    if (value > max_) max_ = value;
  }

  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
    sum_ += other.sum_;
    if (other.max_ > max_) max_ = other.max_;
  }

  [[nodiscard]] std::uint64_t count() const {
    return std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0});
  }
  /// Modulo 2^64.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }

  /// The smallest value that at least `numerator`/`denominator` of all values do not
  /// exceed (the nearest-rank definition), 0 < numerator <= denominator.
  /// 0 when the histogram is empty.
  [[nodiscard]] std::uint64_t quantile(std::uint64_t numerator, std::uint64_t denominator) const {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const auto product = static_cast<unsigned __int128>(all) * numerator;
    auto rank = static_cast<std::uint64_t>((product + denominator - 1) / denominator);
    std::size_t bucket = 0;
    while (rank > buckets_[bucket]) rank -= buckets_[bucket++];
    const std::uint64_t end = upper_end(bucket);
    return end < max_ ? end : max_;
  }

  /// Calls `visit(highest, count)` for the ranges that hold values, from the lowest up, with the
  /// highest value of each: every power of two is cut into 2^`bits` of them, at most 2^7.
  template <typename Visit>
  void each(unsigned bits, const Visit& visit) const {
    const std::size_t joined = std::size_t{1} << (linear_bits - bits);
    for (std::size_t first = 0; first < bucket_count; first += joined) {
      std::uint64_t count = 0;
      for (std::size_t i = first; i < first + joined; ++i) count += buckets_[i];
      if (count != 0) visit(upper_end(first + joined - 1), count);
    }
  }

 private:
  static constexpr unsigned linear_bits = 7;  // 2^7 buckets in every power of two
  static constexpr std::size_t bucket_count = static_cast<std::size_t>(64 - linear_bits + 1)
                                              << linear_bits;

  /// The highest 8 bits of a value say which bucket of its power of two it is in.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    constexpr std::uint64_t exact = (std::uint64_t{2} << linear_bits) - 1;
    const auto shift = static_cast<unsigned>(std::bit_width(value | exact)) - (linear_bits + 1);
    return (static_cast<std::size_t>(shift) << linear_bits) + (value >> shift);
  }

  static constexpr std::uint64_t upper_end(std::size_t bucket) {
    constexpr std::size_t exact = std::size_t{2} << linear_bits;
    if (bucket < exact) return bucket;
    const std::size_t shift = (bucket >> linear_bits) - 1;
    const std::uint64_t top = bucket - (shift << linear_bits);
    return ((top + 1) << shift) - 1;  // the last bucket's end wraps to 2^64 - 1
  }

  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(bucket_count);
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
};

}  // namespace nearfar
