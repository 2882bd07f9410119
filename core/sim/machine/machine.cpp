#include "sim/machine/machine.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace nearfar::sim {

namespace {

/// Runs a channel of DRAM to `until`; to the last instant only as far as there are requests, as
/// refresh would go on for ever.
void advance_dram(dram::Channel& channel, Tick until, Sink& sink) {
  if (until < last_instant) return channel.advance(until, sink);
  while (!channel.idle()) channel.advance(channel.next_event(), sink);
}

[[nodiscard]] Tick advance_dram_to_completion(dram::Channel& channel, Tick until, Sink& sink) {
  const std::size_t first = sink.size();
  const Tick end = until < last_instant ? until : Tick::never();
  const Tick reached = channel.advance_to_completion(end, sink);
  return sink.size() == first ? until : reached;
}

}  // namespace

/// A channel as the machine needs it, with any kind of memory on it.
class Machine::Channel {
 public:
  virtual ~Channel() = default;
  /// Afterwards, as after advance(), `next` is up to date.
  virtual Accept try_send(const Request& request, Address local, Tick now) = 0;
  /// The same of a channel that takes requests early, with the address that it knows; but `next` is
  /// left as it was.
  virtual Accept try_send_local(const Request&, Tick now) { return Accept::retry(now); }
  [[nodiscard]] virtual Tick next_event() const = 0;
  virtual void fence(Tick) {}
  virtual void resolve(const Request&, Address, bool, Tick) {}
  virtual void learn(Address, std::uint64_t, Tick) {}
  virtual void advance(Tick until, Sink& sink) = 0;
  /// As Device's.
  virtual Tick advance_to_completion(Tick until, Sink& sink) = 0;
  [[nodiscard]] virtual bool idle() const = 0;
  virtual void settle(Tick now) = 0;
  virtual void state(Archive& archive) = 0;
  [[nodiscard]] virtual DataHandle durable(Address) const { return 0; }
  [[nodiscard]] virtual WearBlock wear_block(Address) const { return {}; }
  virtual void forget_moves() {}
  virtual void register_counters(Counters& counters, const std::string& prefix) const = 0;

  Tick next = Tick::never();
};

class Machine::DramChannel final : public Channel {
 public:
  DramChannel(const dram::Config& config, const imc::Interleave& interleave, std::uint8_t index,
              dram::CommandLog* log)
      : interleave_(interleave), index_(index), dram_(config, index, log) {}

  Accept try_send(const Request& request, Address local, Tick now) override {
    Request here = request;
    here.address = local;
    const Accept answer = dram_.try_send(here, now);
    next = dram_.next_event();
    return answer;
  }
  Accept try_send_local(const Request& request, Tick now) override {
    return dram_.try_send(request, now);
  }
  [[nodiscard]] Tick next_event() const override { return dram_.next_event(); }
  void advance(Tick until, Sink& sink) override {
    const std::size_t first = sink.size();
    advance_dram(dram_, until, sink);
    return_addresses(sink, first);
    next = dram_.next_event();
  }
  Tick advance_to_completion(Tick until, Sink& sink) override {
    const std::size_t first = sink.size();
    const Tick reached = advance_dram_to_completion(dram_, until, sink);
    return_addresses(sink, first);
    next = dram_.next_event();
    return reached;
  }
  [[nodiscard]] dram::Channel& dram() { return dram_; }
  [[nodiscard]] bool idle() const override { return dram_.idle(); }
  void settle(Tick now) override { dram_.settle(now); }
  void state(Archive& archive) override { archive(dram_, next); }
  void register_counters(Counters& counters, const std::string& prefix) const override {
    dram_.register_counters(counters, prefix + "dram.");
  }

 private:
  /// The channel knows local addresses; the caller gets back its own.
  void return_addresses(Sink& sink, std::size_t first) const {
    for (std::size_t i = first; i < sink.size(); ++i) {
      if (sink[i].kind == Completion::Kind::wake) continue;
      sink[i].address = interleave_.address({index_, sink[i].address});
    }
  }

  const imc::Interleave& interleave_;
  std::uint8_t index_;
  dram::Channel dram_;
};

class Machine::NvdimmChannel final : public Channel {
 public:
  NvdimmChannel(const imc::DdrtConfig& config, const nvdimm::Config& dimm, std::uint8_t index,
                dram::CommandLog* log)
      : channel_(config, dimm, index, log) {}

