#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tier/pager/page.h"
#include "tier/tree/control.h"

namespace nearfar::tier {

/// The sizes of slots for compressed pages, in steps of 128 bytes.
///
/// 64 slots side by side are a chunk, and all slots of a chunk have the size of its class. The far
/// file has 256 KiB for each chunk, of which a class uses whole pages at the beginning. The rest is
/// a hole in the file and takes no room. So a slot's number says where it lies, whatever its size,
/// and a chunk without slots in use is a hole again, free for any class.
///
/// A class takes another chunk only when three quarters of its slots are in use. All processes of
/// the tree take and release slots; one that is killed meanwhile loses a slot at most.
class Chunks {
 public:
  static constexpr std::size_t slots_a_chunk = 64;
  static constexpr std::size_t step_bytes = 128;
  static constexpr std::size_t classes = 4096 / step_bytes;
  /// The size of a chunk's slots, in steps; 0: of a free chunk.
  using Class = std::uint16_t;

  /// One word for each chunk.
  using State = std::atomic<std::uint32_t>;
  /// At a fixed place behind the tree's orders (orders.h).
  struct Totals {
    static constexpr std::size_t offset = std::size_t{480} << 10U;
    struct OfClass {
      std::atomic<std::uint64_t> chunks;
      std::atomic<std::uint64_t> slots;  ///< in use
    };
    std::atomic<std::uint64_t> chunks;  ///< in use, of any class
    OfClass of_class[classes + 1];
  };

  /// What the words of so many slots take of the control memory.
  [[nodiscard]] static constexpr std::size_t states_bytes(std::uint64_t slots) {
    return slots / slots_a_chunk * sizeof(State);
  }

  Chunks() = default;
  /// `file`: the far file, in which free chunks become holes.
  Chunks(Control& control, Totals& totals, State* states, int file)
      : control_(&control), totals_(&totals), states_(states), file_(file) {}

  [[nodiscard]] bool used() const { return states_ != nullptr; }

  /// The class of the slots that have room for so many bytes, up to a page.
  [[nodiscard]] static Class class_for(std::size_t bytes) {
    return static_cast<Class>((bytes + step_bytes - 1) / step_bytes);
  }
  [[nodiscard]] Class class_of(Slot slot) const {
    return class_in(states_[slot / slots_a_chunk].load(std::memory_order_acquire));
  }
  [[nodiscard]] std::size_t slot_bytes(Slot slot) const { return class_of(slot) * step_bytes; }
  /// Where a slot begins in the far file.
  [[nodiscard]] std::size_t offset(Slot slot) const {
    constexpr std::size_t chunk_bytes = slots_a_chunk * 4096;
    return slot / slots_a_chunk * chunk_bytes + slot % slots_a_chunk * slot_bytes(slot);
  }

  /// Reserves one slot of a chunk of that class, and returns the chunk's first slot: the caller
  /// takes one of the 64 that is free. `no_slot` if far memory is full.
  [[nodiscard]] Slot promise(Class wanted);
  /// That slot is free again.
  void release(Slot slot);

 private:
  static constexpr std::uint32_t being_emptied = 0xffff0000U;

  [[nodiscard]] static Class class_in(std::uint32_t state) {
    return static_cast<Class>(state >> 16U);
  }
  [[nodiscard]] static std::uint32_t count_in(std::uint32_t state) { return state & 0xffffU; }
  [[nodiscard]] static std::uint32_t state(Class of, std::uint32_t count) {
    return std::uint32_t{of} << 16U | count;
  }

  [[nodiscard]] std::size_t end() const;
  [[nodiscard]] bool join(std::size_t chunk, Class wanted);
  [[nodiscard]] bool open(std::size_t chunk, Class wanted);
  [[nodiscard]] bool find_room(Class wanted);
  [[nodiscard]] bool find_empty(Class wanted);
  [[nodiscard]] bool grow(Class wanted);

  Control* control_ = nullptr;
  Totals* totals_ = nullptr;
  State* states_ = nullptr;
  int file_ = -1;
  // Where a slot of each class was found last; of class 0, a free chunk.
  std::array<std::size_t, classes + 1> current_{};
};

}  // namespace nearfar::tier
