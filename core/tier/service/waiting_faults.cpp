#include "tier/service/waiting_faults.h"

namespace nearfar::tier {

bool WaitingFaults::reserve(std::size_t most, std::size_t workers) {
  if (faults_ == nullptr)
    faults_ = os::pointer<WaitingFault>(os::reserve((most + workers) * sizeof(WaitingFault)));
  most_ = most;
  return faults_ != nullptr;
}

}  // namespace nearfar::tier
