#include "policy/offline/touches.h"

#include <algorithm>

#include "base/error.h"

namespace nearfar::policy {

void Touches::access(std::uint64_t number, bool write, Tick at) {
  pass(at);
  if (number != last_number_) {
    const auto [found, added] = pages_.try_emplace(number, pages());
    if (added && found->second >= most_pages) {
      throw InputError("trace: found more than 2^28 - 1 pages (1 TiB), expected fewer");
    }
    last_number_ = number;
    last_page_ = found->second;
  }
  touches_.emplace_back(last_page_, write ? Touch::writes : Touch::reads);
  ++accesses_;
  if (write) ++writes_;
}

void Touches::pass(Tick at) {
  if (at <= duration_) return;
  duration_ = at;
  constexpr std::uint64_t most = 1U << 30U;  // that a word holds, less one
  for (const std::uint64_t now = at / step_; passed_ < now;) {
    const std::uint64_t steps = std::min(now - passed_, most - 1);
    touches_.emplace_back(static_cast<std::uint32_t>(steps), Touch::steps);
    passed_ += steps;
  }
}

std::uint64_t Touches::intervals() const { return passed_ / steps_a_decision + 1; }

}  // namespace nearfar::policy
