#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nearfar {

/// A view of a component's statistics: plain integers that the component increments
/// directly, registered once under the names the results use.
class Counters {
 public:
  /// `value` must outlive this object.
  void add(std::string name, const std::uint64_t& value) {
    entries_.emplace_back(std::move(name), &value);
  }

  struct Reading {
    std::string name;
    std::uint64_t value;
  };

  /// All counters in order of registration.
  [[nodiscard]] std::vector<Reading> read() const {
    std::vector<Reading> readings;
    readings.reserve(entries_.size());
    for (const auto& [name, value] : entries_) readings.push_back({name, *value});
    return readings;
  }

 private:
  std::vector<std::pair<std::string, const std::uint64_t*>> entries_;
};

}  // namespace nearfar
