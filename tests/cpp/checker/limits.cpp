#include "limits.h"

#include <charconv>
#include <map>
#include <string>

#include "base/error.h"

namespace nearfar::checker {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

Values values_below(std::string_view text, std::string_view prefix) {
  Values values;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = trimmed(line.substr(0, equals));
    if (!key.starts_with(prefix)) continue;
    values.insert_or_assign(std::string(key.substr(prefix.size())),
                            std::string(trimmed(line.substr(equals + 1))));
  }
  return values;
}

class Reader {
 public:
  Reader(Values values, std::string prefix)
      : values_(std::move(values)), prefix_(std::move(prefix)) {}

  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }

  [[nodiscard]] std::uint64_t count(std::string_view key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) throw InputError("settings lack " + full(key));
    const std::string& text = found->second;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
      throw InputError(full(key) + " is '" + text + "', expected a whole number");
    }
    return value;
  }

  [[nodiscard]] std::uint64_t positive(std::string_view key) const {
    const std::uint64_t value = count(key);
    if (value == 0) throw InputError(full(key) + " is 0, expected at least 1");
    return value;
  }

  [[nodiscard]] bool is(std::string_view key, std::string_view value) const {
    const auto found = values_.find(key);
    return found != values_.end() && found->second == value;
  }

 private:
  [[nodiscard]] std::string full(std::string_view key) const { return prefix_ + std::string(key); }

  Values values_;
  std::string prefix_;
};

}  // namespace

namespace {

void read_ddr5(const Reader& in, Limits& limits) {
  limits.ddr5 = true;
  limits.ccd_l_wr = in.positive(in.is("width", "4") ? "timing.ccd_l_wr" : "timing.ccd_l_wr2");
  limits.ppd = in.positive("timing.ppd");
  limits.rfc_sb = in.positive("timing.rfc_sb");
  limits.refsb_rd = in.positive("timing.refsb_rd");
  limits.read_to_write_bubble = 4;
  limits.refresh_slack = in.is("refresh.granularity", "2x") ? 8 : 4;
}

}  // namespace

Limits limits_from(std::string_view settings_text, std::string_view prefix) {
  std::string dotted(prefix);
  if (!dotted.empty() && !dotted.ends_with('.')) dotted += '.';
  const Reader in(values_below(settings_text, dotted), dotted);

  Limits limits;
  limits.clock_ps = in.positive("clock_ps");
  limits.cl = in.positive("timing.cl");
  limits.cwl = in.positive("timing.cwl");
  limits.rcd = in.positive("timing.rcd");
  limits.rp = in.positive("timing.rp");
  limits.ras = in.positive("timing.ras");
  limits.rc = in.positive("timing.rc");
  limits.ccd_s = in.positive("timing.ccd_s");
  limits.ccd_l = in.positive("timing.ccd_l");
  limits.rrd_s = in.positive("timing.rrd_s");
  limits.rrd_l = in.positive("timing.rrd_l");
  limits.faw = in.positive("timing.faw");
  limits.wtr_s = in.positive("timing.wtr_s");
  limits.wtr_l = in.positive("timing.wtr_l");
  limits.wr = in.positive("timing.wr");
  limits.rtp = in.positive("timing.rtp");
  limits.rfc = in.positive("timing.rfc");
  limits.refi = in.is("refresh.enabled", "false") ? 0 : in.positive("timing.refi");
  limits.xp = in.positive("timing.xp");
  limits.cke = in.positive("timing.cke");
  limits.ckesr = in.positive("timing.ckesr");
  limits.xs = in.positive("timing.xs");
  limits.xsdll = in.has("timing.dllk") ? in.count("timing.dllk") : 0;
  limits.rtrs = in.count("timing.rtrs");
  constexpr std::uint64_t ddr4_2133_clock_ps = 937;
  limits.power_down_entry = limits.clock_ps < ddr4_2133_clock_ps ? 2 : 1;
  if (in.is("standard", "DDR5")) read_ddr5(in, limits);
  limits.hashed = in.is("hash", "xor");
  limits.burst_length = in.positive("burst_length");
  limits.ranks = in.positive("ranks");
  limits.bank_groups = in.positive("bank_groups");
  limits.banks = in.positive("banks");
  limits.rows = in.positive("rows");
  limits.columns = in.positive("columns");
  if (limits.cwl > limits.cl + limits.burst()) {
    throw InputError(dotted + "timing.cwl exceeds timing.cl by more than a burst");
  }
  return limits;
}

}  // namespace nearfar::checker
