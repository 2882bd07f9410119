#pragma once

#include "tier/far/far_file.h"
#include "tier/far/far_store.h"
#include "tier/far/far_stores.h"

namespace nearfar::tier {

/// Pages as they are, in slots of 4 KiB of a file, read and written by system calls. Pages that lie
/// side by side at both ends move by one call.
class FileStore : public FarStore {
 public:
  FileStore(const Slots& slots, const FarFile& file)
      : FarStore(slots, file.descriptor()), file_(file) {}

  [[nodiscard]] Run view(std::span<const Page> pages, unsigned char* buffer) override;
  [[nodiscard]] Traffic read(std::span<const Page> pages, unsigned char* to) override;
  [[nodiscard]] const void* in_place(const Page& page) const override;
  void expect(std::span<const Page> pages) const override;
  [[nodiscard]] Traffic find_copies(std::span<const Page* const> pages, unsigned char* buffer,
                                    std::span<const void*> copies) override;
  [[nodiscard]] Written write(std::span<const Outgoing> pages) override;

 protected:
  ~FileStore() = default;

  [[nodiscard]] const FarFile& file() const { return file_; }
  /// How many of these pages, from the first on, lie side by side in the file, too.
  [[nodiscard]] static std::size_t adjacent(std::span<const Page> pages);

 private:
  FarFile file_;
};

[[nodiscard]] FarStore& make_file_store(FarStoreStorage& at, const FarMemory& memory);

}  // namespace nearfar::tier
