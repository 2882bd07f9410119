#pragma once

#include "tier/pager/eviction.h"
#include "tier/pager/far_pages.h"
#include "tier/pager/fault_windows.h"
#include "tier/pager/forked_children.h"
#include "tier/pager/huge_pages.h"
#include "tier/pager/incoming_groups.h"
#include "tier/pager/page_in.h"
#include "tier/pager/read_ahead.h"
#include "tier/pager/remap.h"
#include "tier/pager/state.h"
#include "tier/pager/write_back.h"
#include "tier/pager/write_protection.h"
#include "tier/pager/zero_pages.h"

namespace nearfar::tier {

/// The parts by which pages leave and come, in this order: each uses only those before it.
struct Parts {
  Parts(Region region, PageTable table, Control& control, FarStore& store, Kernel kernel)
      : state(region, table, control, store, kernel) {}

  PagerState state;
  FarPages far{state};
  WriteProtection protection{};
  WriteBack write_back{state, far, protection};
  IncomingGroups incoming{state, far};
  HugePages huge{state, incoming};
  Arrivals arrivals{state, huge};
  FaultWindows windows{state, arrivals, huge, incoming};
  ForkedChildren children{state};
  Eviction eviction{state, {write_back, huge, incoming, windows, children}};
  PageIn page_in{state, far, arrivals, eviction, protection};
  ZeroPages zeros{state, arrivals, incoming, eviction};
  ReadAhead read_ahead{state, {page_in, eviction, arrivals, huge, incoming, windows, zeros}};
  Remap remap{state, far, eviction, windows};
};

}  // namespace nearfar::tier
