#pragma once

namespace nearfar::tier {

/// Wakes every pager of a tree at once: a pipe, shared by all, into which a process writes a byte
/// that no pager reads. Each pager waits for the edge by an epoll of its own, so that waking one
/// does not use up another's event, and an idle tree does nothing.
class WakePipe {
 public:
  WakePipe() = default;
  /// `pipe`: open for reading and writing, not blocking; -1: none, and `wake_all` does nothing.
  explicit WakePipe(int pipe) : pipe_(pipe) {}

  /// Begins to wait, in a process that is new, also a forked one. Ends the process if no descriptor
  /// is left.
  void listen();

  /// Wakes the pagers of the whole tree, this one included. Does not block.
  void wake_all() const;

  /// To be polled: readable after `wake_all`, until `acknowledge`.
  [[nodiscard]] int descriptor() const { return epoll_; }
  [[nodiscard]] int pipe() const { return pipe_; }
  void acknowledge() const;

 private:
  int pipe_ = -1;
  int epoll_ = -1;
};

}  // namespace nearfar::tier
