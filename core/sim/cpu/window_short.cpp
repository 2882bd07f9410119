#include <algorithm>

#include "sim/cpu/window_core.h"

/// The window core's way for most instructions: what takes one issue slot, computes or accesses
/// one line that L1 has, and waits for nothing that is not known. It does what the general way
/// would, and leaves to that whatever else there is (short_way_test.cpp holds one to the other).
namespace nearfar::sim::cpu {
namespace {

bool in_one_line(const Access& access) {
  return access.address % line_bytes + access.size <= line_bytes;
}

}  // namespace

/// What goes on from instruction to instruction is kept apart from the core, where the compiler
/// finds registers for it, and put back at the end.
class WindowCore::ShortWay {
 public:
  enum class Mode : std::uint8_t {
    waiting,  ///< for an instruction before that is not complete
    retired,  ///< all before has retired: so all registers are known, and each instruction that goes
              ///< this way retires as soon as it is complete
    brisk,    ///< besides, nothing puts the rest of the block off: there is room for all of it
  };

  explicit ShortWay(WindowCore& core)
      : core_(core),
        left_(core.left_.data()),
        values_(core.values_.data()),
        mask_(core.rob_mask_),
        slot_time_(core.slot_time_),
        dispatch_(core.dispatch_),
        retired_(core.retired_),
        tail_(core.tail_),
        delay_(core.delay_) {}

  [[nodiscard]] Mode mode(std::size_t slots) const {
    if (core_.head_ != tail_) return Mode::waiting;
    const bool room =
        slots <= core_.config_.rob && left_[(tail_ + slots - 1 - core_.config_.rob) & mask_] <= dispatch_;
    return room && delay_ == Cause::base ? Mode::brisk : Mode::retired;
  }

  template <Mode mode>
  void play(std::span<const Step> steps, std::span<const Access> accesses) {
    const Access* access = accesses.data() + core_.next_access_;
    const Access* const end = accesses.data() + accesses.size();
    std::size_t next = core_.next_instruction_;
    for (; next != steps.size(); ++next) {
      const Step& step = steps[next];
      const bool accesses_here = access != end && access->instruction == next;
      if (step.way == Step::Way::compute) {
        if (accesses_here || !compute<mode, false>(step)) break;
        continue;
      }
      if (step.way == Step::Way::compute_more) {
        if (accesses_here || !compute<mode, true>(step)) break;
        continue;
      }
      if (step.way == Step::Way::nothing) continue;
      if (step.way == Step::Way::general || !accesses_here || !in_one_line(*access)) break;
      if (access + 1 != end && access[1].instruction == next) break;
      if (!(step.way == Step::Way::load ? load<mode>(step, *access) : store<mode>(step, *access))) {
        break;
      }
      ++access;
    }
    core_.next_instruction_ = next;
    core_.next_access_ = static_cast<std::size_t>(access - accesses.data());
    put_back<mode>();
  }

 private:
  [[nodiscard]] Fine value(Register from) const { return values_[from]; }

  template <Mode mode>
  [[gnu::always_inline]] void put_back() {
    core_.dispatch_ = dispatch_;
    core_.delay_ = delay_;
    if (core_.tail_ != tail_) core_.last_value_ = last_value_;
    core_.tail_ = tail_;
    if constexpr (mode != Mode::waiting) {
      core_.account(Cause::base, retired_ - core_.retired_ - l1_ - delayed_);
      core_.account(Cause::l1, l1_);
      core_.head_ = tail_;
      core_.retired_ = retired_;
    }
  }

  /// Room for a slot in the reorder buffer, and from when.
  template <Mode mode>
  [[gnu::always_inline]] bool room(Fine& at) const {
    at = dispatch_;
    if constexpr (mode == Mode::brisk) return true;
    const Position before = tail_ - core_.config_.rob;
    if (mode == Mode::waiting && before >= core_.head_) return false;
    at = std::max(at, left_[before & mask_]);
    return true;
  }

  [[gnu::always_inline]] Fine two_sources_of(const Step& step, Fine at) const {
    return std::max({at, value(step.sources[0]), value(step.sources[1])});
  }
  [[gnu::always_inline]] Fine sources_of(const Step& step, Fine at) const {
    at = two_sources_of(step, at);
    if (step.sources[2] == no_register) return at;
    return std::max({at, value(step.sources[2]), value(step.sources[3])});
  }
  [[gnu::always_inline]] Fine address_of(const Step& step, Fine at) const {
    return std::max({at, value(step.address_sources[0]), value(step.address_sources[1])});
  }

  [[gnu::always_inline]] Fine execute(const Step& step, Fine at) {
    if (step.ports == 0) return at;
    return core_.ports_.take(at, step.ports) + step.latency * core_.period_;
  }

  /// The instruction is complete at `value`; and retires, if all before it has.
  template <Mode mode>
  [[gnu::always_inline]] void finish(Fine begin, Fine value, Cause cause) {
    dispatch_ = begin + slot_time_;
    last_value_ = value;
    if constexpr (mode == Mode::waiting) {
      core_.rob_[tail_ & mask_] = {
          .time = value, .begin = begin, .cause = cause, .delayed_by = delay_};
      delay_ = Cause::base;
    } else {
      retire(begin, value, cause);
      left_[tail_ & mask_] = retired_;
    }
    ++tail_;
  }

