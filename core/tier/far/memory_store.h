#pragma once

#include "tier/far/file_store.h"

namespace nearfar::tier {

/// Pages as they are, in a file that lies in memory and is mapped: read where they lie.
class MemoryStore final : public FileStore {
 public:
  using FileStore::FileStore;

  [[nodiscard]] Run view(std::span<const Page> pages, unsigned char* buffer) override;
  [[nodiscard]] Traffic read(std::span<const Page> pages, unsigned char* to) override;
  [[nodiscard]] const void* in_place(const Page& page) const override;
  void expect(std::span<const Page> pages) const override;
  [[nodiscard]] Traffic find_copies(std::span<const Page* const> pages, unsigned char* buffer,
                                    std::span<const void*> copies) override;
};

[[nodiscard]] FarStore& make_memory_store(FarStoreStorage& at, const FarMemory& memory);

}  // namespace nearfar::tier
