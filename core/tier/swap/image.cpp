#include "tier/swap/image.h"

#include <algorithm>
#include <bit>

namespace nearfar::tier::swap {
namespace {

std::uint64_t bits(std::size_t from, std::size_t count) {
  return (count == Groups::pages ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << from;
}

template <typename Do>
void for_each(std::uint64_t set, Do&& act) {
  for (; set != 0; set &= set - 1) act(static_cast<unsigned>(std::countr_zero(set)));
}

}  // namespace

void Image::begin() { seen_.clear(); }

void Image::add(const os::Run& run) {
  for (os::Place at = run.begin; at < run.end;) {
    const os::Place base = at - at % Groups::bytes;
    const os::Place end = std::min(run.end, base + Groups::bytes);
    if (seen_.empty() || seen_.back().base != base) seen_.push_back({.base = base});
    Entry& entry = seen_.back();
    (run.present ? entry.present : entry.swapped) |=
        bits((at - base) / os::page_bytes, (end - at) / os::page_bytes);
    at = end;
  }
}

void Image::end(Changes& changes) {
  auto old = entries_.begin();
  for (Entry& now : seen_) {
    for (; old != entries_.end() && old->base < now.base; ++old) {
      compare(*old, {.base = old->base, .group = old->group}, changes);
      groups_.give_back(old->group);
    }
    if (old != entries_.end() && old->base == now.base) {
      now.group = old->group;
      compare(*old++, now, changes);
    } else {
      now.group = groups_.take({owner_, now.base});
      listener_.room(groups_.end());
      compare({.base = now.base, .group = now.group}, now, changes);
    }
  }
  for (; old != entries_.end(); ++old) {
    compare(*old, {.base = old->base, .group = old->group}, changes);
    groups_.give_back(old->group);
  }
  entries_.swap(seen_);
  count();
}

void Image::compare(const Entry& before, const Entry& now, Changes& changes) {
  if (before.present == now.present && before.swapped == now.swapped) return;
  const std::uint64_t came = now.present & ~before.present;
  const std::uint64_t taken = before.present & now.swapped;
  // A page that the kernel took is forgotten, not far: the policy did not choose it.
  const std::uint64_t gone = (before.present | before.swapped) & ~(now.present | now.swapped);
  for_each(taken | gone, [&](unsigned which) { listener_.gone(Groups::page(now.group, which)); });
  for_each(came, [&](unsigned which) { listener_.came(Groups::page(now.group, which)); });
  const auto count = [](std::uint64_t set) { return static_cast<unsigned>(std::popcount(set)); };
  changes.page_ins += count(came & before.swapped);
  changes.first_touches += count(came & ~before.swapped);
  changes.kernel_evictions += count(taken);
}

void Image::left(PageIndex page) {
  const auto at = std::ranges::lower_bound(entries_, groups_.of(page).base, {}, &Entry::base);
  const std::uint64_t bit = std::uint64_t{1} << Groups::which(page);
  at->present &= ~bit;
  at->swapped |= bit;
  --present_;
  ++swapped_;
}

void Image::clear() {
  Changes none;
  begin();
  end(none);
}

void Image::count() {
  present_ = swapped_ = 0;
  for (const Entry& entry : entries_) {
    present_ += static_cast<unsigned>(std::popcount(entry.present));
    swapped_ += static_cast<unsigned>(std::popcount(entry.swapped));
  }
}

}  // namespace nearfar::tier::swap
