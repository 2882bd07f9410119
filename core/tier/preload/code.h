#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tier/os/system.h"

namespace nearfar::tier::preload {

/// How a system call's instruction can be replaced by a jump, which is longer.
enum class Form : std::uint8_t {
  none,
  with_next,      ///< with the comparison behind it, which is done elsewhere
  with_previous,  ///< with the number's assignment before it, which is done elsewhere
  by_hop,         ///< by a short jump to a long one, within an instruction that does nothing
};

/// An instruction that calls the kernel.
struct CallSite {
  os::Place at = 0;
  Form form = Form::none;
  os::Place hop = 0;  ///< where the long jump goes, of `by_hop`
};

/// Instructions of a library, of which nothing is known but their bytes.
///
/// What looks like the instruction may be a part of another. So it must stand beside what libc has
/// there: the number's assignment before it, or the comparison with the largest error behind it.
/// And the second of the two instructions that are replaced must not be jumped to: whatever could
/// be read as a jump counts as one.
class Code {
 public:
  /// Reads all of it. False if there is no memory for that.
  Code(os::Place begin, os::Place end);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code();

  [[nodiscard]] bool is_read() const { return jumped_to_ != nullptr; }
  [[nodiscard]] os::Place begin() const { return begin_; }
  [[nodiscard]] os::Place end() const { return end_; }

  /// Calls `visit` with where each instruction is that calls the kernel.
  template <typename Visit>
  void for_each_call(const Visit& visit) const {
    for (os::Place at = begin_ + margin; at + margin < end_; ++at)
      if (is_call(at)) visit(at);
  }
  /// Of each once, in order.
  [[nodiscard]] CallSite find_form(os::Place call);

  /// Whether threads can be cancelled at one call only, which libc (glibc since 2.41) makes for all
  /// of its functions, and which it knows a thread to be at by the instruction's address.
  [[nodiscard]] bool is_cancelled_at_one_call() const;

  /// The length of the comparison behind a call; 0 if there is none.
  [[nodiscard]] static std::size_t comparison_behind(os::Place call);

  static constexpr std::size_t of_call = 2;  // bytes
  static constexpr std::size_t of_assignment = 5;  // before it
  static constexpr std::size_t of_jump = 5;

 private:
  static constexpr unsigned char syscall[] = {0x0f, 0x05};
  static constexpr std::size_t margin = 16;

  [[nodiscard]] static bool is(os::Place at, const unsigned char* bytes, std::size_t count) {
    return std::memcmp(os::pointer(at), bytes, count) == 0;
  }
  [[nodiscard]] static bool is_assigned_before(os::Place call);
  [[nodiscard]] static bool is_call(os::Place at);
  [[nodiscard]] os::Place find_hop(os::Place call);
  void note_jumps();
  [[nodiscard]] bool is_jumped_to(os::Place at) const { return jumped_to_[at - begin_]; }

  os::Place begin_;
  os::Place end_;
  os::Place last_hop_ = 0;
  bool* jumped_to_;  // each byte
};

}  // namespace nearfar::tier::preload
