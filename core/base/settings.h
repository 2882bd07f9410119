#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/tick.h"

namespace nearfar {

/// A fully resolved model: dotted keys to values in base units, one `key = value` a line,
/// as `nearfar model export` writes it (times in ps, sizes in bytes, rates in MT/s, power
/// in mW, energy in pJ, counts and names as they are, booleans as true/false).
///
/// The schema that users see lives in Python; this reader only guards against a model that
/// was exported by another version: a missing key or an unreadable value is an InputError
/// that names the key.
class Settings {
 public:
  Settings() = default;

  /// Blank lines and lines that start with '#' are skipped. Throws InputError with the
  /// line's number for anything else that is not `key = value`, and for repeated keys.
  [[nodiscard]] static Settings parse(std::string_view text);

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::uint64_t count(std::string_view key) const;
  [[nodiscard]] Tick time(std::string_view key) const;
  [[nodiscard]] Bytes bytes(std::string_view key) const { return count(key); }
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] const std::string& name(std::string_view key) const;

  void set(std::string key, std::string value);

  /// A copy in which every key below `from` is also there below `to`.
  [[nodiscard]] Settings moved(std::string_view from, const std::string& to) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace nearfar
