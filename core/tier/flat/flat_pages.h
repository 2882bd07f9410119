#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/placement/grouped.h"
#include "policy/replacement/replacement.h"
#include "tier/os/memory.h"
#include "tier/tree/budget.h"
#include "tier/tree/flat_control.h"

namespace nearfar::tier {

/// The tier of every page where both are addressed directly, and the policy that says which should
/// change places.
///
/// A page table tells a replacement policy of every page that comes, goes, moves, or is touched
/// while it is unmapped. Here nothing is ever replaced: the same events keep the tiers true. Pages
/// are known by the table's dense numbers.
class FlatPages final : public policy::Replacement {
 public:
  using Index = policy::PageIndex;
  using Tier = policy::Tier;

  FlatPages(policy::Placement& placement, Control& control)
      : placement_(placement), control_(control), flat_(flat_of(control)) {}

  [[nodiscard]] policy::Placement& placement() { return placement_; }
  [[nodiscard]] const FlatControl& control() const { return flat_; }
  /// There will be so many pages, before `keep_in`.
  void reserve(std::size_t pages) { most_pages_ = pages; }
  /// These pages are counted with that process's.
  void belong_to(Member& member) { member_ = &member; }
  /// In a forked child: what it has inherited are its parent's frames, which the kernel moves for
  /// neither, so it knows only of pages that will come to it from now on.
  void become_child(Member& member);

  /// So many pages are about to come, the first of them this one: the tier of all of them.
  [[nodiscard]] Tier expect(Index first, std::size_t count);
  /// While a process forks, pages come far: they are noted when it is over.
  void set_forking(bool forking) {
    forking_ = forking;
    has_forked_ |= forking;
  }
  /// Pages may be shared: a write to one brings it to a frame of the kernel's choice.
  [[nodiscard]] bool has_forked() const { return has_forked_; }
  /// Those that have not come do not count.
  void end_expectation();

  [[nodiscard]] bool is_there(Index page) const { return records_[page].there; }
  /// The policy knows of the page, and may name it.
  [[nodiscard]] bool is_named(Index page) const {
    return records_[page].there && !records_[page].withdrawn;
  }
  [[nodiscard]] Tier tier(Index page) const { return records_[page].far ? Tier::far : Tier::near; }
  /// One page more may be near; false if there is no room. `set_tier` follows, or `give_up_near`.
  [[nodiscard]] bool take_near(std::uint64_t pages = 1);
  void give_up_near(std::uint64_t pages = 1);
  /// The page's frame is another tier's now. A place near has been taken for it, or comes free.
  void set_tier(Index page, Tier tier);
  /// Two pages have exchanged their frames.
  void exchange(Index promoted, Index demoted);
  /// The frame was found in another tier than it should be: the kernel has placed it.
  void correct(Index page, Tier found);
  /// The kernel moves the page nowhere, as after a fork until it is written: the policy is told
  /// that it is gone, or it would name it in place of others again and again.
  void withdraw(Index page);
  /// It may move again: to the policy it is new.
  void readmit(Index page);
  void readmit_all();
  /// Near pages that no decision can name.
  [[nodiscard]] std::uint64_t withdrawn_near() const { return withdrawn_near_; }
  [[nodiscard]] std::uint64_t withdrawn() const { return withdrawn_; }

