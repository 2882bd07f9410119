#include "tier/attach/page_tiers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

namespace nearfar::tier::attach {
namespace {

constexpr std::size_t huge_bytes = std::size_t{2} << 20U;

std::uint64_t bits(std::size_t from, std::size_t count) {
  return (count == Groups::pages ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << from;
}

template <typename Do>
void for_each(std::uint64_t set, Do&& act) {
  for (; set != 0; set &= set - 1) act(static_cast<unsigned>(std::countr_zero(set)));
}

std::uint64_t count(std::uint64_t set) { return static_cast<std::uint64_t>(std::popcount(set)); }

}  // namespace

bool PageTiers::look(bool forgets_writes) {
  seen_.clear();
  new_.clear();
  if (!memory_.look([this](const Run& run) { add(run); })) return false;
  if (forgets_writes && !memory_.forget_writes()) return false;
  merge();
  place_new();
  return true;
}

void PageTiers::add(const Run& run) {
  for (Place at = run.begin; at < run.end;) {
    const Place base = at - at % Groups::bytes;
    const Place end = std::min(run.end, base + Groups::bytes);
    if (seen_.empty() || seen_.back().base != base) seen_.push_back({.base = base});
    const std::uint64_t pages = bits((at - base) / page_bytes, (end - at) / page_bytes);
    seen_.back().present |= pages;
    if (run.written) seen_.back().written |= pages;
    if (run.written || run.accessed) seen_.back().used |= pages;
    seen_.back().huge |= run.huge;
    at = end;
  }
}

/// Both lists are in order of address.
void PageTiers::merge() {
  std::vector<std::uint32_t> order;
  order.reserve(seen_.size());
  auto old = order_.begin();
  const auto drop_until = [&](Place base) {
    for (; old != order_.end() && all_[*old].base < base; ++old) {
      update(*old, {.base = all_[*old].base});
      groups_.give_back(*old);
    }
  };
  for (const Seen& now : seen_) {
    drop_until(now.base);
    const bool known = old != order_.end() && all_[*old].base == now.base;
    if (!known && end() > policy::most_pages - Groups::pages)
      continue;  // more than it can tell apart
    if (known) {
      order.push_back(*old++);
    } else {
      order.push_back(groups_.take({0, now.base}));
      if (order.back() >= all_.size()) all_.resize(order.back() + std::size_t{1});
      all_[order.back()] = {.base = now.base};
      policy_.reserve(groups_.end());
    }
    update(order.back(), now);
  }
  drop_until(~Place{0});
  order_.swap(order);
}

void PageTiers::update(std::uint32_t number, const Seen& now) {
  Group& group = all_[number];
  const std::uint64_t gone = group.present & ~now.present;
  for_each(gone, [&](unsigned which) { policy_->released(Groups::page(number, which)); });
  for_each(now.present & ~group.present,
           [&](unsigned which) { new_.push_back(Groups::page(number, which)); });
  near_ -= count(gone & group.near);
  present_ -= count(gone);
  group.present &= now.present;
  group.near &= now.present;
  group.refused &= now.present;
  group.left_out &= now.present;
  group.used = now.used;
  group.written = now.written;
  // Pages that the kernel has collapsed into a huge one look written by that alone.
  if (now.huge && !group.huge) group.left_out |= group.present;
  group.huge = now.huge;
}

void PageTiers::place_new() {
  places_.clear();
  for (const PageIndex page : new_) places_.push_back(place(page));
  found_.assign(places_.size(), nodes_.near);
  if (!nodes_.are_one()) memory_.find_nodes(places_, found_);
  for (std::size_t i = 0; i < new_.size(); ++i) {
    if (found_[i] < 0) continue;  // it has gone meanwhile
    const bool far = !nodes_.are_one() && found_[i] == nodes_.far;
    group(new_[i]).present |= bit(new_[i]);
    ++present_;
    ++came_;
    set(new_[i], far ? Tier::far : Tier::near);
  }
}

/// The page is there, and new to its tier.
void PageTiers::set(PageIndex page, Tier tier) {
  Group& group = this->group(page);
  if (tier == Tier::near) {
    group.near |= bit(page);
    ++near_;
  } else if (has(group.near, page)) {
    group.near &= ~bit(page);
    --near_;
  }
  policy_->placed(page, tier);
}

std::uint64_t PageTiers::tell() {
  std::array<policy::Scan, Groups::pages> scans;
  std::uint64_t used = 0;
  for (const std::uint32_t number : order_) {
    Group& group = all_[number];
    std::size_t size = 0;
    for_each(group.present & ~group.left_out, [&](unsigned which) {
      scans[size++] = {.page = Groups::page(number, which),
                       .accessed = (group.used >> which & 1U) != 0,
                       .written = (group.written >> which & 1U) != 0};
    });
    used += count(group.present & ~group.left_out & group.used);
    group.left_out = 0;
    policy_->scanned({scans.data(), size});
  }
  return used;
}

void PageTiers::check(std::size_t parts) {
  if (nodes_.are_one()) return;
  for (std::size_t left = (order_.size() + parts - 1) / parts; left > 0; --left) {
    if (next_checked_ >= order_.size()) next_checked_ = 0;
    check_group(order_[next_checked_++]);
  }
}

void PageTiers::check_group(std::uint32_t number) {
  Group& group = all_[number];
  std::array<Place, Groups::pages> places;
  std::array<int, Groups::pages> found;
  std::array<PageIndex, Groups::pages> pages;
  std::size_t size = 0;
  for_each(group.present, [&](unsigned which) {
    pages[size] = Groups::page(number, which);
    places[size] = place(pages[size]);
    ++size;
  });
  memory_.find_nodes({places.data(), size}, {found.data(), size});
  for (std::size_t i = 0; i < size; ++i) {
    const bool far = found[i] == nodes_.far;
    if (found[i] < 0 || far != has(group.near, pages[i])) continue;
    group.left_out |= bit(pages[i]);
    set(pages[i], far ? Tier::far : Tier::near);
  }
}

std::vector<std::uint32_t>::const_iterator PageTiers::first_from(Place at) const {
  return std::ranges::lower_bound(order_, at, {},
                                  [this](std::uint32_t number) { return all_[number].base; });
}

/// Of the huge page that begins there, whatever has moved.
void PageTiers::check_huge(Place begin) {
  for (auto one = first_from(begin); one != order_.end() && all_[*one].base < begin + huge_bytes;
       ++one)
    check_group(*one);
}

bool PageTiers::can_leave(PageIndex page, Tier tier) const {
  if (page >= end()) return false;
  const Group& group = this->group(page);
  return has(group.present & ~group.refused, page) && has(group.near, page) == (tier == Tier::near);
}

std::uint64_t PageTiers::moved_with(PageIndex page) const {
  constexpr std::uint64_t huge_pages = huge_bytes / page_bytes;
  return is_huge(page) ? huge_pages : 1;
}

/// One page of each huge one, as the kernel refuses the others while that is on its way.
std::vector<PageIndex> PageTiers::once_each(std::span<const PageIndex> pages) const {
  std::vector<PageIndex> asked;
  std::vector<Place> huge;
  for (const PageIndex page : pages) {
    const Place at = place(page) / huge_bytes * huge_bytes;
    if (is_huge(page) && std::ranges::find(huge, at) != huge.end()) continue;
    if (is_huge(page)) huge.push_back(at);
    asked.push_back(page);
  }
  return asked;
}

std::uint64_t PageTiers::move(std::span<const PageIndex> named, Tier to, std::uint64_t& refused) {
  const std::vector<PageIndex> pages = once_each(named);
  const std::uint64_t before = to == Tier::near ? near_ : far();
  places_.clear();
  for (const PageIndex page : pages) places_.push_back(place(page));
  found_.assign(places_.size(), -EAGAIN);
  memory_.move(places_, nodes_.of(to), found_);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    Group& group = this->group(pages[i]);
    if (found_[i] == -ENOENT) continue;  // the next look finds it gone
    if (found_[i] != nodes_.of(to)) {
      group.refused |= bit(pages[i]);
      ++refused;
      continue;
    }
    group.left_out |= bit(pages[i]);
    if (has(group.near, pages[i]) != (to == Tier::near)) set(pages[i], to);
  }
  for (const PageIndex page : pages)
    if (is_huge(page)) check_huge(place(page) / huge_bytes * huge_bytes);
  const std::uint64_t now = to == Tier::near ? near_ : far();
  return now > before ? now - before : 0;
}

void PageTiers::forgive() {
  for (Group& group : all_) group.refused = 0;
}

}  // namespace nearfar::tier::attach
