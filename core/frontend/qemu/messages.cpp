#include "frontend/qemu/messages.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string>

#include "frontend/qemu/guest_memory.h"

namespace nearfar::frontend::qemu {
namespace {

// Kinds of keys: of a process, or of a group of them.
constexpr char signal_to = 'k';
constexpr char signal_to_group = 'g';
constexpr char signals_to = 'n';
constexpr char signals_to_group = 'm';
constexpr char end_of_child_of = 'e';
constexpr char end_kind = 'E';
constexpr char usage_kind = 'u';
constexpr char children_kind = 'U';

std::uint64_t number_of(std::int64_t process) { return static_cast<std::uint64_t>(process); }
int file_of(std::uint64_t argument) { return static_cast<int>(argument); }

/// The file that a call writes to or closes.
std::optional<int> written(const SystemCall& call) {
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_vmsplice:
    case SYS_shutdown:
    case SYS_close:
      return file_of(arguments[0]);
    case SYS_tee:
    case SYS_dup2:
    case SYS_dup3:
      return file_of(arguments[1]);
    case SYS_splice:
      return file_of(arguments[2]);
    default:
      return std::nullopt;
  }
}

/// The file that a call reads from.
std::optional<int> read_from(const SystemCall& call) {
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_read:
    case SYS_readv:
    case SYS_preadv2:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_splice:
    case SYS_tee:
      return file_of(arguments[0]);
    case SYS_sendfile:
      return file_of(arguments[1]);
    default:
      return std::nullopt;
  }
}

Channels::Name name_at(std::uint64_t address, std::uint64_t bytes) {
  if (address == 0) return {};
  sockaddr_storage found{};
  bytes = std::min<std::uint64_t>(bytes, sizeof found);
  if (!copy_guest(address, &found, bytes)) return {};
  return Channels::name(found, bytes, Channels::Detail::port);
}

/// Where a datagram goes that says so itself.
Channels::Name destination(const SystemCall& call) {
  const auto& arguments = call.arguments;
  if (call.number == SYS_sendto) return name_at(arguments[4], arguments[5]);
  // The first of several messages begins as a single one does.
  if (call.number != SYS_sendmsg && call.number != SYS_sendmmsg) return {};
  const auto message = read_guest<msghdr>(arguments[1]);
  if (!message) return {};
  return name_at(reinterpret_cast<std::uintptr_t>(message->msg_name), message->msg_namelen);
}

}  // namespace

void Messages::tell(const std::optional<Key>& key, Tick now) {
  if (key) table_.raise(*key, now.ps());
}

Tick Messages::heard(const std::optional<Key>& key) const {
  return key ? Tick(table_.get(*key)) : Tick();
}

void Messages::before(const SystemCall& call, Tick now) {
  const auto& arguments = call.arguments;
  if (const auto file = written(call)) {
    tell(channels_.out(*file, destination(call)), now);
    return;
  }
  switch (call.number) {
    case SYS_listen:
      tell(Channels::listening(file_of(arguments[0])), now);
      break;
    case SYS_connect:
      tell(Channels::asking(name_at(arguments[1], arguments[2])), now);
      break;
    case SYS_close_range:
      tell_all_files(now);
      break;
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
      tell_signal(call, now);
      break;
    default:
      break;
  }
}

void Messages::tell_signal(const SystemCall& call, Tick now) {
  const auto& arguments = call.arguments;
  const bool of_thread = call.number == SYS_tgkill || call.number == SYS_rt_tgsigqueueinfo;
  if (arguments[of_thread ? 2 : 1] == 0) return;  // asks whether the process is there
  const auto process = static_cast<std::int32_t>(arguments[0]);
  if (process > 0) {
    // Threads of one process wait for each other anyway, and the signal is for one of them.
    if (process != getpid()) table_.raise(Key(signal_to, number_of(process)), now.ps());
    table_.increment(Key(signals_to, number_of(process)));
    return;
  }
  // The group 1 stands for all processes.
  const std::int64_t group = process == 0 ? getpgrp() : -process;
  table_.raise(Key(signal_to_group, number_of(group)), now.ps());
  table_.increment(Key(signals_to_group, number_of(group)));
}