  /// What the detector keeps of a page between two scans.
  void leave_out(Index page) { records_[page].left_out = true; }
  /// Whether the page is to be left out of this scan, and of no other.
  [[nodiscard]] bool take_left_out(Index page) {
    if (!records_[page].left_out) return false;
    records_[page].left_out = false;
    return true;
  }
  void begin_probe(Index page) {
    records_[page].touched = false;
    records_[page].delay = 0;
  }
  /// Probes begin now, and last so long.
  void time_probes(const os::Memory& memory, std::uint64_t round_ns) {
    memory_ = &memory;
    probed_since_ns_ = memory.now_ns();
    round_ns_ = round_ns;
  }
  /// How long after it was unmapped the page was touched, in sixteenths of a round.
  [[nodiscard]] std::uint8_t delay(Index page) const {
    return static_cast<std::uint8_t>(std::uint32_t{records_[page].delay} >> delay_shift);
  }
  /// How often a page that was touched so soon is used in an interval, if it is used evenly.
  [[nodiscard]] std::uint32_t uses(Index page) const {
    const std::uint64_t parts = (flat_.interval_ns << delay_bits) / round_ns_;
    const std::uint64_t often = parts / (std::uint32_t{records_[page].delay} + 1);
    return static_cast<std::uint32_t>(often < most_uses ? often : most_uses);
  }
  [[nodiscard]] bool was_touched(Index page) const { return records_[page].touched; }
  /// What comes back from staging memory meanwhile has not been touched.
  void set_returning(bool returning) { returning_ = returning; }

  /// Near pages of the tree, and how many it may have.
  [[nodiscard]] std::uint64_t near_pages() const { return flat_.near_pages.load(); }
  [[nodiscard]] std::uint64_t limit() const { return limit_with(0); }
  [[nodiscard]] std::uint64_t own_near() const { return member_->flat_near.load(); }
  [[nodiscard]] std::uint64_t own_far() const { return member_->flat_far.load(); }
  /// Whether all pages of a group that there are, from its first one on, are near.
  [[nodiscard]] bool is_group_near(Index first) const;
  /// All numbers of pages that there are lie below.
  [[nodiscard]] Index end() const { return end_; }

  // What the page table tells.
  [[nodiscard]] std::size_t bytes_per_page() const override {
    return placement_.bytes_per_page() + sizeof(Record) + sizeof(policy::GroupMark);
  }
  void keep_in(void* records) override;
  [[nodiscard]] const void* record(Index page) const override { return &records_[page]; }
  void fault(Index page) override;
  void second_chance(Index page) override;
  void scanned(std::span<const policy::Scan>) override {}
  void released(Index page) override;
  void moved(Index from, Index to) override;
  void refused(Index) override {}
  [[nodiscard]] Index evict() override { return policy::no_page; }
  [[nodiscard]] Index resident() const override { return 0; }
  [[nodiscard]] bool is_resident(Index page) const override { return records_[page].there; }
  [[nodiscard]] Index passed_over() const override { return 0; }
  void resize(Index) override {}
  [[nodiscard]] unsigned scans_per_turnover() const override { return 0; }

 private:
  /// All zeros is a page that is not there.
  struct Record {
    bool there : 1;
    bool far : 1;
    bool touched : 1;  ///< while it was probed
    bool left_out : 1;  ///< of the next scan
    bool withdrawn : 1;
    std::uint16_t delay;  ///< of the first touch, in parts of a round, while it was probed
  };
  static_assert(sizeof(Record) == 4);

  static constexpr unsigned delay_bits = 12;  // a round has so many parts
  static constexpr std::uint32_t most_uses = 65535;
  static constexpr unsigned delay_shift = delay_bits - 4;

  [[nodiscard]] std::uint64_t limit_with(std::uint64_t coming) const;
  void count_far(std::int32_t change);
  void put(Index page, Tier tier);

  policy::GroupedPlacement placement_;
  Control& control_;
  FlatControl& flat_;
  Member* member_ = nullptr;
  Record* records_ = nullptr;
  std::size_t most_pages_ = 0;
  std::uint64_t expected_near_ = 0;  // taken for pages that are about to come
  std::uint64_t withdrawn_ = 0;
  std::uint64_t withdrawn_near_ = 0;
  const os::Memory* memory_ = nullptr;
  std::uint64_t probed_since_ns_ = 0;
  std::uint64_t round_ns_ = 1;
  Index end_ = 0;
  bool returning_ = false;
  bool forking_ = false;
  bool has_forked_ = false;
};

}  // namespace nearfar::tier