  Accept try_send(const Request& request, Address local, Tick now) override {
    const Accept answer = channel_.try_send(request, local, now);
    next = channel_.next_event();
    return answer;
  }
  [[nodiscard]] Tick next_event() const override { return channel_.next_event(); }
  void fence(Tick now) override { channel_.fence(now); }
  void resolve(const Request& request, Address local, bool right, Tick now) override {
    channel_.resolve(request, local, right, now);
    next = channel_.next_event();
  }
  void learn(Address local, std::uint64_t frame, Tick at) override {
    channel_.learn(local, frame, at);
    next = channel_.next_event();
  }
  void advance(Tick until, Sink& sink) override {
    channel_.advance(until, sink, false);
    next = channel_.next_event();
  }
  Tick advance_to_completion(Tick until, Sink& sink) override {
    const Tick reached = channel_.advance(until, sink, true);
    next = channel_.next_event();
    return reached;
  }
  [[nodiscard]] imc::DdrtChannel& bus() { return channel_; }
  [[nodiscard]] bool idle() const override { return channel_.idle(); }
  void settle(Tick now) override { channel_.settle(now); }
  void state(Archive& archive) override { archive(channel_, next); }
  [[nodiscard]] DataHandle durable(Address local) const override { return channel_.durable(local); }
  [[nodiscard]] WearBlock wear_block(Address local) const override {
    const auto& wear = channel_.wear();
    return {.number = wear.block_of(local), .moves = wear.moves_of(local)};
  }
  void forget_moves() override { channel_.forget_moves(); }
  void register_counters(Counters& counters, const std::string& prefix) const override {
    channel_.register_counters(counters, prefix);
  }

 private:
  imc::DdrtChannel channel_;
};

namespace {

std::uint8_t channels_in(const Settings& settings) {
  return static_cast<std::uint8_t>(settings.count("channels"));
}

}  // namespace

std::span<const Machine::Kind> Machine::table() {
  static constexpr Kind kinds[] = {{"dram", &Machine::add_dram}, {"nvdimm", &Machine::add_nvdimms}};
  return kinds;
}

std::vector<std::string_view> Machine::kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : table()) names.push_back(kind.name);
  return names;
}

const Machine::Kind& Machine::kind_of(const Settings& settings) {
  const std::string& name = settings.name("machine");
  std::string known;
  for (const Kind& kind : table()) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : " or ") + std::string(kind.name);
  }
  throw InputError("model: machine is '" + name + "', expected " + known);
}

Machine::Machine(const Settings& settings, dram::CommandLog* log)
    : interleave_(channels_in(settings), settings.bytes("imc.interleave")) {
  (this->*kind_of(settings).add_channels)(settings, log);
  for (const auto& channel : channels_) channel->next = channel->next_event();
  refresh_next();
}

void Machine::add_dram(const Settings& settings, dram::CommandLog* log) {
  const dram::Config config = dram::config_from(settings, "dram.");
  const std::uint8_t channels = channels_in(settings);
  const auto schedulers = static_cast<std::uint8_t>(channels * config.subchannels);
  capacity_ = config.capacity() * schedulers;
  takes_early_ = true;
  interleave_ = imc::Interleave(channels, settings.bytes("imc.interleave"), config.subchannels,
                                config.subchannel_interleave);
  for (std::uint8_t i = 0; i < schedulers; ++i) {
    auto channel = std::make_unique<DramChannel>(config, interleave_, i, log);
    if (schedulers == 1) dram_alone_ = &channel->dram();
    channels_.push_back(std::move(channel));
  }
}

void Machine::add_nvdimms(const Settings& settings, dram::CommandLog* log) {
  const imc::DdrtConfig bus = imc::ddrt_config_from(settings);
  const nvdimm::Config dimm = nvdimm::config_from(settings);
  const std::uint8_t channels = channels_in(settings);
  capacity_ = dimm.media.capacity * channels;
  for (std::uint8_t i = 0; i < channels; ++i) {
    auto channel = std::make_unique<NvdimmChannel>(bus, dimm, i, log);
    if (channels == 1) dimm_alone_ = &channel->bus();
    channels_.push_back(std::move(channel));
  }
}

Machine::~Machine() = default;

[[gnu::always_inline]] inline imc::Interleave::Place Machine::place_of(Address address) const {
  check_capacity(address);
  return interleave_.place(address);
}

[[gnu::cold, gnu::noinline]] void Machine::fail_beyond(Address address) const {
  throw InputError("address " + std::to_string(address.value()) + " lies beyond the memory of " +
                   std::to_string(capacity_) + " B");
}

Tick Machine::next_event() const {
  if (dram_alone_ != nullptr) return dram_alone_->next_event();
  return dimm_alone_ != nullptr ? dimm_alone_->next_event() : next_;
}

Accept Machine::try_send(const Request& request, Tick now) {
  if (dram_alone_ != nullptr) {
    check_capacity(request.address);
    return dram_alone_->try_send(request, now);
  }
  if (dimm_alone_ != nullptr) {
    check_capacity(request.address);
    return dimm_alone_->try_send(request, request.address, now);
  }
  const auto place = place_of(request.address);
  Channel& channel = *channels_[place.channel];
  const Accept answer = channel.try_send(request, place.local, now);
  next_ = min(next_, channel.next);
  return answer;
}

Tick Machine::send(const Request& request, Tick now, Sink& sink) {
  if (dram_alone_ == nullptr) return send_at_wakes(*this, request, now, sink);
  check_capacity(request.address);
  return dram_alone_->send(request, now, sink);
}

