#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/address.h"
#include "probe/backing.h"

namespace nearfar::probe {

/// The pages a mapping is made of.
enum class Pages : std::uint8_t { small, huge, gigantic };

/// "4KiB", "2MiB" or "1GiB"; throws InputError for anything else.
[[nodiscard]] Pages parse_pages(const std::string& name);

/// Where memory is to come from.
struct MemoryRequest {
  Bytes bytes = 0;
  Pages pages = Pages::small;
  int node = -1;  ///< the NUMA node; -1: wherever the kernel puts it
  std::string path{}; ///< a file or device, mapped shared; empty: anonymous memory
  bool destructive = false;  ///< what the path holds may be lost
};

/// A stretch of address space, given back at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* start, Bytes bytes) : start_(start), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  [[nodiscard]] std::byte* start() const { return static_cast<std::byte*>(start_); }

 private:
  void* start_ = nullptr;
  Bytes bytes_ = 0;
};

/// Memory to measure: mapped, every page touched, so that no page fault falls into a timing.
/// Exactly what was asked for, or InputError: pages of another size would be another experiment.
class Memory {
 public:
  explicit Memory(const MemoryRequest& request);

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] Bytes size() const { return size_; }
  /// Throws InputError if `wanted` bytes are more than there are.
  void check_holds(Bytes wanted) const;
  /// Whether stores reach the medium without the page cache (the mapping took MAP_SYNC).
  [[nodiscard]] bool synchronous() const { return synchronous_; }

 private:
  void map_file(const std::string& path);
  void map_anonymous(Pages pages);
  void map_transparent(Pages pages);
  bool map_reserved(Pages pages);
  void bind(int node) const;
  void check_granted(Pages pages) const;
  void touch() const;

  std::unique_ptr<Backing> backing_;
  Mapping mapping_;  ///< what was mapped: `base_` and what aligns it
  std::byte* base_ = nullptr;
  Bytes size_ = 0;
  Bytes usable_ = 0;  ///< `size_` in whole pages
  bool from_pool_ = false;  ///< of pages that the administrator reserved
  bool synchronous_ = false;
};

}  // namespace nearfar::probe
