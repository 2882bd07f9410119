#pragma once

namespace nearfar::tier {

/// A descriptor that becomes readable when another thread signals it (eventfd).
class WakeUp {
 public:
  /// Makes a new one in place of what there was; below 0 if no descriptors are left.
  [[nodiscard]] int open();
  void close();

  void signal() const;
  /// Makes it unreadable until the next signal.
  void clear() const;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace nearfar::tier
