#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/address.h"
#include "probe/clock.h"
#include "probe/instructions.h"

namespace nearfar::probe {

/// Lines in order, through several sequences by turns.
class Turns {
 public:
  /// Places that the loads and the stores of a generator each go on from by turns.
  static constexpr std::uint32_t sequences = 2;

  Turns(std::byte* base, Bytes area) : bytes_(area / sequences / line_bytes * line_bytes) {
    for (std::uint32_t i = 0; i < sequences; ++i) bases_[i] = base + i * bytes_;
  }

  std::byte* take() {
    std::byte* const line = bases_[turn_] + offset_;
    if (++turn_ == sequences) {
      turn_ = 0;
      offset_ += line_bytes;
      if (offset_ == bytes_) offset_ = 0;
    }
    return line;
  }

 private:
  Bytes bytes_;  ///< of one sequence
  std::array<std::byte*, sequences> bases_{};
  Bytes offset_ = 0;
  std::uint32_t turn_ = 0;
};

/// What a generator does: one half of `area` is loaded from and the other stored to.
struct Load {
  Bytes area = 0;             ///< at least least_area
  std::uint32_t stores = 0;   ///< among `accesses`, evenly
  std::uint32_t accesses = 1;
  bool non_temporal = false;  ///< stores
  std::uint64_t burst = 64;   ///< accesses between two looks at the clock
  std::uint64_t span = 0;     ///< cycles from one burst to the next; 0: no pause

  static constexpr Bytes least_area = Bytes{4} * Turns::sequences * line_bytes;
};

/// Loads the memory at a pace, a burst of accesses at a time. Compiled into the Linux module, too.
class Generator {
 public:
  Generator(std::byte* base, const Load& load)
      : loads_(base, load.area / 2), stores_(base + load.area / 2, load.area / 2), load_(load) {}

  /// Whether the next burst may begin. The counter is read without fences: a wait must not hold up
  /// what is on its way.
  [[nodiscard]] bool due() const { return load_.span == 0 || cycles_now() >= next_; }

  void burst(Width width) {
    switch (width) {
      case Width::avx512:
        return burst<Width::avx512>();
      case Width::avx2:
        return burst<Width::avx2>();
      case Width::sse2:
        return burst<Width::sse2>();
    }
  }

  /// Lines, so far.
  [[nodiscard]] std::uint64_t loaded() const { return loaded_; }
  [[nodiscard]] std::uint64_t stored() const { return stored_; }

 private:
  /// Bursts begin at even times; one that memory has kept waiting is not made up for.
  template <Width W>
  void burst() {
    for (std::uint64_t i = 0; i < load_.burst; ++i) access_line<W>();
    leave_vectors<W>();
    if (load_.span != 0) next_ = std::max(next_ + load_.span, cycles_now());
  }

  template <Width W>
  void access_line() {
    due_ += load_.stores;
    if (due_ < load_.accesses) {
      load_line<W>(loads_.take());
      ++loaded_;
      return;
    }
    due_ -= load_.accesses;
    // Another word each time, so that nothing is written twice.
    if (load_.non_temporal) {
      nt_store_line<W>(stores_.take(), ++stored_);
    } else {
      store_line<W>(stores_.take(), ++stored_);
    }
  }

  Turns loads_;
  Turns stores_;
  Load load_;
  std::uint64_t next_ = 0;  ///< burst begins
  std::uint32_t due_ = 0;  ///< in parts of a store, `accesses` to each
  std::uint64_t loaded_ = 0;
  std::uint64_t stored_ = 0;
};

}  // namespace nearfar::probe
