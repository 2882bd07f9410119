#include "policy/offline/paging.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace nearfar::policy {
namespace {

constexpr std::size_t bits = 64;  // of a word

void tell(std::vector<Paging::Change>* changes, Paging::Change::Kind kind, PageIndex page) {
  if (changes != nullptr) changes->push_back({kind, page});
}

}  // namespace

Paging::Paging(const Options& options) : options_(options), policy_(options.policy, options.near) {
  if (options.limbo >= options.near) {
    throw InputError("limbo: found " + std::to_string(options.limbo) +
                     " pages, expected fewer than " + "the " + std::to_string(options.near) +
                     " of near memory");
  }
  if (options.scans) plan_scan();
}

void Paging::visit(PageIndex page, bool write, std::vector<Change>* changes) {
  if (page >= pages_.size()) {
    pages_.resize(page + std::size_t{1});
    entries_.resize(page + std::size_t{1});
    residents_.resize(page / bits + std::size_t{1});
    policy_.reserve(page + 1);
  }
  State& state = pages_[page];
  if (!is_resident(page)) come_in(page, state, changes);
  state.accessed = true;
  state.written |= write;
  state.dirty |= write;
  // After the touch, so that the next scan does not find it.
  if (misses_a_scan_ != 0 && misses_since_scan_ >= misses_a_scan_) scan();
}

void Paging::come_in(PageIndex page, State& state, std::vector<Change>* changes) {
  if (state.in_limbo) {
    ++counts_.second_chances;
    state.in_limbo = false;
    --limbo_size_;
    policy_->second_chance(page);
    tell(changes, Change::Kind::second_chance, page);
  } else {
    make_room(changes);
    tell(changes, state.touched ? Change::Kind::copied_in : Change::Kind::zeroed, page);
    ++(state.touched ? counts_.copies_in : counts_.first_touches);
    state.touched = true;
    state.dirty = false;
    policy_->fault(page);
    ++misses_since_scan_;
  }
  set_resident(page, true);
  state.fresh = true;
}

bool Paging::is_resident(PageIndex page) const {
  return (residents_[page / bits] >> page % bits & 1U) != 0;
}

/// It is that, or is not, from now on.
void Paging::set_resident(PageIndex page, bool resident) {
  residents_[page / bits] ^= std::uint64_t{1} << page % bits;
  resident ? ++resident_ : --resident_;
}

void Paging::make_room(std::vector<Change>* changes) {
  if (used() < options_.near) return;
  if (limbo_size_ <= options_.limbo / 2) fill_limbo();
  drop_oldest(changes);
}

void Paging::drop_oldest(std::vector<Change>* changes) {
  while (true) {
    const Waiting oldest = limbo_.front();
    limbo_.pop_front();
    State& state = pages_[oldest.page];
    if (!state.in_limbo || entries_[oldest.page] != oldest.entry) continue;
    tell(changes, state.dirty ? Change::Kind::copied_out : Change::Kind::dropped, oldest.page);
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
    const PageIndex page = choose();
    set_resident(page, false);
    pages_[page].in_limbo = true;
    limbo_.push_back({page, ++entries_[page]});
    ++limbo_size_;
  }
}

PageIndex Paging::choose() {
  const PageIndex page = policy_->evict();
  if (page < pages_.size() && is_resident(page)) return page;
  const std::string found = page == no_page ? "no page" : "page " + std::to_string(page);
  throw InputError("policy '" + options_.policy + "': named " + found +
                   " to leave, expected one of the " + std::to_string(resident_) + " resident");
}

void Paging::release(PageIndex page) {
  if (page >= pages_.size()) return;
  State& state = pages_[page];
  if (is_resident(page)) set_resident(page, false);
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
  for (std::size_t word = 0; word < residents_.size(); ++word) {
    for (std::uint64_t left = residents_[word]; left != 0; left &= left - 1) {
      const auto page = static_cast<PageIndex>(word * bits + std::countr_zero(left));
      State& state = pages_[page];
      if (!state.fresh) found_.push_back({page, state.accessed, state.written});
      state.accessed = state.written = state.fresh = false;
    }
  }
  policy_->scanned(found_);
  plan_scan();
}

Paging::Counts replay(const Visits& visits, const Paging::Options& options,
                      const std::function<void()>& ask) {
  constexpr std::size_t visits_asked_after = std::size_t{1} << 20U;
  std::size_t since_asked = 0;
  Paging paging(options);
  for (const Visits::Visit visit : visits.all()) {
    if (visit.release()) {
      paging.release(visit.page());
    } else {
      paging.visit(visit.page(), visit.write());
    }
    if (++since_asked == visits_asked_after && ask) {
      since_asked = 0;
      ask();
    }
  }
  return paging.counts();
}

}  // namespace nearfar::policy
