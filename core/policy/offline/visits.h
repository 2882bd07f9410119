#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// Which pages a program visits, in order: what policies are compared on.
///
/// Accesses to one page that follow each other directly are one visit, since nothing can happen
/// between them. A visit takes four bytes: its page, numbered in order of first touch, and
/// whether it writes; so does a release, after which the page is as if it had never come. All of
/// them are kept, as the best possible choice depends on the future.
class Visits {
 public:
  class Visit {
   public:
    enum Kind : std::uint32_t { reads = 0, writes = 1, releases = 2 };

    Visit(PageIndex page, Kind kind) : word_(page << 2U | kind) {}
    [[nodiscard]] PageIndex page() const { return word_ >> 2U; }
    [[nodiscard]] bool write() const { return (word_ & 3U) == writes; }
    [[nodiscard]] bool release() const { return (word_ & 3U) == releases; }
    void add_write() { word_ |= writes; }

   private:
    std::uint32_t word_;
  };

  /// Part of the page with that number, in the caller's own numbers. Throws InputError
  /// for pages beyond `most_pages`.
  void access(std::uint64_t number, bool write);
  /// The page is unmapped; nothing where it was never accessed.
  void release(std::uint64_t number);

  /// Visits and releases, in order.
  [[nodiscard]] const std::vector<Visit>& all() const { return visits_; }
  [[nodiscard]] std::uint64_t visits() const { return visits_.size() - releases_; }
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  /// Pages visited.
  [[nodiscard]] PageIndex pages() const { return static_cast<PageIndex>(pages_.size()); }

 private:
  std::vector<Visit> visits_;
  std::unordered_map<std::uint64_t, PageIndex> pages_;  // asked, never walked
  std::uint64_t last_number_ = 0;
  std::uint64_t accesses_ = 0;
  std::uint64_t releases_ = 0;
};

}  // namespace nearfar::policy
