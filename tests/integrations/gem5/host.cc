// A host of the gem5 integration on the stand-in, for tests: host MODEL stream|crowd|rules [FOLDER]
//
//   stream  plays requests from standard input, as examples/library/replay.c does
//   crowd   three controllers of one model; packets of all sizes; the other side refuses responses
//   rules   atomic and functional access, statistics, checkpoints, an idle second
//
// The other side of each port checks the protocol; what does not hold ends the program with status 3
// and one line.
#include "nearfar_memory.hh"

#include <deque>
#include <iostream>
#include <optional>

using namespace gem5;
using gem5::memory::NearfarMemCtrl;
using gem5::memory::NearfarModel;

namespace
{

void
expect(bool holds, const std::string &what)
{
    if (holds)
        return;
    std::cerr << "expected " << what << " at " << curTick() << '\n';
    std::exit(3);
}

/// The other side: sends packets in order, waits for the retry after a refusal, and refuses some
/// responses itself.
class Sender : public RequestPort
{
  public:
    explicit Sender(unsigned refuseEvery = 0) : refuseEvery(refuseEvery) {}

    /// Sends at once, or when its turn comes.
    void
    send(PacketPtr pkt)
    {
        waiting.push_back(pkt);
        if (!refused)
            sendWaiting();
    }

    /// Called for each packet that comes back.
    std::function<void(PacketPtr)> answered = [](PacketPtr) {};
    std::uint64_t refusals = 0;

    bool idle() const { return waiting.empty() && inFlight.empty(); }

    bool
    recvTimingResp(PacketPtr pkt) override
    {
        expect(!refusing, "no response before the retry of the one refused");
        expect(pkt->isResponse() && inFlight.count(pkt) == 1, "a response to a request");
        if (refuseEvery != 0 && ++responses % refuseEvery == 0) {
            refusing = true;
            retry.emplace([this] { retryResponse(); }, "retry");
            mainQueue.schedule(*retry, curTick() + 7000);
            return false;
        }
        inFlight.erase(pkt);
        answered(pkt);
        delete pkt;
        return true;
    }
    void
    recvReqRetry() override
    {
        expect(refused, "no retry without a refusal");
        refused = false;
        sendWaiting();
    }
    void recvRangeChange() override { ++rangeChanges; }

    unsigned rangeChanges = 0;

  private:
    void
    sendWaiting()
    {
        while (!waiting.empty()) {
            PacketPtr pkt = waiting.front();
            const bool responds = pkt->needsResponse();
            // A packet in flight is the memory's until it comes back.
            if (responds)
                inFlight.insert(pkt);
            if (!peer->recvTimingReq(pkt)) {
                expect(!pkt->isResponse(), "a refused packet unchanged");
                inFlight.erase(pkt);
                refused = true;
                ++refusals;
                return;
            }
            waiting.pop_front();
        }
    }
    void
    retryResponse()
    {
        refusing = false;
        peer->recvRespRetry();
    }

    unsigned refuseEvery;
    std::deque<PacketPtr> waiting;
    std::set<PacketPtr> inFlight;
    bool refused = false;
    bool refusing = false;
    unsigned responses = 0;
    std::optional<EventFunctionWrapper> retry;
};

/// A model with one controller for each of `sizes`, side by side, each with a sender.
class System
{
  public:
    System(const std::string &file, const std::vector<Addr> &sizes, unsigned refuseEvery = 0,
           const std::string &trace = "")
    {
        modelParams.name = "system.nearfar";
        modelParams.file = file;
        modelParams.trace = trace;
        model = std::make_unique<NearfarModel>(modelParams);
        Addr start = 0;
        for (const Addr size : sizes) {
            auto params = std::make_unique<NearfarMemCtrlParams>();
            params->name = "system.mem" + std::to_string(controllers.size());
            params->range = AddrRange(base + start, size);
            params->model = model.get();
            params->device_start = start;
            controllerParams.push_back(std::move(params));
            controllers.push_back(std::make_unique<NearfarMemCtrl>(*controllerParams.back()));
            senders.push_back(std::make_unique<Sender>(refuseEvery));
            connect(*senders.back(),
                    static_cast<ResponsePort &>(controllers.back()->getPort("port")));
            controllers.back()->init();
            expect(senders.back()->rangeChanges == 1, "one range told");
            start += size;
        }
    }

    ResponsePort &port(std::size_t i) { return *senders[i]->peer; }

