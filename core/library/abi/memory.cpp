// The C interface of nearfar/memory.h over library::Memory.

#include "library/memory.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>

#include "base/error.h"
#include "library/include/nearfar/memory.h"

using nearfar::Tick;
using nearfar::library::Memory;
using nearfar::library::Misuse;
using nearfar::sim::Completion;

namespace {

/// What tells threads apart: one load, where pthread_self() is a call.
const void* this_thread() {
#if defined(__x86_64__)
  return __builtin_thread_pointer();
#else
  static thread_local const char mark = 0;
  return &mark;
#endif
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): C's name
struct nearfar_memory {
  explicit nearfar_memory(const nearfar::Settings& settings) : memory(settings) {}

  Memory memory;
  const void* owner = this_thread();
};

namespace {

static_assert(NEARFAR_WAKE == static_cast<int>(Completion::Kind::wake));
static_assert(NEARFAR_MEDIA == static_cast<int>(Completion::Kind::media));
static_assert(NEARFAR_LAST_PS == Memory::last.ps());

/// Each thread has its own, so that a message outlives a memory that was never made.
std::string& error_text() {
  thread_local std::string text;
  return text;
}

[[gnu::cold, gnu::noinline]] int failed(int status, const char* text) {
  try {
    error_text() = text;
  } catch (const std::bad_alloc&) {
    error_text().clear();
  }
  return status;
}

int status_of(Misuse::Kind kind) {
  switch (kind) {
    case Misuse::Kind::capacity:
      return NEARFAR_BEYOND_CAPACITY;
    case Misuse::Kind::time:
      return NEARFAR_TIME_BACK;
    case Misuse::Kind::not_woken:
      return NEARFAR_NOT_WOKEN;
    case Misuse::Kind::argument:
      break;
  }
  return NEARFAR_BAD_ARGUMENT;
}

/// Runs `call`, which returns a status. No exception leaves the library.
template <typename Call>
int guarded(Call call) noexcept {
  try {
    return call();
  } catch (const Misuse& misuse) {
    return failed(status_of(misuse.kind()), misuse.what());
  } catch (const nearfar::InputError& error) {
    return failed(NEARFAR_BAD_MODEL, error.what());
  } catch (const std::exception& error) {
    return failed(NEARFAR_BROKEN, error.what());
  } catch (...) {
    return failed(NEARFAR_BROKEN, "an error of unknown kind inside nearfar");
  }
}

[[gnu::cold, gnu::noinline]] int refused_caller(const nearfar_memory* memory) {
  if (memory == nullptr) {
    return failed(NEARFAR_BAD_ARGUMENT, "memory: found NULL, expected one that was made");
  }
  return failed(NEARFAR_OTHER_THREAD,
                "memory: belongs to another thread; call nearfar_memory_adopt() first");
}

bool is_callers(const nearfar_memory* memory) {
  return memory != nullptr && memory->owner == this_thread();
}

int create(const std::string& text, nearfar_memory** memory) {
  return guarded([&] {
    *memory = std::make_unique<nearfar_memory>(nearfar::Settings::parse(text)).release();
    return NEARFAR_OK;
  });
}

}  // namespace

extern "C" {

const char* nearfar_version(void) { return NEARFAR_VERSION; }

const char* nearfar_error(void) { return error_text().c_str(); }

int nearfar_memory_create(const char* model, size_t size, nearfar_memory** memory) {
  if (model == nullptr || memory == nullptr) {
    return failed(NEARFAR_BAD_ARGUMENT, "nearfar_memory_create: found NULL as model or memory");
  }
  return guarded([&] { return create(std::string(model, size), memory); });
}

int nearfar_memory_open(const char* path, nearfar_memory** memory) {
  if (path == nullptr || memory == nullptr) {
    return failed(NEARFAR_BAD_ARGUMENT, "nearfar_memory_open: found NULL as path or memory");
  }
  return guarded([&]() -> int {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) {
      const std::string what = std::string(path) +
                               ": cannot be read or is empty, expected a model that "
                               "`nearfar model export NAME -o FILE` wrote";
      return failed(NEARFAR_BAD_FILE, what.c_str());
    }
    return create(text, memory);
  });
}

void nearfar_memory_destroy(nearfar_memory* memory) {
  const std::unique_ptr<nearfar_memory> owned(memory);
}

int nearfar_memory_adopt(nearfar_memory* memory) {
  if (memory == nullptr) return refused_caller(memory);
  memory->owner = this_thread();
  return NEARFAR_OK;
}

uint64_t nearfar_memory_capacity(const nearfar_memory* memory) { return memory->memory.capacity(); }

uint64_t nearfar_memory_now(const nearfar_memory* memory) { return memory->memory.now().ps(); }

uint64_t nearfar_memory_unfinished(const nearfar_memory* memory) {
  return memory->memory.unfinished();
}

int nearfar_memory_send(nearfar_memory* memory, const nearfar_request* request, uint64_t time_ps) {
  if (!is_callers(memory)) [[unlikely]]
    return refused_caller(memory);
  if (request == nullptr || request->op > NEARFAR_WRITE || request->tell_media > 1 ||
      request->reserved != 0) [[unlikely]] {
    return failed(
        NEARFAR_BAD_ARGUMENT,
        "request: found NULL, or a field out of range, expected op and tell_media to be 0 "
        "or 1, and reserved to be 0");
  }
  return guarded([&] {
    const bool accepted = memory->memory.send({.id = request->id,
                                               .address = nearfar::Address(request->address),
                                               .op = static_cast<nearfar::sim::Op>(request->op),
                                               .port = request->port,
                                               .tell_media = request->tell_media != 0,
                                               .data = request->data},
                                              Tick(time_ps));
    return accepted ? NEARFAR_OK : NEARFAR_WAIT;
  });
}

int nearfar_memory_fence(nearfar_memory* memory, uint64_t time_ps) {
  if (!is_callers(memory)) return refused_caller(memory);
  return guarded([&] {
    memory->memory.fence(Tick(time_ps));
    return NEARFAR_OK;
  });
}

uint64_t nearfar_memory_next_event(const nearfar_memory* memory) {
  return memory->memory.next_event().ps();
}

int nearfar_memory_advance(nearfar_memory* memory, uint64_t until_ps) {
  if (!is_callers(memory)) [[unlikely]]
    return refused_caller(memory);
  return guarded([&] {
    memory->memory.advance(Tick(until_ps));
    return NEARFAR_OK;
  });
}

int nearfar_memory_advance_to_completion(nearfar_memory* memory, uint64_t until_ps) {
  if (!is_callers(memory)) [[unlikely]]
    return refused_caller(memory);
  return guarded([&] {
    memory->memory.advance_to_completion(Tick(until_ps));
    return NEARFAR_OK;
  });
}

size_t nearfar_memory_completions(nearfar_memory* memory, nearfar_completion* into, size_t room) {
  if (!is_callers(memory)) [[unlikely]] {
    refused_caller(memory);
    return 0;
  }
  const auto waiting = memory->memory.completions();
  const std::size_t count = std::min(room, waiting.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Completion& from = waiting[i];
    into[i] = {from.time.ps(), from.id, from.address.value(), static_cast<uint64_t>(from.kind),
               from.data};
  }
  memory->memory.take(count);
  return count;
}

size_t nearfar_memory_counters(const nearfar_memory* memory) {
  return memory->memory.counter_names().size();
}

const char* nearfar_memory_counter_name(const nearfar_memory* memory, size_t index) {
  const auto& names = memory->memory.counter_names();
  return index < names.size() ? names[index].c_str() : nullptr;
}

size_t nearfar_memory_counter_values(nearfar_memory* memory, uint64_t* into, size_t room) {
  std::size_t count = 0;
  if (!is_callers(memory)) {
    refused_caller(memory);
    return 0;
  }
  guarded([&] {
    for (const auto& reading : memory->memory.read_counters()) {
      if (count < room) into[count++] = reading.value;
    }
    return NEARFAR_OK;
  });
  return count;
}

int nearfar_memory_counter(nearfar_memory* memory, const char* name, uint64_t* value) {
  if (!is_callers(memory)) return refused_caller(memory);
  if (name == nullptr || value == nullptr) {
    return failed(NEARFAR_BAD_ARGUMENT, "nearfar_memory_counter: found NULL as name or value");
  }
  return guarded([&]() -> int {
    for (const auto& reading : memory->memory.read_counters()) {
      if (reading.name != name) continue;
      *value = reading.value;
      return NEARFAR_OK;
    }
    const std::string what = std::string("counter: found '") + name +
                             "', expected a name that nearfar_memory_counter_name() gives";
    return failed(NEARFAR_BAD_ARGUMENT, what.c_str());
  });
}

}  // extern "C"
