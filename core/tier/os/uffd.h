#pragma once

#include <linux/userfaultfd.h>

#include <span>

#include "tier/os/system.h"

namespace nearfar::tier::os {

/// What a call on pages did: how many bytes, and why it stopped before the end (0 or -errno).
struct Moved {
  std::size_t bytes = 0;
  long error = 0;
};

/// Whether filling pages wakes who waits for them, or leaves that to `Uffd::wake`.
enum class Waking : bool { later, at_once };

/// Whether who changes registered memory waits until that has been read, too.
enum class Changes : bool { unseen, followed };

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
};

/// A userfaultfd: touches of pages that are missing in registered memory wait until whoever reads
/// the messages has filled them.
///
/// Where changes are followed, pages cannot be filled (-EAGAIN) from before a change is made until
/// its message has been read and the thread that made it goes on. A reader must make none itself.
class Uffd {
 public:
  /// Opens one, the first or another in a forked child, that also waits inside system calls. -EPERM
  /// if this user may not, -EMFILE without descriptors, -ENOSYS if the kernel cannot move pages
  /// (before Linux 6.8).
  [[nodiscard]] long open(Changes changes) noexcept;
  /// Opens from the same device as another.
  [[nodiscard]] long open_beside(const Uffd& other, Changes changes) noexcept {
    device_ = other.device_;
    return open(changes);
  }
  void close() noexcept;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The device that it came from, if it did; -1 otherwise.
  [[nodiscard]] int device() const noexcept { return device_; }

  [[nodiscard]] long register_missing(Place at, std::size_t length) const noexcept;
  /// Touches of missing pages are the kernel's matter again; who waits for one is woken.
  long unregister(Place at, std::size_t length) const noexcept;

  static constexpr std::size_t most_read = 16;
  /// Up to `most_read` messages, faults first; how many. Fewer: there are no more.
  [[nodiscard]] std::size_t read(std::span<Message, most_read> messages) const noexcept;
  /// Whether a change is under way that has not been read, or has just been.
  [[nodiscard]] bool changing() const noexcept;

  /// Fills missing pages with a copy.
  [[nodiscard]] Moved copy(Place to, const void* from, std::size_t length,
                           Waking waking = Waking::later) const noexcept;
  /// Moves present pages of anonymous memory to where pages are missing, without a copy. If there
  /// is a page at `to`, it counts as moved, and the error is -EEXIST.
  [[nodiscard]] Moved move(Place to, Place from, std::size_t length,
                           Waking waking = Waking::later) const noexcept;
  void wake(Place at, std::size_t length) const noexcept;

 private:
  int descriptor_ = -1;
  int device_ = -1;  // kept: a program that gives up its rights may fork afterwards
};

}  // namespace nearfar::tier::os
