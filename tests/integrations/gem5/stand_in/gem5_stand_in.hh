// The few classes of gem5 that integrations/gem5 uses, as small as tests need them: the event queue,
// packets, ports, bytes of memory, statistics, checkpoints. Behaviour is gem5's where the memory can
// see it; everything else is left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#define PARAMS(type)           \
    using Params = type##Params; \
    const Params &params() const { return static_cast<const Params &>(storedParams()); }

namespace gem5
{

using Tick = std::uint64_t;
using Addr = std::uint64_t;
using PortID = std::int16_t;
inline constexpr PortID InvalidPortID = -1;
inline constexpr Tick MaxTick = std::numeric_limits<Tick>::max();

namespace sim_clock
{
inline Tick Frequency = 1000000000000ULL;
}

// Messages: a format's parts are printed one after the other.
inline std::string
message(const char *format)
{
    return format;
}
template <typename First, typename... Rest>
std::string
message(const char *format, const First &first, const Rest &...rest)
{
    const char *mark = std::strchr(format, '%');
    std::ostringstream text;
    text << std::string(format, mark) << first << message(mark + 2, rest...);
    return text.str();
}
template <typename... Parts>
[[noreturn]] void
fatal(const char *format, const Parts &...parts)
{
    std::cerr << "fatal: " << message(format, parts...) << '\n';
    std::exit(1);
}
template <typename... Parts>
void
fatal_if(bool bad, const char *format, const Parts &...parts)
{
    if (bad)
        fatal(format, parts...);
}

// Events.
class Event
{
  public:
    Event(std::function<void()> callback, std::string name)
        : callback(std::move(callback)), _name(std::move(name))
    {}
    bool scheduled() const { return _scheduled; }
    Tick when() const { return _when; }

  private:
    friend class EventQueue;
    std::function<void()> callback;
    std::string _name;
    bool _scheduled = false;
    Tick _when = 0;
    std::uint64_t order = 0;
};
using EventFunctionWrapper = Event;

class EventQueue
{
  public:
    void
    schedule(Event &event, Tick when)
    {
        check(!event._scheduled, "an event is scheduled twice");
        check(when >= now, "an event is scheduled in the past");
        event._scheduled = true;
        event._when = when;
        event.order = ++orders;
        events.insert({{when, event.order}, &event});
    }
    void
    deschedule(Event &event)
    {
        check(event._scheduled, "an event is descheduled that was not scheduled");
        events.erase({event._when, event.order});
        event._scheduled = false;
    }
    void
    reschedule(Event &event, Tick when, bool always)
    {
        check(always || event._scheduled, "an event is rescheduled that was not scheduled");
        if (event._scheduled)
            deschedule(event);
        schedule(event, when);
    }

    /// Runs until nothing is scheduled up to `until`, which becomes the present.
    void
    run(Tick until = MaxTick)
    {
        while (!events.empty() && events.begin()->first.first <= until) {
            Event &event = *events.begin()->second;
            events.erase(events.begin());
            now = event._when;
            event._scheduled = false;
            ++executed;
            event.callback();
        }
        if (until != MaxTick)
            now = until;
    }

    static void
    check(bool holds, const char *otherwise)
    {
        if (holds)
            return;
        std::cerr << "protocol: " << otherwise << '\n';
        std::exit(3);
    }

    Tick now = 0;
    std::uint64_t executed = 0;

  private:
    std::map<std::pair<Tick, std::uint64_t>, Event *> events;
    std::uint64_t orders = 0;
};

inline EventQueue mainQueue;
inline Tick curTick() { return mainQueue.now; }

// Packets.
struct Packet
{
    enum Command { ReadReq, WriteReq, WritebackDirty, InvalidateReq };

    Packet(Command command, Addr address, unsigned size)
        : command(command), address(address), data(size)
    {
        ++alive;
    }
    ~Packet() { --alive; }
    Packet(const Packet &) = delete;

    bool isRead() const { return command == ReadReq; }
    bool isWrite() const { return command == WriteReq || command == WritebackDirty; }
    bool needsResponse() const { return !response && command != WritebackDirty; }
    bool isResponse() const { return response; }
    bool cacheResponding() const { return cacheResponds; }
    Addr getAddr() const { return address; }
    unsigned getSize() const { return static_cast<unsigned>(data.size()); }
    void makeResponse() { response = true; }
    void pushLabel(const std::string &) {}
    void popLabel() {}

