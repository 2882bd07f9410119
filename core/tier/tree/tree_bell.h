#pragma once

namespace nearfar::tier {

/// What wakes every pager of a tree at once: a pipe into which whoever rings writes a byte that no
/// pager reads. Each waits for the edge by an epoll of its own, so that one's waking does not use
/// up another's, and an idle tree does nothing.
class TreeBell {
 public:
  TreeBell() = default;
  /// `pipe`: open for reading and writing; -1: there is none, and it never rings.
  explicit TreeBell(int pipe) : pipe_(pipe) {}

  /// In a process that is new, also a forked one. Ends it if there are no descriptors left.
  void listen();

  /// Wakes the pagers of the whole tree. Never waits.
  void ring() const;

  /// To be polled; what is to be read there `heard` takes.
  [[nodiscard]] int descriptor() const { return epoll_; }
  [[nodiscard]] int pipe() const { return pipe_; }
  void heard() const;

 private:
  int pipe_ = -1;
  int epoll_ = -1;
};

}  // namespace nearfar::tier
