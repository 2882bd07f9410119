#pragma once

#include <cstdint>
#include <functional>

namespace nearfar::frontend::qemu {

/// Calls `take(page)` for every page of 4 KiB in [begin, end) of this process's memory that is
/// there: it was touched, or is part of a huge page of which something was. Guest addresses are
/// this process's own. Where the kernel does not tell, and for more than 16 GiB, there are none.
void each_touched_page(std::uint64_t begin, std::uint64_t end,
                       const std::function<void(std::uint64_t page)>& take);

}  // namespace nearfar::frontend::qemu
