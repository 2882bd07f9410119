#pragma once

#include <cstddef>
#include <cstdint>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

/// Four of the eight bytes of a page whose policy needs no order: which state it is in, and one
/// place of the list of resident pages, which as a rule holds another page.
struct SampledRecord {
  std::uint32_t listed : 28 = 0;
  std::uint32_t in_list : 1 = 0;
  std::uint32_t resident : 1 = 0;
  std::uint32_t aside : 1 = 0;  ///< resident, but named before and refused
};
static_assert(sizeof(SampledRecord) == 4);

/// What a policy does that draws a few resident pages and names the worst of them: it has no links
/// to keep, so that four bytes of eight are left for what it knows of a page.
///
/// The list of resident pages lies in the records themselves, the n-th entry in the record of page
/// n. A hand goes round it. A page that leaves stays listed until the hand comes by, which fills
/// its place with the last of the list; a page that is back before is listed already. So nothing
/// has to find a page's place, and no page is listed twice.
///
/// Pages that could not leave are passed over until as many others have left as are resident,
/// since the first of them was refused, or none is left.
template <typename Record>
class SampledReplacement : public Replacement {
 public:
  [[nodiscard]] std::size_t bytes_per_page() const override { return sizeof(Record); }
  void keep_in(void* records) override { records_ = static_cast<Record*>(records); }
  [[nodiscard]] const void* record(PageIndex page) const override { return &records_[page]; }
  void released(PageIndex page) override {
    leave(page);
    forget(page);
  }
  void moved(PageIndex from, PageIndex to) override {
    const Record record = records_[from];
    leave(from);
    forget(from);
    static_cast<Record::Facts&>(records_[to]) = static_cast<const Record::Facts&>(record);
    if (record.resident == 0) return;
    enter(to);
    if (record.aside != 0) put_aside(to);
  }
  void refused(PageIndex page) final {
    left_ = waiting_ == 0 || left_ == 0 ? 0 : left_ - 1;
    enter(page);
    put_aside(page);
  }
  [[nodiscard]] PageIndex evict() final {
    if (waiting_ != 0 && (++left_ > resident_ || waiting_ == resident_)) readmit_all();
    if (resident_ == 0) return no_page;
    const PageIndex page = choose();
    leave(page);
    return page;
  }
  [[nodiscard]] PageIndex resident() const override { return resident_; }
  [[nodiscard]] bool is_resident(PageIndex page) const override {
    return records_[page].resident != 0;
  }
  [[nodiscard]] PageIndex passed_over() const override { return waiting_; }
  [[nodiscard]] unsigned scans_per_turnover() const override { return 4; }

 protected:
  ~SampledReplacement() = default;

  /// The page that leaves next; at least one is `mine`.
  [[nodiscard]] virtual PageIndex choose() = 0;
  /// A page that could not leave is the policy's again.
  virtual void readmitted(PageIndex page) = 0;

  [[nodiscard]] Record& operator[](PageIndex page) { return records_[page]; }
  [[nodiscard]] const Record& operator[](PageIndex page) const { return records_[page]; }
  /// Whether a page is resident, and not aside.
  [[nodiscard]] bool mine(PageIndex page) const {
    return records_[page].resident != 0 && records_[page].aside == 0;
  }
  /// The page, which is not resident, is.
  void enter(PageIndex page) {
    Record& record = records_[page];
    record.resident = 1;
    ++resident_;
    if (record.in_list != 0) return;
    record.in_list = 1;
    records_[listed_++].listed = page & most_pages;
  }
  /// The next page that is `mine`, of which there is one, as the hand goes round.
  [[nodiscard]] PageIndex draw() {
    while (true) {
      if (hand_ >= listed_) hand_ = 0;
      const PageIndex page = records_[hand_].listed;
      if (records_[page].resident == 0) {
        records_[page].in_list = 0;
        records_[hand_].listed = records_[--listed_].listed;
        continue;
      }
      ++hand_;
      if (records_[page].aside == 0) return page;
    }
  }
  /// Pages that are `mine`.
  [[nodiscard]] PageIndex choices() const { return resident_ - waiting_; }

 private:
  void leave(PageIndex page) {
    Record& record = records_[page];
    if (record.resident == 0) return;
    --resident_;
    if (record.aside != 0) --waiting_;
    record.resident = record.aside = 0;
  }
  void forget(PageIndex page) { static_cast<Record::Facts&>(records_[page]) = {}; }
  void put_aside(PageIndex page) {
    records_[page].aside = 1;
    ++waiting_;
  }
  void readmit_all() {
    waiting_ = 0;
    for (PageIndex place = 0; place < listed_; ++place) {
      const PageIndex page = records_[place].listed;
      if (records_[page].aside == 0) continue;
      records_[page].aside = 0;
      readmitted(page);
    }
  }

  Record* records_ = nullptr;
  PageIndex listed_ = 0;
  PageIndex hand_ = 0;
  PageIndex resident_ = 0;
  PageIndex waiting_ = 0;  // of them those aside
  PageIndex left_ = 0;  // since the first of those was
};

}  // namespace nearfar::policy
