#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "policy/replacement/replacement.h"
#include "tier/os/system.h"
#include "tier/pager/fault_log.h"
#include "tier/pager/page.h"

namespace nearfar::tier {

/// The state of every page of the arena, flat, and the policy that says which resident page leaves.
/// The memory is the caller's and must start as zeros; groups of pages that were never used are
/// never read, so that they cost nothing.
///
/// The policy knows pages by dense numbers: groups are numbered in the order of their first use, so
/// that what it keeps of them lies together, however large the gaps between them. A group that is
/// given back leaves its number to the next one.
class PageTable {
 public:
  /// Pages whose entries share a page of memory.
  static constexpr std::size_t group = 512;
  /// Groups that can be in use: the policy tells no more pages apart.
  static constexpr std::size_t most_groups = policy::most_pages / group;
  static_assert(most_groups == 524287);
  /// Groups that are passed over at once where none is in use: a large arena is mostly gaps.
  static constexpr std::size_t block = 1024;

  /// What is known of groups.
  struct Groups {
    std::uint32_t* rank_plus_one;  ///< of each: its number among those in use; 0: it is not
    std::uint32_t* of_rank;  ///< the group that has a rank; of a free rank, the next one plus one
    std::uint32_t* in_block;  ///< how many of each block are in use
  };
  /// Entries of these arrays for so many pages.
  [[nodiscard]] static constexpr std::size_t groups(std::size_t pages) { return pages / group; }
  [[nodiscard]] static constexpr std::size_t ranks(std::size_t pages) {
    return groups(pages) < most_groups ? groups(pages) : most_groups;
  }
  [[nodiscard]] static constexpr std::size_t blocks(std::size_t pages) {
    return (groups(pages) + block - 1) / block;
  }

  PageTable() = default;
  PageTable(Page* pages, Groups groups, std::size_t count, policy::Replacement& policy,
            std::uint64_t limit)
      : pages_(pages), groups_(groups), count_(count), policy_(&policy), limit_(limit) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Page& operator[](PageNumber page) { return pages_[page]; }
  [[nodiscard]] const Page& operator[](PageNumber page) const { return pages_[page]; }
  [[nodiscard]] FaultLog& log() { return log_; }

  /// The state, without touching an entry that was never written.
  [[nodiscard]] State state(PageNumber page) const {
    return groups_.rank_plus_one[page / group] == 0 ? State::fresh : pages_[page].state;
  }

  /// Whether so many groups more can be in use.
  [[nodiscard]] bool has_room(std::size_t more) const {
    return used_groups_ - free_ranks_ + more <= most_groups;
  }
  /// Must come before a page's entry is written. How many new pages of memory that costs.
  std::size_t use(PageNumber page) {
    std::uint32_t& rank = groups_.rank_plus_one[page / group];
    if (rank != 0) return 0;
    ++groups_.in_block[page / group / block];
    if (first_free_plus_one_ != 0) {
      rank = first_free_plus_one_;
      std::uint32_t& of_rank = groups_.of_rank[rank - 1];
      first_free_plus_one_ = of_rank;
      --free_ranks_;
      of_rank = static_cast<std::uint32_t>(page / group);
      return 1;
    }
    if (used_groups_ == most_groups)
      os::fail("the program uses more than 524287 parts of 2 MiB of its memory, which are all");
    const std::size_t before = policy_pages(used_groups_);
    groups_.of_rank[used_groups_] = static_cast<std::uint32_t>(page / group);
    rank = ++used_groups_;
    return 1 + policy_pages(used_groups_) - before;
  }
  /// A group in use, whose pages are all fresh, is used no more. Its entries, a page of memory, are
  /// the caller's to give back; what the policy keeps of them is for the next group, of which it
  /// knows nothing.
  void give_back(PageNumber page) {
    const auto first = static_cast<PageNumber>(page - page % group);
    for (std::size_t i = 0; i < group; ++i)
      policy_->released(dense(static_cast<PageNumber>(first + i)));
    std::uint32_t& rank = groups_.rank_plus_one[page / group];
    groups_.of_rank[rank - 1] = first_free_plus_one_;
    first_free_plus_one_ = rank;
    ++free_ranks_;
    --groups_.in_block[page / group / block];
    rank = 0;
  }
  /// The most that `use` may cost, of a group and of all pages of a run, which lies in two at most.
  [[nodiscard]] std::size_t most_use() const { return 1 + policy_pages(1); }
  [[nodiscard]] std::size_t most_use(PageNumber first, std::size_t count) const {
    const std::size_t begin = first / group;
    const std::size_t end = (first + count - 1) / group;
    const std::size_t unused = (groups_.rank_plus_one[begin] == 0 ? 1U : 0U) +
                               (end != begin && groups_.rank_plus_one[end] == 0 ? 1U : 0U);
    return unused == 0 ? 0 : unused * most_use();
  }

