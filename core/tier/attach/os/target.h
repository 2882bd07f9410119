#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tier/attach/process_memory.h"
#include "tier/swap/os/process.h"

namespace nearfar::tier::attach {

/// What of a process's memory can be managed, by the lines of its file `maps`, in order of address:
/// all that it may read but its code and files that it only reads, and nothing of devices, nor
/// mappings that begin at places of `left_alone`. Neighbours are joined.
[[nodiscard]] std::vector<Area> manageable(const std::string& maps,
                                           std::span<const Place> left_alone);

/// Where mappings begin that the process has bound to nodes itself (mbind), by the lines of its
/// file `numa_maps`, in order of address: those with another policy than its stack, which has the
/// policy of the process.
[[nodiscard]] std::vector<Place> bound(const std::string& numa_maps);

/// The parts of areas that lie in others; both are in order of address.
[[nodiscard]] std::vector<Area> common(const std::vector<Area>& areas,
                                       const std::vector<Area>& others);

/// Another process's memory by the files of /proc and by move_pages(2).
class Target final : public ProcessMemory {
 public:
  /// Of the process, all that can be managed, or what lies in these areas, bound to nodes or not,
  /// if there are any.
  Target(pid_t process, std::vector<Area> only);

  bool look(const std::function<void(const Run&)>& found) override;
  bool forget_writes() override;
  void find_nodes(std::span<const Place> pages, std::span<int> nodes) override;
  void move(std::span<const Place> pages, int node, std::span<int> nodes) override;
  [[nodiscard]] std::vector<Area> areas() const override { return areas_; }
  [[nodiscard]] std::uint64_t thread_ns() const override { return swap::os::cpu_time_ns(); }

 private:
  [[nodiscard]] bool has_ended() const;
  void find_areas();
  [[nodiscard]] std::string path(const char* name) const;

  pid_t process_;
  std::vector<Area> only_;
  std::vector<Area> areas_;
  std::vector<Place> bound_;  ///< looked up once in a while, as it takes a walk of the page tables
  unsigned looks_ = 0;
  swap::os::Descriptor handle_;
  bool moves_shared_ = true;  ///< this user may move pages that other processes map, too
};

/// 0 if the kernel can tell which pages of a process were written (soft-dirty bits); -ENOTTY if it
/// does not tell of its pages from outside at all (Linux 6.7), -ENOSYS if not of writes.
[[nodiscard]] long can_find_written() noexcept;

}  // namespace nearfar::tier::attach
