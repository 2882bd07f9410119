#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tier/os/memory.h"
#include "tier/os/uffd.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

namespace nearfar::tier {

inline constexpr std::size_t fake_huge_bytes = std::size_t{2} << 20U;

/// While callgrind counts what the pager does, what a fake does is not counted.
class Uncounted {
 public:
  Uncounted() { toggle(); }
  ~Uncounted() { toggle(); }
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

  /// Whether the pager is what callgrind counts at the moment.
  static inline bool counting = false;

 private:
  static void toggle() {
    if (counting) CALLGRIND_TOGGLE_COLLECT;
  }
};

/// What a kernel would know of pages. The memory is real, and touched only here: "present" is what
/// this says, so that a test decides what the kernel finds, and nothing depends on the machine.
class FakePages {
 public:
  struct Info {
    bool present = false;
    bool write_protected = false;
    bool zeros = false;  ///< the one page of zeros, if it is present
    bool huge = false;
    bool registered = false;
    bool wants_huge = false;  ///< advised so: a touch that the kernel serves brings 2 MiB
    long refuses_move = 0;    ///< what UFFDIO_MOVE says to it
    bool uncounted = false;   ///< its move ends the call that makes it, and is not counted
    bool locked = false;      ///< cannot be dropped
    bool shared = false;      ///< with a forked child, until it is written to
    bool used = false;        ///< as the kernel has noted, where it notes uses
    int node = 0;             ///< of the frame
  };
  struct Call {
    enum class Kind {
      copy,
      zeros,
      move,
      wake,
      protect,
      unprotect,
      register_range,
      unregister,
      advise
    };
    Kind kind;
    os::Place begin;
    std::size_t length;
    int advice = 0;
    bool operator==(const Call&) const = default;
  };

  Info& operator[](os::Place at) { return pages_[at / os::page_bytes]; }
  [[nodiscard]] Info at(os::Place at) const {
    const auto found = pages_.find(at / os::page_bytes);
    return found == pages_.end() ? Info{} : found->second;
  }
  [[nodiscard]] std::size_t present() const {
    return static_cast<std::size_t>(std::count_if(
        pages_.begin(), pages_.end(), [](const auto& page) { return page.second.present; }));
  }
  template <typename Change>
  void each(os::Place begin, std::size_t length, const Change& change) {
    for (os::Place at = begin; at < begin + length; at += os::page_bytes) change((*this)[at]);
  }

  void note(Call::Kind kind, os::Place begin, std::size_t length, int advice = 0) {
    if (records) calls.push_back({kind, begin, length, advice});
  }
  [[nodiscard]] std::size_t count(Call::Kind kind) const {
    return static_cast<std::size_t>(std::count_if(
        calls.begin(), calls.end(), [&](const Call& call) { return call.kind == kind; }));
  }

  bool records = false;
  std::vector<Call> calls;
  bool changing = false;  ///< a change is under way: no page can be filled
  int preferred_node = 0;  ///< of the thread that fills pages
  long register_error = 0;
  long unregister_error = 0;
  std::deque<os::Message> messages;
  /// The program does something just before the kernel moves pages to, from, so many times so far.
  std::function<void(os::Place to, os::Place from)> before_move;
  /// The program does something before pages of zeros from there on are protected.
  std::function<void(os::Place)> after_zeros;
  /// The program does something just before pages from there on are protected no more.
  std::function<void(os::Place)> before_unprotect;

 private:
  std::unordered_map<std::size_t, Info> pages_;
};

class FakeUffd final : public os::Uffd {
 public:
  explicit FakeUffd(FakePages& pages) : pages_(pages) {}

  [[nodiscard]] long open(os::Eviction wanted, os::Changes, os::Faults) noexcept override {
    if (open_error != 0) return open_error;
    moves_ = wanted != os::Eviction::copy;
    protects_ = can_protect;
    return 0;
  }
  [[nodiscard]] long open_beside(const os::Uffd&, os::Eviction wanted, os::Changes changes,
                                 os::Faults faults) noexcept override {
    return open(wanted, changes, faults);
  }
  void close() noexcept override {}
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] int device() const noexcept override { return -1; }

