#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// The record of a page in eight bytes: its neighbours in its queue, which queue that is (0:
/// none), and a mark of the policy's own. All zeros is a page that never came.
struct PageRecord {
  static constexpr std::uint8_t none = 0;  ///< of a page that is in no queue
  static constexpr std::uint8_t highest_mark = 15;
  static constexpr std::uint32_t notes = std::uint32_t{1} << 28;  ///< a note counts modulo so many
  static constexpr std::uint32_t link = notes - 1;
  static constexpr std::uint32_t end = link;  ///< beyond the last page, and before the first

  std::uint32_t before : 28 = 0;
  std::uint32_t queue : 4 = 0;
  std::uint32_t after : 28 = 0;
  std::uint32_t mark : 4 = 0;
};
static_assert(sizeof(PageRecord) == 8);

/// The resident pages of a policy in up to `Count` queues, and a little about each page.
///
/// One array of records, in the caller's memory, links every queue. A page that is in no queue
/// needs no neighbours, so their place holds a note about it (when it left, say); its mark stays.
/// Every operation touches at most three pages. A policy that knows more of a page derives its own
/// record from `PageRecord`.
template <std::uint8_t Count, typename Record = PageRecord>
class PageQueues {
 public:
  static_assert(Count < 16);
  void keep_in(void* records) { records_ = static_cast<Record*>(records); }

  [[nodiscard]] Record& operator[](PageIndex page) { return records_[page]; }
  [[nodiscard]] const Record& operator[](PageIndex page) const { return records_[page]; }

  [[nodiscard]] std::uint8_t queue_of(PageIndex page) const {
    return static_cast<std::uint8_t>(records_[page].queue);
  }
  [[nodiscard]] bool holds(PageIndex page) const {
    return records_[page].queue != PageRecord::none;
  }
  [[nodiscard]] PageIndex size(std::uint8_t queue) const { return ends_[queue].size; }
  [[nodiscard]] PageIndex size() const { return size_; }

  /// The page that came first; no_page when the queue is empty.
  [[nodiscard]] PageIndex front(std::uint8_t queue) const { return page_of(ends_[queue].front); }
  /// The page that came last; no_page when the queue is empty.
  [[nodiscard]] PageIndex back(std::uint8_t queue) const { return page_of(ends_[queue].back); }

  /// The page is in no queue.
  void push_back(std::uint8_t queue, PageIndex page) {
    Ends& ends = ends_[queue];
    Record& record = records_[page];
    record.before = ends.back & PageRecord::link;
    record.after = PageRecord::end;
    record.queue = queue & 15U;
    follow(ends, ends.back, page);
    ends.back = page;
    ++ends.size;
    ++size_;
  }

  /// The page is in a queue, and leaves it with no note.
  void remove(PageIndex page) {
    Record& record = records_[page];
    Ends& ends = ends_[record.queue];
    follow(ends, record.before, record.after);
    precede(ends, record.after, record.before);
    record.queue = PageRecord::none;
    record.before = record.after = 0;
    --ends.size;
    --size_;
  }

  void move_to_back(std::uint8_t queue, PageIndex page) {
    remove(page);
    push_back(queue, page);
  }

  /// Takes the page out, if it is in, and clears its record.
  void forget(PageIndex page) {
    if (holds(page)) remove(page);
    records_[page] = {};
  }

  /// Another page takes the place of a page, in its queue and with its record.
  void rename(PageIndex from, PageIndex to) {
    const Record record = records_[from];
    if (record.queue != PageRecord::none) {
      Ends& ends = ends_[record.queue];
      follow(ends, record.before, to);
      precede(ends, record.after, to);
    }
    records_[to] = record;
    records_[from] = {};
  }

  /// Asks of memory, a page further from the front each time, what `remove` will need of it: a
  /// queue is a chain, of which nothing can be asked before the link to it is there. `look_again`
  /// begins at the front. What is read of a page that has left meanwhile may lead to any other,
  /// which does no harm.
  void look_ahead(std::uint8_t queue) {
    const std::uint32_t page =
        ahead_ == PageRecord::end ? ends_[queue].front : records_[ahead_].after;
    ahead_ = page;
    if (page != PageRecord::end) __builtin_prefetch(&records_[page], for_writing);
  }
  void look_again() { ahead_ = PageRecord::end; }

