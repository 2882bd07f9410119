#pragma once

#include <cstddef>
#include <list>
#include <unordered_map>

#include "policy/policy.h"

namespace nearfar::policy {

/// Pages in an order, each found at once.
class PageList {
 public:
  [[nodiscard]] std::size_t size() const { return at_.size(); }
  [[nodiscard]] bool contains(Page page) const { return at_.contains(page); }
  [[nodiscard]] Page first() const { return order_.front(); }

  void push_back(Page page) { at_.emplace(page, order_.insert(order_.end(), page)); }
  void move_to_back(Page page) { order_.splice(order_.end(), order_, at_.at(page)); }
  void remove(Page page) {
    const auto found = at_.find(page);
    if (found == at_.end()) return;
    order_.erase(found->second);
    at_.erase(found);
  }

 private:
  std::list<Page> order_;
  std::unordered_map<Page, std::list<Page>::iterator> at_;
};

}  // namespace nearfar::policy
