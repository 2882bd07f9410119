#include "nearfar_memory.hh"

#include <iterator>

#include "base/logging.hh"
#include "sim/cur_tick.hh"

namespace gem5
{

namespace memory
{

NearfarMemCtrl::NearfarMemCtrl(const NearfarMemCtrlParams &params)
    : AbstractMemory(params),
      port(name() + ".port", *this),
      model(*params.model),
      deviceStart(params.device_start),
      delay(params.delay)
{}

void
NearfarMemCtrl::init()
{
    AbstractMemory::init();
    number = model.add(*this, deviceStart, size());
    fatal_if(!port.isConnected(), "%s: its port is not connected", name());
    port.sendRangeChange();
}

Port &
NearfarMemCtrl::getPort(const std::string &if_name, PortID idx)
{
    if (if_name == "port")
        return port;
    return AbstractMemory::getPort(if_name, idx);
}

DrainState
NearfarMemCtrl::drain()
{
    return busy() ? DrainState::Draining : DrainState::Drained;
}

Tick
NearfarMemCtrl::receiveAtomic(PacketPtr pkt)
{
    if (pkt->cacheResponding())
        return 0;
    const bool moves = pkt->isRead() || pkt->isWrite();
    const bool write = !pkt->isRead();
    access(pkt);
    return moves ? model.idleLatency(write) + delay : 0;
}

void
NearfarMemCtrl::receiveFunctional(PacketPtr pkt)
{
    pkt->pushLabel(name());
    // Writes that were accepted are in the bytes of memory already. Reads have their data, which a
    // functional write is to change.
    functionalAccess(pkt);
    for (Access &access : accesses)
        pkt->trySatisfyFunctional(access.pkt);
    pkt->popLabel();
}

bool
NearfarMemCtrl::receiveRequest(PacketPtr pkt)
{
    if (pkt->cacheResponding()) {
        // A cache answers; this was told for information, and is deleted after the call.
        sunk.reset(pkt);
        return true;
    }
    if (retryRequest)
        return false;
    const bool moves = pkt->isRead() || pkt->isWrite();
    if (moves && (sending != nullptr || model.isAhead())) {
        retryRequest = true;
        model.scheduleNext();
        return false;
    }
    Access &access = prepare(pkt);
    const bool refused = moves && !sendLines(access) && access.next == access.first;
    if (refused)
        retryRequest = true;
    else
        accesses.splice(accesses.end(), spare, access.place);
    if (!moves) {
        perform(access);
        finish(access, curTick());
    }
    model.scheduleNext();
    return !refused;
}

/// In the first of the spare places.
NearfarMemCtrl::Access &
NearfarMemCtrl::prepare(PacketPtr pkt)
{
    constexpr Addr line = 64;
    const Addr first = deviceStart + range.getOffset(pkt->getAddr());
    const Addr aligned = first / line * line;
    if (spare.empty())
        spare.emplace_back();
    spare.front() = {pkt, this, !pkt->isRead(), pkt->needsResponse(), aligned,
                     first + pkt->getSize(), aligned, 0, 0, spare.begin()};
    return spare.front();
}

void
NearfarMemCtrl::forget(Access &access)
{
    spare.splice(spare.begin(), accesses, access.place);
}

/// Whether all lines have been sent; then the packet has its data, so that every access sees the
/// writes that were accepted before it and no later one.
bool
NearfarMemCtrl::sendLines(Access &access)
{
    constexpr Addr line = 64;
    for (; access.next < access.end; access.next += line) {
        const auto id = reinterpret_cast<std::uintptr_t>(&access);
        if (!model.send(number, id, access.next, access.write)) {
            sending = access.next != access.first ? &access : nullptr;
            return false;
        }
        ++access.underWay;
    }
    sending = nullptr;
    perform(access);
    return true;
}

void
NearfarMemCtrl::perform(Access &access)
{
    access.delay = access.pkt->headerDelay + access.pkt->payloadDelay;
    access.pkt->headerDelay = access.pkt->payloadDelay = 0;
    this->access(access.pkt);
}

void
NearfarMemCtrl::woken()
{
    if (sending != nullptr && !sendLines(*sending))
        return;
    if (retryRequest) {
        retryRequest = false;
        port.sendRetryReq();
        tellDrained();
    }
}

void
NearfarMemCtrl::done(Access &access, Tick time)
{
    if (--access.underWay == 0 && access.next >= access.end)
        finish(access, time);
}

void
NearfarMemCtrl::finish(Access &access, Tick time)
{
    if (access.responds) {
        const Tick at = time + access.delay + delay;
        auto place = responses.end();
        while (place != responses.begin() && std::prev(place)->time > at)
            --place;
        responses.insert(place, {at, &access});
        return;
    }
    sunk.reset(access.pkt);
    forget(access);
    tellDrained();
}

void
NearfarMemCtrl::tellDrained()
{
    if (!busy() && drainState() == DrainState::Draining)
        signalDrainDone();
}

Tick
NearfarMemCtrl::nextResponse() const
{
    return responses.empty() || awaitsRetry ? NEARFAR_NEVER : responses.front().time;
}

void
NearfarMemCtrl::respond()
{
    while (!awaitsRetry && !responses.empty() && responses.front().time <= curTick()) {
        Access &access = *responses.front().access;
        awaitsRetry = !port.sendTimingResp(access.pkt);
        if (awaitsRetry)
            return;
        responses.pop_front();
        forget(access);
        tellDrained();
    }
}

void
NearfarMemCtrl::retryResponse()
{
    awaitsRetry = false;
    respond();
    model.scheduleNext();
}

NearfarMemCtrl::MemoryPort::MemoryPort(const std::string &name, NearfarMemCtrl &of)
    : ResponsePort(name), memory(of)
{}

Tick
NearfarMemCtrl::MemoryPort::recvAtomic(PacketPtr pkt)
{
    return memory.receiveAtomic(pkt);
}

void
NearfarMemCtrl::MemoryPort::recvFunctional(PacketPtr pkt)
{
    memory.receiveFunctional(pkt);
}

bool
NearfarMemCtrl::MemoryPort::recvTimingReq(PacketPtr pkt)
{
    return memory.receiveRequest(pkt);
}

void
NearfarMemCtrl::MemoryPort::recvRespRetry()
{
    memory.retryResponse();
}

AddrRangeList
NearfarMemCtrl::MemoryPort::getAddrRanges() const
{
    return {memory.getAddrRange()};
}

} // namespace memory
} // namespace gem5
