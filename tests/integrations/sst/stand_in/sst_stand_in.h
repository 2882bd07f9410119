// The few classes of SST that integrations/sst uses, as small as tests need them: time and self
// links, parameters, statistics, the base class of memory backends, and checkpoints.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#define SST_ELI_REGISTER_SUBCOMPONENT(...)
#define SST_ELI_DOCUMENT_PARAMS(...)
#define SST_ELI_DOCUMENT_STATISTICS(...)
#define SST_ELI_ELEMENT_VERSION(...)
#define MEMBACKEND_ELI_PARAMS
#define CALL_INFO 0, "", ""
#define ImplementSerializable(...)
#define SST_SER(part) ser.add(part)

namespace SST {

using ComponentId_t = std::uint64_t;
using SimTime_t = std::uint64_t;
using Cycle_t = std::uint64_t;

class Event {
 public:
  virtual ~Event() = default;

  class HandlerBase {
   public:
    virtual ~HandlerBase() = default;
    virtual void operator()(Event* event) = 0;
  };
  template <typename Owner, void (Owner::*call)(Event*)>
  class Handler : public HandlerBase {
   public:
    explicit Handler(Owner* owner) : owner_(owner) {}
    void operator()(Event* event) override { (owner_->*call)(event); }

   private:
    Owner* owner_;
  };
};

class EmptyEvent : public Event {};

/// The simulation: events in time order, and in order of sending at equal times.
class Simulation {
 public:
  using Key = std::pair<SimTime_t, std::uint64_t>;

  void at(SimTime_t time, std::function<void()> call) {
    if (time < now) {
      std::fprintf(stderr, "protocol: an event in the past\n");
      std::exit(3);
    }
    calls.emplace(Key{time, ++order}, std::move(call));
  }
  void run(SimTime_t until = ~SimTime_t{0}) {
    while (!calls.empty() && calls.begin()->first.first <= until) {
      now = calls.begin()->first.first;
      const auto call = std::move(calls.begin()->second);
      calls.erase(calls.begin());
      ++executed;
      call();
    }
    if (until != ~SimTime_t{0}) now = until;
  }

  /// When the next event comes, of which there is one.
  SimTime_t next() const { return calls.begin()->first.first; }

  SimTime_t now = 0;
  std::uint64_t executed = 0;

 private:
  std::map<Key, std::function<void()>> calls;
  std::uint64_t order = 0;
};
inline Simulation simulation;

class Link {
 public:
  explicit Link(Event::HandlerBase* handler) : handler_(handler) {}
  void send(SimTime_t delay, Event* event) {
    simulation.at(simulation.now + delay, [this, event] { (*handler_)(event); });
  }

 private:
  std::unique_ptr<Event::HandlerBase> handler_;
};

class Output {
 public:
  [[gnu::format(printf, 6, 7)]] void fatal(std::uint32_t, const char*, const char*, int,
                                           const char* format, ...) {
    std::va_list parts;
    va_start(parts, format);
    std::vfprintf(stderr, format, parts);
    va_end(parts);
    std::exit(1);
  }
  [[gnu::format(printf, 2, 3)]] void output(const char* format, ...) {
    std::va_list parts;
    va_start(parts, format);
    std::vprintf(format, parts);
    va_end(parts);
  }
};

class Params {
 public:
  template <typename T>
  T find(const std::string& key, T otherwise) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : T(found->second);
  }
  std::map<std::string, std::string> values;
};

namespace Statistics {
template <typename T>
class Statistic {
 public:
  void addData(T value) { sum += value; }
  T sum = 0;
};
}  // namespace Statistics

namespace Core::Serialization {

class serializer {
 public:
  enum Mode { PACK, UNPACK };
  explicit serializer(Mode mode) : mode_(mode) {}
  Mode mode() const { return mode_; }
  void rewind(Mode mode) {
    mode_ = mode;
    at_ = 0;
  }

  template <typename T>
  void add(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&value, sizeof value);
  }
  void add(Link*&) {}  // a link is its object's, and is made with it
  void add(std::string& text) {
    std::size_t size = text.size();
    add(size);
    text.resize(size);
    bytes(text.data(), size);
  }
  template <typename T>
  void add(std::vector<T>& items) {
    std::size_t size = items.size();
    add(size);
    items.resize(size);
    for (T& item : items) add(item);
  }
  template <typename Key, typename T>
  void add(std::unordered_map<Key, T>& map) {
    std::vector<std::pair<Key, T>> items(map.begin(), map.end());
    std::size_t size = items.size();
    add(size);
    items.resize(size);
    for (auto& [key, value] : items) {
      add(key);
      add(value);
    }
    map = {items.begin(), items.end()};
  }

 private:
  void bytes(void* data, std::size_t size) {
    if (mode_ == PACK) {
      data_.append(static_cast<const char*>(data), size);
    } else {
      std::memcpy(data, data_.data() + at_, size);
      at_ += size;
    }
  }

  Mode mode_;
  std::string data_;
  std::size_t at_ = 0;
};

}  // namespace Core::Serialization

namespace MemHierarchy {

using Addr = std::uint64_t;

class SimpleMemBackend {
 public:
  using ReqId = std::uint64_t;

  SimpleMemBackend() = default;
  SimpleMemBackend(ComponentId_t, Params& params)
      : m_memSize(std::stoull(params.find<std::string>("mem_size", "0"))) {}
  virtual ~SimpleMemBackend() = default;

  virtual bool issueRequest(ReqId id, Addr address, bool is_write, unsigned num_bytes) = 0;
  virtual bool isClocked() { return true; }
  virtual void finish() {}
  virtual void serialize_order(Core::Serialization::serializer& ser) { ser.add(m_memSize); }

  void setResponseHandler(std::function<void(ReqId)> respond) { respond_ = std::move(respond); }
  void handleMemResponse(ReqId id) { respond_(id); }
  std::string getName() const { return "memory:backend"; }
  SimTime_t getCurrentSimTime(const char*) const { return simulation.now; }
  Output& getSimulationOutput() { return *owned_; }

  Link* configureSelfLink(const std::string&, const std::string&, Event::HandlerBase* handler) {
    link_ = std::make_unique<Link>(handler);
    return link_.get();
  }
  template <typename T>
  Statistics::Statistic<T>* registerStatistic(const std::string&, const std::string& sub_id) {
    if (wired_up) {
      std::fprintf(stderr, "protocol: a statistic registered after construction\n");
      std::exit(3);
    }
    return &statistics[sub_id];
  }

  std::map<std::string, Statistics::Statistic<std::uint64_t>> statistics;
  bool wired_up = false;  ///< all components have been made

 protected:
  std::unique_ptr<Output> owned_ = std::make_unique<Output>();
  Output* output = owned_.get();
  std::size_t m_memSize = 0;

 private:
  std::function<void(ReqId)> respond_;
  std::unique_ptr<Link> link_;
};

}  // namespace MemHierarchy
}  // namespace SST
