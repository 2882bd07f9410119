#include "base/settings.h"

#include <charconv>
#include <utility>

#include "base/error.h"

namespace nearfar {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

[[noreturn]] void unreadable(std::string_view key, std::string_view value,
                             std::string_view expected) {
  throw InputError("model: " + std::string(key) + " is '" + std::string(value) + "', expected " +
                   std::string(expected) + "; export the model again with this version of nearfar");
}

}  // namespace

Settings Settings::parse(std::string_view text) {
  Settings settings;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (line.empty() || line.front() == '#') continue;

    const auto equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) {
      throw InputError("model: line " + std::to_string(line_number) + ": found '" +
                       std::string(line) + "', expected 'key = value'");
    }
    if (settings.has(key)) {
      throw InputError("model: line " + std::to_string(line_number) + ": '" + std::string(key) +
                       "' appears twice");
    }
    settings.set(std::string(key), std::string(trimmed(line.substr(equals + 1))));
  }
  return settings;
}

bool Settings::has(std::string_view key) const { return values_.contains(key); }

const std::string& Settings::name(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    throw InputError("model: '" + std::string(key) +
                     "' is missing; export the model again with this version of nearfar");
  }
  return found->second;
}

std::uint64_t Settings::count(std::string_view key) const {
  const std::string& value = name(key);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    unreadable(key, value, "a whole number");
  }
  return number;
}

Tick Settings::time(std::string_view key) const { return Tick(count(key)); }

double Settings::real(std::string_view key) const {
  const std::string& value = name(key);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) {
    unreadable(key, value, "a number");
  }
  return number;
}

bool Settings::flag(std::string_view key) const {
  const std::string& value = name(key);
  if (value == "true") return true;
  if (value == "false") return false;
  unreadable(key, value, "true or false");
}

void Settings::set(std::string key, std::string value) {
  values_.insert_or_assign(std::move(key), std::move(value));
}

Settings Settings::moved(std::string_view from, const std::string& to) const {
  Settings copy = *this;
  for (const auto& [key, value] : values_) {
    if (key.starts_with(from)) copy.set(to + key.substr(from.size()), value);
  }
  return copy;
}

}  // namespace nearfar