    static constexpr Addr base = 0x80000000;
    NearfarModelParams modelParams;
    std::vector<std::unique_ptr<NearfarMemCtrlParams>> controllerParams;
    std::unique_ptr<NearfarModel> model;
    std::vector<std::unique_ptr<NearfarMemCtrl>> controllers;
    std::vector<std::unique_ptr<Sender>> senders;
};

constexpr Addr part = 1 << 24;

std::string
statistics_of(NearfarModel &model)
{
    std::ostringstream text;
    model.preDumpStats();
    model.print(text, model.name());
    return text.str();
}

void
stream(const std::string &file, const std::string &folder)
{
    simout.folder = folder;
    System system(file, {part}, 0, "host.trace");
    std::vector<Tick> done;
    std::deque<EventFunctionWrapper> arrivals;
    system.senders[0]->answered = [&](PacketPtr pkt) { done[pkt->number] = curTick(); };
    Tick due = 0;
    std::string address;
    char op = 0;
    while (std::cin >> due >> address >> op) {
        auto *pkt = new Packet(op == 'W' ? Packet::WriteReq : Packet::ReadReq,
                               System::base + std::stoull(address, nullptr, 0), 64);
        pkt->number = done.size();
        done.emplace_back();
        arrivals.emplace_back([&system, pkt] { system.senders[0]->send(pkt); }, "arrival");
        mainQueue.schedule(arrivals.back(), due);
    }
    mainQueue.run();
    expect(system.senders[0]->idle(), "every packet answered");
    for (const Tick time : done)
        std::cout << time << '\n';
    std::cout << statistics_of(*system.model);
    for (const auto &callback : exitCallbacks)
        callback();
}

void
crowd(const std::string &file)
{
    System system(file, {part, part, part}, 5);
    const auto pattern = [](Addr address) { return static_cast<std::uint8_t>(address * 7 + 3); };
    std::uint64_t checked = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        system.senders[i]->answered = [&](PacketPtr pkt) {
            for (unsigned at = 0; pkt->isRead() && at < pkt->getSize(); ++at)
                expect(pkt->data[at] == pattern(pkt->getAddr() + at), "what was written");
            checked += pkt->isRead();
        };
    }
    const auto address = [](std::size_t i, unsigned n) { return System::base + i * part + n * 300; };
    for (unsigned n = 0; n < 300; ++n) {
        for (std::size_t i = 0; i < 3; ++i) {
            const auto command = n % 3 == 0 ? Packet::WritebackDirty : Packet::WriteReq;
            auto *pkt = new Packet(command, address(i, n), 1 + n % 300);
            for (unsigned at = 0; at < pkt->getSize(); ++at)
                pkt->data[at] = pattern(pkt->getAddr() + at);
            pkt->headerDelay = 500 * (n % 2);
            system.senders[i]->send(pkt);
        }
    }
    for (unsigned n = 0; n < 300; ++n) {
        for (std::size_t i = 0; i < 3; ++i) {
            if (n % 50 == 0)
                system.senders[i]->send(new Packet(Packet::InvalidateReq, address(i, n), 64));
            system.senders[i]->send(new Packet(Packet::ReadReq, address(i, n), 1 + n % 300));
        }
    }
    mainQueue.run();
    std::uint64_t refusals = 0;
    for (const auto &sender : system.senders) {
        expect(sender->idle(), "every packet answered");
        refusals += sender->refusals;
    }
    // The last one that needed no response lives until the next or until the memory ends.
    expect(Packet::alive <= 3, "every packet deleted");
    std::cout << "checked " << checked << "\nrefusals " << refusals << '\n';
}

void
accesses_without_timing(System &system)
{
    const Addr at = System::base + 128;
    Packet write(Packet::WriteReq, at, 4), read(Packet::ReadReq, at, 4);
    write.data = {1, 2, 3, 4};
    const Tick writes = system.port(0).recvAtomic(&write);
    const Tick reads = system.port(0).recvAtomic(&read);
    expect(read.data == write.data, "the bytes written");
    expect(reads > 10000 && reads < 100000000 && writes < 100000000, "the latency of an idle memory");
    expect(curTick() == 0 && mainQueue.executed == 0, "no time for atomic accesses");
}

