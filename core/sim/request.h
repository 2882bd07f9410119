#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/archive.h"
#include "base/tick.h"

namespace nearfar::sim {

/// What a request asks of memory. A request is one 64-byte line.
enum class Op : std::uint8_t {
  read,
  write,  ///< completes when the ADR domain (or a DRAM controller's queue) has accepted it
};

/// A handle to a line's data, owned by the sender of the request; 0 carries none.
using DataHandle = std::uint64_t;

/// One line access, as every memory component receives it.
struct Request {
  std::uint64_t id = 0;      ///< the caller's; comes back in the completion
  Address address;           ///< the caller's; comes back in the completion
  Op op = Op::read;
  std::uint16_t port = 0;    ///< of the sender: refused ports are woken in arrival order
  bool tell_media = false;   ///< for a write: also report when it has reached the media
  DataHandle data = 0;

  void state(Archive& archive) { archive(id, address, op, port, tell_media, data); }
};

/// The answer to try_send. A refused request has left no trace but its place in the
/// queue of waiting ports; `retry_at` is a lower bound, Tick::never() when only a wake-up
/// (Completion::Kind::wake) can tell.
struct Accept {
  bool accepted = true;
  Tick retry_at{};

  [[nodiscard]] static constexpr Accept yes() { return {}; }
  [[nodiscard]] static constexpr Accept retry(Tick at) { return {false, at}; }
};

/// What memory tells a caller.
struct Completion {
  enum class Kind : std::uint8_t {
    done,   ///< read: data delivered; write: accepted into the ADR domain
    media,  ///< write with tell_media: its data is on the media
    wake,   ///< a refused port may send again; `id` is the port
  };

  Tick time;
  std::uint64_t id = 0;
  Address address;
  Kind kind = Kind::done;
  DataHandle data = 0;

  void state(Archive& archive) { archive(time, id, address, kind, data); }
};

}  // namespace nearfar::sim