Tick Messages::after(const SystemCall& call, std::int64_t result) {
  Tick latest = heard(Key(signal_to, number_of(getpid())));
  latest = max(latest, heard(Key(signal_to_group, number_of(getpgrp()))));
  latest = max(latest, heard(Key(signal_to_group, 1)));
  if (result < 0) return latest;
  if (const auto file = read_from(call)) return max(latest, heard_from(*file));
  const auto& arguments = call.arguments;
  switch (call.number) {
    case SYS_accept:
    case SYS_accept4:
      latest = max(latest, heard(Channels::asking(file_of(arguments[0]))));
      return max(latest, heard_from(static_cast<int>(result)));
    case SYS_connect:
      latest = max(latest, heard_from(file_of(arguments[0])));
      return max(latest, heard(Channels::listening(name_at(arguments[1], arguments[2]))));
    case SYS_socketpair:
      if (const auto pair = read_guest<std::array<int, 2>>(arguments[3])) {
        channels_.paired((*pair)[0], (*pair)[1]);
      }
      return latest;
    case SYS_poll:
    case SYS_ppoll:
      return max(latest, result == 0 ? Tick() : heard_polled(call));
    case SYS_select:
    case SYS_pselect6:
      return max(latest, result == 0 ? Tick() : heard_selected(call));
    case SYS_epoll_ctl:
      follow_set(call);
      return latest;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return max(latest, heard_events(call, result));
    default:
      return latest;
  }
}

Tick Messages::heard_polled(const SystemCall& call) {
  Tick latest{};
  for (std::uint64_t i = 0; i < call.arguments[1]; ++i) {
    const auto asked = read_guest<pollfd>(call.arguments[0] + i * sizeof(pollfd));
    if (!asked) break;
    if ((asked->revents & ~POLLOUT) != 0) latest = max(latest, heard_from(asked->fd));
  }
  return latest;
}

Tick Messages::heard_selected(const SystemCall& call) {
  const auto files = std::min<std::uint64_t>(call.arguments[0], FD_SETSIZE);
  fd_set readable;
  FD_ZERO(&readable);
  if (!copy_guest(call.arguments[1], &readable, (files + 63) / 64 * 8)) return {};
  Tick latest{};
  for (int file = 0; file < static_cast<int>(files); ++file) {
    if (FD_ISSET(file, &readable)) latest = max(latest, heard_from(file));
  }
  return latest;
}

void Messages::follow_set(const SystemCall& call) {
  const auto event = read_guest<epoll_event>(call.arguments[3]);
  if (call.arguments[1] == EPOLL_CTL_DEL || !event) return;
  const std::lock_guard lock(mutex_);
  polled_[{file_of(call.arguments[0]), event->data.u64}] = file_of(call.arguments[2]);
}

Tick Messages::heard_events(const SystemCall& call, std::int64_t count) {
  Tick latest{};
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const auto event = read_guest<epoll_event>(call.arguments[1] + i * sizeof(epoll_event));
    if (!event) break;
    if ((event->events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) continue;
    const std::lock_guard lock(mutex_);
    const auto file = polled_.find({file_of(call.arguments[0]), event->data.u64});
    if (file != polled_.end()) latest = max(latest, heard_from(file->second));
  }
  return latest;
}

std::uint64_t Messages::signals() const {
  return table_.get(Key(signals_to, number_of(getpid()))) +
         table_.get(Key(signals_to_group, number_of(getpgrp())));
}

std::optional<Tick> Messages::interrupted() {
  const std::uint64_t now = signals();
  const std::lock_guard lock(mutex_);
  if (now == seen_signals_) return std::nullopt;
  seen_signals_ = now;
  return heard(Key(end_of_child_of, number_of(getpid())));
}

void Messages::tell_all_files(Tick now) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    const std::string name = entry.path().filename();
    int file = -1;
    std::from_chars(name.data(), name.data() + name.size(), file);
    tell(channels_.out(file), now);
  }
}

void Messages::ends(Tick now, const Usage& usage, bool goes_on) {
  tell_all_files(now);
  const std::uint64_t process = number_of(getpid());
  table_.raise(Key(end_kind, process), now.ps());
  table_.raise(Key(usage_kind, process), usage.own.ps());
  table_.raise(Key(children_kind, process), usage.children.ps());
  if (goes_on) return;
  const std::uint64_t parent = number_of(getppid());
  table_.raise(Key(end_of_child_of, parent), now.ps());
  table_.increment(Key(signals_to, parent));
}

Tick Messages::end_of(std::int64_t process) const {
  return heard(Key(end_kind, number_of(process)));
}

Messages::Usage Messages::usage_of(std::int64_t process) const {
  return {.own = heard(Key(usage_kind, number_of(process))),
          .children = heard(Key(children_kind, number_of(process)))};
}

void Messages::forget_process() {
  seen_signals_ = signals();
  for (const char kind : {end_kind, usage_kind, children_kind}) {
    table_.set(Key(kind, number_of(getpid())), 0);
  }
}

}  // namespace nearfar::frontend::qemu
