#include "tier/far/memory_store.h"

#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier {

using os::page_bytes;

/// A file that does not lie in memory, or for which there are too few addresses (ulimit -v), is
/// read and written by system calls instead.
FarStore& make_memory_store(FarStoreStorage& at, const FarMemory& memory) {
  FarFile file(memory.descriptor);
  file.map(memory.control->far_slots);
  if (!file.mapped()) return make_file_store(at, memory);
  return make_far_store_at<MemoryStore>(at, Slots(*memory.control, memory.users), file);
}

FarStore::Run MemoryStore::view(std::span<const Page> pages, unsigned char* /*buffer*/) {
  const std::size_t run = adjacent(pages);
  return {in_place(pages[0]), run, {run, run * page_bytes}};
}

FarStore::Traffic MemoryStore::read(std::span<const Page> pages, unsigned char* to) {
  Traffic all;
  while (!pages.empty()) {
    const Run run = view(pages, to);
    expect(pages.first(run.pages));
    std::memcpy(to, run.contents, run.traffic.bytes);
    to += run.traffic.bytes;
    all += run.traffic;
    pages = pages.subspan(run.pages);
  }
  return all;
}

const void* MemoryStore::in_place(const Page& page) const { return file().at(page.slot()); }

void MemoryStore::expect(std::span<const Page> pages) const {
  file().expect(pages.front().slot() + static_cast<Slot>(adjacent(pages)) - 1);
}

FarStore::Traffic MemoryStore::find_copies(std::span<const Page* const> pages,
                                           unsigned char* /*buffer*/,
                                           std::span<const void*> copies) {
  file().expect_written();  // compared now, and written in place next
  Traffic traffic;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (pages[i] == nullptr) continue;
    copies[i] = in_place(*pages[i]);
    traffic += {1, page_bytes};
  }
  return traffic;
}

}  // namespace nearfar::tier
