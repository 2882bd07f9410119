#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "policy/page.h"

namespace nearfar::policy {

/// Pages in an order, each found at once.
class PageList {
 public:
  [[nodiscard]] std::size_t size() const { return at_.size(); }
  [[nodiscard]] bool contains(PageIndex page) const { return at_.contains(page); }
  [[nodiscard]] PageIndex first() const { return order_.front(); }

  void push_back(PageIndex page) { at_.emplace(page, order_.insert(order_.end(), page)); }
  void move_to_back(PageIndex page) { order_.splice(order_.end(), order_, at_.at(page)); }
  void remove(PageIndex page) {
    const auto found = at_.find(page);
    if (found == at_.end()) return;
    order_.erase(found->second);
    at_.erase(found);
  }

 private:
  std::list<PageIndex> order_;
  std::unordered_map<PageIndex, std::list<PageIndex>::iterator> at_;
};

}  // namespace nearfar::policy
