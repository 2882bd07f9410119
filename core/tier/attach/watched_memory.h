#pragma once

#include <memory>
#include <vector>

#include "tier/attach/access_monitor.h"
#include "tier/attach/process_memory.h"

namespace nearfar::tier::attach {

/// A process's memory with a monitor beside it: a page in a part that the monitor found accessed is
/// told as accessed.
///
/// After each look, writes are forgotten, which has every processor forget what it knows of the
/// page tables: without that, pages in constant use may never be marked as accessed again.
class WatchedMemory final : public ProcessMemory {
 public:
  /// Begins to watch. Throws InputError where the kernel refuses.
  WatchedMemory(ProcessMemory& memory, std::unique_ptr<AccessMonitor> monitor);

  bool look(const std::function<void(const Run&)>& found) override;
  bool forget_writes() override { return memory_.forget_writes(); }
  void find_nodes(std::span<const Place> pages, std::span<int> nodes) override {
    memory_.find_nodes(pages, nodes);
  }
  void move(std::span<const Place> pages, int node, std::span<int> nodes) override {
    memory_.move(pages, node, nodes);
  }
  [[nodiscard]] std::vector<Area> areas() const override { return memory_.areas(); }
  [[nodiscard]] bool has_news() override { return monitor_->listen(); }
  [[nodiscard]] std::uint64_t lost() const override { return monitor_->lost(); }
  void leave() override { monitor_->end(); }
  [[nodiscard]] std::uint64_t thread_ns() const override { return memory_.thread_ns(); }
  [[nodiscard]] std::uint64_t others_ns() const override { return monitor_->cpu_ns(); }

 private:
  void follow_areas();

  ProcessMemory& memory_;
  std::unique_ptr<AccessMonitor> monitor_;
  std::vector<Area> watched_;
  unsigned looks_ = 0;
};

}  // namespace nearfar::tier::attach
