#pragma once

namespace nearfar::tier {

/// What a pager thread can wait for: descriptors, below 0 where it does not wait for them.
struct EventSources {
  int wake_up = -1;   ///< of this thread
  int messages = -1;  ///< the userfaultfd
  int tree = -1;      ///< other processes of the tree want something
  int children = -1;  ///< forked children
};

/// What has happened.
struct Events {
  bool wake_up = false;
  bool tree = false;
  bool children = false;
  bool closed = false;  ///< the program has closed a descriptor that the pager needs
};

/// Waits until something happens, `milliseconds` at most; below 0: for as long as it takes.
[[nodiscard]] Events wait_for_events(const EventSources& sources, int milliseconds);

/// How long the pager's first thread may wait.
struct Wait {
  bool has_work = false;
  bool others_share_near = false;  ///< processes of the tree, which cannot tell when they need room
  bool awaits_discards = false;  ///< a thread that makes one may be killed
  bool serves_while_forking = false;  ///< faults wait until one more can be served
  int until_due = -1;  ///< milliseconds until something is to be done; below 0: nothing is
};
[[nodiscard]] constexpr int milliseconds_of(const Wait& wait) {
  constexpr int look_again = 20;
  if (wait.has_work) return 0;
  if (wait.serves_while_forking) return 1;
  const int longest = wait.others_share_near || wait.awaits_discards ? look_again : -1;
  if (wait.until_due < 0) return longest;
  return longest < 0 || wait.until_due < longest ? wait.until_due : longest;
}

}  // namespace nearfar::tier
