#include "tier/far/file_store.h"

#include "tier/os/system.h"

namespace nearfar::tier {
namespace {

using os::page_bytes;

/// A store that is used as it is.
class PlainFileStore final : public FileStore {
 public:
  using FileStore::FileStore;
};

const unsigned char* bytes_of(const FarStore::Outgoing& page) {
  return static_cast<const unsigned char*>(page.contents);
}

}  // namespace

FarStore& make_file_store(FarStoreStorage& at, const FarMemory& memory) {
  const Slots slots(*memory.control, memory.users);
  return make_far_store_at<PlainFileStore>(at, slots, FarFile(memory.descriptor));
}

std::size_t FileStore::adjacent(std::span<const Page> pages) {
  std::size_t run = 1;
  while (run < pages.size() && pages[run].slot() == pages[0].slot() + run) ++run;
  return run;
}

FarStore::Run FileStore::view(std::span<const Page> pages, unsigned char* buffer) {
  return {buffer, pages.size(), read(pages, buffer)};
}

FarStore::Traffic FileStore::read(std::span<const Page> pages, unsigned char* to) {
  const Traffic all{pages.size(), pages.size() * page_bytes};
  while (!pages.empty()) {
    const std::size_t run = adjacent(pages);
    file_.read(pages[0].slot(), to, run);
    to += run * page_bytes;
    pages = pages.subspan(run);
  }
  return all;
}

const void* FileStore::in_place(const Page& /*page*/) const { return nullptr; }

void FileStore::expect(std::span<const Page> /*pages*/) const {}  // reading says it at once

FarStore::Traffic FileStore::find_copies(std::span<const Page* const> pages, unsigned char* buffer,
                                         std::span<const void*> copies) {
  Traffic traffic;
  for (std::size_t i = 0; i < pages.size();) {
    std::size_t run = 1;
    if (pages[i] != nullptr) {
      const Slot first = pages[i]->slot();
      while (i + run < pages.size() && pages[i + run] != nullptr &&
             pages[i + run]->slot() == first + run)
        ++run;
      file_.read(first, buffer + i * page_bytes, run);
      for (std::size_t j = i; j < i + run; ++j) copies[j] = buffer + j * page_bytes;
      traffic += {run, run * page_bytes};
    }
    i += run;
  }
  return traffic;
}

FarStore::Written FileStore::write(std::span<const Outgoing> pages) {
  for (const Outgoing& outgoing : pages)
    if (!outgoing.page->stored()) enter(*outgoing.page, slots().take());
  for (std::size_t first = 0; first < pages.size();) {
    const Slot slot = pages[first].page->slot();
    std::size_t run = 1;
    while (first + run < pages.size() && pages[first + run].page->slot() == slot + run &&
           bytes_of(pages[first + run]) == bytes_of(pages[first]) + run * page_bytes)
      ++run;
    file_.write(slot, pages[first].contents, run);
    first += run;
  }
  return {.traffic = {pages.size(), pages.size() * page_bytes}};
}

}  // namespace nearfar::tier