    /// A functional access sees, or changes, the bytes of a packet in flight that lie in it.
    bool
    trySatisfyFunctional(Packet *other)
    {
        const Addr from = std::max(address, other->address);
        const Addr to = std::min(address + getSize(), other->address + other->getSize());
        if (from >= to)
            return false;
        if (isWrite()) {
            std::copy_n(data.data() + (from - address), to - from,
                        other->data.data() + (from - other->address));
        }
        return false;
    }

    Command command;
    Addr address;
    std::vector<std::uint8_t> data;
    bool response = false;
    bool cacheResponds = false;
    std::uint32_t headerDelay = 0, payloadDelay = 0;
    std::size_t number = 0;

    static inline std::int64_t alive = 0;
};
using PacketPtr = Packet *;

class AddrRange
{
  public:
    AddrRange(Addr start, Addr size) : _start(start), _size(size) {}
    Addr start() const { return _start; }
    Addr size() const { return _size; }
    Addr getOffset(Addr address) const { return address - _start; }

  private:
    Addr _start, _size;
};
using AddrRangeList = std::list<AddrRange>;

// Ports: the other side is a RequestPort, which a test overrides.
class ResponsePort;

class RequestPort
{
  public:
    virtual ~RequestPort() = default;
    virtual bool recvTimingResp(PacketPtr pkt) = 0;
    virtual void recvReqRetry() = 0;
    virtual void recvRangeChange() = 0;
    ResponsePort *peer = nullptr;
};

class Port
{
  public:
    explicit Port(std::string name) : _name(std::move(name)) {}
    virtual ~Port() = default;
    std::string _name;
};

class ResponsePort : public Port
{
  public:
    explicit ResponsePort(const std::string &name, PortID = InvalidPortID) : Port(name) {}
    bool isConnected() const { return other != nullptr; }
    void sendRangeChange() const { other->recvRangeChange(); }
    bool sendTimingResp(PacketPtr pkt) { return other->recvTimingResp(pkt); }
    void sendRetryReq() { other->recvReqRetry(); }

    virtual Tick recvAtomic(PacketPtr pkt) = 0;
    virtual void recvFunctional(PacketPtr pkt) = 0;
    virtual bool recvTimingReq(PacketPtr pkt) = 0;
    virtual void recvRespRetry() = 0;
    virtual AddrRangeList getAddrRanges() const = 0;

    RequestPort *other = nullptr;
};

inline void
connect(RequestPort &request, ResponsePort &response)
{
    request.peer = &response;
    response.other = &request;
}

// Checkpoints.
using CheckpointOut = std::ostream;
class CheckpointIn
{
  public:
    explicit CheckpointIn(std::string folder) : folder(std::move(folder)) {}
    std::string getCptDir() const { return folder; }
    static std::string &dir()
    {
        static std::string current;
        return current;
    }

  private:
    std::string folder;
};
template <typename T>
void
paramOut(CheckpointOut &cp, const std::string &name, const T &value)
{
    cp << name << '=' << value << '\n';
}

enum class DrainState { Running, Draining, Drained, Resuming };

// Statistics.
namespace statistics
{

using Result = double;

class Group
{
  public:
    explicit Group(Group *parent, const char * = nullptr)
    {
        if (parent != nullptr)
            parent->groups.push_back(this);
    }
    virtual ~Group() = default;
    virtual void
    preDumpStats()
    {
        for (Group *group : groups)
            group->preDumpStats();
    }
    virtual void
    resetStats()
    {
        for (Group *group : groups)
            group->resetStats();
    }
    void
    print(std::ostream &out, const std::string &prefix) const
    {
        out << std::setprecision(17);
        for (const auto &[name, stat] : stats)
            out << prefix << '.' << name << ' ' << stat.first() << " # " << stat.second << '\n';
        for (const Group *group : groups)
            group->print(out, prefix);
    }
    void
    add(const char *name, const char *text, std::function<Result()> value)
    {
        EventQueue::check(valid(name), "a statistic's name is not allowed");
        stats.push_back({name, {std::move(value), text}});
    }