/// Functional accesses see what is in flight: writes that were accepted, reads to be changed.
void
functional_accesses_in_flight(System &system)
{
    const Addr at = System::base + 4096;
    std::vector<std::uint8_t> answer;
    system.senders[0]->answered = [&](PacketPtr pkt) {
        if (pkt->isRead())
            answer = pkt->data;
    };
    auto *write = new Packet(Packet::WriteReq, at, 4);
    write->data = {5, 6, 7, 8};
    system.senders[0]->send(write);
    Packet read(Packet::ReadReq, at, 4);
    system.port(0).recvFunctional(&read);
    expect(read.data == std::vector<std::uint8_t>({5, 6, 7, 8}), "a write in flight");

    system.senders[0]->send(new Packet(Packet::ReadReq, at, 4));
    Packet change(Packet::WriteReq, at + 1, 2);
    change.data = {0, 0};
    system.port(0).recvFunctional(&change);
    mainQueue.run();
    expect(answer == std::vector<std::uint8_t>({5, 0, 0, 8}), "a read in flight changed");
    system.senders[0]->answered = [](PacketPtr) {};

    auto *sunk = new Packet(Packet::ReadReq, at, 64);
    sunk->cacheResponds = true;
    expect(system.port(0).recvTimingReq(sunk), "a packet taken that a cache answers");
}

void
idle_second(System &system)
{
    const std::uint64_t before = mainQueue.executed;
    mainQueue.run(curTick() + 1000000000000ULL);
    expect(mainQueue.executed == before, "no event in an idle second");
    expect(statistics_of(*system.model).find(".refreshes 0 ") == std::string::npos,
           "refreshes counted all the same");
    mainQueue.run();
}

std::vector<Tick>
latencies(System &system)
{
    std::vector<Tick> found;
    const Tick sent = curTick();
    system.senders[0]->answered = [&](PacketPtr) { found.push_back(curTick() - sent); };
    for (unsigned n = 0; n < 40; ++n) {
        const auto command = n % 4 == 0 ? Packet::WriteReq : Packet::ReadReq;
        system.senders[0]->send(new Packet(command, System::base + n * n * 4096 % part, 64));
    }
    mainQueue.run();
    system.senders[0]->answered = [](PacketPtr) {};
    return found;
}

void
checkpoint(System &system, const std::string &file, const std::string &folder)
{
    system.senders[0]->send(new Packet(Packet::ReadReq, System::base + 64, 64));
    expect(system.controllers[0]->startDrain() == DrainState::Draining, "a drain to wait for");
    mainQueue.run();
    expect(system.controllers[0]->drainState() == DrainState::Drained, "the drain told");
    CheckpointIn::dir() = folder;
    std::ostringstream parameters;
    system.model->serialize(parameters);
    expect(parameters.str().find("model_hash=sha256:") == 0, "the model's hash in the checkpoint");
    const Tick saved = curTick();
    const std::string before = statistics_of(*system.model);
    system.controllers[0]->resume();
    const std::vector<Tick> uninterrupted = latencies(system);

    EventQueue later;
    later.now = saved;
    std::swap(mainQueue, later);
    System restored(file, {part});
    CheckpointIn in(folder);
    restored.model->unserialize(in);
    const auto without_events = [](const std::string &text) {
        return text.substr(text.find("channel"));
    };
    expect(without_events(statistics_of(*restored.model)) == without_events(before),
           "the counters of the checkpoint");
    mainQueue.run();
    expect(latencies(restored) == uninterrupted, "the latencies of the uninterrupted run");
}

void
drain_while_refused(System &system)
{
    Sender &sender = *system.senders[0];
    const std::uint64_t before = sender.refusals;
    for (unsigned n = 0; sender.refusals == before; ++n)
        sender.send(new Packet(Packet::WritebackDirty, System::base + n * 4096, 64));
    expect(system.controllers[0]->startDrain() == DrainState::Draining, "a drain to wait for");
    mainQueue.run();
    expect(sender.idle(), "the refused packet sent");
    expect(system.controllers[0]->drainState() == DrainState::Drained, "the drain told");
    system.controllers[0]->resume();
}

void
rules(const std::string &file, const std::string &folder)
{
    System system(file, {part});
    accesses_without_timing(system);
    functional_accesses_in_flight(system);
    idle_second(system);
    checkpoint(system, file, folder);
    drain_while_refused(system);
    system.model->resetStats();
    expect(statistics_of(*system.model).find(".reads 0 ") != std::string::npos, "counters reset");
    std::cout << "rules hold\n";
}

} // namespace

int
main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const std::string mode = argv[2];
    const std::string folder = argc > 3 ? argv[3] : ".";
    if (mode == "stream")
        stream(argv[1], folder);
    if (mode == "crowd")
        crowd(argv[1]);
    if (mode == "rules")
        rules(argv[1], folder);
    return 0;
}
