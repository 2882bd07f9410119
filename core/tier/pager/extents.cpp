#include "tier/pager/extents.h"

#include "tier/os/system.h"

namespace nearfar::tier {

std::size_t Extents::find(std::uintptr_t begin) const {
  std::size_t low = 0;
  std::size_t high = count_;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (extents_[middle].end <= begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool Extents::contains(std::uintptr_t begin, std::uintptr_t end) const {
  const std::size_t i = find(begin);
  return i < count_ && extents_[i].begin <= begin && end <= extents_[i].end;
}

Extents::Extent Extents::gap(std::uintptr_t begin, std::uintptr_t end) const {
  std::size_t i = find(begin);
  for (; i < count_ && extents_[i].begin <= begin; ++i) begin = extents_[i].end;
  if (begin >= end) return {end, end};
  return {begin, i < count_ && extents_[i].begin < end ? extents_[i].begin : end};
}

bool Extents::add(std::uintptr_t begin, std::uintptr_t end) {
  std::size_t first = find(begin);
  if (first > 0 && extents_[first - 1].end == begin) --first;  // touches, so it joins
  std::size_t last = first;
  while (last < count_ && extents_[last].begin <= end) {
    begin = extents_[last].begin < begin ? extents_[last].begin : begin;
    end = extents_[last].end > end ? extents_[last].end : end;
    ++last;
  }
  if (first == last) return insert(first, {begin, end});
  extents_[first] = {begin, end};
  erase(first + 1, last);
  return true;
}

bool Extents::remove(std::uintptr_t begin, std::uintptr_t end) {
  std::size_t i = find(begin);
  while (i < count_ && extents_[i].begin < end) {
    const Extent whole = extents_[i];
    const bool head = whole.begin < begin;
    const bool tail = end < whole.end;
    if (head) extents_[i].end = begin;
    if (head && tail) return insert(i + 1, {end, whole.end});
    if (tail) extents_[i].begin = end;
    if (!head && !tail) {
      erase(i, i + 1);
    } else {
      ++i;
    }
  }
  return true;
}

std::uintptr_t Extents::take(std::size_t length, std::size_t alignment) {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uintptr_t begin = (extents_[i].begin + alignment - 1) / alignment * alignment;
    if (begin + length > extents_[i].end) continue;
    remove(begin, begin + length);  // what no longer fits behind it is address space, not memory
    return begin;
  }
  return 0;
}

void Extents::erase(std::size_t first, std::size_t last) {
  const std::size_t gone = last - first;
  for (std::size_t i = last; i < count_; ++i) extents_[i - gone] = extents_[i];
  count_ -= gone;
}

bool Extents::insert(std::size_t at, Extent extent) {
  if (count_ == capacity_) return false;
  for (std::size_t i = count_; i > at; --i) extents_[i] = extents_[i - 1];
  extents_[at] = extent;
  ++count_;
  return true;
}

Extents reserve_extents(std::size_t most) {
  return {os::reserve_array<Extents::Extent>(
              most, "no memory for the pager's tables (ulimit -v, ulimit -d)"),
          most};
}

}  // namespace nearfar::tier
