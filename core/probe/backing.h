#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"

namespace nearfar::probe {

/// A file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// What a path leads to, as far as measuring there is concerned.
enum class Place : std::uint8_t {
  fresh,         ///< nothing yet: a file is made, and is gone afterwards
  empty_file,    ///< extended for the measurement, empty again afterwards
  file,          ///< holds something
  block_device,  ///< may hold something
  dax_device,    ///< may hold something
};

/// A place and how many bytes can be measured there.
struct Site {
  Place place = Place::fresh;
  Bytes capacity = 0;
};

/// Looks without touching. Throws InputError, one line, for what cannot be measured on, and
/// for what holds or may hold something unless `destructive` says that it may be lost.
[[nodiscard]] Site inspect(const std::string& path, bool destructive);

/// `bytes` of a file or device, ready to be mapped. A fresh file loses its name at once, so
/// that nothing is left of it however the process ends.
class Backing {
 public:
  Backing(const std::string& path, Bytes bytes, bool destructive);
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;
  ~Backing();

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// The unit in which the file or device can be mapped.
  [[nodiscard]] Bytes granularity() const;

 private:
  void reserve(const std::string& path, Bytes bytes) const;

  Site site_;
  Descriptor descriptor_;
};

/// The line that says why a path cannot be used, from the system's error number.
[[nodiscard]] std::string refusal(const std::string& path, int error);

}  // namespace nearfar::probe
