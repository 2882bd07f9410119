#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tier/os/system.h"

namespace nearfar::tier::swap::os {

using tier::os::page_bytes;
using tier::os::Place;

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(long number = -1) noexcept : number_(static_cast<int>(number)) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Opens what the kernel tells of a process's pages, unless the process ends and has no memory any
/// more. To be opened anew for each look: after exec, an open one still tells of the memory before.
[[nodiscard]] Descriptor open_page_map(pid_t process);

/// Neighbouring anonymous pages that are all in RAM, or all in swap.
struct Run {
  Place begin = 0;
  Place end = 0;
  bool present = false;
};

/// A part of a process's memory that is to leave RAM.
struct Span {
  Place begin = 0;
  std::size_t length = 0;
};

/// Another process, by a handle that no later process of the same number inherits.
class Process {
 public:
  /// Of a process that is gone, `alive` says so.
  explicit Process(pid_t number);

  [[nodiscard]] pid_t number() const noexcept { return number_; }
  [[nodiscard]] bool alive() const noexcept { return handle_.open(); }

  /// Calls `found` with the runs of anonymous pages between two places, in order of address. The
  /// zero page, which costs no memory, is left out. False if the process cannot be looked at.
  bool look(Place begin, Place end, const std::function<void(const Run&)>& found) const;

  /// Asks the kernel to take spans out of RAM. It passes over pages that more than one process
  /// maps, and over memory that is locked, and does not say so.
  void page_out(std::span<const Span> spans) const;

 private:
  pid_t number_;
  Descriptor handle_;
};

/// Where all of a process's memory lies: below the last page of the lower half.
inline constexpr Place memory_end = (Place{1} << 47U) - page_bytes;

/// 0 if this kernel can tell of a process's pages from outside (Linux 6.7 and newer), else -errno.
[[nodiscard]] long can_look() noexcept;

/// Whether two processes have one memory, as between vfork and exec.
[[nodiscard]] bool share_memory(pid_t one, pid_t other) noexcept;

/// The processes that a control group's file lists.
[[nodiscard]] std::vector<pid_t> listed(const std::string& file);
/// A process and all of its descendants, but not this process.
[[nodiscard]] std::vector<pid_t> descendants(pid_t of);

/// A whole small file, such as one of /proc; empty if it cannot be read.
[[nodiscard]] std::string contents(const std::string& file);
/// Writes a line to such a file, if it may.
void set(const std::string& file, const std::string& value);
/// Anonymous pages of a process in RAM, cheaply, as its counters have it.
[[nodiscard]] std::uint64_t resident_anonymous(pid_t process);

/// Takes note of ended children of this process, which inherits orphans; all but `except`.
void reap_orphans(pid_t except) noexcept;

/// Puts the calling thread before ordinary ones; without permission, nothing changes.
void hurry() noexcept;
/// CPU time of the calling thread, in ns.
[[nodiscard]] std::uint64_t cpu_time_ns() noexcept;

}  // namespace nearfar::tier::swap::os
