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

/// What Pre-translation asks of a read (nvdimm/pretranslation.h): flags, several at a time.
namespace pretranslation {
using Marks = std::uint8_t;
inline constexpr Marks pointer = 1;     ///< the frame that the pointer in the line leads to, too
inline constexpr Marks entry_only = 2;  ///< that frame, and not the line
inline constexpr Marks uncertain = 4;   ///< no data before Device::resolve() has said so
}  // namespace pretranslation

/// One line access, as every memory component receives it.
struct Request {
  std::uint64_t id = 0;      ///< the caller's; comes back in the completion
  Address address;           ///< the caller's; comes back in the completion
  Op op = Op::read;
  std::uint16_t port = 0;    ///< of the sender: refused ports are woken in arrival order
  bool tell_media = false;   ///< for a write: also report when it has reached the media
  pretranslation::Marks marks = 0;
  std::uint8_t pointer_offset = 0;  ///< of a marked read: where in the line the pointer lies
  DataHandle data = 0;

  void state(Archive& archive) {
    archive(id, address, op, port, tell_media, marks, pointer_offset, data);
  }
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
    entry,  ///< of a marked read, just before it is done: `data` is the frame it asked for
  };

  Tick time;
  std::uint64_t id = 0;
  Address address;
  Kind kind = Kind::done;
  DataHandle data = 0;

  void state(Archive& archive) { archive(time, id, address, kind, data); }
};

}  // namespace nearfar::sim
