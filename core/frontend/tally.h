#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace nearfar::frontend {

/// So many counts, each of which takes a byte until one of them needs more: then all take four,
/// and at last eight.
class Tally {
 public:
  explicit Tally(std::size_t size) : narrow_(size) {}

  void add(std::size_t index) { set(index, (*this)[index] + 1); }

  void set(std::size_t index, std::uint64_t value) {
    if (!narrow_.empty() && value > std::numeric_limits<std::uint8_t>::max()) {
      widen(narrow_, middle_);
    }
    if (!middle_.empty() && value > std::numeric_limits<std::uint32_t>::max()) {
      widen(middle_, wide_);
    }
    if (!narrow_.empty()) {
      narrow_[index] = static_cast<std::uint8_t>(value);
    } else if (!middle_.empty()) {
      middle_[index] = static_cast<std::uint32_t>(value);
    } else {
      wide_[index] = value;
    }
  }

  [[nodiscard]] std::uint64_t operator[](std::size_t index) const {
    return !narrow_.empty() ? narrow_[index] : !middle_.empty() ? middle_[index] : wide_[index];
  }

 private:
  template <typename From, typename To>
  static void widen(std::vector<From>& from, std::vector<To>& to) {
    to.assign(from.begin(), from.end());
    from = {};
  }

  std::vector<std::uint8_t> narrow_;
  std::vector<std::uint32_t> middle_;
  std::vector<std::uint64_t> wide_;
};

}  // namespace nearfar::frontend