  /// The first page from `page` on, before `end`, whose group is in use; `end` if there is none.
  [[nodiscard]] PageNumber next_in_use(PageNumber page, PageNumber end) const {
    std::size_t i = page / group;
    // Ranks are not read where no group is in use: what was never read costs no memory.
    for (; i * group < end; ++i) {
      if (groups_.in_block[i / block] == 0) {
        i = i / block * block + block - 1;
      } else if (groups_.rank_plus_one[i] != 0) {
        break;
      }
    }
    if (i * group >= end) return end;
    return i == page / group ? page : static_cast<PageNumber>(i * group);
  }

  /// The first page from `page` on, before `end`, that is not fresh; `end` if there is none.
  [[nodiscard]] PageNumber next_used(PageNumber page, PageNumber end) const {
    for (page = next_in_use(page, end); page < end; page = next_in_use(page, end)) {
      const auto behind =
          static_cast<PageNumber>(std::min<std::size_t>(end, (page / group + 1) * group));
      for (; page < behind; ++page)
        if (pages_[page].state != State::fresh) return page;
    }
    return end;
  }

  /// An entry that will be written soon, and what the policy keeps of a used page that it will be
  /// told of: asked of memory now, they are in the cache by then.
  void prefetch(PageNumber page) const { __builtin_prefetch(&pages_[page], for_writing); }
  void prefetch_for_policy(PageNumber page) const {
    __builtin_prefetch(policy_->record(dense(page)), for_writing);
  }

  [[nodiscard]] std::size_t resident() const { return policy_->resident(); }
  /// Of these, how many could not leave and are passed over for now.
  [[nodiscard]] std::size_t passed_over() const { return policy_->passed_over(); }
  /// Near memory has so many pages in all; the policy was made for those of the constructor.
  void resize(std::uint64_t limit) {
    if (limit == limit_) return;
    limit_ = limit;
    policy_->resize(limit < policy::most_pages ? static_cast<policy::PageIndex>(limit)
                                               : policy::most_pages);
  }

  /// Makes a page resident that came in, as it was touched or another beside it.
  void push(PageNumber page, bool touched = true) {
    pages_[page].state = State::near;
    log_.add(touched ? FaultLog::Event::fault : FaultLog::Event::ahead, dense(page));
    policy_->fault(dense(page));
  }
  /// Makes a page resident that was touched in limbo.
  void take_back(PageNumber page) {
    pages_[page].state = State::near;
    log_.add(FaultLog::Event::second_chance, dense(page));
    policy_->second_chance(dense(page));
  }
  /// The page that should leave, resident no more; its state is the caller's to say. `no_page` if
  /// none is resident.
  [[nodiscard]] PageNumber evict() {
    const policy::PageIndex chosen = policy_->evict();
    if (chosen == policy::no_page) return no_page;
    log_.add(FaultLog::Event::evicted, chosen);
    return page_of(chosen);
  }
  /// That page cannot leave, and is resident again.
  void refuse(PageNumber page) {
    log_.add(FaultLog::Event::refused, dense(page));
    policy_->refused(dense(page));
  }
  /// By which the policy knows a page of a group in use, and back.
  [[nodiscard]] policy::PageIndex dense(PageNumber page) const {
    return static_cast<policy::PageIndex>((groups_.rank_plus_one[page / group] - 1) * group +
                                          page % group);
  }
  [[nodiscard]] PageNumber page_of(policy::PageIndex dense) const {
    return static_cast<PageNumber>(groups_.of_rank[dense / group] * group + dense % group);
  }

  /// The contents of a page are gone; its state is the caller's to say.
  void remove(PageNumber page) {
    log_.add(FaultLog::Event::released, dense(page));
    policy_->released(dense(page));
  }
  /// The contents of a page are another's now, which was fresh; their states are the caller's.
  void rename(PageNumber from, PageNumber to) {
    log_.add(FaultLog::Event::moved_from, dense(from));
    log_.add(FaultLog::Event::moved_to, dense(to));
    policy_->moved(dense(from), dense(to));
  }

 private:
  static constexpr int for_writing = 1;

  /// Pages of memory that the policy needs for so many groups.
  [[nodiscard]] std::size_t policy_pages(std::size_t groups) const {
    constexpr std::size_t bytes = 4096;
    return (groups * group * policy_->bytes_per_page() + bytes - 1) / bytes;
  }

  Page* pages_ = nullptr;
  Groups groups_{};
  std::size_t count_ = 0;
  policy::Replacement* policy_ = nullptr;
  FaultLog log_;
  std::uint32_t used_groups_ = 0;  // at once at most, so far
  std::uint32_t free_ranks_ = 0;  // of those, given back
  std::uint32_t first_free_plus_one_ = 0;
  std::uint64_t limit_ = 0;
};

}  // namespace nearfar::tier
