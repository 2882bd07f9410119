#include <algorithm>

#include "sim/cpu/window_core.h"

/// The window core's way for most instructions: what takes one issue slot, computes or accesses
/// one line that L1 has; accesses wait for nothing that is not known. It does what the general way
/// would, and leaves to that whatever else there is (short_way_test.cpp holds one to the other).
///
/// `all_retired`: so has everything before. Then all registers are known, and each instruction that
/// goes this way retires as soon as it is complete.
namespace nearfar::sim::cpu {
namespace {

bool in_one_line(const Access& access) {
  return access.address % line_bytes + access.size <= line_bytes;
}

}  // namespace

/// Room for a slot in the reorder buffer, which puts `at` off until there is.
template <bool all_retired>
[[gnu::always_inline]] inline bool WindowCore::slot_free(Fine& at) const {
  const Position before = tail_ - config_.rob;
  if (!all_retired && before >= head_) return false;
  at = std::max(dispatch_, left_[before & rob_mask_]);
  return true;
}

template <bool many>
[[gnu::always_inline]] inline Fine WindowCore::sources_of(const Digest& step, Fine at) const {
  at = std::max({at, values_[step.sources[0]], values_[step.sources[1]]});
  if (!many || step.sources[2] == no_register) return at;
  return std::max({at, values_[step.sources[2]], values_[step.sources[3]]});
}

[[gnu::always_inline]] inline Fine WindowCore::address_of(const Digest& step, Fine at) const {
  return std::max({at, values_[step.address_sources[0]], values_[step.address_sources[1]]});
}

[[gnu::always_inline]] inline Fine WindowCore::compute(const Digest& step, Fine at) {
  if (step.ports == 0) return at;
  return ports_.take(at, step.ports) + step.latency * period_;
}

/// The instruction is complete at `value`; and retires, if all before it has.
template <bool all_retired>
[[gnu::always_inline]] inline void WindowCore::finish_short(Fine begin, Fine value, Cause cause) {
  dispatch_ = begin + slot_time_;
  last_value_ = value;
  if constexpr (!all_retired) {
    slot(tail_++) = {.time = value, .begin = begin, .cause = cause, .delayed_by = delay_};
    delay_ = Cause::base;
    return;
  }
  if (delay_ == Cause::base) [[likely]] {
    const Fine earliest = retired_ + slot_time_;
    retired_ = std::max(earliest, value);
    account(Cause::base, slot_time_);
    account(cause, retired_ - earliest);
  } else {
    retire_next({.time = value, .begin = begin, .cause = cause, .delayed_by = delay_});
    delay_ = Cause::base;
  }
  left_[tail_++ & rob_mask_] = retired_;
}

template <bool all_retired, bool many>
[[gnu::always_inline]] inline bool WindowCore::short_compute(const Digest& step) {
  Fine at = 0;
  if (!slot_free<all_retired>(at)) return false;
  const Fine latest = sources_of<many>(step, at);
  if (!all_retired && !known(latest)) {
    later_compute(step, at);
    return true;
  }
  const Fine value = compute(step, latest);
  values_[step.destinations[0]] = values_[step.destinations[1]] = value;
  if (many) values_[step.destinations[2]] = value;
  finish_short<all_retired>(at, value, Cause::base);
  return true;
}

template <bool all_retired>
[[gnu::always_inline]] inline bool WindowCore::short_load(const Digest& step,
                                                          const Access& access) {
  Fine at = 0;
  if (!slot_free<all_retired>(at)) return false;
  const Position before = loads_[(load_count_ - config_.loads) & load_mask_];
  if (!all_retired && before >= head_) return false;
  // Longer ago the reorder buffer remembers no times, and has no need to.
  if (before + rob_mask_ >= tail_) at = std::max(at, left_[before & rob_mask_]);
  const Fine address = address_of(step, at);
  const Fine latest = sources_of<true>(step, at);
  if (!all_retired && !known(std::max(address, latest))) return false;
  const Place place = place_of(access.address);
  Fine data = 0;
  if (stores_.forwards(access.address, address, data)) {
    if (!known(data)) return false;
    ++counts_.forwarded;
    data = std::max(address, data) + forward_;
  } else {
    if (!socket_.caches().quick(core_, place, Hierarchy::Kind::load)) return false;
    data = ports_.take(address, Ports::load) + l1_latency_;
  }
  ++counts_.loads;
  loads_[load_count_++ & load_mask_] = tail_;
  const Fine value = compute(step, std::max(latest, data));
  for (const Register destination : step.destinations) values_[destination] = value;
  finish_short<all_retired>(at, value, Cause::l1);
  return true;
}

template <bool all_retired>
[[gnu::always_inline]] inline bool WindowCore::short_store(const Digest& step,
                                                           const Access& access) {
  Fine at = 0;
  if (!slot_free<all_retired>(at)) return false;
  const Fine without_queue = at;
  if (!stores_.room(1, at)) return false;
  const Fine address = address_of(step, at);
  const Fine latest = sources_of<true>(step, address);
  if (!all_retired && !known(latest)) return false;
  if (at != without_queue) delay_ = Cause::store_queue;
  ++counts_.stores;
  const Place place = place_of(access.address);
  const bool here = socket_.caches().quick(core_, place, Hierarchy::Kind::store);
  const Fine value = ports_.take(latest, Ports::store) + period_;
  for (const Register destination : step.destinations) values_[destination] = value;
  if (all_retired && here && stores_.empty()) {
    finish_short<all_retired>(at, value, Cause::base);
    stores_.pass(access, value, retired_);
    return true;
  }
  const Position position = tail_;
  const StoreBuffer::Number number =
      stores_.push(StoreBuffer::Kind::store, place, access.size, position);
  stores_.asked(number, here, address);
  stores_.set_data(number, value);
  finish_short<all_retired>(at, value, Cause::base);
  if constexpr (all_retired) {
    head_ = tail_;
    stores_.retired(position, retired_);
  }
  return true;
}

template <bool all_retired>
void WindowCore::play_short(std::span<const Digest> steps, std::span<const Access> accesses) {
  const Access* access = accesses.data() + next_access_;
  const Access* const end = accesses.data() + accesses.size();
  constexpr std::size_t none = ~std::size_t{0};
  std::size_t accessed_at = access == end ? none : access->instruction;
  std::size_t next = next_instruction_;
  for (; next != steps.size(); ++next) {
    const Digest& step = steps[next];
    if (step.way == Digest::Way::compute) {
      if (next == accessed_at || !short_compute<all_retired, false>(step)) break;
      continue;
    }
    if (step.way == Digest::Way::compute_more) {
      if (next == accessed_at || !short_compute<all_retired, true>(step)) break;
      continue;
    }
    if (step.way == Digest::Way::nothing) continue;
    if (step.way == Digest::Way::general || next != accessed_at || !in_one_line(*access)) break;
    const std::size_t then = access + 1 == end ? none : access[1].instruction;
    if (then == next) break;
    if (!(step.way == Digest::Way::load ? short_load<all_retired>(step, *access)
                                        : short_store<all_retired>(step, *access))) {
      break;
    }
    ++access;
    accessed_at = then;
  }
  next_instruction_ = next;
  next_access_ = static_cast<std::size_t>(access - accesses.data());
  if constexpr (all_retired) head_ = tail_;
}

void WindowCore::play_short(const Block& block, std::span<const Access> accesses) {
  const std::span<const Digest> steps = block.instructions.steps();
  if (head_ == tail_) {
    play_short<true>(steps, accesses);
  } else {
    play_short<false>(steps, accesses);
  }
}

}  // namespace nearfar::sim::cpu
