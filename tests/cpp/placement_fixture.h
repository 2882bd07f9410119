#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "policy/placement/placement.h"

namespace nearfar::policy {

/// A policy as one would write it: promotes pages that the last scan found used, in exchange for
/// pages that it found unused.
class PromotesUsed final : public Placement {
 public:
  [[nodiscard]] std::size_t bytes_per_page() const override { return sizeof(Record); }
  void keep_in(void* records) override { records_ = static_cast<Record*>(records); }
  [[nodiscard]] Tier place(PageIndex, PageIndex near_free) override {
    return near_free != 0 ? Tier::near : Tier::far;
  }
  void placed(PageIndex page, Tier tier) override {
    pages_ = std::max(pages_, page + 1);
    records_[page].known = true;
    records_[page].near = tier == Tier::near;
  }
  void released(PageIndex page) override { records_[page] = {}; }
  void moved(PageIndex from, PageIndex to) override {
    pages_ = std::max(pages_, to + 1);
    records_[to] = std::exchange(records_[from], {});
  }
  [[nodiscard]] bool needs_scans() const override { return true; }
  void scanned(std::span<const Scan> pages) override {
    for (const Scan& found : pages) {
      records_[found.page].used = found.accessed;
      records_[found.page].written = found.written;
    }
  }
  [[nodiscard]] std::size_t decide(std::span<Exchange> exchanges) override {
    std::size_t count = 0;
    PageIndex cold = 0;
    for (PageIndex hot = 0; hot < pages_ && count < exchanges.size(); ++hot) {
      if (!records_[hot].known || records_[hot].near || !records_[hot].used) continue;
      while (cold < pages_ && !(records_[cold].near && !records_[cold].used)) ++cold;
      if (cold == pages_) break;
      exchanges[count++] = {.promote = hot, .demote = cold++};
    }
    return count;
  }
  void resize(PageIndex) override {}

  /// What the last scan found of a page.
  [[nodiscard]] bool used(PageIndex page) const { return records_[page].used; }
  [[nodiscard]] bool written(PageIndex page) const { return records_[page].written; }

 private:
  struct Record {
    bool known = false, near = false, used = false, written = false;
  };
  Record* records_ = nullptr;
  PageIndex pages_ = 0;
};

}  // namespace nearfar::policy
