#pragma once

#include <atomic>
#include <cstdint>

namespace nearfar::tier {

/// Tells the program's threads when a discard of theirs has to wait: while a fork goes on, and once
/// where discards leave faults no moment in which they can be served.
class DiscardGate {
 public:
  void start();

  // For a thread of the program that is about to discard memory.
  /// While the kernel has a discard to tell of, no page can come; threads that do nothing else
  /// leave no moment in which it has none. So each waits once until a fault has been served, but
  /// not for long, as no thread may be waiting for that any more.
  void wait_for_faults();
  void wait_for_fork();
  /// Whether no fork goes on. One that begins later waits for a discard that began before.
  [[nodiscard]] bool is_open() const { return closed_.load() == 0; }
  /// Whether a fork waits for discards that are not over.
  [[nodiscard]] bool is_awaited() const { return awaited_.load(); }

  // For the pager's threads.
  /// Before a fork; it then waits for discards that are not over, until `stop_waiting`.
  void close();
  void stop_waiting() { awaited_.store(false); }
  void open();
  /// A page came, or could not because of a change.
  void report_fault(bool served);

 private:
  std::atomic<std::uint32_t> closed_;
  std::atomic<bool> awaited_;
  std::atomic<std::uint32_t> refusals_{0};  // times in a row that a page could not come
  std::atomic<std::uint32_t> faults_first_{0};  // discards wait for one
};

}  // namespace nearfar::tier
