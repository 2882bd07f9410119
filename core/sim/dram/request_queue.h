#pragma once

#include <cstdint>
#include <vector>

#include "sim/dram/mapping.h"
#include "sim/request.h"

namespace nearfar::sim::dram {

/// One direction's queue: a fixed set of entries, each in two lists, both in order of
/// arrival: the whole queue's and its bank's.
class RequestQueue {
 public:
  using Index = std::uint16_t;
  static constexpr Index none = 0xffff;

  struct Entry {
    std::uint64_t order = 0;  ///< counts arrivals over both directions
    std::uint64_t id = 0;
    Address address;
    DataHandle data = 0;
    Tick arrived;
    Location at;
    Index older = none, younger = none;
    Index older_in_bank = none, younger_in_bank = none;
    std::uint32_t merged = 0;  ///< first of the writes merged into this one; 0: none
    bool tell_media = false;
    bool blocked = false;      ///< a write to a line that an older read still waits for
    bool activated = false;    ///< its row was opened for it
    bool precharged = false;   ///< another row was closed for it
  };

  RequestQueue(std::uint32_t capacity, std::uint32_t banks)
      : capacity_(capacity), entries_(capacity), free_(capacity), banks_(banks) {
    for (std::uint32_t i = 0; i < capacity; ++i) free_[i] = static_cast<Index>(i);
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t free() const { return capacity_ - size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  [[nodiscard]] Entry& operator[](Index index) { return entries_[index]; }
  [[nodiscard]] const Entry& operator[](Index index) const { return entries_[index]; }
  [[nodiscard]] Index oldest() const { return oldest_; }
  [[nodiscard]] Index oldest_in_bank(std::uint32_t bank) const { return banks_[bank].oldest; }

  /// The oldest entry for the line of `address`, which lies in `bank`, or none.
  [[nodiscard]] Index find(Address address, std::uint32_t bank) const {
    Index i = banks_[bank].oldest;
    while (i != none && entries_[i].address.block(line_bytes) != address.block(line_bytes)) {
      i = entries_[i].younger_in_bank;
    }
    return i;
  }

  /// Whether an entry other than `except` wants the row at `at`.
  [[nodiscard]] bool wants_row(const Location& at, Index except = none) const {
    for (Index i = banks_[at.bank].oldest; i != none; i = entries_[i].younger_in_bank) {
      if (i != except && entries_[i].at.row == at.row) return true;
    }
    return false;
  }

  /// Appends an entry; the queue must have one free.
  Index push(const Request& request, const Location& at, std::uint64_t order, Tick now) {
    const Index index = free_[size_++];
    Bank& bank = banks_[at.bank];
    Entry& entry = entries_[index];
    entry.order = order;
    entry.id = request.id;
    entry.address = request.address;
    entry.data = request.data;
    entry.arrived = now;
    entry.at = at;
    entry.older = youngest_;
    entry.younger = none;
    entry.older_in_bank = bank.youngest;
    entry.younger_in_bank = none;
    entry.merged = 0;
    entry.tell_media = request.tell_media;
    entry.blocked = entry.activated = entry.precharged = false;
    (youngest_ == none ? oldest_ : entries_[youngest_].younger) = index;
    (bank.youngest == none ? bank.oldest : entries_[bank.youngest].younger_in_bank) = index;
    youngest_ = bank.youngest = index;
    return index;
  }

  void remove(Index index) {
    const Entry& entry = entries_[index];
    Bank& bank = banks_[entry.at.bank];
    (entry.older == none ? oldest_ : entries_[entry.older].younger) = entry.younger;
    (entry.younger == none ? youngest_ : entries_[entry.younger].older) = entry.older;
    (entry.older_in_bank == none ? bank.oldest : entries_[entry.older_in_bank].younger_in_bank) =
        entry.younger_in_bank;
    (entry.younger_in_bank == none ? bank.youngest
                                   : entries_[entry.younger_in_bank].older_in_bank) =
        entry.older_in_bank;
    free_[--size_] = index;
  }

 private:
  struct Bank {
    Index oldest = none, youngest = none;
  };

  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  Index oldest_ = none, youngest_ = none;
  std::vector<Entry> entries_;
  std::vector<Index> free_;  ///< those from position size_ on are free
  std::vector<Bank> banks_;
};

}  // namespace nearfar::sim::dram
