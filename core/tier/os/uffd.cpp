#include "tier/os/uffd.h"

#include <fcntl.h>
#include <sys/ioctl.h>

namespace nearfar::tier::os {
namespace {

// Linux 6.8 has these; the headers of Debian 12 do not.
struct MoveRequest {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t length;
  std::uint64_t mode;
  std::int64_t moved;
};
constexpr unsigned long move_pages = _IOWR(UFFDIO, 0x05, MoveRequest);
constexpr std::uint64_t move_silently = 1;
constexpr std::uint64_t feature_move = 1U << 16U;
// Linux 6.7 notes writes without a message (WP_ASYNC), 7.3 reads as well (RWPROTECT).
constexpr std::uint64_t features_of_writes = (1U << 15U) | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
constexpr std::uint64_t features_of_accesses = (1U << 17U) | (1U << 18U);
constexpr std::uint64_t register_accesses = 1U << 3U;
struct AccessRequest {
  uffdio_range range;
  std::uint64_t mode;
};
constexpr unsigned long protect_from_accesses = _IOWR(UFFDIO, 0x09, AccessRequest);
constexpr std::uint64_t feature_protect = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
constexpr std::uint64_t feature_changes =
    UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP;
constexpr unsigned long open_device = _IO(UFFDIO, 0x00);

std::uint64_t features_of(Tracking tracking) noexcept {
  if (tracking == Tracking::writes) return features_of_writes;
  return tracking == Tracking::accesses ? features_of_accesses : 0;
}

long control(int descriptor, unsigned long request, void* argument) noexcept {
  return call(__NR_ioctl, descriptor, static_cast<long>(request), word(argument));
}

Message message(const uffd_msg& told) noexcept {
  switch (told.event) {
    case UFFD_EVENT_REMOVE:
    case UFFD_EVENT_UNMAP:
      return {.kind = told.event == UFFD_EVENT_REMOVE ? Message::Kind::removed
                                                      : Message::Kind::unmapped,
              .begin = told.arg.remove.start,
              .end = told.arg.remove.end};
    case UFFD_EVENT_REMAP:
      return {.kind = Message::Kind::moved,
              .begin = told.arg.remap.from,
              .end = told.arg.remap.from + told.arg.remap.len,
              .to = told.arg.remap.to};
    default: {
      const std::uint64_t flags = told.arg.pagefault.flags;
      const bool protects = (flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
      const bool writes = (flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0;
      return {.kind = Message::Kind::fault,
              .begin = told.arg.pagefault.address,
              .thread = static_cast<int>(told.arg.pagefault.feat.ptid),
              .touch = protects ? Touch::write_protected
                       : writes ? Touch::write
                                : Touch::read};
    }
  }
}

/// A new descriptor; -errno. One that never waits inside system calls every user may have.
long open_descriptor(int& device, Faults faults) noexcept {
  constexpr int flags = O_CLOEXEC | O_NONBLOCK;
  if (faults == Faults::signal) return call(__NR_userfaultfd, flags | UFFD_USER_MODE_ONLY);
  if (device < 0) {
    const long opened = call(__NR_openat, AT_FDCWD, word("/dev/userfaultfd"), O_RDWR | O_CLOEXEC);
    if (opened >= 0) device = hide(static_cast<int>(opened));
  }
  return device >= 0 ? call(__NR_ioctl, device, open_device, flags) : call(__NR_userfaultfd, flags);
}

}  // namespace

std::array<std::uint32_t, 8> KernelUffd::requests() noexcept {
  return {UFFDIO_REGISTER, UFFDIO_UNREGISTER,   UFFDIO_COPY,           move_pages,
          UFFDIO_WAKE,     UFFDIO_WRITEPROTECT, protect_from_accesses, UFFDIO_ZEROPAGE};
}

long KernelUffd::open(Eviction wanted, Changes changes, Faults faults) noexcept {
  struct Way {
    bool moves;
    bool protects;
  };
  // A descriptor that has refused features takes no others, so each attempt has its own.
  for (const auto [moves, protects] : {Way{true, true}, Way{true, false}, Way{false, true}}) {
    if (wanted == (moves ? Eviction::copy : Eviction::move)) continue;
    if (tracking_ != Tracking::nothing && (protects || !moves)) continue;
    const long opened = open_descriptor(device_, faults);
    if (opened == -EMFILE || opened == -ENFILE) return opened;
    if (opened < 0) return -EPERM;
    descriptor_ = hide(static_cast<int>(opened));
    moves_ = moves;
    protects_ = protects;
    // Where pages leave by being copied, the pager drops them from their place, and would be told
    // of that.
    const bool followed = moves && changes == Changes::followed;
    const std::uint64_t signalled = faults == Faults::signal ? UFFD_FEATURE_SIGBUS : 0;
    if (agree((moves ? feature_move : 0) | (protects ? feature_protect : 0) |
              (followed ? feature_changes : 0) | signalled | features_of(tracking_) |
              UFFD_FEATURE_THREAD_ID))
      return 0;
    close();
  }
  return -ENOSYS;
}

bool KernelUffd::agree(std::uint64_t features) noexcept {
  uffdio_api api{.api = UFFD_API, .features = features, .ioctls = 0};
  return control(descriptor_, UFFDIO_API, &api) >= 0;
}

void KernelUffd::close() noexcept {
  call(__NR_close, descriptor_);
  descriptor_ = -1;
}

long KernelUffd::register_range(Place at, std::size_t length) const noexcept {
  uffdio_register request{};
  request.range = {.start = at, .len = length};
  const bool marks = protects_ || tracking_ == Tracking::writes;
  request.mode = UFFDIO_REGISTER_MODE_MISSING | (marks ? UFFDIO_REGISTER_MODE_WP : 0) |
                 (tracking_ == Tracking::accesses ? register_accesses : 0);
  return control(descriptor_, UFFDIO_REGISTER, &request);
}

long KernelUffd::unregister(Place at, std::size_t length) const noexcept {
  uffdio_range range{.start = at, .len = length};
  return control(descriptor_, UFFDIO_UNREGISTER, &range);
}

std::size_t KernelUffd::read(std::span<Message, most_read> messages) const noexcept {
  uffd_msg told[most_read] = {};
  const long got = call(__NR_read, descriptor_, word(told), sizeof told);
  const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(uffd_msg);
  for (std::size_t i = 0; i < count; ++i) messages[i] = message(told[i]);
  return count;
}

/// The kernel looks for changes before it finds that this is no request.
bool KernelUffd::changing() const noexcept {
  uffdio_copy nothing{};
  return control(descriptor_, UFFDIO_COPY, &nothing) == -EAGAIN;
}

/// Of pages that have just moved away or been unmapped the kernel says that nothing is mapped
/// there: it looks for the mapping before it looks again for changes.
long KernelUffd::unless_changing(long error) const noexcept {
  return error == -ENOENT && changing() ? -EAGAIN : error;
}

Moved KernelUffd::copy(Place to, const void* from, std::size_t length, Waking waking,
                       Protect protect) const noexcept {
  uffdio_copy request{};
  request.dst = to;
  request.src = place(from);
  request.len = length;
  request.mode = (waking == Waking::later ? UFFDIO_COPY_MODE_DONTWAKE : 0) |
                 (protect == Protect::on ? UFFDIO_COPY_MODE_WP : 0);
  const long result = control(descriptor_, UFFDIO_COPY, &request);
  if (result == 0) return {length, 0};
  if (request.copy > 0) return {static_cast<std::size_t>(request.copy), result};
  return {0, unless_changing(request.copy < 0 ? request.copy : result)};
}

Moved KernelUffd::show_zeros(Place at, std::size_t length, Waking waking) const noexcept {
  uffdio_zeropage request{};
  request.range = {.start = at, .len = length};
  request.mode = waking == Waking::later ? UFFDIO_ZEROPAGE_MODE_DONTWAKE : 0;
  const long result = control(descriptor_, UFFDIO_ZEROPAGE, &request);
  if (result == 0) return {length, 0};
  if (request.zeropage > 0) return {static_cast<std::size_t>(request.zeropage), result};
  return {0, unless_changing(request.zeropage < 0 ? request.zeropage : result)};
}

Copy::Copy(Place to, const void* from, Protect protect) noexcept {
  request_.dst = to;
  request_.src = place(from);
  request_.len = page_bytes;
  request_.mode = UFFDIO_COPY_MODE_DONTWAKE | (protect == Protect::on ? UFFDIO_COPY_MODE_WP : 0);
}

bool KernelUffd::run(Copy& copy) const noexcept {
  const long error = control(descriptor_, UFFDIO_COPY, &copy.request());
  // Where it refuses at once, the kernel leaves the result alone.
  if (error != 0) copy.finish(error);
  return error == 0;
}

Moved KernelUffd::move(Place to, Place from, std::size_t length, Waking waking) const noexcept {
  if (!moves_) return {0, -EOPNOTSUPP};
  const std::uint64_t mode = waking == Waking::later ? move_silently : 0;
  MoveRequest request{.to = to, .from = from, .length = length, .mode = mode, .moved = 0};
  const long result = control(descriptor_, move_pages, &request);
  if (result == 0) return {length, 0};
  if (request.moved > 0) return {static_cast<std::size_t>(request.moved), result};
  const long error = unless_changing(request.moved < 0 ? request.moved : result);
  // Linux 6.18 forgets to count a page that it had to wait for, as memory was being compacted, and
  // finds it at the target when it goes on.
  if (error == -EEXIST) {
    if (waking == Waking::at_once) wake(to, page_bytes);
    return {page_bytes, error};
  }
  return {0, error};
}

void KernelUffd::wake(Place at, std::size_t length) const noexcept {
  uffdio_range range{.start = at, .len = length};
  control(descriptor_, UFFDIO_WAKE, &range);
}

long KernelUffd::protect(Place at, std::size_t length) const noexcept {
  uffdio_writeprotect request{};
  request.range = {.start = at, .len = length};
  request.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  return control(descriptor_, UFFDIO_WRITEPROTECT, &request);
}

long KernelUffd::rearm(Place at, std::size_t length) const noexcept {
  if (tracking_ == Tracking::nothing) return 0;
  if (tracking_ == Tracking::writes) return protect(at, length);
  AccessRequest request{.range = {.start = at, .len = length}, .mode = 1};
  return control(descriptor_, protect_from_accesses, &request);
}

long KernelUffd::unprotect(Place at, std::size_t length, Waking waking) const noexcept {
  uffdio_writeprotect request{};
  request.range = {.start = at, .len = length};
  request.mode = waking == Waking::later ? UFFDIO_WRITEPROTECT_MODE_DONTWAKE : 0;
  return control(descriptor_, UFFDIO_WRITEPROTECT, &request);
}

}  // namespace nearfar::tier::os
