#include "tier/tree/budget.h"

#include <limits>

#include "tier/os/system.h"
#include "tier/tree/flat_control.h"

namespace nearfar::tier {
namespace {

// What a place holds instead of its process's number while it is given up.
constexpr std::int32_t being_ended = std::numeric_limits<std::int32_t>::min();
/// The same for a child that does not run yet, whose number is not known.
constexpr std::int32_t child_of(std::int32_t parent) { return -parent; }

}  // namespace

bool Budget::join(std::int32_t process) {
  sees_others_ = process == os::call(__NR_getpid);
  // The memory that this process had before it executed this program has been freed.
  for (Member& member : control_->used_members()) {
    std::int32_t same = process;
    member.forked_by.compare_exchange_strong(same, 0);  // this program waits for no child
    same = process;
    const std::int32_t parent = member.forked_by.load();
    if (parent != 0 && (!sees_others_ || !os::has_ended(parent))) continue;
    if (member.process.compare_exchange_strong(same, being_ended)) end(member);
  }
  (void)reap();
  member_ = place(process);
  return member_ != nullptr;
}

Member* Budget::prepare_child() {
  forked_ = {.parent = member_->process.load()};
  Member* const member = place(child_of(forked_.parent));
  if (member != nullptr) member->forked_by.store(forked_.parent);
  return member;
}

bool Budget::charge_child(Member& child, bool forced) {
  if (!take(child, own(), forced ? ~std::uint64_t{0} : limit())) return false;
  forked_.near_pages = own();
  forked_.managed_pages = member_->managed_pages.load();
  charge_forked(child);
  return true;
}

void Budget::charge_forked(Member& child) {
  const std::uint64_t pages = forked_.managed_pages;
  child.managed_pages.store(pages);
  control_->raise(Count::managed_peak, control_->managed_total.fetch_add(pages) + pages);
}

bool Budget::take(Member& member, std::uint64_t pages, std::uint64_t limit) {
  std::uint64_t total = control_->near_total.load();
  do {
    if (total + pages > limit) return false;
  } while (!control_->near_total.compare_exchange_weak(total, total + pages));
  member.near_pages.fetch_add(pages);
  if (bounded_) control_->raise(Count::near_peak, total + pages);
  return true;
}

void Budget::become(Member& member, std::int32_t process) {
  sees_others_ = sees_others_ && process == os::call(__NR_getpid);
  std::int32_t seen = child_of(forked_.parent);
  member_ = &member;
  if (member.process.compare_exchange_strong(seen, process)) return;
  // The parent has ended, and another process has given up this place before the child ran.
  member_ = place(process);
  if (member_ == nullptr) os::fail("more than 4096 processes in one tree; this child ends here");
  charge(forked_.near_pages);
  charge_forked(*member_);
}

void Budget::end(Member& member) {
  control_->near_total.fetch_sub(member.near_pages.exchange(0));
  control_->managed_total.fetch_sub(member.managed_pages.exchange(0));
  FlatControl& flat = flat_of(*control_);
  flat.near_pages.fetch_sub(member.flat_near.exchange(0));
  flat.far_pages.fetch_sub(member.flat_far.exchange(0));
  member.unmanaged_peak.store(0);
  slots_.release_all(static_cast<std::size_t>(&member - control_->members));
  member.pager_thread.store(0);
  member.forked_by.store(0);
  member.process.store(0);
  want(0);  // it may have asked; another process that still waits asks again
}

bool Budget::reap() {
  if (!sees_others_) return false;  // all others would seem to have ended
  bool any = false;
  for (Member& member : control_->used_members()) {
    std::int32_t process = member.process.load();
    if (process == 0 || process == being_ended || &member == member_) continue;
    if (process > 0 && !os::has_ended(process)) continue;
    const std::int32_t parent = process > 0 ? member.forked_by.load() : -process;
    if (parent != 0 && !os::has_ended(parent)) continue;  // the parent gives it up
    // Of two processes that find this, only one may subtract it.
    if (!member.process.compare_exchange_strong(process, being_ended)) continue;
    end(member);
    any = true;
  }
  return any;
}

void Budget::unmanaged(std::uint64_t pages) {
  if (pages > member_->unmanaged_peak.load()) member_->unmanaged_peak.store(pages);
  std::uint64_t sum = 0;
  for (const Member& member : control_->used_members()) sum += member.unmanaged_peak.load();
  control_->raise(Count::unmanaged_peak, sum);
}

std::uint64_t Budget::processes() const {
  std::uint64_t count = 0;
  for (const Member& member : control_->used_members()) count += member.process.load() != 0 ? 1 : 0;
  return count;
}

/// An empty place, for that number.
Member* Budget::place(std::int32_t process) {
  do {
    for (Member& member : control_->members) {
      std::int32_t empty = 0;
      if (!member.process.compare_exchange_strong(empty, process)) continue;
      const auto end = static_cast<std::uint64_t>(&member - control_->members) + 1;
      std::uint64_t seen = control_->members_end.load();
      while (seen < end && !control_->members_end.compare_exchange_weak(seen, end)) {
      }
      return &member;
    }
  } while (reap());
  return nullptr;
}

}  // namespace nearfar::tier
