#include "tier/flat/flat_tier.h"

#include <algorithm>

namespace nearfar::tier {
namespace {

/// Of a step, during which no fault is served: 16 pairs take 0.15 ms. The last of them may be the
/// first of a run, of which 64 take 0.06 ms.
constexpr std::size_t pairs_a_step = 16;

/// What an exchange and a far read cost, as measured (docs/tiering-flat.md): a policy weighs them.
constexpr Tick exchange_cost{9'000'000};
constexpr Tick far_read_cost{279'000};
constexpr Tick scan_cost{30'000};
constexpr Tick probe_cost{1'000'000};

}  // namespace

FlatTier::FlatTier(PagerState& state, Mover::Parts parts)
    : state_(state), mover_(state, parts), detector_(state, mover_, parts.eviction) {}

void FlatTier::start() {
  if (!is_on()) return;
  const FlatControl& control = state_.flat->control();
  state_.has_huge_pages = false;  // pages are moved one by one
  detector_.start(static_cast<policy::Detector>(control.detector));
  if (exchanges_.empty()) {
    exchanges_ = {os::reserve_array<policy::Exchange>(control.pairs, "no memory for exchanges"),
                  control.pairs};
    state_.flat->placement().costs({.interval = Tick(control.interval_ns * 1000),
                                    .exchange = exchange_cost,
                                    .saved = far_read_cost,
                                    .scan = detector_.probes() ? probe_cost : scan_cost});
  }
  begin_scan();
}

std::uint64_t FlatTier::scan_ns() const {
  return state_.flat->control().interval_ns / policy::scans_a_decision;
}

int FlatTier::milliseconds() const {
  constexpr std::uint64_t ns_a_millisecond = 1'000'000;
  if (!is_on() || state_.keeps_near) return -1;
  if (phase_ != Phase::waiting || should_trim()) return 0;
  const std::uint64_t now = state_.memory().now_ns();
  return now >= due_ns_ ? 0 : static_cast<int>((due_ns_ - now) / ns_a_millisecond) + 1;
}

bool FlatTier::work() {
  if (!is_on()) return false;
  if (state_.keeps_near) {
    if (state_.limbo.pages() != 0) (void)mover_.bring_all_back();
    return false;
  }
  const std::uint64_t begun = state_.memory().thread_ns();
  const bool moves = phase_ == Phase::exchanging || phase_ == Phase::waiting;
  const bool more = phase_ == Phase::waiting ? wait() : (work_on_use(), true);
  if (!more) return false;
  const std::uint64_t took = state_.memory().thread_ns() - begun;
  state_.control.add(moves ? Count::mover_ns : Count::detector_ns, took);
  if (!moves) detector_.spent(took);
  return true;
}

/// Nothing is due, or the limit is lower than it was.
bool FlatTier::wait() {
  if (should_trim()) return trim();
  if (state_.memory().now_ns() < due_ns_) return false;
  phase_ = !scans_now_ ? Phase::deciding : detector_.probes() ? Phase::collecting : Phase::scanning;
  if (!scans_now_) end_scan();
  return true;
}

void FlatTier::work_on_use() {
  switch (phase_) {
    case Phase::collecting:
      if (detector_.collect_some()) return;
      if (++round_ < plan_.rounds) {
        begin_round();
      } else {
        end_scan();
      }
      return;
    case Phase::scanning:
      if (!detector_.scan_some()) end_scan();
      return;
    case Phase::deciding:
      decide();
      return;
    case Phase::exchanging:
      exchange_some();
      return;
    case Phase::probing:
      if (!detector_.probe_some()) phase_ = Phase::waiting;
      return;
    case Phase::waiting:
      return;
  }
}

void FlatTier::end_scan() {
  constexpr unsigned most_quiet = 1000;
  const bool found = !scans_now_ || detector_.take_found() != 0;
  quiet_ = found ? 0 : std::min(quiet_ + 1, most_quiet);
  detector_.check_some();
  if (++scans_ < policy::scans_a_decision) {
    begin_scan();
    return;
  }
  scans_ = 0;
  phase_ = Phase::deciding;
}

/// Scans are made half as often, and half as often again, while all pages have been found unused.
/// One scan probes a part of them.
unsigned FlatTier::slowed_by() const {
  constexpr unsigned most = 3;
  const unsigned rounds = detector_.probes() ? quiet_ / (2 * policy::scans_a_decision) : quiet_;
  return std::min(rounds, most);
}

void FlatTier::begin_scan() {
  scans_now_ = state_.flat->placement().needs_scans();
  round_ = 0;
  plan_ = {};
  if (detector_.probes() && scans_now_) {
    const FlatPages& flat = *state_.flat;
    plan_ = detector_.plan(flat.own_near() + flat.own_far(), scan_ns());
  }
  begin_round();
}

void FlatTier::begin_round() {
  const std::uint64_t length = (scan_ns() << slowed_by()) / plan_.rounds;
  due_ns_ = state_.memory().now_ns() + length;
  const bool probes = detector_.probes() && scans_now_;
  if (probes) detector_.begin_probes(plan_.pages, length);
  phase_ = probes ? Phase::probing : Phase::waiting;
}

void FlatTier::decide() {
  FlatPages& flat = *state_.flat;
  trims_ = true;
  (void)state_.budget.reap();  // near pages of processes that have ended are free
  (void)mover_.bring_all_back();  // what could not come back at its time
  const std::uint64_t limit = flat.limit();
  const std::uint64_t near = flat.near_pages();
  const std::uint64_t room = near < limit ? limit - near : 0;
  const std::uint64_t own = std::clamp<std::uint64_t>(
      flat.own_near() - flat.withdrawn_near() + room, 1, policy::most_pages);
  flat.placement().resize(static_cast<policy::PageIndex>(own));
  state_.control.add(Count::decisions);
  decided_ = flat.placement().decide(exchanges_);
  offer_again();  // scans come before the next decision
  made_ = 0;
  phase_ = Phase::exchanging;
}

void FlatTier::offer_again() {
  if (++waited_ < patience_) return;
  waited_ = 0;
  FlatPages& flat = *state_.flat;
  const bool in_vain = offered_ != 0 && flat.withdrawn() >= offered_ / 2;
  patience_ = in_vain ? std::min(2 * patience_, most_patience) : least_patience;
  offered_ = flat.withdrawn();
  flat.readmit_all();
}

void FlatTier::exchange_some() {
  if (state_.limbo.pages() != 0) (void)mover_.bring_all_back();
  const std::size_t end = std::min(made_ + pairs_a_step, decided_);
  const std::span<const policy::Exchange> all = exchanges_.first(decided_);
  while (made_ < end) made_ += mover_.make_some(all.subspan(made_));
  if (made_ < decided_) return;
  count_groups();
  begin_scan();
}

/// Groups that are all near, as more than half of each was to come there in this decision.
void FlatTier::count_groups() const {
  constexpr policy::PageIndex group = policy::GroupedPlacement::group;
  for (std::size_t i = 0; i < decided_ && exchanges_[i].promote != policy::no_page;) {
    const policy::PageIndex first = exchanges_[i].promote / group * group;
    std::size_t count = 0;
    for (; i < decided_ && exchanges_[i].promote / group * group == first; ++i) ++count;
    if (count > group / 2 && state_.flat->is_group_near(first))
      state_.control.add(Count::groups_exchanged);
  }
}

bool FlatTier::is_over_limit() const { return state_.flat->near_pages() > state_.flat->limit(); }

/// Pages that would not move are tried again when the limit changes, or at the next decision.
bool FlatTier::should_trim() const {
  return is_over_limit() && (trims_ || state_.flat->limit() < limit_);
}

/// Looks at some pages, in turn, and moves near ones to far memory. False when all have been looked
/// at in vain.
bool FlatTier::trim() {
  constexpr std::size_t looks_a_step = 16384;
  const FlatPages& flat = *state_.flat;
  limit_ = flat.limit();
  trims_ = true;
  const Limbo& limbo = state_.limbo;
  if (limbo.span() + pairs_a_step > limbo.capacity()) (void)mover_.bring_all_back();
  std::size_t tried = 0;
  for (std::size_t looked = 0; looked < looks_a_step && tried < pairs_a_step; ++looked) {
    if (!is_over_limit()) return true;
    if (passed_over_ >= flat.end()) {
      passed_over_ = 0;
      trims_ = false;
      return false;
    }
    if (next_trimmed_ >= flat.end()) next_trimmed_ = 0;
    const policy::PageIndex page = next_trimmed_++;
    ++passed_over_;
    if (!flat.is_there(page) || flat.tier(page) != policy::Tier::near) continue;
    ++tried;
    mover_.make({.demote = page});
    if (flat.is_there(page) && flat.tier(page) == policy::Tier::far) passed_over_ = 0;
  }
  return true;
}

bool FlatTier::bring_all_back() { return !is_on() || mover_.bring_all_back(); }

void FlatTier::become_child() {
  if (!is_on()) return;
  detector_.forget();
  next_trimmed_ = 0;
  begin_scan();
}

}  // namespace nearfar::tier