  private:
    static bool
    valid(const std::string &name)
    {
        bool first = true;
        for (const char c : name) {
            const bool letter = std::isalpha(static_cast<unsigned char>(c)) || c == '_';
            if (c != '.' && !letter && (first || !std::isdigit(static_cast<unsigned char>(c))))
                return false;
            if (c == '.' && first)
                return false;
            first = c == '.';
        }
        return !first;
    }

    std::vector<Group *> groups;
    std::vector<std::pair<std::string, std::pair<std::function<Result()>, std::string>>> stats;
};

class Scalar
{
  public:
    Scalar(Group *group, const char *name, const char *text)
    {
        group->add(name, text, [this] { return value; });
    }
    void operator=(Result to) { value = to; }
    void operator++() { ++value; }

  private:
    Result value = 0;
};

class Value
{
  public:
    Value(Group *group, const char *name, const char *text)
    {
        group->add(name, text, [this] { return function(); });
    }
    void functor(std::function<Result()> value) { function = std::move(value); }

  private:
    std::function<Result()> function;
};

} // namespace statistics

// Objects.
struct SimObjectParams
{
    std::string name;
};

class SimObject : public statistics::Group
{
  public:
    explicit SimObject(const SimObjectParams &params)
        : statistics::Group(nullptr), _params(params)
    {}
    const std::string &name() const { return _params.name; }
    virtual void init() {}
    virtual Port &
    getPort(const std::string &, PortID = InvalidPortID)
    {
        fatal("%s: no such port", name());
    }
    virtual void serialize(CheckpointOut &) const {}
    virtual void unserialize(CheckpointIn &) {}
    virtual DrainState drain() { return DrainState::Drained; }

    void schedule(Event &event, Tick when) { mainQueue.schedule(event, when); }
    void deschedule(Event &event) { mainQueue.deschedule(event); }
    void
    reschedule(Event &event, Tick when, bool always = false)
    {
        mainQueue.reschedule(event, when, always);
    }

    DrainState drainState() const { return _drainState; }
    void
    signalDrainDone()
    {
        EventQueue::check(_drainState == DrainState::Draining, "drained without being asked");
        _drainState = DrainState::Drained;
    }
    DrainState
    startDrain()
    {
        return _drainState = drain();
    }
    void resume() { _drainState = DrainState::Running; }

  protected:
    const SimObjectParams &storedParams() const { return _params; }

  private:
    const SimObjectParams &_params;
    DrainState _drainState = DrainState::Running;
};

struct Output
{
    std::string resolve(const std::string &file) const { return folder + "/" + file; }
    std::string folder = ".";
};
inline Output simout;

inline std::vector<std::function<void()>> exitCallbacks;
inline void registerExitCallback(std::function<void()> call)
{
    exitCallbacks.push_back(std::move(call));
}

struct NearfarModelParams : SimObjectParams
{
    std::string file;
    std::string trace;
};

namespace memory
{
class NearfarModel;
}

struct AbstractMemoryParams : SimObjectParams
{
    AddrRange range{0, 0};
};

struct NearfarMemCtrlParams : AbstractMemoryParams
{
    memory::NearfarModel *model = nullptr;
    Addr device_start = 0;
    Tick delay = 0;
};

namespace memory
{

class AbstractMemory : public SimObject
{
  public:
    explicit AbstractMemory(const AbstractMemoryParams &params)
        : SimObject(params), range(params.range)
    {}
    AddrRange getAddrRange() const { return range; }
    std::uint64_t size() const { return range.size(); }

    void
    access(PacketPtr pkt)
    {
        functionalAccess(pkt);
        if (pkt->needsResponse())
            pkt->makeResponse();
    }
    void
    functionalAccess(PacketPtr pkt)
    {
        for (unsigned i = 0; i < pkt->getSize(); ++i) {
            std::uint8_t &byte = bytes[pkt->getAddr() + i];
            if (pkt->isWrite())
                byte = pkt->data[i];
            if (pkt->isRead())
                pkt->data[i] = byte;
        }
    }

  protected:
    AddrRange range;

  private:
    std::map<Addr, std::uint8_t> bytes;
};

} // namespace memory
} // namespace gem5
