#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace nearfar {

/// A view of a component's statistics: plain integers that the component increments
/// directly, and sums that follow from them, registered once under the names the results use.
class Counters {
 public:
  /// `value` must outlive this object.
  void add(std::string name, const std::uint64_t& value) {
    entries_.push_back({std::move(name), &value, {}});
  }
  /// A value that is worked out when it is read, so that counting costs nothing more.
  void add(std::string name, std::function<std::uint64_t()> value) {
    entries_.push_back({std::move(name), nullptr, std::move(value)});
  }

  /// Adds all of `others`, their names behind `prefix`.
  void add_below(const std::string& prefix, const Counters& others) {
    for (const Entry& entry : others.entries_) {
      entries_.push_back({prefix + entry.name, entry.value, entry.derived});
    }
  }

  struct Reading {
    std::string name;
    std::uint64_t value;
  };

  /// All counters in order of registration.
  [[nodiscard]] std::vector<Reading> read() const {
    std::vector<Reading> readings;
    readings.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      readings.push_back({entry.name, entry.value != nullptr ? *entry.value : entry.derived()});
    }
    return readings;
  }

 private:
  struct Entry {
    std::string name;
    const std::uint64_t* value;
    std::function<std::uint64_t()> derived;
  };
  std::vector<Entry> entries_;
};

}  // namespace nearfar
