#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/address.h"

namespace nearfar::sim::persistence {

/// What a thread does to persistent memory. Stores are of 8 bytes, aligned.
enum class Kind : std::uint8_t {
  store,
  nt_store,
  clwb,
  clflushopt,
  clflush,
  sfence,
  mfence,
  await,             ///< loads until the word holds `value`
  exchange,          ///< locked: the word becomes `value`
  compare_exchange,  ///< locked: waits until the word holds `expected`, which becomes `value`
  label,             ///< something the world sees; `value` is the label's number
};
inline constexpr std::uint8_t kinds = 11;

struct Operation {
  Kind kind = Kind::store;
  std::uint32_t thread = 0;
  Address address;
  std::uint64_t value = 0;
  std::uint64_t expected = 0;
};

[[nodiscard]] constexpr bool is_locked(Kind kind) {
  return kind == Kind::exchange || kind == Kind::compare_exchange;
}
/// Writes memory: a *store*, of whichever kind.
[[nodiscard]] constexpr bool is_store(Kind kind) {
  return kind == Kind::store || kind == Kind::nt_store || is_locked(kind);
}
[[nodiscard]] constexpr bool is_flush(Kind kind) {
  return kind == Kind::clwb || kind == Kind::clflushopt || kind == Kind::clflush;
}
/// Waits until what the thread stored and flushed before is where it has to be.
[[nodiscard]] constexpr bool is_fence(Kind kind) {
  return kind == Kind::sfence || kind == Kind::mfence || is_locked(kind);
}

inline constexpr std::uint32_t words_per_line = line_bytes / 8;
using Words = std::array<std::uint64_t, words_per_line>;

/// A program of several threads, each in its own order, and what memory holds before.
class Program {
 public:
  /// The operations of all threads; those of one thread are in its order. `initial` are words
  /// that are durable from the start; all others are 0. Throws InputError for an address that
  /// is not a multiple of 8, by the operation's number.
  Program(std::vector<Operation> operations,
          const std::vector<std::pair<Address, std::uint64_t>>& initial);

  /// A 64-byte line that the program or its initial values name.
  struct Line {
    Address address;
    Words initial{};
    std::vector<std::uint32_t> stores;  ///< operations, in the order of the program's text
  };

  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  [[nodiscard]] const Operation& operator[](std::uint32_t op) const { return operations_[op]; }
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(operations_.size());
  }
  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }  ///< by address
  /// The line of an operation that has an address.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t op) const { return line_of_[op]; }
  [[nodiscard]] std::optional<std::uint32_t> find_line(Address address) const;
  [[nodiscard]] std::uint32_t word_of(std::uint32_t op) const {
    return static_cast<std::uint32_t>(operations_[op].address.value() % line_bytes / 8);
  }
  /// The operations of each thread, by thread.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& threads() const { return threads_; }
  [[nodiscard]] std::uint32_t labels() const { return labels_; }

 private:
  [[nodiscard]] std::uint32_t place_of(Address address) const;
  void add_lines(const std::vector<std::pair<Address, std::uint64_t>>& initial);

  std::vector<Operation> operations_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> line_of_;
  std::vector<std::vector<std::uint32_t>> threads_;
  std::uint32_t labels_ = 0;
};

[[nodiscard]] constexpr bool has_address(Kind kind) {
  return is_store(kind) || is_flush(kind) || kind == Kind::await;
}

}  // namespace nearfar::sim::persistence
