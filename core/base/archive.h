#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace nearfar {

/// The bytes of a simulation's state. A component names its members once, in
/// `void state(Archive& archive) { archive(one_, other_); }`, which writes them or reads them back.
///
/// What the configuration alone determines is left out: a state is read into an object that was
/// made from the same configuration. The same state gives the same bytes: no padding and no order
/// of an unordered container is written. Numbers lie in the byte order of the machine.
class Archive {
 public:
  /// Writes.
  Archive() = default;
  /// Reads; `bytes` must outlive the archive. Reading beyond them throws InputError.
  explicit Archive(std::string_view bytes) : reads_(true), left_(bytes) {}

  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] const std::string& written() const { return written_; }
  [[nodiscard]] bool all_read() const { return left_.empty(); }

  template <typename... Parts>
  void operator()(Parts&... parts) {
    (part(parts), ...);
  }

 private:
  template <typename T>
  static constexpr bool is_plain =
      std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T> &&
      !std::is_pointer_v<T> && !requires(T& value, Archive& archive) { value.state(archive); };

  void bytes(void* data, std::size_t size) {
    if (!reads_) {
      written_.append(static_cast<const char*>(data), size);
      return;
    }
    if (size > left_.size()) throw InputError("state: ends too early");
    if (size != 0) std::memcpy(data, left_.data(), size);
    left_.remove_prefix(size);
  }

  template <typename T>
  void part(T& value) {
    if constexpr (is_plain<T>) {
      bytes(&value, sizeof value);
    } else if constexpr (!std::is_empty_v<T>) {
      value.state(*this);
    }
  }
  template <typename T, std::size_t count>
  void part(std::array<T, count>& values) {
    items(values);
  }
  template <typename T>
  void part(std::vector<T>& values) {
    resize(values);
    items(values);
  }
  template <typename T>
  void part(std::deque<T>& values) {
    resize(values);
    for (T& value : values) part(value);
  }
  void part(std::vector<bool>& values) {
    resize(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool value = values[i];
      part(value);
      values[i] = value;
    }
  }
  /// A part that the configuration gives an object, or not.
  template <typename T>
  void part(std::optional<T>& value) {
    if (value) part(*value);
  }
  template <typename Key, typename T>
  void part(std::unordered_map<Key, T>& map) {
    std::vector<std::pair<Key, T>> sorted(map.begin(), map.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    resize(sorted);
    for (auto& [key, value] : sorted) operator()(key, value);
    if (reads_) map = {sorted.begin(), sorted.end()};
  }
  template <typename Key>
  void part(std::unordered_set<Key>& set) {
    std::vector<Key> sorted(set.begin(), set.end());
    std::sort(sorted.begin(), sorted.end());
    part(sorted);
    if (reads_) set = {sorted.begin(), sorted.end()};
  }

  template <typename Values>
  void items(Values& values) {
    if constexpr (is_plain<typename Values::value_type>) {
      bytes(values.data(), values.size() * sizeof(typename Values::value_type));
    } else {
      for (auto& value : values) part(value);
    }
  }
  template <typename Values>
  void resize(Values& values) {
    std::uint64_t size = values.size();
    part(size);
    // Every item takes a byte at least: a number that cannot be is found before memory is taken.
    if (reads_ && size > left_.size()) throw InputError("state: ends too early");
    if (reads_) values.resize(size);
  }

  bool reads_ = false;
  std::string_view left_;
  std::string written_;
};

}  // namespace nearfar