/// When the channels have something to do next is asked once, after all of them.
std::size_t Machine::try_send_all(std::span<Timed<Request>> arrivals) {
  std::size_t taken = 0;
  for (auto& [now, request] : arrivals) {
    const Address address = request.address;
    const auto place = place_of(address);
    request.port = port_of(place.channel, request.op);
    request.address = place.local;
    if (!channels_[place.channel]->try_send_local(request, now).accepted) {
      request.address = address;
      break;
    }
    ++taken;
  }
  if (dram_alone_ != nullptr) return taken;
  for (const auto& channel : channels_) channel->next = channel->next_event();
  refresh_next();
  return taken;
}

void Machine::advance(Tick until, Sink& sink) {
  until = min(until, last_instant);
  if (dram_alone_ != nullptr) {
    if (dram_alone_->next_event() <= until) advance_dram(*dram_alone_, until, sink);
    return;
  }
  if (dimm_alone_ != nullptr) {
    if (dimm_alone_->next_event() <= until) dimm_alone_->advance(until, sink, false);
    return;
  }
  const std::size_t first = sink.size();
  next_ = Tick::never();
  for (const auto& channel : channels_) {
    if (channel->next <= until) {
      const std::size_t middle = sink.size();
      channel->advance(until, sink);
      if (middle != first && middle != sink.size() && sink[middle].time < sink[middle - 1].time) {
        merge(sink, first, middle);
      }
    }
    next_ = min(next_, channel->next);
  }
}

/// Brings what the sink has from `first` on into order, of which the part up to `middle` and the
/// rest are each: at equal times the first part comes first.
void Machine::merge(Sink& sink, std::size_t first, std::size_t middle) {
  const auto begin = sink.begin() + static_cast<std::ptrdiff_t>(first);
  earlier_.assign(begin, sink.begin() + static_cast<std::ptrdiff_t>(middle));
  std::size_t to = first;
  std::size_t next = middle;
  for (const Completion& completion : earlier_) {
    while (next < sink.size() && sink[next].time < completion.time) sink[to++] = sink[next++];
    sink[to++] = completion;
  }
}

Tick Machine::advance_to_completion(Tick until, Sink& sink) {
  if (dram_alone_ == nullptr && dimm_alone_ == nullptr) return take_turns(until, sink);
  const Tick end = min(until, last_instant);
  const Tick reached = dram_alone_ != nullptr ? advance_dram_to_completion(*dram_alone_, end, sink)
                                              : dimm_alone_->advance(end, sink, true);
  return reached == end ? until : reached;
}

/// As advance_to_completion(), with channels among which the first to do something changes.
[[gnu::noinline]] Tick Machine::take_turns(Tick until, Sink& sink) {
  const std::size_t before = sink.size();
  while (next_ <= until && !next_.is_never()) {
    const auto [first, others] = earliest();
    if (first->next < others) {
      // Nothing happens elsewhere until then, and channels know nothing of each other.
      const Tick end = min(min(until, last_instant), others - Tick(1));
      const Tick reached = first->advance_to_completion(end, sink);
      next_ = min(first->next, others);
      if (sink.size() != before) return reached;
    } else {
      const Tick now = next_;
      advance(now, sink);
      if (sink.size() != before) return now;
    }
  }
  return until;
}

Machine::Turn Machine::earliest() const {
  Turn turn{channels_.front().get()};
  for (auto at = channels_.begin() + 1; at != channels_.end(); ++at) {
    if ((*at)->next < turn.channel->next) {
      turn = {at->get(), turn.channel->next};
    } else {
      turn.others = min(turn.others, (*at)->next);
    }
  }
  return turn;
}

void Machine::fence(Tick now) {
  for (const auto& channel : channels_) {
    channel->fence(now);
    channel->next = channel->next_event();
  }
  refresh_next();
}

void Machine::resolve(const Request& request, bool right, Tick now) {
  const auto place = place_of(request.address);
  channels_[place.channel]->resolve(request, place.local, right, now);
  refresh_next();
}

void Machine::learn(Address pointer, std::uint64_t frame, Tick at) {
  const auto place = place_of(pointer);
  channels_[place.channel]->learn(place.local, frame, at);
  refresh_next();
}

void Machine::refresh_next() {
  next_ = Tick::never();
  for (const auto& channel : channels_) next_ = min(next_, channel->next);
}

void Machine::state(Archive& archive) {
  for (const auto& channel : channels_) channel->state(archive);
  archive(next_, settled_ps_);
}

bool Machine::idle() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& channel) { return channel->idle(); });
}

void Machine::settle(Tick now) {
  for (const auto& channel : channels_) channel->settle(now);
  settled_ps_ = now.ps();
}

DataHandle Machine::durable(Address line) const {
  const auto place = interleave_.place(line);
  return channels_[place.channel]->durable(place.local);
}

Device::WearBlock Machine::wear_block(Address line) const {
  const auto place = interleave_.place(line);
  WearBlock block = channels_[place.channel]->wear_block(place.local);
  block.number = block.number * channels_.size() + place.channel;
  return block;
}

void Machine::forget_moves() {
  for (const auto& channel : channels_) channel->forget_moves();
}

void Machine::register_counters(Counters& counters) const {
  counters.add("time_ps", settled_ps_);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i]->register_counters(counters, "channel." + std::to_string(i) + ".");
  }
}

}  // namespace nearfar::sim
