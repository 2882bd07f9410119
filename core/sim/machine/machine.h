#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "sim/device.h"
#include "sim/dram/channel.h"
#include "sim/imc/ddrt_channel.h"
#include "sim/imc/interleave.h"

namespace nearfar::sim {

/// A simulated memory system, built from a resolved model: channels of DRAM (of DDR5, of two
/// subchannels each) or of Optane-class DIMMs behind an interleaving memory controller.
class Machine final : public Device {
 public:
  /// `log`, if given, receives every DRAM command, those of on-DIMM DRAM included, and must
  /// outlive the machine. Throws InputError when the settings do not make a machine.
  /// What hangs on the channels is the kind that the key `machine` names.
  explicit Machine(const Settings& settings, dram::CommandLog* log = nullptr);
  ~Machine() override;

  Accept try_send(const Request& request, Tick now) override;
  void fence(Tick now) override;
  void resolve(const Request& request, bool right, Tick now) override;
  void learn(Address pointer, std::uint64_t frame, Tick at) override;
  [[nodiscard]] Tick next_event() const override;
  void advance(Tick until, Sink& sink) override;
  Tick advance_to_completion(Tick until, Sink& sink) override;
  Tick send(const Request& request, Tick now, Sink& sink) override;
  /// A channel of DRAM does.
  [[nodiscard]] bool takes_early() const override { return takes_early_; }
  std::size_t try_send_all(std::span<Timed<Request>> arrivals) override;
  [[nodiscard]] Bytes capacity() const override { return capacity_; }
  [[nodiscard]] bool idle() const override;
  void settle(Tick now) override;
  void state(Archive& archive) override;
  [[nodiscard]] DataHandle durable(Address line) const override;
  [[nodiscard]] WearBlock wear_block(Address line) const override;
  void forget_moves() override;
  /// Counters of channel n, or of subchannel n, begin with "channel.n."
  void register_counters(Counters& counters) const override;
  [[nodiscard]] std::uint32_t queues() const override { return channels(); }
  [[nodiscard]] std::uint32_t queue_of(Address address) const override {
    return interleave_.place(address).channel;
  }

  /// Subchannels of DDR5 count one each: every one has a controller of its own.
  [[nodiscard]] std::uint32_t channels() const {
    return static_cast<std::uint32_t>(channels_.size());
  }
  /// The kinds of machines, as the key `machine` names them.
  [[nodiscard]] static std::vector<std::string_view> kinds();

 private:
  class Channel;
  class DramChannel;
  class NvdimmChannel;

  /// How a kind of machine makes its channels. A new kind is a line of the table in machine.cpp.
  struct Kind {
    std::string_view name;
    void (Machine::*add_channels)(const Settings& settings, dram::CommandLog* log);
  };
  [[nodiscard]] static std::span<const Kind> table();
  [[nodiscard]] static const Kind& kind_of(const Settings& settings);
  void add_dram(const Settings& settings, dram::CommandLog* log);
  void add_nvdimms(const Settings& settings, dram::CommandLog* log);

  /// The channel in which something happens next, and when that is in one of the others.
  struct Turn {
    Channel* channel;
    Tick others = Tick::never();
  };

  void check_capacity(Address address) const {
    if (address.value() >= capacity_) [[unlikely]]
      fail_beyond(address);
  }
  [[noreturn]] void fail_beyond(Address address) const;
  [[nodiscard]] imc::Interleave::Place place_of(Address address) const;
  Tick take_turns(Tick until, Sink& sink);
  void merge(Sink& sink, std::size_t first, std::size_t middle);
  void refresh_next();
  [[nodiscard]] Turn earliest() const;

  imc::Interleave interleave_;
  Bytes capacity_ = 0;
  bool takes_early_ = false;
  std::vector<std::unique_ptr<Channel>> channels_;
  /// The only channel, of DRAM or with a DIMM: it has the machine's addresses, and its own next
  /// event is the machine's, so that most of what stands in between is left out.
  dram::Channel* dram_alone_ = nullptr;
  imc::DdrtChannel* dimm_alone_ = nullptr;
  Tick next_ = Tick::never();
  std::vector<Completion> earlier_;  ///< room for merge()
  std::uint64_t settled_ps_ = 0;
};

}  // namespace nearfar::sim
