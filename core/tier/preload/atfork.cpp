// The handlers of fork, in place of libc's list. That moves to allocated, and so managed, memory
// when it grows, and a forked child reads it before it has a pager: it would find zeros for far
// memory, and skip the handlers, ours among them. libc knows one handler, which calls all of these.
//
// Nothing here needs a constructor: other libraries may register theirs first.

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "tier/preload/exported.h"
#include "tier/service/lock.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): libc's names
extern "C" {
/// Names a library to libc; this one's.
extern void* __dso_handle __attribute__((visibility("hidden")));
}

namespace nearfar::tier::preload {
namespace {

using Handler = void();

struct Entry {
  std::uint64_t id;  // counts up
  Handler* prepare;
  Handler* parent;
  Handler* child;
  const void* library;
};

/// In the order of registration, but for this library's own, which come first. What is not static
/// is memory that no allocator knows.
class Handlers {
 public:
  /// False without memory.
  bool add(Entry entry) {
    if (count_ == capacity_ && !grow()) return false;
    const bool own = entry.library == __dso_handle;
    const std::size_t at = own ? own_++ : count_;
    entry.id = own ? own_ : most_own + ++newest_;
    std::memmove(entries_ + at + 1, entries_ + at, (count_ - at) * sizeof(Entry));
    entries_[at] = entry;
    ++count_;
    return true;
  }
  void remove(const void* library) {
    const Entry* const end = std::remove_if(
        entries_, entries_ + count_, [&](const Entry& entry) { return entry.library == library; });
    count_ = static_cast<std::size_t>(end - entries_);
  }
  [[nodiscard]] std::uint64_t newest() const { return most_own + newest_; }
  /// The first from `id` on, and the last before it; false if there is none.
  bool find_from(std::uint64_t id, Entry& found) const {
    const Entry* const at = from(id);
    if (at == entries_ + count_) return false;
    found = *at;
    return true;
  }
  bool find_before(std::uint64_t id, Entry& found) const {
    const Entry* const at = from(id);
    if (at == entries_) return false;
    found = at[-1];
    return true;
  }

 private:
  [[nodiscard]] const Entry* from(std::uint64_t id) const {
    return std::partition_point(entries_, entries_ + count_,
                                [&](const Entry& entry) { return entry.id < id; });
  }
  bool grow() {
    const std::size_t wanted = capacity_ == 0 ? os::page_bytes / sizeof(Entry) : 2 * capacity_;
    auto* const larger = os::pointer<Entry>(os::reserve(wanted * sizeof(Entry)));
    if (larger == nullptr) return false;
    if (count_ != 0) std::memcpy(larger, entries_, count_ * sizeof(Entry));
    if (capacity_ != 0) os::unmap(os::place(entries_), capacity_ * sizeof(Entry));
    entries_ = larger;
    capacity_ = wanted;
    return true;
  }

  static constexpr std::uint64_t most_own = 8;  // behind whose numbers others begin

  Entry* entries_ = nullptr;
  std::size_t count_ = 0;
  std::size_t own_ = 0;
  std::size_t capacity_ = 0;
  std::uint64_t newest_ = 0;
};

constinit Handlers handlers;
// Never held while a handler runs, which may register others. Held, by the forking thread, while
// libc makes the child, which so finds the list whole.
Lock handlers_lock;
bool known_to_libc;
std::uint64_t last_to_run;  // those that are registered while others run wait for the next fork
std::uint64_t mask_before;

template <typename Work>
auto locked(const Work& work) {
  const os::SignalsBlocked blocked;  // a handler that forks would wait for the end of this
  const std::lock_guard guard(handlers_lock);
  return work();
}

void run_prepare() {
  const std::uint64_t last = locked([] { return handlers.newest(); });
  Entry entry{};
  entry.id = last + 1;
  while (locked([&] { return handlers.find_before(entry.id, entry); })) {
    if (entry.prepare != nullptr) entry.prepare();
  }
  const std::uint64_t before = os::block_signals();
  handlers_lock.lock();
  mask_before = before;
  last_to_run = last;
}

void run_after(Handler* Entry::* which, std::uint64_t last) {
  Entry entry{};
  while (locked([&] { return handlers.find_from(entry.id + 1, entry); }) && entry.id <= last) {
    if (entry.*which != nullptr) (entry.*which)();
  }
}

void run_parent() {
  const std::uint64_t last = last_to_run;
  const std::uint64_t before = mask_before;
  handlers_lock.unlock();
  os::restore_signals(before);
  run_after(&Entry::parent, last);
}

/// This library's own handler comes first, and the list is not managed: all others find a pager.
void run_child() {
  handlers_lock.free_in_child();
  os::restore_signals(mask_before);
  run_after(&Entry::child, last_to_run);
}

using Register = int(Handler*, Handler*, Handler*, void*);

int register_handlers(const Entry& entry) {
  if (!locked([&] { return handlers.add(entry); })) return ENOMEM;
  if (locked([] { return std::exchange(known_to_libc, true); })) return 0;
  // Under no name of a library: libc never forgets it.
  return next<Register>("__register_atfork")(run_prepare, run_parent, run_child, nullptr);
}

}  // namespace
}  // namespace nearfar::tier::preload

namespace preload = nearfar::tier::preload;

/// What libc's pthread_atfork calls.
NEARFAR_EXPORT int __register_atfork(preload::Handler* prepare, preload::Handler* parent,
                                     preload::Handler* child, void* library) noexcept {
  return preload::register_handlers(
      {.id = 0, .prepare = prepare, .parent = parent, .child = child, .library = library});
}

/// What a library calls when it is unloaded, also at the end of the process. This one's handlers
/// stay: others may fork afterwards.
NEARFAR_EXPORT void __cxa_finalize(void* library) {
  static const auto real = preload::next<void(void*)>("__cxa_finalize");
  real(library);
  if (library != nullptr && library != __dso_handle)
    preload::locked([&] { preload::handlers.remove(library); });
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
