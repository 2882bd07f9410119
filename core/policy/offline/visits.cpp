#include "policy/offline/visits.h"

#include "base/error.h"

namespace nearfar::policy {

void Visits::access(std::uint64_t number, bool write) {
  ++accesses_;
  if (!visits_.empty() && number == last_number_ && !visits_.back().release()) {
    if (write) visits_.back().add_write();
    return;
  }
  last_number_ = number;
  const auto [found, added] = pages_.try_emplace(number, pages());
  if (added && found->second >= most_pages) {
    throw InputError("trace: found more than 2^28 - 1 pages (1 TiB), expected fewer");
  }
  visits_.emplace_back(found->second, write ? Visit::writes : Visit::reads);
}

void Visits::release(std::uint64_t number) {
  const auto found = pages_.find(number);
  if (found == pages_.end()) return;
  visits_.emplace_back(found->second, Visit::releases);
  ++releases_;
}

}  // namespace nearfar::policy
