#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tier/far/chunks.h"
#include "tier/far/codec.h"
#include "tier/far/far_file.h"
#include "tier/far/far_store.h"
#include "tier/far/far_stores.h"

namespace nearfar::tier {

/// Compressed pages, in slots of their size (chunks.h). A page that would save less than an eighth
/// is stored as it is, and one that is a single word of 32 bits, repeated, takes no slot: its entry
/// holds the word. As slots have many sizes, each page is read and written by itself.
class CompressedStore final : public FarStore {
 public:
  /// Ends the process if the compressor cannot be used.
  CompressedStore(const Slots& slots, const FarFile& file, Compression compression);

  [[nodiscard]] Run view(std::span<const Page> pages, unsigned char* buffer) override;
  [[nodiscard]] Traffic read(std::span<const Page> pages, unsigned char* to) override;
  [[nodiscard]] const void* in_place(const Page& page) const override;
  void expect(std::span<const Page> pages) const override;
  [[nodiscard]] Traffic find_copies(std::span<const Page* const> pages, unsigned char* buffer,
                                    std::span<const void*> copies) override;
  [[nodiscard]] Written write(std::span<const Outgoing> pages) override;

 private:
  /// A compressed page, as it lies in its slot.
  struct Packed {
    std::uint16_t length;
    std::array<unsigned char, os::page_bytes / 8 * 7 - sizeof(std::uint16_t)> bytes;
  };
  /// A page on its way to a slot.
  struct Packing {
    const void* contents;  ///< `packed_`, or the page as it is
    Chunks::Class size;  ///< of the slot that it needs
  };

  [[nodiscard]] Run view_stored(const Page& page, unsigned char* buffer);
  [[nodiscard]] Traffic read_one(const Page& page, unsigned char* to);
  [[nodiscard]] Packing pack(const void* contents);
  void find_slot(Page& page, Chunks::Class size);

  FarFile file_;
  Codec codec_;
  Packed packed_{};  // on its way in or out
};

[[nodiscard]] FarStore& make_compressed_store(FarStoreStorage& at, const FarMemory& memory);

}  // namespace nearfar::tier
