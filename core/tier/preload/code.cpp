#include "tier/preload/code.h"

#include <algorithm>
#include <iterator>

namespace nearfar::tier::preload {
namespace {

template <typename T>
T read(os::Place at) {
  T value;
  std::memcpy(&value, os::pointer(at), sizeof value);
  return value;
}
unsigned char byte(os::Place at) { return read<unsigned char>(at); }

/// cmp $-4096 or $-4095, %rax or %eax, which says whether there was an error.
struct Comparison {
  unsigned char bytes[6];
  std::size_t length;
};
constexpr Comparison comparisons[] = {
    {{0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff}, 6},
    {{0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff}, 6},
    {{0x3d, 0x00, 0xf0, 0xff, 0xff}, 5},
    {{0x3d, 0x01, 0xf0, 0xff, 0xff}, 5},
};

/// nopl of an address that is the sum of two registers and a distance, whichever they are: of its
/// eight bytes, the last five may be any.
constexpr unsigned char long_nop[] = {0x0f, 0x1f, 0x84};
constexpr std::size_t of_long_nop = 8;

}  // namespace

Code::Code(os::Place begin, os::Place end)
    : begin_(begin), end_(end), jumped_to_(os::pointer<bool>(os::reserve(end - begin))) {
  if (jumped_to_ != nullptr) note_jumps();
}

Code::~Code() {
  if (jumped_to_ != nullptr) os::unmap(os::place(jumped_to_), end_ - begin_);
}

std::size_t Code::comparison_behind(os::Place call) {
  const auto* const found = std::find_if(
      std::begin(comparisons), std::end(comparisons),
      [&](const Comparison& one) { return is(call + of_call, one.bytes, one.length); });
  return found == std::end(comparisons) ? 0 : found->length;
}

/// mov $NUMBER, %eax
bool Code::is_assigned_before(os::Place call) {
  constexpr unsigned char assignment = 0xb8;
  constexpr std::uint32_t most_numbers = 512;
  return byte(call - of_assignment) == assignment &&
         read<std::uint32_t>(call - of_assignment + 1) < most_numbers;
}

bool Code::is_call(os::Place at) {
  return is(at, syscall, sizeof syscall) && (is_assigned_before(at) || comparison_behind(at) != 0);
}

bool Code::is_cancelled_at_one_call() const {
  // mov %r11, 8(%rsp), which keeps where the thread's state is; the call; ret.
  constexpr unsigned char shared[] = {0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05, 0xc3};
  for (os::Place at = begin_; at + sizeof shared <= end_; ++at)
    if (is(at, shared, sizeof shared)) return true;
  return false;
}

CallSite Code::find_form(os::Place call) {
  const std::size_t comparison = comparison_behind(call);
  if (comparison != 0 && !is_jumped_to(call + of_call)) return {call, Form::with_next};
  if (is_assigned_before(call) && !is_jumped_to(call)) return {call, Form::with_previous};
  const os::Place hop = find_hop(call);
  return {call, hop == 0 ? Form::none : Form::by_hop, hop};
}

/// Within a short jump's reach, behind the last one; 0 if there is none. Around it stays an
/// instruction that does nothing.
os::Place Code::find_hop(os::Place call) {
  constexpr os::Place reach = 120;
  const os::Place from = std::max({last_hop_, begin_, call - reach});
  const os::Place to = std::min(end_ - of_long_nop, call + reach);
  for (os::Place at = from; at < to; ++at) {
    if (!is(at, long_nop, sizeof long_nop)) continue;
    const os::Place hop = at + sizeof long_nop;
    if (byte(hop) != 0 || read<std::uint32_t>(hop + 1) != 0) continue;
    last_hop_ = hop + of_jump;
    return hop;
  }
  return 0;
}

/// Wherever whatever could be a jump would go.
void Code::note_jumps() {
  const auto note = [this](os::Place to) {
    if (to >= begin_ && to < end_) jumped_to_[to - begin_] = true;
  };
  constexpr std::size_t longest = 6;
  for (os::Place at = begin_; at + longest < end_; ++at) {
    const unsigned char first = byte(at);
    const bool is_short = (first & 0xf0U) == 0x70 || first == 0xeb || (first & 0xfcU) == 0xe0;
    if (is_short) note(at + 2 + static_cast<os::Place>(read<std::int8_t>(at + 1)));
    if ((first & 0xfeU) == 0xe8) note(at + 5 + static_cast<os::Place>(read<std::int32_t>(at + 1)));
    if (first == 0x0f && (byte(at + 1) & 0xf0U) == 0x80)
      note(at + longest + static_cast<os::Place>(read<std::int32_t>(at + 2)));
  }
}

}  // namespace nearfar::tier::preload