  /// 0 for a page that none was given.
  [[nodiscard]] std::uint8_t mark(PageIndex page) const {
    return static_cast<std::uint8_t>(records_[page].mark);
  }
  void set_mark(PageIndex page, unsigned mark) {
    records_[page].mark = mark & PageRecord::highest_mark;
  }

  /// Of a page that is in no queue: what was noted since it left.
  [[nodiscard]] std::uint32_t note(PageIndex page) const { return records_[page].before; }
  void set_note(PageIndex page, std::uint32_t note) {
    records_[page].before = note % PageRecord::notes;
  }

 private:
  struct Ends {
    std::uint32_t front = PageRecord::end;
    std::uint32_t back = PageRecord::end;
    PageIndex size = 0;
  };

  [[nodiscard]] static PageIndex page_of(std::uint32_t at) {
    return at == PageRecord::end ? no_page : at;
  }

  void follow(Ends& ends, std::uint32_t before, std::uint32_t page) {
    if (before == PageRecord::end) {
      ends.front = page;
    } else {
      records_[before].after = page & PageRecord::link;
    }
  }
  void precede(Ends& ends, std::uint32_t after, std::uint32_t page) {
    if (after == PageRecord::end) {
      ends.back = page;
    } else {
      records_[after].before = page & PageRecord::link;
    }
  }

  static constexpr int for_writing = 1;

  Record* records_ = nullptr;
  std::array<Ends, Count + std::size_t{1}> ends_{};
  std::uint32_t ahead_ = PageRecord::end;
  PageIndex size_ = 0;
};

/// The part that all policies over such queues share.
///
/// Pages that could not leave wait in a queue of their own until as many others have left as are
/// resident, since the first of them came there, or none is left. Only then does the policy get
/// them back: one that named a page at once again would never come to a page that can leave.
template <std::uint8_t Count, typename Record = PageRecord>
class QueuedReplacement : public Replacement {
 public:
  [[nodiscard]] std::size_t bytes_per_page() const override { return sizeof(Record); }
  void keep_in(void* records) override { pages_.keep_in(records); }
  [[nodiscard]] const void* record(PageIndex page) const override { return &pages_[page]; }
  void released(PageIndex page) override { pages_.forget(page); }
  void moved(PageIndex from, PageIndex to) override { pages_.rename(from, to); }
  void refused(PageIndex page) final {
    left_ = pages_.size(aside) == 0 || left_ == 0 ? 0 : left_ - 1;
    pages_.push_back(aside, page);
  }
  [[nodiscard]] PageIndex evict() final {
    const PageIndex waiting = pages_.size(aside);
    if (waiting != 0 && (++left_ > pages_.size() || waiting == pages_.size())) readmit_all();
    pages_.look_again();
    return choose();
  }
  [[nodiscard]] PageIndex resident() const override { return pages_.size(); }
  [[nodiscard]] bool is_resident(PageIndex page) const override { return pages_.holds(page); }
  [[nodiscard]] PageIndex passed_over() const override { return pages_.size(aside); }
  void resize(PageIndex) override {}
  [[nodiscard]] unsigned scans_per_turnover() const override { return 4; }

 protected:
  ~QueuedReplacement() = default;

  /// The page that leaves next, of those in the policy's own queues.
  [[nodiscard]] virtual PageIndex choose() = 0;
  /// A page that could not leave is in no queue now, and the policy's again.
  virtual void readmitted(PageIndex page) = 0;
  /// Whether a page is in one of the policy's own queues.
  [[nodiscard]] bool mine(PageIndex page) const {
    const std::uint8_t queue = pages_.queue_of(page);
    return queue != 0 && queue != aside;
  }

  PageQueues<Count + 1, Record> pages_;

 private:
  enum : std::uint8_t { aside = Count + 1 };

  void readmit_all() {
    for (PageIndex left = pages_.size(aside); left > 0; --left) {
      const PageIndex page = pages_.front(aside);
      pages_.remove(page);
      readmitted(page);
    }
  }

  PageIndex left_ = 0;  // since the first of those aside was put there
};

}  // namespace nearfar::policy
