// The bytes that a memory holds, in pages that exist once they are written.
#ifndef NEARFAR_SYSTEMC_BYTES_H
#define NEARFAR_SYSTEMC_BYTES_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace nearfar::systemc {

class Bytes {
 public:
  void write(std::uint64_t address, const unsigned char* from, std::uint64_t size) {
    each_page(address, size, [&](std::uint64_t number, std::uint64_t offset, std::uint64_t part) {
      std::vector<unsigned char>& page = pages_[number];
      page.resize(page_bytes);
      std::memcpy(page.data() + offset, from, part);
      from += part;
    });
  }

  /// Bytes that were never written are 0.
  void read(std::uint64_t address, unsigned char* into, std::uint64_t size) const {
    each_page(address, size, [&](std::uint64_t number, std::uint64_t offset, std::uint64_t part) {
      const auto page = pages_.find(number);
      if (page == pages_.end()) {
        std::memset(into, 0, part);
      } else {
        std::memcpy(into, page->second.data() + offset, part);
      }
      into += part;
    });
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;

  template <typename Use>
  static void each_page(std::uint64_t address, std::uint64_t size, Use use) {
    while (size > 0) {
      const std::uint64_t offset = address % page_bytes;
      const std::uint64_t part = std::min(size, page_bytes - offset);
      use(address / page_bytes, offset, part);
      address += part;
      size -= part;
    }
  }

  std::unordered_map<std::uint64_t, std::vector<unsigned char>> pages_;
};

}  // namespace nearfar::systemc

#endif
