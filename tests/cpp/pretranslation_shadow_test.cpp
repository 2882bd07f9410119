#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "base/event_queue.h"
#include "base/rng.h"
#include "crowded_pointers.h"
#include "effort.h"
#include "machine_fixture.h"
#include "page_shadow.h"
#include "sim/cpu/hierarchy.h"
#include "sim/cpu/uncertain_reads.h"
#include "sim/cpu/uncore.h"
#include "sim/machine/tables.h"

/// Loads of marked pointers, while page tables and pointers change under them and the DIMMs move
/// their blocks: every line that memory brings for a load has to be the one that a shadow of all
/// memory has at its address, and so is what a loss of power would leave.
namespace nearfar::sim::cpu {
namespace test_file {

using sim::testing::crowded;
using sim::testing::frames;
using sim::testing::lines_in_use;
using sim::testing::Overrides;
using sim::testing::pages_in_space;
using sim::testing::Shadow;
using sim::testing::space_bytes;
using sim::testing::spaces;

/// A core's caches before a machine, with nothing between: what a core and its socket would do for
/// loads, and a look at every line that comes.
class Walker {
 public:
  Walker(const Overrides& overrides, std::uint64_t seed)
      : rng_(seed),
        shadow_(rng_),
        settings_(sim::testing::optane(overrides)),
        memory_(settings_),
        config_(core_of(settings_, memory_.capacity())),
        uncore_(memory_, 0, 0, seed),
        caches_(config_.caches, seed),
        uncertain_(config_.caches.pretranslation.uncertain) {
    caches_.add_cores(1);
    caches_.read_tables_by([this](Hierarchy::Core, Address address) { return table(address); });
    for (std::uint64_t frame = 0; frame < frames; ++frame) write_frame(frame);
    for (std::uint64_t pointer = 0; pointer < leads_to_.size(); ++pointer) point(pointer);
    run_dry();
  }

