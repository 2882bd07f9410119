#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/tick.h"
#include "frontend/qemu/channels.h"
#include "frontend/qemu/shared_table.h"
#include "frontend/qemu/waits.h"

namespace nearfar::frontend::qemu {

/// Orders the clocks of a run's processes by what they tell each other: a process that reads
/// what another wrote, accepts its connection, gets its signal or waits for its end goes on no
/// earlier than the other was then.
///
/// A process tells its time before a call that may wake another, and looks for one behind a call
/// that another may have woken. A channel keeps the latest time only: a process that reads late a
/// message written early goes on from the time of the last one.
class Messages {
 public:
  explicit Messages(SharedTable& table) : table_(table), channels_(table) {}

  /// The call is about to be made at `now`.
  void before(const SystemCall& call, Tick now);
  /// It is over: when what it has got was sent, and the latest signal.
  [[nodiscard]] Tick after(const SystemCall& call, std::int64_t result);

  /// A signal ended a call early. If it came from a process of this run: when that sent it, or
  /// ended; nothing if it came from elsewhere.
  [[nodiscard]] std::optional<Tick> interrupted();

  /// Times of processing, for the process that waits for this one's end: its own, and that of the
  /// children that it has waited for.
  struct Usage {
    Tick own{};
    Tick children{};
  };
  /// This process ends, or `goes_on` with another program: files are closed.
  void ends(Tick now, const Usage& usage, bool goes_on);
  /// What a process that has ended has told of that, or this one of its programs so far.
  [[nodiscard]] Tick end_of(std::int64_t process) const;
  [[nodiscard]] Usage usage_of(std::int64_t process) const;
  /// This process is new: what its number stands for in the table was another's.
  void forget_process();

  /// No thread is inside while the process forks.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  using Event = std::pair<int, std::uint64_t>;  ///< a set of files, and what it says of one

  void tell(const std::optional<Key>& key, Tick now);
  [[nodiscard]] Tick heard(const std::optional<Key>& key) const;
  [[nodiscard]] Tick heard_from(int file) { return heard(channels_.in(file)); }
  [[nodiscard]] std::uint64_t signals() const;
  void tell_signal(const SystemCall& call, Tick now);
  void tell_all_files(Tick now);
  [[nodiscard]] Tick heard_polled(const SystemCall& call);
  [[nodiscard]] Tick heard_selected(const SystemCall& call);
  [[nodiscard]] Tick heard_events(const SystemCall& call, std::int64_t count);
  void follow_set(const SystemCall& call);

  SharedTable& table_;
  Channels channels_;
  std::mutex mutex_;
  std::map<Event, int> polled_;  ///< the file that an event of an epoll set is about; guarded
  std::uint64_t seen_signals_ = 0;  ///< guarded
};

}  // namespace nearfar::frontend::qemu
