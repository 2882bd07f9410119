#pragma once

#include <memory>

#include "policy/replacement/replacement.h"

namespace nearfar::policy {

// One file each; the list with their names is in replacement.cpp.
[[nodiscard]] std::unique_ptr<Replacement> make_fifo_replacement(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_clock(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_lru_approx(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_two_q(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_s3_fifo(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_raminate(PageIndex capacity);
[[nodiscard]] std::unique_ptr<Replacement> make_regret(PageIndex capacity);

}  // namespace nearfar::policy