  /// What is not counted here is base.
  [[gnu::always_inline]] void retire(Fine begin, Fine value, Cause cause) {
    if (delay_ != Cause::base) [[unlikely]] {
      retire_delayed(begin, value, cause);
      return;
    }
    const Fine earliest = retired_ + slot_time_;
    retired_ = std::max(earliest, value);
    if (cause == Cause::l1) l1_ += retired_ - earliest;
  }
  void retire_delayed(Fine begin, Fine value, Cause cause) {
    const Fine was = core_.retired_;
    core_.retired_ = retired_;
    const Fine now = core_.retire_next(
        {.time = value, .begin = begin, .cause = cause, .delayed_by = delay_});
    core_.retired_ = was;
    delayed_ += now - retired_;
    retired_ = now;
    delay_ = Cause::base;
  }

  template <Mode mode, bool more>
  [[gnu::always_inline]] bool compute(const Step& step) {
    Fine at = 0;
    if (!room<mode>(at)) return false;
    const Fine latest = more ? sources_of(step, at) : two_sources_of(step, at);
    if (mode == Mode::waiting && !known(latest)) return false;
    const Fine done = execute(step, latest);
    values_[step.destinations[0]] = done;
    values_[step.destinations[1]] = done;
    if (more) values_[step.destinations[2]] = done;
    finish<mode>(at, done, Cause::base);
    return true;
  }

  template <Mode mode>
  [[gnu::always_inline]] bool load(const Step& step, const Access& access) {
    Fine at = 0;
    if (!room<mode>(at)) return false;
    const Position before =
        core_.loads_[(core_.load_count_ - core_.config_.loads) & core_.load_mask_];
    if (mode == Mode::waiting && before >= core_.head_) return false;
    // Longer ago the reorder buffer remembers no times, and has no need to.
    if (before + mask_ >= tail_) at = std::max(at, left_[before & mask_]);
    const Fine address = address_of(step, at);
    const Fine latest = sources_of(step, at);
    if (mode == Mode::waiting && !known(std::max(address, latest))) return false;
    const Place place = core_.place_of(access.address);
    Fine data = 0;
    if (core_.stores_.forwards(access.address, address, data)) {
      if (!known(data)) return false;
      ++core_.counts_.forwarded;
      data = std::max(address, data) + core_.forward_;
    } else {
      if (!core_.socket_.caches().quick(core_.core_, place, Hierarchy::Kind::load)) return false;
      data = core_.ports_.take(address, Ports::load) + core_.l1_latency_;
    }
    ++core_.counts_.loads;
    core_.loads_[core_.load_count_++ & core_.load_mask_] = tail_;
    data = execute(step, std::max(latest, data));
    for (const Register destination : step.destinations) values_[destination] = data;
    finish<mode>(at, data, Cause::l1);
    return true;
  }

  template <Mode mode>
  [[gnu::always_inline]] bool store(const Step& step, const Access& access) {
    Fine at = 0;
    if (!room<mode>(at)) return false;
    const Fine without_queue = at;
    if (!core_.stores_.room(1, at)) return false;
    const Fine address = address_of(step, at);
    const Fine latest = sources_of(step, address);
    if (mode == Mode::waiting && !known(latest)) return false;
    if (at != without_queue) delay_ = Cause::store_queue;
    ++core_.counts_.stores;
    const Place place = core_.place_of(access.address);
    const bool here = core_.socket_.caches().quick(core_.core_, place, Hierarchy::Kind::store);
    const Fine data = core_.ports_.take(latest, Ports::store) + core_.period_;
    for (const Register destination : step.destinations) values_[destination] = data;
    if (mode != Mode::waiting && here && core_.stores_.empty()) {
      finish<mode>(at, data, Cause::base);
      core_.stores_.pass(access, data, retired_);
      return true;
    }
    const Position position = tail_;
    const StoreBuffer::Number number =
        core_.stores_.push(StoreBuffer::Kind::store, place, access.size, position);
    core_.stores_.asked(number, here, address);
    core_.stores_.set_data(number, data);
    finish<mode>(at, data, Cause::base);
    if constexpr (mode != Mode::waiting) core_.stores_.retired(position, retired_);
    return true;
  }

  WindowCore& core_;
  Fine* const left_;
  Fine* const values_;
  const Position mask_;
  const Fine slot_time_;
  Fine dispatch_;
  Fine retired_;
  Fine last_value_ = 0;
  Fine l1_ = 0;  ///< what waited for L1
  Fine delayed_ = 0;  ///< what is accounted for already
  Position tail_;
  Cause delay_;
};

void WindowCore::play_short(const Block& block, std::span<const Access> accesses) {
  const std::span<const Step> steps = block.instructions.steps();
  ShortWay way(*this);
  switch (way.mode(steps.size() - next_instruction_)) {
    case ShortWay::Mode::waiting:
      way.play<ShortWay::Mode::waiting>(steps, accesses);
      break;
    case ShortWay::Mode::retired:
      way.play<ShortWay::Mode::retired>(steps, accesses);
      break;
    case ShortWay::Mode::brisk:
      way.play<ShortWay::Mode::brisk>(steps, accesses);
      break;
  }
}

}  // namespace nearfar::sim::cpu