  /// A load, or a change while no load is out; now and then the power could fail.
  void step() {
    if (rng_.below(2000) == 0) check_durable();
    const std::uint64_t what = rng_.below(100);
    if (what < 88) {
      while (loads_out_ >= 12) advance();
      load();
      // Now and then the program computes, and walks run ahead of it.
      if (rng_.below(4) == 0) pass(Tick(rng_.below(400'000)));
      return;
    }
    if (what < 96) {
      finish_loads();
      overwrite_pointer(rng_.below(leads_to_.size()));
      return;
    }
    finish_loads();
    change_pages();
  }
  void finish_loads() {
    while (loads_out_ != 0) advance();
  }
  void run_dry() {
    finish_loads();
    while (writes_out_ != 0 || !flights_empty()) advance();
  }

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t checked() const { return checked_; }
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const {
    Counters registered;
    caches_.register_counters(registered);
    memory_.register_counters(registered);
    std::map<std::string, std::uint64_t> all;
    for (const auto& [name, value] : registered.read()) all[name] = value;
    return all;
  }

 private:
  using Index = std::uint32_t;
  struct Flight {
    Address address;
    Hierarchy::Miss miss = 0;
    bool write = false;
    bool table = false;
    bool given_up = false;
    pretranslation::Marks marks = 0;
    std::uint8_t pointer_offset = 0;
    DataHandle data = 0;
    std::uint64_t frame = Hierarchy::no_frame;
  };
  struct Load {
    Place place;
    DataHandle expected = 0;
  };
  struct Event {
    enum class Kind : std::uint8_t { send, walked } kind;
    std::uint32_t index;
  };

  // Virtual addresses: a space's number above, and pages from 1 on.
  static Address address_of(std::uint64_t page, Bytes offset) {
    return Address(page / pages_in_space * space_bytes +
                   (page % pages_in_space + 1) * Tlb::small_page + offset);
  }
  static std::optional<std::uint64_t> page_at(Address address) {
    const std::uint64_t in_space = address.value() % space_bytes / Tlb::small_page;
    if (in_space == 0 || in_space > pages_in_space) return std::nullopt;
    return address.value() / space_bytes * pages_in_space + in_space - 1;
  }
  [[nodiscard]] std::optional<Translation> table(Address address) const {
    const auto page = page_at(address);
    const auto frame = page ? shadow_.frame_of(*page) : std::nullopt;
    return frame ? std::optional(Translation{*frame, false}) : std::nullopt;
  }

  /// Two pointers to each line that is in use of each page of a space; the second space, where it
  /// shares a page, has the same pointers, which lead to pages of its own.
  static constexpr std::uint64_t pointers_in_page = 2 * lines_in_use;
  static Bytes offset_of(std::uint64_t pointer) {
    return pointer % pointers_in_page / 2 * line_bytes + pointer % 2 * 24 + 8;
  }
  void point(std::uint64_t pointer) {
    // Sometimes at nothing at all.
    leads_to_[pointer] = rng_.below(50) == 0 ? pages_in_space + 5 : rng_.below(pages_in_space);
  }
  [[nodiscard]] Address target(std::uint64_t pointer, std::uint64_t space) const {
    const Bytes offset = offset_of(leads_to_[pointer] * 7 % pointers_in_page);
    return Address(space * space_bytes + (leads_to_[pointer] + 1) * Tlb::small_page + offset);
  }

  /// Follows the pointer that was loaded last, or begins anew.
  void load() {
    std::uint64_t page = rng_.below(spaces * pages_in_space);
    std::uint64_t of_page = rng_.below(pointers_in_page);
    if (next_ && rng_.below(10) != 0) {
      page = *page_at(*next_);
      of_page = next_->value() % Tlb::small_page / line_bytes * 2 +
                (next_->value() % line_bytes == 8 ? 0 : 1);
    }
    next_.reset();
    const auto frame = shadow_.frame_of(page);
    if (!frame) return;
    const std::uint64_t pointer = page % pages_in_space * pointers_in_page + of_page;
    const Bytes offset = offset_of(pointer);
    const Index index = loads_.take_any();
    Load& load = loads_[index];
    load.place = {.physical = Address(*frame * Tlb::small_page + offset),
                  .virtual_address = address_of(page, offset)};
    load.expected = shadow_.content(*frame, offset / line_bytes);
    const Address to = target(pointer, page / pages_in_space);
    if (rng_.below(8) != 0) load.place.leads_to = to;
    const auto page_there = page_at(to);
    if (page_there && shadow_.frame_of(*page_there)) next_ = to;
    ++loads_out_;
    ++requests_;
    ask(index);
  }

  void ask(Index index) {
    const Hierarchy::Answer answer =
        caches_.access(0, loads_[index].place, Hierarchy::Kind::load, index);
    if (loads_[index].place.leads_to != Address{}) caches_.mark(0, loads_[index].place, answer);
    if (answer.state == Hierarchy::Answer::State::waits && answer.asked) {
      for (const Hierarchy::Transfer& transfer : caches_.transfers()) {
        if (!transfer.write && !transfer.table &&
            transfer.marks != (pretranslation::pointer | pretranslation::entry_only)) {
          miss_of_[index] = transfer.miss;
        }
      }
    }
    send_transfers();
    if (answer.state == Hierarchy::Answer::State::hit) {
      // What the caches have is what memory has: lines leave them before they are changed.
      if (answer.level != Hierarchy::Level::l1) caches_.release(0, Tick{});
      done(index);
    } else if (answer.state == Hierarchy::Answer::State::full) {
      refused_.push_back(index);
    }
  }

  void done(Index index) {
    loads_.give_back(index);
    --loads_out_;
  }

  void check(Index index, DataHandle data) {
    ++checked_;
    ASSERT_EQ(data, loads_[index].expected)
        << "load of " << std::hex << loads_[index].place.virtual_address.value();
  }

  /// All writes have been accepted: a loss of power would leave what they wrote.
  void check_durable() const {
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      for (std::uint64_t line = 0; line < lines_in_use; ++line) {
        const Address address(frame * Tlb::small_page + line * line_bytes);
        ASSERT_EQ(memory_.durable(address), shadow_.content(frame, line));
      }
    }
  }

  void overwrite_pointer(std::uint64_t pointer) {
    point(pointer);
    const std::uint64_t page = pointer / pointers_in_page;
    for (std::uint64_t space = 0; space < spaces; ++space) {
      const auto frame = shadow_.frame_of(space * pages_in_space + page);
      if (frame) write(*frame, offset_of(pointer) / line_bytes);
    }
  }

  void change_pages() {
    const std::uint64_t page = rng_.below(spaces * pages_in_space);
    const std::uint64_t other = rng_.below(spaces * pages_in_space);
    if (!shadow_.frame_of(page)) {
      write_frame(shadow_.map(page));
      return;
    }
    switch (rng_.below(4)) {
      case 0:
        shadow_.unmap(page);
        // Often the frame is used again at once, by another.
        if (rng_.below(2) == 0 && !shadow_.frame_of(other)) write_frame(shadow_.map(other));
        break;
      case 1:
        if (shadow_.frame_of(other)) shadow_.exchange(page, other);
        break;
      case 2: {
        const auto [from, to] = shadow_.migrate(page);
        for (std::uint64_t line = 0; line < lines_in_use; ++line) {
          send_write(to, line, shadow_.content(to, line));
        }
        write_frame(from);
        break;
      }
      default:
        write_frame(*shadow_.frame_of(page));
        break;
    }
  }

  void write_frame(std::uint64_t frame) {
    for (std::uint64_t line = 0; line < lines_in_use; ++line) write(frame, line);
  }
  void write(std::uint64_t frame, std::uint64_t line) {
    send_write(frame, line, shadow_.overwrite(frame, line));
  }
  /// Past the caches, which lose the line; nothing goes on before memory has taken it.
  void send_write(std::uint64_t frame, std::uint64_t line, DataHandle data) {
    const Address address(frame * Tlb::small_page + line * line_bytes);
    caches_.flush(address, false);
    ++writes_out_;
    ++requests_;
    launch({.address = address, .write = true, .data = data}, now_);
    while (writes_out_ != 0) advance();
  }

  Index launch(const Flight& flight, Tick at) {
    const Index index = flights_.take(flight);
    if ((flight.marks & pretranslation::uncertain) != 0) uncertain_.launched(flight.miss, index);
    events_.push(at, {Event::Kind::send, index});
    return index;
  }
  [[nodiscard]] bool flights_empty() const { return flights_.in_use() == 0 && events_.empty(); }

  void send_transfers() {
    uncertain_.settle(
        caches_.resolutions(), flights_,
        [&](Index flight, bool right) { uncore_.resolve(request_of(flight), right, now_); },
        [&](Index flight) { events_.push(now_, {Event::Kind::send, flight}); });
    caches_.resolutions().clear();
    for (const PointerUpdate& update : caches_.updates()) {
      memory_.learn(update.pointer, update.frame, now_ + Tick(75'000));
    }
    caches_.updates().clear();
    for (const Hierarchy::Transfer& transfer : caches_.transfers()) {
      ++requests_;
      launch({.address = Address(transfer.line * line_bytes),
              .miss = transfer.miss,
              .write = transfer.write,
              .table = transfer.table,
              .marks = transfer.marks,
              .pointer_offset = transfer.pointer_offset},
             now_ + transfer.delay + config_.read_out);
    }
    caches_.transfers().clear();
    for (const Hierarchy::End& end : caches_.ends()) {
      events_.push(now_ + end.delay, {Event::Kind::walked, end.walk});
    }
    caches_.ends().clear();
  }

  [[nodiscard]] Request request_of(Index index) const {
    const Flight& flight = flights_[index];
    return {.id = index,
            .address = flight.address,
            .op = flight.write ? Op::write : Op::read,
            .marks = flight.marks,
            .pointer_offset = flight.pointer_offset,
            .data = flight.data};
  }

  void pass(Tick span) {
    const Tick end = now_ + span;
    while (now_ < end) advance(end);
  }

  void advance(Tick until = Tick::never()) {
    const Tick bound = min(events_.next(), until);
    now_ = memory_.advance_to_completion(bound, sink_);
    ASSERT_FALSE(now_.is_never()) << "the memory has forgotten a request";
    for (std::size_t i = 0; i < sink_.size(); ++i) take(sink_[i]);
    sink_.clear();
    while (events_.next() <= now_) {
      const Event event = events_.pop();
      if (event.kind == Event::Kind::send) {
        send(event.index);
      } else {
        walked(event.index);
      }
    }
    std::vector<Index> again;
    again.swap(refused_);
    for (const Index index : again) ask(index);
  }

  void send(Index index) {
    const Flight& flight = flights_[index];
    if (flight.given_up) {
      flights_.give_back(index);
      return;
    }
    if ((flight.marks & pretranslation::uncertain) != 0 && !uncertain_.may_enter(index)) return;
    uncore_.send(request_of(index), 0, now_);
  }

  void take(const Completion& completion) {
    if (completion.kind == Completion::Kind::wake) {
      uncore_.wake(static_cast<std::uint16_t>(completion.id), now_);
      return;
    }
    const auto index = static_cast<Index>(completion.id);
    if (completion.kind == Completion::Kind::entry) {
      flights_[index].frame = completion.data;
      return;
    }
    const Flight flight = flights_[index];
    flights_.give_back(index);
    if (flight.write) {
      --writes_out_;
      return;
    }
    data_of_[flight.miss] = completion.data;
    std::vector<Hierarchy::Waiter> woken;
    caches_.filled(flight.miss, woken, flight.frame);
    send_transfers();
    for (const Index load : woken) {
      check(load, completion.data);
      done(load);
    }
  }

  void walked(Hierarchy::Walk walk) {
    std::vector<Hierarchy::Waiter> woken;
    caches_.walked(walk, woken);
    for (const Index load : caches_.arrivals()) {
      check(load, data_of_.at(miss_of_.at(load)));
      done(load);
    }
    caches_.arrivals().clear();
    send_transfers();
    for (const Index load : woken) {
      loads_[load].place.translated = true;
      ask(load);
    }
  }

  Rng rng_;
  Shadow shadow_;
  Settings settings_;
  Machine memory_;
  Config config_;
  Uncore uncore_;
  Hierarchy caches_;
  UncertainReads uncertain_;
  EventQueue<Event> events_;
  Slab<Flight> flights_;
  Slab<Load> loads_;
  Sink sink_;
  Tick now_{};
  std::vector<std::uint64_t> leads_to_ =
      std::vector<std::uint64_t>(pages_in_space * pointers_in_page);
  std::optional<Address> next_;
  std::vector<Index> refused_;
  std::unordered_map<Index, Hierarchy::Miss> miss_of_;
  std::unordered_map<Hierarchy::Miss, DataHandle> data_of_;
  std::uint64_t loads_out_ = 0;
  std::uint64_t writes_out_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t checked_ = 0;
};

TEST(PretranslationShadow, NoLoadEverGetsAWrongLineWhilePagesAndPointersChange) {
  const std::uint64_t wanted = sim::testing::cases(1'000'000);
  std::uint64_t requests = 0, checked = 0, used = 0, corrected = 0, stale = 0;
  for (std::uint64_t seed = 1; requests < wanted; ++seed) {
    Walker walker(crowded(seed), seed);
    while (walker.requests() < 25'000 && !HasFailure()) walker.step();
    walker.run_dry();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    requests += walker.requests();
    checked += walker.checked();
    const auto counters = walker.counters();
    used += counters.at("pretranslation.used");
    corrected += counters.at("pretranslation.corrected");
    stale += counters.at("pretranslation.stale");
  }
  // The changes did make entries stale, and loads did go by them.
  EXPECT_GT(checked, requests / 10);
  EXPECT_GT(used, requests / 200);
  EXPECT_GT(corrected, used / 100);
  EXPECT_GT(stale, corrected);
}

}  // namespace test_file
}  // namespace nearfar::sim::cpu
