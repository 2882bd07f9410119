#include "nearfar_memory.hh"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/logging.hh"
#include "base/output.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"

namespace gem5
{

namespace memory
{

namespace
{

/// "channel.0.reads" as gem5 allows it: no part of a name begins with a digit.
std::string
statName(const std::string &counter)
{
    std::string name;
    for (const char c : counter) {
        const bool digit = c >= '0' && c <= '9';
        if (digit && !name.empty() && name.back() == '.')
            name.pop_back();
        name += c == '-' ? '_' : c;
    }
    return name;
}

} // namespace

NearfarModel::NearfarModel(const NearfarModelParams &params)
    : SimObject(params),
      device(open(params.file)),
      event([this] { play(); }, name() + ".event"),
      counts(std::make_unique<Counts>(*this))
{
    fatal_if(sim_clock::Frequency != 1000000000000ULL,
             "%s: found %d ticks a second, expected 10^12: nearfar counts in picoseconds",
             name(), sim_clock::Frequency);
    if (!params.trace.empty())
        device.record(simout.resolve(params.trace));
    registerExitCallback([this] { writeStatistics(); });
}

nearfar::Memory
NearfarModel::open(const std::string &file)
{
    try {
        return nearfar::Memory::open(file);
    } catch (const nearfar::Error &error) {
        fatal("nearfar: %s", error.what());
    }
}

std::uint16_t
NearfarModel::add(NearfarMemCtrl &controller, Addr start, Addr bytes)
{
    fatal_if(start % lineBytes != 0 || bytes > device.capacity() ||
                 start > device.capacity() - bytes,
             "%s: found a range of %d bytes from %d on, expected it within the %d of %s",
             controller.name(), bytes, start, device.capacity(), device.model_name());
    controllers.push_back(&controller);
    return static_cast<std::uint16_t>(controllers.size() - 1);
}

bool
NearfarModel::send(std::uint16_t controller, std::uint64_t id, Addr address, bool write)
{
    nearfar_request request{};
    request.id = id;
    request.address = address;
    request.port = controller;
    request.op = write ? NEARFAR_WRITE : NEARFAR_READ;
    if (isAlone()) {
        // Nothing else can enter before: the memory is played until it takes the request.
        playedTo = device.send_when_free(request, std::max(curTick(), playedTo));
        return true;
    }
    const bool sent = device.send(request, curTick());
    if (!sent)
        ++refused;
    return sent;
}

void
NearfarModel::play()
{
    ++counts->events;
    if (!isAhead()) {
        device.advance(curTick());
        takeAll();
        if (isAlone())
            controllers.front()->woken();
    }
    wake();
    for (NearfarMemCtrl *controller : controllers)
        controller->respond();
    scheduleNext();
}

/// While every controller has been refused, nothing can enter before the first wake: up to there
/// the memory is played at once, instead of instant by instant.
void
NearfarModel::playToWake()
{
    while (wakes.empty() &&
           device.wait([this](const nearfar_completion &come) { take(come); }) != 0) {
    }
    takeAll();
    playedTo = device.now();
}

void
NearfarModel::takeAll()
{
    device.completions([this](const nearfar_completion &come) { take(come); });
}

void
NearfarModel::take(const nearfar_completion &come)
{
    if (come.kind == NEARFAR_WAKE) {
        wakes.push_back(come);
        return;
    }
    auto &access = *reinterpret_cast<NearfarMemCtrl::Access *>(come.id);
    access.controller->done(access, come.time_ps);
}

void
NearfarModel::wake()
{
    while (!wakes.empty() && wakes.front().time_ps <= curTick()) {
        NearfarMemCtrl &controller = *controllers[wakes.front().id];
        wakes.pop_front();
        --refused;
        controller.woken();
    }
}

void
NearfarModel::scheduleNext()
{
    if (isAlone())
        takeAll();
    else if (refused == controllers.size() && wakes.empty())
        playToWake();
    const bool waits = !wakes.empty() || (isAlone() && controllers.front()->waits());
    Tick next = waits ? playedTo : device.next_event();
    for (const NearfarMemCtrl *controller : controllers)
        next = std::min(next, controller->nextResponse());
    if (next == NEARFAR_NEVER) {
        if (event.scheduled())
            deschedule(event);
        return;
    }
    next = std::max(next, curTick());
    if (!event.scheduled() || event.when() != next)
        reschedule(event, next, true);
}

Tick
NearfarModel::lone(bool write) const
{
    nearfar::Memory idle = open(params().file);
    nearfar_request request{};
    request.op = write ? NEARFAR_WRITE : NEARFAR_READ;
    idle.send(request, 0);
    Tick done = 0;
    idle.wait([&](const nearfar_completion &come) { done = come.time_ps; });
    return done;
}

Tick
NearfarModel::idleLatency(bool write)
{
    std::optional<Tick> &known = write ? idleWrite : idleRead;
    if (!known)
        known = lone(write);
    return *known;
}

std::string
NearfarModel::stateFile(const std::string &folder) const
{
    return folder + "/" + name() + ".nearfar";
}

void
NearfarModel::serialize(CheckpointOut &cp) const
{
    const std::string hash = device.model_hash();
    paramOut(cp, "model_hash", hash);
    const std::string state = device.save();
    std::ofstream file(stateFile(CheckpointIn::dir()), std::ios::binary);
    file.write(state.data(), static_cast<std::streamsize>(state.size()));
    fatal_if(!file.flush(), "%s: cannot be written", stateFile(CheckpointIn::dir()));
}

void
NearfarModel::unserialize(CheckpointIn &cp)
{
    const std::string path = stateFile(cp.getCptDir());
    std::ifstream file(path, std::ios::binary);
    const std::string state{std::istreambuf_iterator<char>(file), {}};
    fatal_if(!file, "%s: cannot be read, expected the state that the checkpoint saved", path);
    try {
        device.restore(state);
        playedTo = device.now();
    } catch (const nearfar::Error &error) {
        fatal("%s: %s", path, error.what());
    }
}

void
NearfarModel::writeStatistics()
{
    std::ofstream file(simout.resolve(name() + ".nearfar.json"));
    file << device.statistics();
}

NearfarModel::Counts::Counts(NearfarModel &of)
    : statistics::Group(&of),
      model(of),
      inUseText(of.device.model_name() + " " + of.device.model_hash()),
      inUse(this, "model", inUseText.c_str()),
      events(this, "events", "how often gem5 has called the memory"),
      atReset(nearfar_memory_counters(of.device.get())),
      now(atReset.size())
{
    inUse = 1;
    for (std::size_t i = 0; i < now.size(); ++i) {
        const std::string counter = nearfar_memory_counter_name(model.device.get(), i);
        values.push_back(std::make_unique<statistics::Value>(
            this, statName(counter).c_str(), counter.c_str()));
        values.back()->functor([this, i] {
            return static_cast<statistics::Result>(now[i] - atReset[i]);
        });
    }
}

std::vector<std::uint64_t>
NearfarModel::Counts::read() const
{
    std::vector<std::uint64_t> found(now.size());
    // Up to the present, which gem5 may have reached without the memory.
    model.device.advance(std::max<Tick>(curTick(), model.device.now()));
    nearfar_memory_counter_values(model.device.get(), found.data(), found.size());
    return found;
}

void
NearfarModel::Counts::preDumpStats()
{
    statistics::Group::preDumpStats();
    now = read();
    model.scheduleNext();
}

void
NearfarModel::Counts::resetStats()
{
    statistics::Group::resetStats();
    inUse = 1;
    atReset = read();
    now = atReset;
    model.scheduleNext();
}

} // namespace memory
} // namespace gem5
