#include "service.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace nearfar::checker {
namespace {

// When a line was accessed, by whether it was a write.
struct Accesses {
  std::vector<std::uint64_t> reads{};
  std::vector<std::uint64_t> writes{};
};

class Mapping {
 public:
  Mapping(const Limits& limits, const std::string& fields) : limits_(limits) {
    std::istringstream in(fields);
    for (std::string field; std::getline(in, field, '-');) fields_.push_back(field);
  }

  [[nodiscard]] std::uint64_t line_of(const BusCommand& access, std::uint32_t row) const {
    std::uint64_t line = 0;
    for (const std::string& field : fields_) {
      const auto [value, size] = part(field, access, row);
      line = line * size + value;
    }
    return line;
  }

 private:
  struct Part {
    std::uint64_t value;
    std::uint64_t size;
  };

  [[nodiscard]] Part part(const std::string& field, const BusCommand& access,
                          std::uint32_t row) const {
    const std::uint64_t index =
        (access.bank_group * limits_.banks + access.bank) ^ (limits_.hashed ? folded(row) : 0);
    if (field == "rank") return {access.rank, limits_.ranks};
    if (field == "bank_group") return {index / limits_.banks, limits_.bank_groups};
    if (field == "bank") return {index % limits_.banks, limits_.banks};
    if (field == "row") return {row, limits_.rows};
    return {access.column.value_or(0) / limits_.burst_length,
            limits_.columns / limits_.burst_length};
  }

  // A row's digits to the base of the banks of a rank, XORed.
  [[nodiscard]] std::uint64_t folded(std::uint64_t row) const {
    const std::uint64_t banks = limits_.bank_groups * limits_.banks;
    std::uint64_t sum = 0;
    for (; row != 0; row /= banks) sum ^= row % banks;
    return sum;
  }

  const Limits& limits_;
  std::vector<std::string> fields_;
};

std::map<std::uint64_t, Accesses> accesses_by_line(const Trace& trace, const Limits& limits,
                                                   const Mapping& mapping) {
  std::map<std::uint64_t, Accesses> lines;
  std::vector<std::uint32_t> open(limits.ranks * limits.bank_groups * limits.banks);
  for (const BusCommand& c : trace) {
    std::uint32_t& row =
        open.at((c.rank * limits.bank_groups + c.bank_group) * limits.banks + c.bank);
    if (c.command == sim::dram::Command::act) row = c.row.value_or(0);
    if (is_read(c.command)) lines[mapping.line_of(c, row)].reads.push_back(c.ps);
    if (is_write(c.command)) lines[mapping.line_of(c, row)].writes.push_back(c.ps);
  }
  return lines;
}

class Line {
 public:
  Line(const Limits& limits, const Accesses& accesses, std::vector<Served> requests)
      : limits_(limits), accesses_(accesses), requests_(std::move(requests)) {}

  [[nodiscard]] std::optional<std::string> complaint() const {
    if (auto wrong = wrong_writes()) return wrong;
    return wrong_reads();
  }

 private:
  [[nodiscard]] std::optional<std::string> wrong_writes() const {
    std::uint64_t sent = 0;
    std::optional<std::uint64_t> last_sent;
    for (const Served& request : requests_) {
      if (!request.write) continue;
      ++sent;
      last_sent = request.sent_ps;
    }
    if (accesses_.writes.size() > sent) return "written more often than asked";
    if (last_sent && (accesses_.writes.empty() || accesses_.writes.back() <= *last_sent)) {
      return "a write was accepted and never done";
    }
    return std::nullopt;
  }

  // A read is answered by an access whose data end as it is done, or at once out of the
  // write queue.
  [[nodiscard]] std::optional<std::string> wrong_reads() const {
    std::vector<std::uint64_t> unused = accesses_.reads;
    const std::uint64_t latency = (limits_.cl + limits_.burst()) * limits_.clock_ps;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Served& read = requests_[i];
      if (read.write) continue;
      const auto access = std::find_if(unused.begin(), unused.end(), [&](std::uint64_t at) {
        return at + latency == read.done_ps;
      });
      const std::optional<std::uint64_t> written = last_write_before(i);
      if (access == unused.end()) {
        if (!written || read.done_ps > read.sent_ps + 2 * limits_.clock_ps) {
          return "a read was answered by no access";
        }
        continue;
      }
      if (*access <= read.sent_ps) return "accessed before it was asked for";
      if (written && !written_between(*written, *access)) return "a read missed a write";
      unused.erase(access);
    }
    if (!unused.empty()) return "read without being asked";
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::uint64_t> last_write_before(std::size_t i) const {
    while (i-- > 0) {
      if (requests_[i].write) return requests_[i].sent_ps;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool written_between(std::uint64_t from_ps, std::uint64_t to_ps) const {
    return std::any_of(accesses_.writes.begin(), accesses_.writes.end(),
                       [&](std::uint64_t at) { return at > from_ps && at < to_ps; });
  }

  const Limits& limits_;
  const Accesses& accesses_;
  std::vector<Served> requests_;
};

}  // namespace

std::vector<std::string> check_service(const Trace& trace, const Limits& limits,
                                       const std::string& mapping,
                                       const std::vector<Served>& requests) {
  constexpr std::size_t most = 20;
  auto accesses = accesses_by_line(trace, limits, Mapping(limits, mapping));
  std::map<std::uint64_t, std::vector<Served>> by_line;
  for (const Served& request : requests) by_line[request.line].push_back(request);

  std::vector<std::string> complaints;
  const auto complain = [&](std::uint64_t line, const std::string& what) {
    if (complaints.size() < most) {
      complaints.push_back("line " + std::to_string(line) + ": " + what);
    }
  };
  for (const auto& [line, of_line] : by_line) {
    if (const auto wrong = Line(limits, accesses[line], of_line).complaint()) {
      complain(line, *wrong);
    }
  }
  for (const auto& [line, done] : accesses) {
    if (!by_line.contains(line)) complain(line, "accessed without being asked");
  }
  return complaints;
}

}  // namespace nearfar::checker
