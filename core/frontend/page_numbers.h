#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "frontend/page_table.h"
#include "policy/page.h"

namespace nearfar::frontend {

/// Dense numbers for a program's pages, as policies want them: from 0 on, and a number that was
/// given back is handed out again.
class PageNumbers {
 public:
  /// `huge`: all pages are of 2 MiB, else of 4 KiB.
  explicit PageNumbers(bool huge) : huge_(huge) {}

  /// The number of the page that begins at `address`; no_page if it has none.
  [[nodiscard]] policy::PageIndex of(std::uint64_t address) const {
    const PageTable::Found found = numbers_.find(address);
    return found.word == 0 ? policy::no_page : found.word - 1;
  }
  [[nodiscard]] std::uint64_t address_of(policy::PageIndex page) const { return addresses_[page]; }

  /// A number for a page that has none.
  policy::PageIndex take(std::uint64_t address) {
    policy::PageIndex page = 0;
    if (free_.empty()) {
      page = static_cast<policy::PageIndex>(addresses_.size());
      if (page >= policy::most_pages)
        throw InputError("the program has too many pages, over 1 TiB");
      addresses_.push_back(address);
    } else {
      page = free_.back();
      free_.pop_back();
    }
    set(page, address);
    return page;
  }
  void give_back(policy::PageIndex page) {
    numbers_.set(addresses_[page], huge_, 0);
    free_.push_back(page);
  }
  /// The page lies at another address from now on. Several pages that move together are all taken
  /// from their old addresses first.
  void leave(policy::PageIndex page) { numbers_.set(addresses_[page], huge_, 0); }
  void set(policy::PageIndex page, std::uint64_t address) {
    addresses_[page] = address;
    numbers_.set(address, huge_, page + 1);
  }

 private:
  bool huge_;
  PageTable numbers_;
  std::vector<std::uint64_t> addresses_;  ///< by number
  std::vector<policy::PageIndex> free_;
};

}  // namespace nearfar::frontend
