#include "trace/reader.h"

#include <algorithm>

#include "base/error.h"
#include "trace/format.h"
#include "trace/parser.h"

namespace nearfar::trace {
namespace {

[[noreturn]] void refuse_base(const std::string& name, const Format& format) {
  throw InputError(name + ": found a trace of " + std::string(format.name) +
                   ", which is binary, expected one of text for a base; leave --base out");
}

/// Finds out what a trace is by its first bytes, and then reads it.
class TellingReader final : public Reader {
 public:
  TellingReader(std::string name, unsigned base) : Reader(std::move(name)), base_(base) {}

  void feed(std::string_view chunk, std::vector<Record>& out) override {
    if (inner_ == nullptr) {
      start_ += chunk;
      if (std::ranges::any_of(formats(), [&](const Format* f) { return undecided(f->magic); })) {
        return;
      }
      choose();
      chunk = start_;
      inner_->feed(chunk, out);
      start_.clear();
      return;
    }
    inner_->feed(chunk, out);
  }

  void finish(std::vector<Record>& out) override {
    if (inner_ == nullptr) {
      choose();
      inner_->feed(start_, out);
    }
    inner_->finish(out);
  }

  [[nodiscard]] std::string_view format_name() const override {
    return inner_ == nullptr ? std::string_view() : inner_->format_name();
  }
  [[nodiscard]] Timing timing() const override {
    return inner_ == nullptr ? Timing{} : inner_->timing();
  }
  [[nodiscard]] std::string place(std::uint64_t line) const override {
    return inner_ == nullptr ? Reader::place(line) : inner_->place(line);
  }
  [[nodiscard]] std::string header() const override {
    return inner_ == nullptr ? std::string() : inner_->header();
  }

 private:
  [[nodiscard]] bool undecided(std::string_view magic) const {
    return start_.size() < magic.size() && magic.starts_with(start_);
  }

  /// A text that is shorter than a magic and begins like it is left to the text formats, unless
  /// it is long enough that only a cut-off trace can be meant.
  [[nodiscard]] bool begins_as(std::string_view magic) const {
    constexpr std::size_t unmistakable = 4;
    const std::string_view start = std::string_view(start_).substr(0, magic.size());
    return start.size() >= std::min(unmistakable, magic.size()) && magic.starts_with(start);
  }

  void choose() {
    for (const Format* format : formats()) {
      if (format->magic.empty() || !begins_as(format->magic)) continue;
      if (base_ != 0) refuse_base(name(), *format);
      inner_ = format->open(name());
      return;
    }
    inner_ = std::make_unique<Parser>(name(), nullptr, base_);
  }

  unsigned base_;
  std::string start_;
  std::unique_ptr<Reader> inner_;
};

}  // namespace

std::unique_ptr<Reader> make_reader(std::string name, std::string_view format, unsigned base) {
  if (base != 0 && base != 10 && base != 16) {
    throw InputError("base: found " + std::to_string(base) + ", expected 10 or 16");
  }
  if (format == "auto") return std::make_unique<TellingReader>(std::move(name), base);
  const Format* const known = find_format(format);
  if (known == nullptr) {
    throw InputError("trace format '" + std::string(format) + "' is not known");
  }
  if (known->is_text()) return std::make_unique<Parser>(std::move(name), known, base);
  if (base != 0) refuse_base(name, *known);
  return known->open(std::move(name));
}

std::string quoted(std::string_view text) {
  constexpr std::size_t quoted_bytes = 60;
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "'";
  for (const char c : text.substr(0, quoted_bytes)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  result += '\'';
  if (text.size() > quoted_bytes) result += "...";
  return result;
}

}  // namespace nearfar::trace
