// A nearfar memory in gem5: NearfarModel is the memory, and each NearfarMemCtrl gives an address range
// of it to a port. Timing requests are played on the model; the one event of the model lies at its
// next instant, and there is none while nothing is under way.
#ifndef NEARFAR_GEM5_NEARFAR_MEMORY_HH
#define NEARFAR_GEM5_NEARFAR_MEMORY_HH

#include <nearfar/memory.hpp>

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.hh"
#include "mem/abstract_mem.hh"
#include "mem/packet.hh"
#include "mem/port.hh"
#include "params/NearfarMemCtrl.hh"
#include "params/NearfarModel.hh"
#include "sim/cur_tick.hh"
#include "sim/eventq.hh"
#include "sim/serialize.hh"
#include "sim/sim_object.hh"

namespace gem5
{

namespace memory
{

class NearfarMemCtrl;

class NearfarModel : public SimObject
{
  public:
    PARAMS(NearfarModel);
    explicit NearfarModel(const NearfarModelParams &params);

    /// Adds a controller for `bytes` from `start` on; the number by which it sends.
    std::uint16_t add(NearfarMemCtrl &controller, Addr start, Addr bytes);

    /// Whether the memory has been played beyond the present, to where it takes a request or wakes a
    /// port: until then it is full.
    bool isAhead() const { return playedTo > curTick(); }

    /// false: refused; the controller will be woken.
    bool send(std::uint16_t controller, std::uint64_t id, Addr address, bool write);

    /// What a lone read or write of an idle memory takes.
    Tick idleLatency(bool write);

    /// To be called after every change of what is under way.
    void scheduleNext();

    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    static constexpr std::uint64_t lineBytes = 64;

    /// The model's counters, from the last reset on.
    class Counts : public statistics::Group
    {
      public:
        explicit Counts(NearfarModel &model);
        void preDumpStats() override;
        void resetStats() override;

      private:
        std::vector<std::uint64_t> read() const;

        NearfarModel &model;
        std::string inUseText;
        statistics::Scalar inUse;
        statistics::Scalar events;
        std::vector<std::unique_ptr<statistics::Value>> values;
        std::vector<std::uint64_t> atReset;
        std::vector<std::uint64_t> now;

        friend class NearfarModel;
    };

    static nearfar::Memory open(const std::string &file);
    Tick lone(bool write) const;
    void play();
    bool isAlone() const { return controllers.size() == 1; }
    void playToWake();
    void takeAll();
    void take(const nearfar_completion &come);
    void wake();
    void writeStatistics();
    std::string stateFile(const std::string &folder) const;

    // Saving a state changes nothing that anyone sees.
    mutable nearfar::Memory device;
    std::vector<NearfarMemCtrl *> controllers;
    Tick playedTo = 0;  ///< when that was beyond the present
    std::size_t refused = 0;  ///< controllers that may not send before their wake
    std::deque<nearfar_completion> wakes;  ///< that have come, but whose time may be ahead
    EventFunctionWrapper event;
    std::optional<Tick> idleRead, idleWrite;
    std::unique_ptr<Counts> counts;
};

class NearfarMemCtrl : public AbstractMemory
{
  public:
    PARAMS(NearfarMemCtrl);
    explicit NearfarMemCtrl(const NearfarMemCtrlParams &params);

    void init() override;
    Port &getPort(const std::string &if_name, PortID idx = InvalidPortID) override;
    DrainState drain() override;

  private:
    friend class NearfarModel;

    class MemoryPort : public ResponsePort
    {
      public:
        MemoryPort(const std::string &name, NearfarMemCtrl &memory);

      protected:
        Tick recvAtomic(PacketPtr pkt) override;
        void recvFunctional(PacketPtr pkt) override;
        bool recvTimingReq(PacketPtr pkt) override;
        void recvRespRetry() override;
        AddrRangeList getAddrRanges() const override;

      private:
        NearfarMemCtrl &memory;
    };

    /// A packet that was accepted: until its last line is done, and its response sent.
    struct Access
    {
        PacketPtr pkt;
        NearfarMemCtrl *controller;
        bool write;
        bool responds;
        Addr first, end;    ///< of its lines
        Addr next;          ///< the one to be sent
        unsigned underWay;  ///< lines sent and not done
        Tick delay;         ///< of the packet on its way here, which its response makes up for
        std::list<Access>::iterator place;
    };

    // Called by the port.
    Tick receiveAtomic(PacketPtr pkt);
    void receiveFunctional(PacketPtr pkt);
    bool receiveRequest(PacketPtr pkt);
    void retryResponse();

    /// A packet to be sent back, and when.
    struct Response
    {
        Tick time;
        Access *access;
    };

    // Called by the model.
    void woken();
    void done(Access &access, Tick time);
    void respond();
    bool waits() const { return retryRequest; }
    Tick nextResponse() const;

    Access &prepare(PacketPtr pkt);
    void forget(Access &access);
    bool sendLines(Access &access);
    void perform(Access &access);
    void finish(Access &access, Tick time);
    bool busy() const { return !accesses.empty() || retryRequest; }
    void tellDrained();

    MemoryPort port;
    NearfarModel &model;
    Addr deviceStart;
    Tick delay;
    std::uint16_t number = 0;
    std::list<Access> accesses;
    std::list<Access> spare;  ///< places for further ones
    Access *sending = nullptr;  ///< of which lines are still to be sent
    std::deque<Response> responses;  ///< in order of time
    bool retryRequest = false;   ///< the other side waits for our retry
    bool awaitsRetry = false;    ///< we wait for its
    std::unique_ptr<Packet> sunk;
};

} // namespace memory
} // namespace gem5

#endif // NEARFAR_GEM5_NEARFAR_MEMORY_HH
