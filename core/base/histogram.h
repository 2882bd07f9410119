#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
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
/// and less than 0.79 % above it. Smallest and largest value and the sum are exact.
class Histogram {
 public:
  void add(std::uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
    if (value > max_) max_ = value;
    if (value < min_) min_ = value;
  }

  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < bucket_count; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    if (other.max_ > max_) max_ = other.max_;
    if (other.min_ < min_) min_ = other.min_;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Modulo 2^64.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }

  /// The smallest value that at least `numerator`/`denominator` of all values do not
  /// exceed (the nearest-rank definition), 0 <= numerator <= denominator, denominator > 0.
  /// 0 when the histogram is empty.
  [[nodiscard]] std::uint64_t quantile(std::uint64_t numerator, std::uint64_t denominator) const {
    if (count_ == 0) return 0;
    const auto product = static_cast<unsigned __int128>(count_) * numerator;
    auto rank = static_cast<std::uint64_t>((product + denominator - 1) / denominator);
    if (rank <= 1) return min_;
    std::size_t bucket = 0;
    while (rank > buckets_[bucket]) rank -= buckets_[bucket++];
    const std::uint64_t end = upper_end(bucket);
    return end < max_ ? end : max_;
  }

 private:
  static constexpr int linear_bits = 7;  // 2^7 buckets in every power of two
  static constexpr std::size_t bucket_count =
      static_cast<std::size_t>(64 - linear_bits + 1) << linear_bits;

  /// The highest 8 bits of a value say which bucket of its power of two it is in.
  static constexpr std::size_t bucket_of(std::uint64_t value) {
    const auto width = static_cast<int>(std::bit_width(value));
    const int shift = width > linear_bits + 1 ? width - (linear_bits + 1) : 0;
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
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
};

}  // namespace nearfar
