#pragma once

#include <linux/userfaultfd.h>

#include <array>
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

/// What the kernel notes of uses of present pages, without a message (`Uffd::rearm`).
enum class Tracking : std::uint8_t { nothing, writes, accesses };

/// What a thread does to a page that it waits for; where the kernel tells them apart, whether a
/// page that it writes to is missing or protected.
enum class Touch : std::uint8_t { read, write, write_protected };

[[nodiscard]] constexpr bool writes(Touch touch) { return touch != Touch::read; }

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

/// A request to fill one page with a copy. Any thread may look whether it is over: the kernel says
/// so before the thread that fills the page goes on, which may not get to run for a while.
class Copy {
 public:
  Copy() = default;
  /// The page is protected only where pages can be.
  Copy(Place to, const void* from, Protect protect) noexcept;
  [[nodiscard]] bool is_over() const noexcept { return result() != 0; }
  /// Whether it is over and the page is there.
  [[nodiscard]] bool has_come() const noexcept { return result() > 0; }

  [[nodiscard]] Place to() const noexcept { return request_.dst; }
  [[nodiscard]] const void* from() const noexcept { return pointer(request_.src); }
  [[nodiscard]] Protect protect() const noexcept {
    return (request_.mode & UFFDIO_COPY_MODE_WP) != 0 ? Protect::on : Protect::off;
  }
  /// What the kernel reads, and writes its result to.
  [[nodiscard]] uffdio_copy& request() noexcept { return request_; }
  /// It is over: bytes that came, or -errno.
  void finish(std::int64_t result) noexcept {
    __atomic_store_n(&request_.copy, result, __ATOMIC_RELEASE);
  }

 private:
  [[nodiscard]] std::int64_t result() const noexcept {
    return __atomic_load_n(&request_.copy, __ATOMIC_ACQUIRE);
  }
  uffdio_copy request_{};  // of which `copy` is 0, then bytes or -errno
};

/// A userfaultfd: a thread that touches a missing page of registered memory waits until the reader
/// of the messages has filled it. Tests put a fake in its place that works on memory of its own.
///
/// Where changes are followed, pages cannot be filled (-EAGAIN) from before a change is made until
/// its message has been read and the thread that made it goes on. A reader must make none itself.
class Uffd {
 public:
  Uffd() = default;
  Uffd(const Uffd&) = delete;
  Uffd& operator=(const Uffd&) = delete;

  /// Opens one, the first or another in a forked child. Threads that wait do so inside system
  /// calls, too. -EPERM if this user may not, -EMFILE without descriptors, -ENOSYS if the kernel
  /// cannot do what is wanted. Changes can be followed only where pages leave by being moved.
  [[nodiscard]] virtual long open(Eviction wanted, Changes changes, Faults faults) noexcept = 0;
  /// Opens one from the same device as another.
  [[nodiscard]] virtual long open_beside(const Uffd& other, Eviction wanted, Changes changes,
                                         Faults faults) noexcept = 0;
  virtual void close() noexcept = 0;
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  /// The device that it was opened from, if there is one; -1 otherwise.
  [[nodiscard]] virtual int device() const noexcept = 0;

  /// Whether pages leave by being moved; else by being copied.
  [[nodiscard]] bool moves() const noexcept { return moves_; }
  /// Whether pages can be protected.
  [[nodiscard]] bool protects() const noexcept { return protects_; }

  /// What is to be noted, before it is opened; where that is something, pages cannot be protected.
  void track(Tracking tracking) noexcept { tracking_ = tracking; }
  [[nodiscard]] Tracking tracking() const noexcept { return tracking_; }
  /// The use of these pages from now on is noted, and none before. -errno on failure.
  virtual long rearm(Place, std::size_t) const noexcept { return 0; }

  /// From now on threads wait that touch missing pages, or write to protected ones.
  [[nodiscard]] virtual long register_range(Place at, std::size_t length) const noexcept = 0;
  /// The kernel fills missing pages by itself again; threads that wait for one are woken.
  virtual long unregister(Place at, std::size_t length) const noexcept = 0;

