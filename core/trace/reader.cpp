#include "trace/reader.h"

#include "base/error.h"
#include "trace/champsim.h"
#include "trace/format.h"
#include "trace/gem5.h"
#include "trace/packed.h"
#include "trace/parser.h"

namespace nearfar::trace {
namespace {

/// Finds out what a trace is by its first bytes, and then reads it.
class TellingReader final : public Reader {
 public:
  using Reader::Reader;

  void feed(std::string_view chunk, std::vector<Record>& out) override {
    if (inner_ == nullptr) {
      start_ += chunk;
      if (undecided(packed_magic) || undecided(gem5_magic)) return;
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
  void choose() {
    constexpr std::size_t unmistakable = 4;
    const std::string_view start = std::string_view(start_).substr(0, packed_magic.size());
    if (start.size() >= unmistakable && packed_magic.starts_with(start)) {
      inner_ = std::make_unique<PackedReader>(name());
    } else if (start_.starts_with(gem5_magic)) {
      inner_ = std::make_unique<Gem5Reader>(name());
    } else {
      inner_ = std::make_unique<Parser>(name());
    }
  }

  std::string start_;
  std::unique_ptr<Reader> inner_;
};

}  // namespace

std::unique_ptr<Reader> make_reader(std::string name, std::string_view format) {
  if (format == "auto") return std::make_unique<TellingReader>(std::move(name));
  if (format == "nearfar") return std::make_unique<PackedReader>(std::move(name));
  if (format == "gem5") return std::make_unique<Gem5Reader>(std::move(name));
  if (format == "champsim") return std::make_unique<ChampSimReader>(std::move(name));
  if (const Format* text = find_format(format)) {
    return std::make_unique<Parser>(std::move(name), text);
  }
  throw InputError("trace format '" + std::string(format) + "' is not known");
}

const std::vector<std::string_view>& format_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Format* format : formats()) all.push_back(format->name);
    all.insert(all.end(), {"nearfar", "gem5", "champsim"});
    return all;
  }();
  return names;
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
