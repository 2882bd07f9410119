#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/settings.h"
#include "sim/device.h"
#include "sim/dram/command.h"

namespace nearfar::sim {

/// Near and far memory side by side in one address space: near from 0, far behind it. The
/// placement of pages decides which is used.
class Tiers final : public Device {
 public:
  /// `near` may be null: then all is far.
  Tiers(std::unique_ptr<Device> near, std::unique_ptr<Device> far);

  /// The memory that a resolved model describes, with the near tier it may have
  /// (`near.kind = tier`). Throws as build() does.
  [[nodiscard]] static std::unique_ptr<Tiers> build(const Settings& settings,
                                                    dram::CommandLog* log = nullptr,
                                                    dram::CommandLog* near_log = nullptr);

  [[nodiscard]] Bytes near_capacity() const { return near_bytes_; }
  [[nodiscard]] bool is_near(Address address) const { return address.value() < near_bytes_; }

  Accept try_send(const Request& request, Tick now) override;
  void fence(Tick now) override;
  [[nodiscard]] Tick next_event() const override;
  void advance(Tick until, Sink& sink) override;
  [[nodiscard]] Bytes capacity() const override { return near_bytes_ + far_->capacity(); }
  [[nodiscard]] bool idle() const override;
  /// Even numbers are near memory's, odd ones far memory's.
  [[nodiscard]] std::uint32_t queues() const override;
  [[nodiscard]] std::uint32_t queue_of(Address address) const override;
  void settle(Tick now) override;
  void state(Archive& archive) override;
  /// Those of near memory begin with "near.", those of far memory with "far.".
  void register_counters(Counters& counters) const override;

 private:
  std::unique_ptr<Device> near_;
  std::unique_ptr<Device> far_;
  Bytes near_bytes_;
  Sink told_;
};

}  // namespace nearfar::sim
