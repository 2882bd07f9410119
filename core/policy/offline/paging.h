#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "policy/offline/owned.h"
#include "policy/offline/visits.h"

namespace nearfar::policy {

/// Counts what the pager of the live runtime would do with a program's pages.
///
/// Near memory has a fixed number of frames. A frame is free, or holds a resident page, or one in
/// limbo: chosen to leave, unmapped, not yet dropped. A touch of a page that is not mapped is a
/// *fault*. In limbo it is a second chance: the page is mapped back, nothing is copied. Otherwise
/// it is a *miss*, and the page comes in: zeroed at its first touch, copied later.
///
/// For that a frame must be free; if none is, the page longest in limbo is dropped. It is copied
/// out if it was written since it came in, otherwise its far copy is still good. If by then limbo
/// has come down to its low watermark it is first filled up to the high one, in one batch.
///
/// Scans read and clear the access bits of all resident pages. They are made as often as the policy
/// asks, by the number of misses since: a program that fits is scanned only while it comes in.
class Paging {
 public:
  struct Options {
    std::string policy{};
    PageIndex near = 0;  ///< frames
    PageIndex limbo = 0;  ///< its high watermark in pages, below `near`; half of it is the low one
    bool scans = true;  ///< whether access bits are read
  };

  struct Counts {
    std::uint64_t first_touches = 0;
    std::uint64_t copies_in = 0;
    std::uint64_t second_chances = 0;
    std::uint64_t copies_out = 0;
    std::uint64_t clean_drops = 0;
    std::uint64_t scans = 0;
    std::uint64_t pages_scanned = 0;

    [[nodiscard]] std::uint64_t misses() const { return first_touches + copies_in; }
    [[nodiscard]] std::uint64_t faults() const { return misses() + second_chances; }
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  /// What a visit changed, for a caller that moves the pages.
  struct Change {
    enum class Kind : std::uint8_t {
      zeroed,  ///< came in at its first touch
      copied_in,  ///< came in from far memory
      second_chance,  ///< was in limbo, and is resident again
      copied_out,  ///< left near memory, written since it came in
      dropped,  ///< left near memory, its far copy still good
    } kind;
    PageIndex page;
    friend bool operator==(const Change&, const Change&) = default;
  };

  /// Throws InputError for a policy that is none, and a limbo that does not fit.
  explicit Paging(const Options& options);

  /// Appends what changes, in order, to `changes`, if given. Throws InputError where the policy
  /// names a page to leave that is not resident.
  void visit(PageIndex page, bool write, std::vector<Change>* changes = nullptr);
  /// The page is unmapped.
  void release(PageIndex page);

  [[nodiscard]] const Counts& counts() const { return counts_; }
  /// Whether the page is mapped: a visit to it is no fault.
  [[nodiscard]] bool is_mapped(PageIndex page) const {
    return page < pages_.size() && is_resident(page);
  }
  /// Frames that hold a page, mapped or in limbo.
  [[nodiscard]] PageIndex used() const { return resident_ + limbo_size_; }

 private:
  // What the pager knows of a page: where it is, and what its bits in the page table would say.
  struct State {
    bool touched : 1 = false;  // before, ever
    bool in_limbo : 1 = false;
    bool dirty : 1 = false;  // written since it came in
    bool accessed : 1 = false;  // since the last scan, and so
    bool written : 1 = false;
    bool fresh : 1 = false;  // came in since the last scan
  };

  void come_in(PageIndex page, State& state, std::vector<Change>* changes);
  void make_room(std::vector<Change>* changes);
  void drop_oldest(std::vector<Change>* changes);
  void fill_limbo();
  [[nodiscard]] PageIndex choose();
  [[nodiscard]] bool is_resident(PageIndex page) const;
  void set_resident(PageIndex page, bool resident);
  void scan();
  void plan_scan();

  Options options_;
  OwnedReplacement policy_;
  std::vector<State> pages_;
  std::vector<std::uint64_t> residents_;  // a bit for each page: scans pass over the others
  // In order of entry. A page that has left limbo by a second chance or a release leaves its entry
  // behind, which `entries_` tells from a later one of the same page.
  struct Waiting {
    PageIndex page = no_page;
    std::uint32_t entry = 0;
  };
  std::deque<Waiting> limbo_;
  std::vector<std::uint32_t> entries_;  // how often each page has entered limbo
  PageIndex limbo_size_ = 0;
  PageIndex resident_ = 0;
  std::uint64_t misses_a_scan_ = 0;  // 0: no scans
  std::uint64_t misses_since_scan_ = 0;
  std::vector<Scan> found_;
  Counts counts_;
};

/// All visits through a policy. `ask`, if given, is called now and then, and may throw to end it.
[[nodiscard]] Paging::Counts replay(const Visits& visits, const Paging::Options& options,
                                    const std::function<void()>& ask = {});

}  // namespace nearfar::policy
