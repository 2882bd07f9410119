#include "policy/offline/paging.h"

#include <algorithm>

#include "base/error.h"

namespace nearfar::policy {

Paging::Paging(const Options& options) : options_(options), policy_(options.policy, options.near) {
  if (options.limbo >= options.near) {
    throw InputError("limbo: found " + std::to_string(options.limbo) +
                     " pages, expected fewer than " + "the " + std::to_string(options.near) +
                     " of near memory");
  }
  if (options.scans) plan_scan();
}

void Paging::visit(PageIndex page, bool write) {
  if (page >= pages_.size()) {
    pages_.resize(page + std::size_t{1});
    entries_.resize(page + std::size_t{1});
    policy_.reserve(page + 1);
  }
  State& state = pages_[page];
  if (!state.resident) come_in(page, state);
  state.accessed = true;
  state.written |= write;
  state.dirty |= write;
}

void Paging::come_in(PageIndex page, State& state) {
  if (state.in_limbo) {
    ++counts_.second_chances;
    state.in_limbo = false;
    --limbo_size_;
    policy_->second_chance(page);
  } else {
    make_room();
    ++(state.touched ? counts_.copies_in : counts_.first_touches);
    state.touched = true;
    state.dirty = false;
    policy_->fault(page);
    ++misses_since_scan_;
  }
  state.resident = state.fresh = true;
  ++resident_;
  if (misses_a_scan_ != 0 && misses_since_scan_ >= misses_a_scan_) scan();
}

void Paging::make_room() {
  if (used() < options_.near) return;
  if (limbo_size_ <= options_.limbo / 2) fill_limbo();
  drop_oldest();
}

void Paging::drop_oldest() {
  while (true) {
    const Waiting oldest = limbo_.front();
    limbo_.pop_front();
    State& state = pages_[oldest.page];
    if (!state.in_limbo || entries_[oldest.page] != oldest.entry) continue;
    ++(state.dirty ? counts_.copies_out : counts_.clean_drops);
    state.in_limbo = false;
    --limbo_size_;
    return;
  }
}

void Paging::fill_limbo() {
  // Without limbo a page passes through it on the way out.
  const PageIndex wanted = std::max<PageIndex>(1, options_.limbo);
  while (limbo_size_ < wanted) {
    const PageIndex page = policy_->evict();
    State& state = pages_[page];
    state.resident = false;
    state.in_limbo = true;
    limbo_.push_back({page, ++entries_[page]});
    --resident_;
    ++limbo_size_;
  }
}

void Paging::release(PageIndex page) {
  if (page >= pages_.size()) return;
  State& state = pages_[page];
  if (state.resident) --resident_;
  if (state.in_limbo) --limbo_size_;
  state = {};
  policy_->released(page);
}

void Paging::plan_scan() {
  const unsigned scans = policy_->scans_per_turnover();
  if (scans != 0) misses_a_scan_ = std::max<std::uint64_t>(1, options_.near / scans);
}

void Paging::scan() {
  misses_since_scan_ = 0;
  ++counts_.scans;
  counts_.pages_scanned += resident_;
  found_.clear();
  for (PageIndex page = 0; page < pages_.size(); ++page) {
    State& state = pages_[page];
    if (!state.resident) continue;
    if (!state.fresh) found_.push_back({page, state.accessed, state.written});
    state.accessed = state.written = state.fresh = false;
  }
  policy_->scanned(found_);
  plan_scan();
}

Paging::Counts replay(const Visits& visits, const Paging::Options& options) {
  Paging paging(options);
  for (const Visits::Visit visit : visits.all()) paging.visit(visit.page(), visit.write());
  return paging.counts();
}

}  // namespace nearfar::policy
