#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace nearfar::frontend {

/// Which word of 32 bits belongs to a page of a program's addresses: 4 B a page of 4 KiB where
/// there is one among 512, and next to nothing elsewhere. A page of 2 MiB has a word of its own,
/// and may have small ones beside it.
///
/// A table of tables, as a processor's: one for each GiB that has a page, in which each 2 MiB has a
/// part of 512 pages. All 64 bits of an address count.
class PageTable {
 public:
  using Word = std::uint32_t;  ///< 0: there is no page
  static constexpr unsigned small_bits = 12;
  static constexpr unsigned huge_bits = 21;

  struct Found {
    Word word = 0;
    bool huge = false;
  };

  [[nodiscard]] Found find(std::uint64_t address) const {
    const Table* const table = table_of(address >> table_bits);
    if (table == nullptr) return {};
    const Part& part = table->parts[part_of(address)];
    if (part.small) {
      const Word word = part.small->words[page_of(address)];
      if (word != 0) return {word, false};
    }
    return {part.huge, true};
  }

  /// Gives the page that begins at `address` a word, which takes it out if it is 0.
  void set(std::uint64_t address, bool huge, Word word) {
    Table& table = made(address >> table_bits);
    Part& part = table.parts[part_of(address)];
    if (!huge && !part.small) part.small = std::make_unique<Small>();
    Word& place = huge ? part.huge : part.small->words[page_of(address)];
    const bool was = place != 0;
    const bool is = word != 0;
    place = word;
    size_ = size_ + is - was;
    if (huge) return;
    part.small->used = static_cast<std::uint16_t>(part.small->used + is - was);
    if (part.small->used == 0) part.small.reset();
  }

  /// Pages that there are.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `take(address, huge, word)` for every page that begins in the range, by address. It may
  /// change no other page than that.
  template <typename Take>
  void each(std::uint64_t begin, std::uint64_t end, const Take& take) const {
    for (auto table = tables_.lower_bound(begin >> table_bits); table != tables_.end(); ++table) {
      const std::uint64_t first = table->first << table_bits;
      if (first >= end) return;
      for (std::size_t i = first < begin ? part_of(begin) : 0; i < parts_in_table; ++i) {
        const std::uint64_t at = first + (std::uint64_t{i} << huge_bits);
        if (at >= end) return;
        each_of(table->second->parts[i], at, begin, end, take);
      }
    }
  }

 private:
  static constexpr unsigned table_bits = 30;
  static constexpr std::size_t parts_in_table = std::size_t{1} << (table_bits - huge_bits);
  static constexpr std::size_t pages_in_part = std::size_t{1} << (huge_bits - small_bits);

  struct Small {
    std::array<Word, pages_in_part> words{};
    std::uint16_t used = 0;
  };
  struct Part {
    Word huge = 0;
    std::unique_ptr<Small> small;
  };
  struct Table {
    std::array<Part, parts_in_table> parts;
  };

  [[nodiscard]] static std::size_t part_of(std::uint64_t address) {
    return address >> huge_bits & (parts_in_table - 1);
  }
  [[nodiscard]] static std::size_t page_of(std::uint64_t address) {
    return address >> small_bits & (pages_in_part - 1);
  }

  [[nodiscard]] const Table* table_of(std::uint64_t number) const {
    if (number == last_number_) return last_;
    const auto found = tables_.find(number);
    if (found == tables_.end()) return nullptr;
    last_number_ = number;
    return last_ = found->second.get();
  }
  Table& made(std::uint64_t number) {
    auto& place = tables_[number];
    if (!place) place = std::make_unique<Table>();
    return *place;
  }

  template <typename Take>
  static void each_of(const Part& part, std::uint64_t at, std::uint64_t begin, std::uint64_t end,
                      const Take& take) {
    if (part.huge != 0 && at >= begin) take(at, true, part.huge);
    for (std::size_t i = 0; part.small && i < pages_in_part; ++i) {
      const std::uint64_t page = at + (std::uint64_t{i} << small_bits);
      const Word word = part.small->words[i];
      if (word != 0 && page >= begin && page < end) take(page, false, word);
    }
  }

  std::map<std::uint64_t, std::unique_ptr<Table>> tables_;  ///< never taken away
  mutable std::uint64_t last_number_ = ~std::uint64_t{0};  ///< where the last one was found
  mutable const Table* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace nearfar::frontend
