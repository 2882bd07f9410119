#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "sim/dram/mapping.h"
#include "sim/request.h"

namespace nearfar::sim::dram {

/// One direction's queue: a fixed set of entries, each in two lists, both in order of
/// arrival: the whole queue's and its bank's.
///
/// The lists are rings, closed by an entry of their own (end(), end_of()), so that nothing has
/// to be asked when an entry comes or goes. Entries stay where they are while they are queued.
class RequestQueue {
 public:
  enum class RowState : std::uint8_t { hit, miss, conflict };

  struct Entry {
    std::uint64_t order = 0;  ///< counts arrivals over both directions
    std::uint64_t id = 0;
    Address address;
    DataHandle data = 0;
    Tick arrived;
    Location at;
    Entry* older = nullptr;
    Entry* younger = nullptr;
    Entry* older_in_bank = nullptr;
    Entry* younger_in_bank = nullptr;
    RowState found = RowState::hit;  ///< its row, as it was before anything was done for it
    // Of writes alone; a read's stay as they are here.
    bool tell_media = false;
    bool blocked = false;      ///< an older read still waits for the line
    std::uint32_t merged = 0;  ///< first of the writes merged into this one; 0: none

    void state(Archive& archive) {
      archive(order, id, address, data, arrived, at, found, tell_media, blocked, merged);
    }
  };

  RequestQueue(std::uint32_t capacity, std::uint32_t banks)
      : capacity_(capacity), entries_(capacity), bank_ends_(banks) {
    end_.older = end_.younger = &end_;
    for (std::uint32_t bank = 0; bank < banks; ++bank) {
      Entry& end = bank_ends_[bank];
      end.older_in_bank = end.younger_in_bank = end_of_[bank] = &end;
      end.at.row = no_row;
    }
    for (Entry& entry : entries_) give_back(&entry);
  }
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t free() const { return capacity_ - size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] bool full() const { return free_ == nullptr; }

  /// The oldest entry; end() when there is none. The next is its `younger`.
  [[nodiscard]] Entry* oldest() const { return end_.younger; }
  [[nodiscard]] const Entry* end() const { return &end_; }
  /// The oldest entry of a bank; end_of(bank) when there is none. The next is its
  /// `younger_in_bank`.
  [[nodiscard]] Entry* oldest_in_bank(std::uint32_t bank) const {
    return end_of_[bank]->younger_in_bank;
  }
  [[nodiscard]] const Entry* end_of(std::uint32_t bank) const { return end_of_[bank]; }

  /// The oldest entry for the line of `address`, which lies in `bank`, or nullptr.
  [[nodiscard]] Entry* find(Address address, std::uint32_t bank) const {
    auto* entry = oldest_in_bank(bank);
    while (entry != end_of(bank)) {
      if (entry->address.block(line_bytes) == address.block(line_bytes)) return entry;
      entry = entry->younger_in_bank;
    }
    return nullptr;
  }

  /// Whether an entry other than `except` wants the row at `at`.
  [[nodiscard]] bool wants_row(const Location& at, const Entry* except = nullptr) const {
    for (const Entry* entry = oldest_in_bank(at.bank); entry != end_of(at.bank);
         entry = entry->younger_in_bank) {
      if (entry->at.row == at.row && entry != except) return true;
    }
    return false;
  }

  /// Appends an entry; the queue must have one free. What only writes have is left as it was.
  Entry* push(const Request& request, const Location& at, std::uint64_t order, Tick now) {
    Entry* const entry = free_;
    free_ = entry->younger;
    ++size_;
    entry->order = order;
    entry->id = request.id;
    entry->address = request.address;
    entry->data = request.data;
    entry->arrived = now;
    entry->at = at;
    entry->found = RowState::hit;

    entry->younger = &end_;
    entry->older = end_.older;
    end_.older->younger = entry;
    end_.older = entry;
    Entry* const bank_end = end_of_[at.bank];
    entry->younger_in_bank = bank_end;
    entry->older_in_bank = bank_end->older_in_bank;
    bank_end->older_in_bank->younger_in_bank = entry;
    bank_end->older_in_bank = entry;
    return entry;
  }

  /// Takes an entry out; what it says can be read until the next push.
  void remove(Entry* entry) {
    entry->older->younger = entry->younger;
    entry->younger->older = entry->older;
    entry->older_in_bank->younger_in_bank = entry->younger_in_bank;
    entry->younger_in_bank->older_in_bank = entry->older_in_bank;
    --size_;
    give_back(entry);
  }

  /// The request that has `older` older ones in the queue, and the reverse.
  [[nodiscard]] Entry* by_age(std::uint32_t older) const {
    Entry* entry = oldest();
    while (older-- > 0) entry = entry->younger;
    return entry;
  }
  [[nodiscard]] std::uint32_t age_of(const Entry* entry) const {
    std::uint32_t older = 0;
    for (; entry->older != &end_; entry = entry->older) ++older;
    return older;
  }

  void state(Archive& archive) {
    std::uint32_t size = size_;
    archive(size);
    if (!archive.reads()) {
      for (Entry* entry = oldest(); entry != &end_; entry = entry->younger) entry->state(archive);
      return;
    }
    while (!empty()) remove(oldest());
    while (size_ < size) {
      Entry read;
      read.state(archive);
      if (full() || read.at.bank >= bank_ends_.size()) throw InputError("state: of another model");
      Entry* const entry = push({.id = read.id, .address = read.address, .data = read.data},
                                read.at, read.order, read.arrived);
      entry->found = read.found;
      entry->tell_media = read.tell_media;
      entry->blocked = read.blocked;
      entry->merged = read.merged;
    }
  }

 private:
  void give_back(Entry* entry) {
    entry->younger = free_;
    free_ = entry;
  }

  static constexpr std::uint32_t no_row = ~std::uint32_t{0};

  std::uint32_t capacity_;
  std::uint32_t size_ = 0;
  Entry end_;
  Entry* free_ = nullptr;  ///< the first of those not in use, linked by `younger`
  std::vector<Entry> entries_;
  std::vector<Entry> bank_ends_;
  std::array<Entry*, 64> end_of_{};  ///< by bank: into `bank_ends_`
};

}  // namespace nearfar::sim::dram
