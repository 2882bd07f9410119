#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tier/os/numa.h"
#include "tier/os/own_memory.h"
#include "tier/os/page_map.h"
#include "tier/os/system.h"

namespace nearfar::tier::os {

/// What the pager asks of the kernel about this process's memory, beside a userfaultfd, and the
/// time. Tests put memory of their own in its place.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Opens what tells of this process; again in a forked child.
  virtual void open() noexcept = 0;
  /// Opens the memory itself, for `read`.
  virtual void open_contents() noexcept = 0;
  virtual void close() noexcept = 0;
  /// The descriptors that are open, first that of the process's status; -1 in place of one that is
  /// not.
  [[nodiscard]] virtual std::array<int, 3> descriptors() const noexcept = 0;
  [[nodiscard]] int status_descriptor() const noexcept { return descriptors()[0]; }

  /// madvise(2); -errno on failure.
  virtual long advise(Place at, std::size_t length, int advice) const noexcept = 0;
  /// Whether the page is in RAM or swapped out.
  [[nodiscard]] virtual bool is_present(Place at) const noexcept = 0;
  /// As PageMap::find.
  [[nodiscard]] virtual std::size_t find_present(Place& from, Place end,
                                                 std::span<PageMap::Run> runs) const noexcept = 0;
  /// Whether runs that were found say that they are huge pages.
  [[nodiscard]] virtual bool tells_huge() const noexcept = 0;
  /// Copies whole pages without waiting for any; how many bytes, up to the first that is missing.
  [[nodiscard]] virtual std::size_t read(Place from, void* to,
                                         std::size_t length) const noexcept = 0;

  /// As PageMap::find_zeros, where runs say that they are huge.
  [[nodiscard]] virtual std::size_t find_zeros(Place& from, Place end,
                                               std::span<PageMap::Run>) const noexcept {
    from = end;
    return 0;
  }
  /// As PageMap::find_written and PageMap::find_accessed; a kernel that notes neither finds
  /// nothing.
  [[nodiscard]] virtual std::size_t find_written(Place& from, Place end,
                                                 std::span<PageMap::Run>) const noexcept {
    from = end;
    return 0;
  }
  [[nodiscard]] virtual std::size_t find_accessed(Place& from, Place end,
                                                  std::span<PageMap::Run>) const noexcept {
    from = end;
    return 0;
  }
  /// As in numa.h.
  virtual void prefer_node(int) const noexcept {}
  virtual void find_nodes(std::span<const Place>, std::span<int>) const noexcept {}
  /// Processor time that the calling thread has taken.
  [[nodiscard]] virtual std::uint64_t thread_ns() const noexcept { return 0; }

  [[nodiscard]] virtual bool has_huge_pages() const noexcept = 0;
  /// Whether the kernel merges equal pages of this process, which then lose their protection.
  [[nodiscard]] virtual bool merges_pages() const noexcept = 0;
  /// Anonymous pages of this process in RAM.
  [[nodiscard]] virtual std::uint64_t anonymous_pages() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t now_ns() const noexcept = 0;

 protected:
  ~Memory() = default;
};

/// The kernel's own answers.
class KernelMemory final : public Memory {
 public:
  void open() noexcept override;
  void open_contents() noexcept override { contents_.open(); }
  void close() noexcept override;
  [[nodiscard]] std::array<int, 3> descriptors() const noexcept override {
    return {status_, map_.descriptor(), contents_.descriptor()};
  }
  long advise(Place at, std::size_t length, int advice) const noexcept override {
    return os::advise(at, length, advice);
  }
  [[nodiscard]] bool is_present(Place at) const noexcept override { return map_.present(at); }
  [[nodiscard]] std::size_t find_present(Place& from, Place end,
                                         std::span<PageMap::Run> runs) const noexcept override {
    return map_.find(from, end, runs);
  }
  [[nodiscard]] bool tells_huge() const noexcept override { return map_.tells_huge(); }
  [[nodiscard]] std::size_t read(Place from, void* to, std::size_t length) const noexcept override {
    return contents_.read(from, to, length);
  }
  [[nodiscard]] std::size_t find_zeros(Place& from, Place end,
                                       std::span<PageMap::Run> runs) const noexcept override {
    return map_.find_zeros(from, end, runs);
  }
  [[nodiscard]] std::size_t find_written(Place& from, Place end,
                                         std::span<PageMap::Run> runs) const noexcept override {
    return map_.find_written(from, end, runs);
  }
  [[nodiscard]] std::size_t find_accessed(Place& from, Place end,
                                          std::span<PageMap::Run> runs) const noexcept override {
    return map_.find_accessed(from, end, runs);
  }
  void prefer_node(int node) const noexcept override { os::prefer_node(node); }
  void find_nodes(std::span<const Place> pages, std::span<int> nodes) const noexcept override {
    os::find_nodes(pages, nodes);
  }
  [[nodiscard]] std::uint64_t thread_ns() const noexcept override;
  [[nodiscard]] bool has_huge_pages() const noexcept override { return os::has_huge_pages(); }
  [[nodiscard]] bool merges_pages() const noexcept override { return os::merges_pages(); }
  [[nodiscard]] std::uint64_t anonymous_pages() const noexcept override;
  [[nodiscard]] std::uint64_t now_ns() const noexcept override;

 private:
  PageMap map_;
  OwnMemory contents_;
  int status_ = -1;
};

}  // namespace nearfar::tier::os
