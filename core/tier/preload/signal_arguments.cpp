#include "tier/preload/signal_arguments.h"

#include <signal.h>

#include "tier/preload/held_calls.h"
#include "tier/preload/sigbus.h"

namespace nearfar::tier::preload {
namespace {

/// Copies an object of the program's; false if the kernel will say that there is none.
template <typename T>
bool copy(T& to, long from) {
  const auto at = static_cast<os::Place>(from);
  if (at == 0 || !may_be_read(*runtime(), at, sizeof to)) return false;
  to = *os::pointer<const T>(at);
  return true;
}

}  // namespace

void SignalArguments::open_set(long& word) {
  if (!copy(set_, word)) return;
  set_ &= ~os::fault_signals;
  word = os::word(&set_);
}

std::optional<long> SignalArguments::change_action(Words& words) {
  const bool changes = copy(action_, words[1]);
  if (words[1] != 0 && !changes) return std::nullopt;
  if (words[0] == SIGBUS) {
    KernelAction before{};
    change_program_action(changes ? &action_ : nullptr, before);
    const auto at = static_cast<os::Place>(words[2]);
    if (at == 0) return 0;
    if (!may_be_read(*runtime(), at, sizeof before)) return -EFAULT;
    *os::pointer<KernelAction>(at) = before;
    return 0;
  }
  if (!changes) return std::nullopt;
  action_.mask &= ~os::fault_signals;
  words[1] = os::word(&action_);
  return std::nullopt;
}

std::optional<long> SignalArguments::open_to_faults(long number, Words& words) {
  switch (number) {
    case __NR_rt_sigprocmask:
      if (words[0] != SIG_UNBLOCK) open_set(words[1]);
      break;
    case __NR_rt_sigsuspend:
      open_set(words[0]);
      break;
    case __NR_ppoll:
      open_set(words[3]);
      break;
    case __NR_epoll_pwait:
    case __NR_epoll_pwait2:
      open_set(words[4]);
      break;
    case __NR_pselect6:
      if (!copy(pointed_, words[5])) break;
      open_set(pointed_.set);
      words[5] = os::word(&pointed_);
      break;
    case __NR_rt_sigaction:
      return change_action(words);
    default:
      break;
  }
  return std::nullopt;
}

}  // namespace nearfar::tier::preload
