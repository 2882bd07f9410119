#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/address.h"
#include "base/archive.h"
#include "base/rng.h"

namespace nearfar::sim::link {

/// What another socket's memory remembers of each of its lines: whether this socket may hold it.
///
/// The state lies in spare bits beside the line, so changing it writes the line. A
/// line that is read from afar is given away for good, as far as the memory knows: caches drop
/// clean lines silently. It is back when it is written back.
///
/// Requests for one line are dealt with one after the other, in the order in which they were sent.
class Directory {
 public:
  using Index = std::uint32_t;
  static constexpr Index none = ~Index{0};

  /// Of all pages, `seen` (0 to 1) are away to begin with; which ones follows from `seed`.
  Directory(double seen, std::uint64_t seed) : seen_(seen), seed_(seed) {}

  [[nodiscard]] bool away(Address line) const {
    return began_away(line) != (changed_.count(number(line)) != 0);
  }
  void set_away(Address line, bool away) {
    if (away == began_away(line)) {
      changed_.erase(number(line));
    } else {
      changed_.insert(number(line));
    }
  }

  /// A request's turn comes after all others for the line; the one before it, or none.
  Index queue(Address line, Index request) {
    const auto [at, alone] = last_.try_emplace(number(line), request);
    if (alone) return none;
    const Index before = at->second;
    at->second = request;
    return before;
  }
  /// The request, whose turn it was, is dealt with.
  void leave(Address line, Index request) {
    const auto at = last_.find(number(line));
    if (at->second == request) last_.erase(at);
  }

  void state(Archive& archive) { archive(changed_, last_); }

 private:
  static constexpr Bytes page = 4096;

  [[nodiscard]] static std::uint64_t number(Address line) { return line.block(line_bytes); }
  [[nodiscard]] bool began_away(Address line) const {
    return Rng(seed_ + line.block(page)).uniform() < seen_;
  }

  double seen_;
  std::uint64_t seed_;
  std::unordered_set<std::uint64_t> changed_;          ///< never iterated
  std::unordered_map<std::uint64_t, Index> last_;      ///< by line, likewise
};

}  // namespace nearfar::sim::link
