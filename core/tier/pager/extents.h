#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::tier {

/// Ranges of addresses, sorted, apart from each other and joined where they touch. The memory is
/// the caller's; a set that is full forgets what does not fit, and says so.
class Extents {
 public:
  struct Extent {
    std::uintptr_t begin;
    std::uintptr_t end;
  };

  Extents() = default;
  Extents(Extent* memory, std::size_t capacity) : extents_(memory), capacity_(capacity) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] const Extent& operator[](std::size_t i) const { return extents_[i]; }

  /// Adds a range; parts that are there already make no difference. False if it did not fit.
  bool add(std::uintptr_t begin, std::uintptr_t end);

  /// Removes a range, wherever it is there. False if what is left did not fit.
  bool remove(std::uintptr_t begin, std::uintptr_t end);

  /// Takes the lowest `length` bytes at a multiple of `alignment` out; 0 if there are none.
  [[nodiscard]] std::uintptr_t take(std::size_t length, std::size_t alignment);

  [[nodiscard]] bool contains(std::uintptr_t begin, std::uintptr_t end) const;
  /// The first extent that reaches past `begin`; size() if there is none.
  [[nodiscard]] std::size_t find(std::uintptr_t begin) const;
  [[nodiscard]] bool overlaps(std::uintptr_t begin, std::uintptr_t end) const {
    const std::size_t i = find(begin);
    return i < count_ && extents_[i].begin < end;
  }
  /// The first range between two addresses that is not there; {end, end} if all is.
  [[nodiscard]] Extent gap(std::uintptr_t begin, std::uintptr_t end) const;

 private:
  void erase(std::size_t first, std::size_t last);
  bool insert(std::size_t at, Extent extent);

  Extent* extents_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
};

/// A set with room for so many ranges, in memory that no allocator knows.
[[nodiscard]] Extents reserve_extents(std::size_t most);

}  // namespace nearfar::tier
