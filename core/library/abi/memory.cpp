// The C interface of nearfar/memory.h over library::Memory.

#include "library/memory.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "library/abi/presets.h"
#include "library/checkpoint.h"
#include "library/include/nearfar/memory.h"
#include "library/model.h"
#include "library/recorder.h"
#include "library/statistics.h"

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
  explicit nearfar_memory(nearfar::library::Model of)
      : model(std::move(of)), memory(model.settings) {}

  nearfar::library::Model model;
  Memory memory;
  const void* owner = this_thread();
  std::string saved;       ///< what nearfar_memory_save() gave out
  std::string statistics;  ///< and nearfar_memory_statistics()
};

namespace {

static_assert(NEARFAR_WAKE == static_cast<int>(Completion::Kind::wake));
static_assert(NEARFAR_MEDIA == static_cast<int>(Completion::Kind::media));
static_assert(NEARFAR_LAST_PS == Memory::last.ps());

// Requests and completions lie in memory as the core's do, and are copied whole.
using nearfar::sim::Request;
static_assert(sizeof(nearfar_request) == sizeof(Request));
static_assert(offsetof(nearfar_request, id) == offsetof(Request, id));
static_assert(offsetof(nearfar_request, address) == offsetof(Request, address));
static_assert(offsetof(nearfar_request, op) == offsetof(Request, op));
static_assert(offsetof(nearfar_request, port) == offsetof(Request, port));
static_assert(offsetof(nearfar_request, tell_media) == offsetof(Request, tell_media));
static_assert(offsetof(nearfar_request, data) == offsetof(Request, data));
static_assert(sizeof(nearfar_completion) == sizeof(Completion));
static_assert(offsetof(nearfar_completion, time_ps) == offsetof(Completion, time));
static_assert(offsetof(nearfar_completion, id) == offsetof(Completion, id));
static_assert(offsetof(nearfar_completion, address) == offsetof(Completion, address));
static_assert(offsetof(nearfar_completion, kind) == offsetof(Completion, kind));
static_assert(offsetof(nearfar_completion, data) == offsetof(Completion, data));

/// Zeros but for the port and the lowest bit of `op` and of `tell_media`; they lie in one word.
bool is_well_formed(const nearfar_request& request) {
  nearfar_request most{};
  most.op = NEARFAR_WRITE;
  most.tell_media = 1;
  most.port = UINT16_MAX;
  constexpr std::size_t flags = offsetof(nearfar_request, op);
  std::uint64_t allowed = 0;
  std::uint64_t given = 0;
  std::memcpy(&allowed, reinterpret_cast<const char*>(&most) + flags, sizeof allowed);
  std::memcpy(&given, reinterpret_cast<const char*>(&request) + flags, sizeof given);
  return (given & ~allowed) == 0;
}

void copy(nearfar_completion& to, const Completion& from) { std::memcpy(&to, &from, sizeof to); }

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

/// Gives a request to `send(request)`, which returns a status, if it can be one.
template <typename Send>
[[gnu::always_inline]] inline int sent(const nearfar_memory* memory, const nearfar_request* request,
                                       Send send) noexcept {
  if (!is_callers(memory)) [[unlikely]]
    return refused_caller(memory);
  if (request == nullptr || !is_well_formed(*request)) [[unlikely]] {
    return failed(
        NEARFAR_BAD_ARGUMENT,
        "request: found NULL, or a field out of range, expected op and tell_media to be 0 "
        "or 1, and reserved to be 0");
  }
  return guarded([&] {
    Request given;
    std::memcpy(static_cast<void*>(&given), request, sizeof given);
    return send(given);
  });
}

int create(const std::string& text, nearfar_memory** memory) {
  return guarded([&] {
    *memory =
        std::make_unique<nearfar_memory>(nearfar::library::Model::parse(text, nearfar_version()))
            .release();
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
  std::string text;
  try {
    text = nearfar::library::read_model(path);
  } catch (const std::exception& error) {
    return failed(NEARFAR_BAD_FILE, error.what());
  }
  return create(text, memory);
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
  return sent(memory, request, [&](const Request& given) {
    return memory->memory.send(given, Tick(time_ps)) ? NEARFAR_OK : NEARFAR_WAIT;
  });
}

int nearfar_memory_send_when_free(nearfar_memory* memory, const nearfar_request* request,
                                  uint64_t time_ps) {
  return sent(memory, request, [&](const Request& given) {
    memory->memory.send_when_free(given, Tick(time_ps));
    return NEARFAR_OK;
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

int nearfar_memory_wait(nearfar_memory* memory, uint64_t until_ps, nearfar_completion* into,
                        size_t room) {
  if (!is_callers(memory)) [[unlikely]]
    return refused_caller(memory);
  if (into == nullptr || room == 0 || room > INT_MAX) [[unlikely]] {
    return failed(NEARFAR_BAD_ARGUMENT,
                  "nearfar_memory_wait: found no room, expected a place for 1 completion at least");
  }
  return guarded([&] {
    const auto put = [next = into](const Completion& completion) mutable {
      copy(*next++, completion);
    };
    return static_cast<int>(memory->memory.wait(Tick(until_ps), room, put));
  });
}

int nearfar_memory_save(nearfar_memory* memory, const void** bytes, size_t* size) {
  if (!is_callers(memory)) return refused_caller(memory);
  if (bytes == nullptr || size == nullptr) {
    return failed(NEARFAR_BAD_ARGUMENT, "nearfar_memory_save: found NULL as bytes or size");
  }
  return guarded([&] {
    memory->saved = nearfar::library::save(memory->memory, memory->model, nearfar_version());
    *bytes = memory->saved.data();
    *size = memory->saved.size();
    return NEARFAR_OK;
  });
}

int nearfar_memory_restore(nearfar_memory* memory, const void* bytes, size_t size) {
  if (!is_callers(memory)) return refused_caller(memory);
  if (bytes == nullptr) {
    return failed(NEARFAR_BAD_STATE, "nearfar_memory_restore: found NULL, expected a saved state");
  }
  try {
    memory->memory.become(nearfar::library::restore(memory->model, nearfar_version(),
                                                    {static_cast<const char*>(bytes), size}));
    return NEARFAR_OK;
  } catch (const nearfar::InputError& error) {
    return failed(NEARFAR_BAD_STATE, error.what());
  } catch (const std::exception& error) {
    return failed(NEARFAR_BROKEN, error.what());
  }
}

int nearfar_memory_record(nearfar_memory* memory, const char* path) {
  if (!is_callers(memory)) return refused_caller(memory);
  try {
    memory->memory.record(path == nullptr ? nullptr
                                          : std::make_unique<nearfar::library::Recorder>(path));
    return NEARFAR_OK;
  } catch (const std::exception& error) {
    return failed(NEARFAR_BAD_FILE, error.what());
  }
}

const char* nearfar_memory_statistics(nearfar_memory* memory) {
  if (!is_callers(memory)) {
    refused_caller(memory);
    return nullptr;
  }
  const int status = guarded([&] {
    memory->memory.flush_record();
    memory->statistics =
        nearfar::library::statistics(memory->memory, memory->model, nearfar_version());
    return NEARFAR_OK;
  });
  return status == NEARFAR_OK ? memory->statistics.c_str() : nullptr;
}

const char* nearfar_memory_model_name(const nearfar_memory* memory) {
  return memory->model.name.c_str();
}

const char* nearfar_memory_model_hash(const nearfar_memory* memory) {
  return memory->model.hash.c_str();
}

size_t nearfar_memory_completions(nearfar_memory* memory, nearfar_completion* into, size_t room) {
  if (!is_callers(memory)) [[unlikely]] {
    refused_caller(memory);
    return 0;
  }
  const auto waiting = memory->memory.completions();
  const std::size_t count = std::min(room, waiting.size());
  for (std::size_t i = 0; i < count; ++i) copy(into[i], waiting[i]);
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