  [[nodiscard]] long register_range(os::Place at, std::size_t length) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::register_range, at, length);
    if (pages_.register_error != 0) return pages_.register_error;
    pages_.each(at, length, [](FakePages::Info& page) { page.registered = true; });
    return 0;
  }
  long unregister(os::Place at, std::size_t length) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::unregister, at, length);
    if (pages_.unregister_error != 0) return pages_.unregister_error;
    pages_.each(at, length, [](FakePages::Info& page) {
      page.registered = false;
      page.write_protected = false;
    });
    return 0;
  }
  [[nodiscard]] std::size_t read(
      std::span<os::Message, most_read> messages) const noexcept override {
    std::size_t count = 0;
    for (; count < most_read && !pages_.messages.empty(); ++count) {
      messages[count] = pages_.messages.front();
      pages_.messages.pop_front();
    }
    return count;
  }
  [[nodiscard]] bool changing() const noexcept override { return pages_.changing; }

  [[nodiscard]] os::Moved copy(os::Place to, const void* from, std::size_t length, os::Waking,
                               os::Protect protect) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::copy, to, length);
    std::size_t done = 0;
    // A range that leaves the mapping is refused before any page is looked at.
    long error = pages_.changing || are_registered(to, length) ? 0 : -ENOENT;
    for (; done < length && error == 0; done += error == 0 ? os::page_bytes : 0)
      error = fill(to + done, static_cast<const char*>(from) + done, protect);
    // The kernel says of what came in part only that there is more.
    return {done, done != 0 && error != 0 ? -EAGAIN : error};
  }
  [[nodiscard]] os::Moved show_zeros(os::Place at, std::size_t length,
                                     os::Waking) const noexcept override {
    const Uncounted here;
    if (!can_show_zeros) return {0, -EOPNOTSUPP};
    pages_.note(FakePages::Call::Kind::zeros, at, length);
    if (pages_.changing) return {0, -EAGAIN};
    if (!are_registered(at, length)) return {0, -ENOENT};
    for (std::size_t done = 0; done < length; done += os::page_bytes) {
      FakePages::Info& page = pages_[at + done];
      if (page.present) return {done, done != 0 ? -EAGAIN : -EEXIST};
      page.present = true;
      page.zeros = true;
    }
    if (pages_.after_zeros) pages_.after_zeros(at);
    return {length, 0};
  }
  [[nodiscard]] bool run(os::Copy& copy) const noexcept override {
    const Uncounted here;
    const long error = fill(copy.to(), copy.from(), copy.protect());
    copy.finish(error == 0 ? os::page_bytes : error);
    return error == 0;
  }
  [[nodiscard]] os::Moved move(os::Place to, os::Place from, std::size_t length,
                               os::Waking) const noexcept override {
    const Uncounted here;
    if (!moves_) return {0, -EOPNOTSUPP};
    pages_.note(FakePages::Call::Kind::move, from, length);
    if (pages_.before_move) pages_.before_move(to, from);
    if (pages_.changing) return {0, -EAGAIN};
    // Mappings that differ are refused before any page is looked at.
    for (std::size_t i = 0; i < length; i += os::page_bytes)
      if (pages_.at(from + i).refuses_move == -EINVAL || pages_.at(to + i).refuses_move == -EINVAL)
        return {0, -EINVAL};
    const bool huge = length == fake_huge_bytes && to % fake_huge_bytes == 0 && is_huge(from);
    std::size_t done = 0;
    for (; done < length; done += os::page_bytes) {
      const FakePages::Info source = pages_.at(from + done);
      long error = source.refuses_move;
      if (error == 0 && source.shared) error = -EBUSY;
      if (!source.present) error = -ENOENT;
      if (error == 0 && pages_.at(to + done).present) error = -EEXIST;
      if (error != 0) return {done, error};
      std::memcpy(os::pointer(to + done), os::pointer(from + done), os::page_bytes);
      std::memset(os::pointer(from + done), 0, os::page_bytes);
      pages_[to + done].node = source.node;
      pages_[to + done].used = true;  // as the kernel marks what it has moved
      pages_[to + done].present = true;
      pages_[to + done].huge = huge;
      pages_[to + done].write_protected = false;
      pages_[from + done].present = false;
      pages_[from + done].huge = false;
      if (std::exchange(pages_[from + done].uncounted, false))
        return done != 0 ? os::Moved{done, -EAGAIN} : os::Moved{os::page_bytes, -EEXIST};
    }
    return {done, 0};
  }
  void wake(os::Place at, std::size_t length) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::wake, at, length);
  }
  [[nodiscard]] long protect(os::Place at, std::size_t length) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::protect, at, length);
    if (pages_.changing) return -EAGAIN;
    if (!are_registered(at, length)) return -ENOENT;
    pages_.each(at, length, [](FakePages::Info& page) { page.write_protected = page.present; });
    return 0;
  }
  long unprotect(os::Place at, std::size_t length, os::Waking) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::unprotect, at, length);
    if (pages_.changing) return -EAGAIN;
    if (!protects_) return -EINVAL;
    if (pages_.before_unprotect) pages_.before_unprotect(at);
    pages_.each(at, length, [](FakePages::Info& page) { page.write_protected = false; });
    return 0;
  }

  long rearm(os::Place at, std::size_t length) const noexcept override {
    if (tracking_ == os::Tracking::nothing) return 0;
    pages_.each(at, length, [](FakePages::Info& page) { page.used = false; });
    return 0;
  }

  long open_error = 0;
  bool can_protect = true;
  bool can_show_zeros = false;

 private:
  [[nodiscard]] long fill(os::Place to, const void* from, os::Protect protect) const {
    if (pages_.changing) return -EAGAIN;
    FakePages::Info& page = pages_[to];
    if (!page.registered) return -ENOENT;
    if (page.present) return -EEXIST;
    std::memcpy(os::pointer(to), from, os::page_bytes);
    page.present = true;
    page.huge = false;
    page.node = pages_.preferred_node;
    page.write_protected = protect == os::Protect::on;
    return 0;
  }
  [[nodiscard]] bool are_registered(os::Place at, std::size_t length) const {
    bool all = true;
    for (std::size_t i = 0; all && i < length; i += os::page_bytes)
      all = pages_.at(at + i).registered;
    return all;
  }
  [[nodiscard]] bool is_huge(os::Place at) const {
    bool all = at % fake_huge_bytes == 0;
    for (std::size_t i = 0; all && i < fake_huge_bytes; i += os::page_bytes)
      all = pages_.at(at + i).huge;
    return all;
  }

  FakePages& pages_;
};

