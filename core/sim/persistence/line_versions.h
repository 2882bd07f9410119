#pragma once

#include <cstdint>
#include <vector>

#include "sim/persistence/image_set.h"
#include "sim/persistence/program.h"

namespace nearfar::sim::persistence {

/// What of one line's stores has persisted: the first `complete` of them and, of the run of
/// non-temporal stores that follows, those with a bit in `some`.
struct LineVersion {
  std::uint32_t complete = 0;
  std::uint64_t some = 0;
  Words words{};
  Fingerprint print;

  [[nodiscard]] bool has(std::uint32_t store) const {
    if (store < complete) return true;
    const std::uint32_t bit = store - complete;
    return bit < 64 && (some >> bit & 1) != 0;
  }
};

/// All that one line of a single-threaded program may hold if the power fails now.
class LineVersions {
 public:
  LineVersions(const Program& program, std::uint32_t line);

  /// The stores from the last ones known up to `end` may have persisted from now on. Appends
  /// the versions that have some of them. Throws InputError when there are too many.
  void extend(std::uint32_t end);

  /// The first `count` stores have persisted for certain.
  void settle(std::uint32_t count);

  [[nodiscard]] const std::vector<LineVersion>& all() const { return versions_; }
  /// Where those begin that the last extend() appended.
  [[nodiscard]] std::size_t newest() const { return newest_; }
  [[nodiscard]] std::uint32_t end() const { return end_; }

 private:
  void append_run(std::uint32_t end);
  void append(std::uint32_t complete, std::uint64_t some, const Words& words);

  const Program& program_;
  std::uint32_t line_;
  std::vector<LineVersion> versions_;  ///< by `complete`
  std::size_t newest_ = 0;
  std::uint32_t end_ = 0;
  Words complete_words_;  ///< with all stores up to end_
};

}  // namespace nearfar::sim::persistence
