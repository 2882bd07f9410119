#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/tick.h"

namespace nearfar {

/// Events of one component in time order; events of equal time leave in the order they
/// were pushed, so results never depend on the heap's shape.
///
/// A four-ary heap of 24-byte entries: the queues here hold from one to a few hundred
/// events, and four children share a cache line or two.
template <typename Payload>
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] Tick next() const { return heap_.empty() ? Tick::never() : heap_.front().time; }

  void push(Tick time, Payload payload) {
    const Entry entry{time, sequence_++, payload};
    const std::size_t last = heap_.size();
    heap_.push_back(entry);
    if (last != 0) sift_up(last, entry);
  }

  Payload pop() {
    const Payload top = heap_.front().payload;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (heap_.size() > 1) {
      sift_down(last);
    } else if (!heap_.empty()) {
      heap_.front() = last;
    }
    return top;
  }

  void state(Archive& archive) { archive(heap_, sequence_); }

 private:
  struct Entry {
    Tick time;
    std::uint64_t sequence = 0;
    Payload payload{};

    [[nodiscard]] bool before(const Entry& other) const {
      return time != other.time ? time < other.time : sequence < other.sequence;
    }
    void state(Archive& archive) { archive(time, sequence, payload); }
  };

  void sift_up(std::size_t hole, Entry entry) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!entry.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  void sift_down(Entry entry) {
    std::size_t hole = 0;
    const std::size_t size = heap_.size();
    while (true) {
      const std::size_t first = 4 * hole + 1;
      if (first >= size) break;
      std::size_t best = first;
      const std::size_t end = first + 4 < size ? first + 4 : size;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].before(heap_[best])) best = child;
      }
      if (!heap_[best].before(entry)) break;
      heap_[hole] = heap_[best];
      hole = best;
    }
    heap_[hole] = entry;
  }

  std::vector<Entry> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace nearfar
