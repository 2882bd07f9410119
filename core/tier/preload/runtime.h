#pragma once

#include "tier/pager/pager.h"
#include "tier/preload/guest.h"
#include "tier/preload/launch.h"
#include "tier/preload/space.h"
#include "tier/service/service.h"

namespace nearfar::tier::preload {

/// What manages this process. The library's interposed functions run before any constructor, in
/// whatever thread calls first, so it starts on first use; and there is one address space, hence
/// the one mutable global.
struct Runtime {
  Pager& pager;
  Service& service;
  Space& space;
  Control& control;
  Launch launch;  ///< where a program that this process executes will look
  Guest guest;    ///< if it is given, nothing but the guest's memory is managed
};

/// The runtime, started if need be; null in a process that was not launched to be managed.
[[nodiscard]] Runtime* runtime();

/// brk(2), as the kernel answers it: where the break is afterwards.
[[nodiscard]] long raw_break(os::Place to);

}  // namespace nearfar::tier::preload