class FakeMemory final : public os::Memory {
 public:
  explicit FakeMemory(FakePages& pages) : pages_(pages) {}

  void open() noexcept override {}
  void open_contents() noexcept override {}
  void close() noexcept override {}
  [[nodiscard]] std::array<int, 3> descriptors() const noexcept override { return {-1, -1, -1}; }

  long advise(os::Place at, std::size_t length, int advice) const noexcept override {
    const Uncounted here;
    pages_.note(FakePages::Call::Kind::advise, at, length, advice);
    switch (advice) {
      case MADV_DONTNEED:
        return drop(at, length);
      case MADV_HUGEPAGE:
      case MADV_NOHUGEPAGE:
        pages_.each(at, length,
                    [&](FakePages::Info& page) { page.wants_huge = advice == MADV_HUGEPAGE; });
        return 0;
      case MADV_POPULATE_WRITE:
        pages_.each(at, length, [](FakePages::Info& page) {
          page.present = true;
          page.shared = false;
        });
        return 0;
      case collapse:
        if (!huge_pages) return -EINVAL;
        pages_.each(at, length, [](FakePages::Info& page) { page.huge = true; });
        return 0;
      default:
        return 0;
    }
  }
  [[nodiscard]] bool is_present(os::Place at) const noexcept override {
    return pages_.at(at).present;
  }
  [[nodiscard]] std::size_t find_present(os::Place& from, os::Place end,
                                         std::span<os::PageMap::Run> runs) const noexcept override {
    const Uncounted here;
    std::size_t count = 0;
    for (; from < end; from += os::page_bytes) {
      learn_of_write(from / fake_huge_bytes * fake_huge_bytes);
      const FakePages::Info page = pages_.at(from);
      if (!page.present) continue;
      const bool huge = page.huge;
      if (count != 0 && runs[count - 1].end == from && runs[count - 1].huge == huge) {
        runs[count - 1].end += os::page_bytes;
        continue;
      }
      if (count == runs.size()) return count;
      runs[count++] = {.begin = from, .end = from + os::page_bytes, .huge = huge};
    }
    return count;
  }
  [[nodiscard]] bool tells_huge() const noexcept override { return true; }
  [[nodiscard]] std::size_t read(os::Place from, void* to,
                                 std::size_t length) const noexcept override {
    const Uncounted here;
    std::size_t done = 0;
    while (done < length && pages_.at(from + done).present) done += os::page_bytes;
    std::memcpy(to, os::pointer(from), done);
    return done;
  }
  [[nodiscard]] std::size_t find_zeros(os::Place& from, os::Place end,
                                       std::span<os::PageMap::Run> runs) const noexcept override {
    std::size_t count = 0;
    for (; from < end && count < runs.size(); from += os::page_bytes)
      if (const FakePages::Info page = pages_.at(from); page.present && page.zeros)
        runs[count++] = {.begin = from, .end = from + os::page_bytes, .huge = false};
    return count;
  }
  [[nodiscard]] std::size_t find_written(os::Place& from, os::Place end,
                                         std::span<os::PageMap::Run> runs) const noexcept override {
    const std::size_t count = find_accessed(from, end, runs);
    for (const os::PageMap::Run& run : runs.first(count)) pages_[run.begin].used = false;
    return count;
  }
  [[nodiscard]] std::size_t find_accessed(
      os::Place& from, os::Place end, std::span<os::PageMap::Run> runs) const noexcept override {
    std::size_t count = 0;
    for (; from < end && count < runs.size(); from += os::page_bytes)
      if (const FakePages::Info page = pages_.at(from); page.present && page.used)
        runs[count++] = {.begin = from, .end = from + os::page_bytes, .huge = false};
    return count;
  }
  void prefer_node(int node) const noexcept override { pages_.preferred_node = node; }
  void find_nodes(std::span<const os::Place> places, std::span<int> nodes) const noexcept override {
    for (std::size_t i = 0; i < places.size(); ++i) nodes[i] = pages_.at(places[i]).node;
  }
  [[nodiscard]] bool has_huge_pages() const noexcept override { return huge_pages; }
  [[nodiscard]] bool merges_pages() const noexcept override { return merges; }
  [[nodiscard]] std::uint64_t anonymous_pages() const noexcept override { return anonymous; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept override { return now; }

  static constexpr int collapse = 25;  // MADV_COLLAPSE, since Linux 6.1
  bool huge_pages = true;
  bool merges = false;
  std::uint64_t anonymous = 0;
  mutable std::uint64_t now = 1'000'000'000;

 private:
  long drop(os::Place at, std::size_t length) const {
    for (std::size_t i = 0; i < length; i += os::page_bytes)
      if (pages_.at(at + i).locked) return -EINVAL;
    os::advise(at, length, MADV_DONTNEED);
    pages_.each(at, length, [](FakePages::Info& page) {
      page.present = false;
      page.zeros = false;
      page.huge = false;
      page.write_protected = false;
    });
    return 0;
  }
  /// Where the pager itself writes, in staging memory that is not registered, the kernel puts a
  /// huge page if it may.
  void learn_of_write(os::Place group) const {
    const FakePages::Info first = pages_.at(group);
    unsigned char there = 0;
    if (first.present || first.registered || !first.wants_huge || !huge_pages) return;
    if (os::call(__NR_mincore, os::word(group), os::page_bytes, os::word(&there)) != 0) return;
    if ((there & 1U) == 0) return;
    pages_.each(group, fake_huge_bytes, [](FakePages::Info& page) {
      page.present = true;
      page.huge = true;
    });
  }

  FakePages& pages_;
};

}  // namespace nearfar::tier
