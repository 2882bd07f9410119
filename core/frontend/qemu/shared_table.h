#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace nearfar::frontend::qemu {

/// What a number in the table is about: a kind, and what tells one thing of that kind from the
/// others. 64 bits are enough for them never to be the same by chance.
class Key {
 public:
  explicit Key(char kind) { add(std::span(reinterpret_cast<const std::uint8_t*>(&kind), 1)); }
  Key(char kind, std::uint64_t which) : Key(kind) { add(which); }
  /// One that was kept as a number.
  [[nodiscard]] static Key kept(std::uint64_t number) {
    Key key('\0');
    key.value_ = number;
    return key;
  }
  [[nodiscard]] std::uint64_t number() const { return value_; }

  Key& add(std::uint64_t number) {
    return add(std::span(reinterpret_cast<const std::uint8_t*>(&number), sizeof number));
  }
  Key& add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) value_ = (value_ ^ byte) * 0x100000001b3;  // FNV-1a
    return *this;
  }

  /// Well mixed, and never 0, which is a place without a key.
  [[nodiscard]] std::uint64_t hash() const;

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

/// Numbers that the processes of a run share, in a file that all of them map: a hash table with a
/// fixed number of places, each a key and a number, that only ever fills up.
///
/// A place is taken by one exchange of its key and changed by one atomic operation, so a process
/// that dies anywhere leaves it whole, and none waits. Numbers begin at 0. A number that finds no
/// place near where it belongs is not kept, and counted as `lost`.
class SharedTable {
 public:
  /// `nearfar run` has made the file, full of zeros: each 16 bytes are a place. Throws InputError
  /// when it cannot be mapped.
  explicit SharedTable(const std::string& file);
  SharedTable(const SharedTable&) = delete;
  SharedTable& operator=(const SharedTable&) = delete;
  ~SharedTable();

  [[nodiscard]] std::uint64_t get(const Key& key) const;
  /// The number becomes `value` if it is less.
  void raise(const Key& key, std::uint64_t value);
  void increment(const Key& key);
  /// For a number that no other process changes.
  void set(const Key& key, std::uint64_t value);

  /// Numbers that this process could not keep.
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  /// This process is a fork of the one that counted.
  void forget_lost() { lost_.store(0, std::memory_order_relaxed); }

 private:
  struct Place {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint64_t> number;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  /// Where the key is, or is put now; null if it has no place.
  [[nodiscard]] Place* place(const Key& key);

  Place* places_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
};

}  // namespace nearfar::frontend::qemu
