#pragma once

#include <algorithm>
#include <cstddef>

#include "policy/placement/placement.h"

namespace nearfar::policy {

/// A policy whose records of pages say themselves whether there is a page (`known`) and whether it
/// is near (`near`): it looks through all of them when it decides.
template <class Record>
class TieredPages : public Placement {
 public:
  explicit TieredPages(PageIndex near_pages) : capacity_(near_pages) {}

  [[nodiscard]] std::size_t bytes_per_page() const override { return sizeof(Record); }
  void keep_in(void* records) override { records_ = static_cast<Record*>(records); }
  void released(PageIndex page) override {
    near_ -= records_[page].near ? 1 : 0;
    records_[page] = {};
  }
  void moved(PageIndex from, PageIndex to) override {
    records_[to] = records_[from];
    records_[from] = {};
    pages_ = std::max(pages_, to + 1);
  }
  void resize(PageIndex near_pages) override { capacity_ = near_pages; }

 protected:
  ~TieredPages() = default;

  [[nodiscard]] Record& at(PageIndex page) { return records_[page]; }
  /// All pages that there are have numbers below.
  [[nodiscard]] PageIndex end() const { return pages_; }
  /// How many pages more fit into near memory.
  [[nodiscard]] PageIndex room() const { return capacity_ - std::min(capacity_, near_); }
  /// The page is in this tier from now on; its record.
  Record& put(PageIndex page, Tier tier) {
    Record& record = records_[page];
    const bool near = tier == Tier::near;
    near_ += static_cast<PageIndex>(near) - static_cast<PageIndex>(record.near);
    record.known = true;
    record.near = near;
    pages_ = std::max(pages_, page + 1);
    return record;
  }

 private:
  Record* records_ = nullptr;
  PageIndex pages_ = 0;
  PageIndex capacity_ = 0;
  PageIndex near_ = 0;
};

}  // namespace nearfar::policy
