#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "base/address.h"
#include "frontend/frame_counts.h"
#include "frontend/frames.h"
#include "frontend/page_numbers.h"
#include "frontend/page_table.h"
#include "frontend/placer.h"
#include "sim/cpu/core.h"

namespace nearfar::frontend {

using policy::Tier;

/// Where a page goes when it is first touched, and whether pages move: only where a policy says.
enum class Place : std::uint8_t { near, far, interleave, policy };

/// The kind of memory behind a range of a program's addresses.
/// All but persistent memory is placed as the user says.
enum class Mapping : std::uint8_t {
  memory,      ///< without a name
  heap,        ///< what brk gave
  stack,
  file,        ///< the program, a library, a file
  persistent,  ///< a file below the persistent directory: always in far memory
};

/// The page table of a program that runs on a machine of two tiers. A page is placed when it is
/// first touched, and keeps its frame until it is unmapped or moved. Where a tier is full, pages go
/// to the other one, but those that stay in far memory.
///
/// Where near memory is a cache of far pages (Placer::is_cache), every page has a frame in far
/// memory, and a resident one another in near memory, which is the one that is accessed.
///
/// Where a policy moves huge pages, all pages that it may move are huge: one that is not mapped
/// wholly is huge as well. Only where a persistent file has a part of the 2 MiB are pages small,
/// and stay in far memory.
class AddressSpace final : public sim::cpu::PageMap {
 public:
  struct Options {
    Place place = Place::far;
    bool huge_pages = false;  ///< 2 MiB pages wherever a mapping holds a whole one
    std::unique_ptr<Placer> placer{};  ///< with Place::policy
  };
  /// A page as it lies in memory.
  struct Page {
    Address frame;
    bool huge = false;
    bool stays = false;  ///< in far memory: persistent, or among what is
    std::uint64_t reads = 0;  ///< lines that memory was asked for
    std::uint64_t writes = 0;
  };
  /// A copy that is due because a page moved.
  struct Copy {
    Address from, to;
    Bytes bytes = 0;
  };

  /// Is told that the page which begins at an address lies in a frame from now on.
  using Watch = std::function<void(std::uint64_t page, bool huge, Address frame)>;

  AddressSpace(const Frames& near, const Frames& far, Options options);

  void watch(Watch watch) { watch_ = std::move(watch); }

  Frame frame_of(Address address) override;
  [[nodiscard]] std::optional<Frame> find(Address address) const override;

  void mapped(Address address, Bytes bytes, Mapping kind);
  /// Frames of pages that lie wholly in the range are free again.
  void unmapped(Address address, Bytes bytes);
  /// The pages go along (mremap).
  void remapped(Address from, Bytes from_bytes, Address to, Bytes to_bytes);

  /// Memory was asked for a line: counts it, and tells the policy. Appends the copies that follow;
  /// the page table shows their ends already.
  void asked(Address line, bool write, Tick now, std::vector<Copy>& copies);

  /// Whether the program may have to wait for the page of an address before it accesses it.
  [[nodiscard]] bool faults(Address address) const;
  /// The program is about to access an address. Appends as asked().
  void touch(Address address, bool write, Tick now, std::vector<Copy>& copies);
  /// Bytes from the address to the end of its page.
  [[nodiscard]] Bytes left_of_page(Address address) const {
    return unit() - address.value() % unit();
  }
  [[nodiscard]] bool is_cached() const { return options_.placer && options_.placer->is_cache(); }

  [[nodiscard]] bool is_near(Address physical) const { return near_.contains(physical); }
  [[nodiscard]] Bytes in_use(Tier tier) const {
    return (tier == Tier::near ? near_ : far_).in_use();
  }
  /// Pages that are placed.
  [[nodiscard]] std::size_t pages() const { return table_.size(); }
  /// Calls `take(address, page)` for each of them that begins in a range of the program's
  /// addresses.
  template <typename Take>
  void each_page(const Take& take, std::uint64_t begin = 0,
                 std::uint64_t end = ~std::uint64_t{0}) const {
    table_.each(begin, end, [&](std::uint64_t address, bool huge, PageTable::Word word) {
      take(address, page_of({word, huge}));
    });
  }
  void forget_counts();
  /// Calls `take(begin, end)` for every mapping of which a page is placed.
  template <typename Take>
  void each_used_mapping(const Take& take) const {
    for (const auto& [begin, region] : regions_) {
      bool used = false;
      table_.each(begin, region.end, [&](std::uint64_t, bool, PageTable::Word) { used = true; });
      if (used) take(begin, region.end);
    }
  }
  /// What the policy's side counted, as lines of a report.
  /// As Placer::take_time().
  [[nodiscard]] Tick take_policy_time() {
    return options_.placer ? options_.placer->take_time() : Tick{};
  }
  void report_placer(std::ostream& out) const {
    if (options_.placer) options_.placer->report(out);
  }

