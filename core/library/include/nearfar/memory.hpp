// nearfar/memory.hpp: nearfar/memory.h for C++17 and later. A failed call throws nearfar::Error.
#ifndef NEARFAR_MEMORY_HPP
#define NEARFAR_MEMORY_HPP

#include <nearfar/memory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace nearfar {

class Error : public std::runtime_error {
 public:
  explicit Error(int status) : std::runtime_error(nearfar_error()), status_(status) {}
  /// One of nearfar_status, below 0.
  int status() const { return status_; }

 private:
  int status_;
};

/// A simulated memory; each function is described in nearfar/memory.h.
class Memory {
 public:
  static Memory open(const std::string& path) {
    nearfar_memory* made = nullptr;
    check(nearfar_memory_open(path.c_str(), &made));
    return Memory(made);
  }
  static Memory create(std::string_view model) {
    nearfar_memory* made = nullptr;
    check(nearfar_memory_create(model.data(), model.size(), &made));
    return Memory(made);
  }

  /// false: refused; offer it again after the wake of its port.
  bool send(const nearfar_request& request, std::uint64_t time_ps) {
    return check(nearfar_memory_send(get(), &request, time_ps)) == NEARFAR_OK;
  }
  /// Waits for a place inside; returns when the request was taken.
  std::uint64_t send_when_free(const nearfar_request& request, std::uint64_t time_ps) {
    check(nearfar_memory_send_when_free(get(), &request, time_ps));
    return now();
  }
  void fence(std::uint64_t time_ps) { check(nearfar_memory_fence(get(), time_ps)); }
  void advance(std::uint64_t until_ps) { check(nearfar_memory_advance(get(), until_ps)); }
  void advance_to_completion(std::uint64_t until_ps = NEARFAR_NEVER) {
    check(nearfar_memory_advance_to_completion(get(), until_ps));
  }

  /// Plays up to the next completions and wakes, and calls `use(const nearfar_completion&)` for
  /// each; returns how many there were. `use` may send further requests.
  template <typename Use>
  int wait(Use use, std::uint64_t until_ps = NEARFAR_NEVER) {
    nearfar_completion come[16];
    const int count = check(nearfar_memory_wait(get(), until_ps, come, 16));
    for (int i = 0; i < count; ++i) use(static_cast<const nearfar_completion&>(come[i]));
    return count;
  }

  /// Calls `use(const nearfar_completion&)` for each completion and wake that has come. `use` may
  /// send further requests.
  template <typename Use>
  void completions(Use use) {
    nearfar_completion come[16];
    while (const std::size_t count = nearfar_memory_completions(get(), come, 16)) {
      for (std::size_t i = 0; i < count; ++i) use(static_cast<const nearfar_completion&>(come[i]));
    }
  }

  std::uint64_t next_event() const { return nearfar_memory_next_event(get()); }
  std::uint64_t now() const { return nearfar_memory_now(get()); }
  std::uint64_t capacity() const { return nearfar_memory_capacity(get()); }
  std::uint64_t unfinished() const { return nearfar_memory_unfinished(get()); }
  std::string model_name() const { return nearfar_memory_model_name(get()); }
  std::string model_hash() const { return nearfar_memory_model_hash(get()); }

  std::string save() {
    const void* bytes = nullptr;
    std::size_t size = 0;
    check(nearfar_memory_save(get(), &bytes, &size));
    return {static_cast<const char*>(bytes), size};
  }
  void restore(std::string_view saved) {
    check(nearfar_memory_restore(get(), saved.data(), saved.size()));
  }
  void adopt() { check(nearfar_memory_adopt(get())); }

  std::uint64_t counter(const std::string& name) {
    std::uint64_t value = 0;
    check(nearfar_memory_counter(get(), name.c_str(), &value));
    return value;
  }
  std::string statistics() {
    const char* text = nearfar_memory_statistics(get());
    if (text == nullptr) throw Error(NEARFAR_OTHER_THREAD);
    return text;
  }
  void record(const std::string& path) { check(nearfar_memory_record(get(), path.c_str())); }
  std::map<std::string, std::uint64_t> counters() {
    std::map<std::string, std::uint64_t> all;
    for (std::size_t i = 0; i < nearfar_memory_counters(get()); ++i) {
      const char* name = nearfar_memory_counter_name(get(), i);
      all[name] = counter(name);
    }
    return all;
  }

  /// For calls of the C interface.
  nearfar_memory* get() const { return memory_.get(); }

 private:
  struct Destroy {
    void operator()(nearfar_memory* memory) const { nearfar_memory_destroy(memory); }
  };
  explicit Memory(nearfar_memory* made) : memory_(made) {}
  static int check(int status) {
    if (status < 0) throw Error(status);
    return status;
  }

  std::unique_ptr<nearfar_memory, Destroy> memory_;
};

}  // namespace nearfar

#endif
