#pragma once

#include <linux/userfaultfd.h>

#include <span>

#include "tier/os/eviction.h"
#include "tier/os/system.h"

namespace nearfar::tier::os {

/// What a call on pages did: how many bytes, and why it stopped before the end (0 or -errno).
struct Moved {
  std::size_t bytes = 0;
  long error = 0;
};

/// Whether filling pages wakes the threads that wait for them, or leaves that to `Uffd::wake`.
enum class Waking : bool { later, at_once };

/// Whether the next write to pages that are filled waits, too, until they are unprotected.
enum class Protect : bool { off, on };

/// Whether a thread that changes registered memory waits until that has been read, too.
enum class Changes : bool { unseen, followed };

/// What becomes of a thread that touches a missing page: it waits until the page is filled, also
/// inside a system call, or it gets SIGBUS at once, and EFAULT from a system call.
enum class Faults : bool { wait, signal };

/// What a thread does to a page that it waits for.
enum class Touch : bool { read, write };

/// What a userfaultfd tells.
struct Message {
  enum class Kind : std::uint8_t {
    fault,    ///< `begin` was touched, and the thread waits until the page is filled or woken
    removed,  ///< madvise is about to drop what these pages hold; it waited until this was read
    unmapped,  ///< nothing is mapped here any more, or something else; also after `moved`
    moved,     ///< mremap has moved the mapping, and what was there of its pages, to `to`
  };
  Kind kind = Kind::fault;
  Place begin = 0;
  Place end = 0;
  Place to = 0;
  int thread = 0;  ///< of a fault: the number of the waiting thread,
  Touch touch = Touch::read;  ///< and its access
};

/// The warning, given once, where pages leave by being copied.
inline constexpr const char* copying_risks =
    "nearfar tier: pages leave by being copied: what a device writes to memory meanwhile is lost "
    "(O_DIRECT, buffers registered with io_uring)\n";

/// Filling one page with a copy, of which any thread may look whether it is over: the kernel says
/// so before the thread that fills it goes on, which may not get to run for a while.
class Copy {
 public:
  Copy() = default;
  /// A guard only where pages can be protected.
  Copy(Place to, const void* from, Protect protect) noexcept;
  [[nodiscard]] bool is_over() const noexcept { return result() != 0; }
  /// The page is there.
  [[nodiscard]] bool has_come() const noexcept { return result() > 0; }

 private:
  friend class Uffd;
  [[nodiscard]] std::int64_t result() const noexcept {
    return __atomic_load_n(&request_.copy, __ATOMIC_ACQUIRE);
  }
  uffdio_copy request_{};  // of which `copy` is 0, then bytes or -errno
};

/// A userfaultfd: touches of pages that are missing in registered memory wait until the reader of
/// the messages has filled them.
///
/// Where changes are followed, pages cannot be filled (-EAGAIN) from before a change is made until
/// its message has been read and the thread that made it goes on. A reader must make none itself.
class Uffd {
 public:
  /// What an open one is asked for: numbers of ioctl.
  [[nodiscard]] static std::array<std::uint32_t, 6> requests() noexcept;

  /// Opens one, the first or another in a forked child; threads that wait do so inside system
  /// calls, too. -EPERM if this user may not, -EMFILE without descriptors, -ENOSYS if the kernel
  /// cannot do what is wanted. Changes can be followed only where pages leave by being moved.
  [[nodiscard]] long open(Eviction wanted, Changes changes, Faults faults) noexcept;
  /// Opens from the same device as another.
  [[nodiscard]] long open_beside(const Uffd& other, Eviction wanted, Changes changes,
                                 Faults faults) noexcept {
    device_ = other.device_;
    return open(wanted, changes, faults);
  }
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The device that it came from, if it did; -1 otherwise.
  [[nodiscard]] int device() const noexcept { return device_; }

  /// Whether pages leave by being moved; else by being copied.
  [[nodiscard]] bool moves() const noexcept { return moves_; }
  /// Whether pages can be protected.
  [[nodiscard]] bool protects() const noexcept { return protects_; }

  /// From now on touches of missing pages wait, and writes to protected ones.
  [[nodiscard]] long register_range(Place at, std::size_t length) const noexcept;
  /// Touches of missing pages are the kernel's matter again; threads that wait for one are woken.
  long unregister(Place at, std::size_t length) const noexcept;

  static constexpr std::size_t most_read = 16;
  /// Up to `most_read` messages, faults first; how many. Fewer: there are no more.
  [[nodiscard]] std::size_t read(std::span<Message, most_read> messages) const noexcept;
  /// Whether a change is under way that has not been read, or has just been.
  [[nodiscard]] bool changing() const noexcept;

  /// Fills missing pages with a copy. A guard only where pages can be protected.
  [[nodiscard]] Moved copy(Place to, const void* from, std::size_t length,
                           Waking waking = Waking::later,
                           Protect protect = Protect::off) const noexcept;
  /// Fills the page and wakes no thread. Whether it has come.
  [[nodiscard]] bool run(Copy& copy) const noexcept;
  /// Moves present pages of anonymous memory to where pages are missing, without a copy, and not
  /// protected any more, but for what is swapped out. If there is a page at `to`, it counts as
  /// moved, and the error is -EEXIST. -EOPNOTSUPP where pages leave by being copied.
  [[nodiscard]] Moved move(Place to, Place from, std::size_t length,
                           Waking waking = Waking::later) const noexcept;
  void wake(Place at, std::size_t length) const noexcept;

  /// Writes to these pages wait from now on, where pages can be protected. -errno on failure.
  [[nodiscard]] long protect(Place at, std::size_t length) const noexcept;
  /// They do not any more, and threads that wait for them go on. -EAGAIN while a change has not
  /// been read.
  long unprotect(Place at, std::size_t length, Waking waking) const noexcept;

 private:
  [[nodiscard]] bool agree(std::uint64_t features) noexcept;
  [[nodiscard]] long unless_changing(long error) const noexcept;

  int descriptor_ = -1;
  bool moves_ = true;
  bool protects_ = true;
  int device_ = -1;  // kept: a program that gives up its rights may fork afterwards
};

}  // namespace nearfar::tier::os