  /// The mapping that a page belongs to; nothing where no mapping was known.
  [[nodiscard]] std::optional<Mapping> kind_of(std::uint64_t page) const {
    std::uint64_t begin = 0;
    const Region* const region = region_of(page, begin);
    return region == nullptr ? std::nullopt : std::optional(region->kind);
  }
  /// Touched where no mapping was known.
  [[nodiscard]] std::uint64_t unknown_pages() const { return unknown_pages_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  /// Lines of pages that have been unmapped since.
  [[nodiscard]] std::uint64_t gone_lines() const { return gone_lines_; }

 private:
  struct Region {
    std::uint64_t end = 0;
    Mapping kind = Mapping::memory;
  };

  // A word of the table: which frame of its tier, counted from 1, whether the tier is far memory,
  // whether the page stays there.
  static constexpr PageTable::Word stays_bit = 1;
  static constexpr PageTable::Word far_bit = 2;
  static constexpr unsigned frame_shift = 2;

  [[nodiscard]] PageTable::Word word_of(Address frame, bool stays) const;
  [[nodiscard]] Address frame_at(PageTable::Word word) const {
    const Frames& tier = (word & far_bit) != 0 ? far_ : near_;
    return tier.first() + ((word >> frame_shift) - Bytes{1}) * Frames::small;
  }
  [[nodiscard]] Page page_of(const PageTable::Found& found) const;

  [[nodiscard]] static Bytes size_of(const Page& page) {
    return page.huge ? Frames::huge : Frames::small;
  }
  /// The size of a policy's pages.
  [[nodiscard]] Bytes unit() const { return options_.huge_pages ? Frames::huge : Frames::small; }
  [[nodiscard]] const Region* region_of(std::uint64_t address, std::uint64_t& begin) const;
  /// Whether anything there is mapped, or anything of a kind.
  [[nodiscard]] bool any_mapped(std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] bool any_mapped(std::uint64_t begin, std::uint64_t end, Mapping kind) const;
  [[nodiscard]] Frames& frames(Tier tier) { return tier == Tier::near ? near_ : far_; }
  Address place(std::uint64_t page, bool huge, bool stays);
  /// Forgets the pages that begin in a range.
  void forget_from(std::uint64_t begin, std::uint64_t end);
  void forget(std::uint64_t address, const Page& page);
  void cut_regions(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] policy::PageIndex near_free() const {
    return static_cast<policy::PageIndex>((near_.capacity() - near_.in_use()) / unit());
  }
  void make(const std::vector<Placer::Move>& moves, std::vector<Copy>& copies);
  void exchange(const policy::Exchange& pages, std::vector<Copy>& copies);
  void cache(const Placer::Move& move, std::vector<Copy>& copies);
  [[nodiscard]] std::optional<Page> page_in(Tier tier, policy::PageIndex page) const;
  void relocate(policy::PageIndex index, const Page& page, Address to, std::vector<Copy>* copies);

  Options options_;
  Watch watch_;
  Frames near_, far_;
  std::map<std::uint64_t, Region> regions_;  ///< by first address
  PageTable table_;
  FrameCounts counts_;  ///< with the numbers of pages where a policy moves them
  PageNumbers numbers_;
  std::vector<Address>
      homes_;  ///< by number: where near memory is a cache, the frame in far memory
  std::vector<Placer::Move> wanted_;
  std::uint64_t placed_ = 0;
  std::uint64_t unknown_pages_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t gone_lines_ = 0;
};

}  // namespace nearfar::frontend