  static constexpr std::size_t most_read = 16;
  /// Reads up to `most_read` messages, faults first; how many. Fewer: there are no more.
  [[nodiscard]] virtual std::size_t read(std::span<Message, most_read> messages) const noexcept = 0;
  /// Whether a change is under way that has not been read, or has just been.
  [[nodiscard]] virtual bool changing() const noexcept = 0;

  /// Fills missing pages with a copy, protected only where pages can be.
  [[nodiscard]] virtual Moved copy(Place to, const void* from, std::size_t length,
                                   Waking waking = Waking::later,
                                   Protect protect = Protect::off) const noexcept = 0;
  /// Lets missing pages read as the kernel's one page of zeros, which takes no memory: a write to
  /// one that is protected waits, to another that is not brings a page of the kernel's choice. The
  /// first of them that is there ends it (-EEXIST).
  [[nodiscard]] virtual Moved show_zeros(Place, std::size_t, Waking) const noexcept {
    return {0, -EOPNOTSUPP};
  }
  /// Fills the page and wakes no thread; whether it has come.
  [[nodiscard]] virtual bool run(Copy& copy) const noexcept = 0;
  /// Moves present pages of anonymous memory to where pages are missing, without a copy. They are
  /// protected no more, but for what is swapped out. If there is a page at `to`, it counts as
  /// moved, and the error is -EEXIST. -EOPNOTSUPP where pages leave by being copied.
  [[nodiscard]] virtual Moved move(Place to, Place from, std::size_t length,
                                   Waking waking = Waking::later) const noexcept = 0;
  virtual void wake(Place at, std::size_t length) const noexcept = 0;

  /// Threads that write to these pages wait from now on. -errno on failure.
  [[nodiscard]] virtual long protect(Place at, std::size_t length) const noexcept = 0;
  /// They do not any more, and those that wait go on. -EAGAIN while a change has not been read.
  virtual long unprotect(Place at, std::size_t length, Waking waking) const noexcept = 0;

 protected:
  ~Uffd() = default;

  bool moves_ = true;
  bool protects_ = true;
  Tracking tracking_ = Tracking::nothing;
};

/// The kernel's.
class KernelUffd final : public Uffd {
 public:
  /// What an open one is asked for: numbers of ioctl.
  [[nodiscard]] static std::array<std::uint32_t, 8> requests() noexcept;

  [[nodiscard]] long open(Eviction wanted, Changes changes, Faults faults) noexcept override;
  [[nodiscard]] long open_beside(const Uffd& other, Eviction wanted, Changes changes,
                                 Faults faults) noexcept override {
    device_ = other.device();
    return open(wanted, changes, faults);
  }
  void close() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return descriptor_; }
  [[nodiscard]] int device() const noexcept override { return device_; }
  [[nodiscard]] long register_range(Place at, std::size_t length) const noexcept override;
  long unregister(Place at, std::size_t length) const noexcept override;
  [[nodiscard]] std::size_t read(std::span<Message, most_read> messages) const noexcept override;
  [[nodiscard]] bool changing() const noexcept override;
  [[nodiscard]] Moved copy(Place to, const void* from, std::size_t length,
                           Waking waking = Waking::later,
                           Protect protect = Protect::off) const noexcept override;
  [[nodiscard]] Moved show_zeros(Place at, std::size_t length,
                                 Waking waking) const noexcept override;
  [[nodiscard]] bool run(Copy& copy) const noexcept override;
  [[nodiscard]] Moved move(Place to, Place from, std::size_t length,
                           Waking waking = Waking::later) const noexcept override;
  void wake(Place at, std::size_t length) const noexcept override;
  [[nodiscard]] long protect(Place at, std::size_t length) const noexcept override;
  long unprotect(Place at, std::size_t length, Waking waking) const noexcept override;
  long rearm(Place at, std::size_t length) const noexcept override;

 private:
  [[nodiscard]] bool agree(std::uint64_t features) noexcept;
  [[nodiscard]] long unless_changing(long error) const noexcept;

  int descriptor_ = -1;
  int device_ = -1;  // kept: a program that gives up its rights may fork afterwards
};

}  // namespace nearfar::tier::os
