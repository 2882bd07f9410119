// A host of the SystemC target, for tests: host MODEL stream|crowd|rules
//
//   stream  plays requests from standard input, as examples/library/replay.c does
//   crowd   four initiators with several requests each, which answer late, check what they read
//   rules   what is refused, debug transport, byte enables, blocking transport, an idle second
//
// A checker stands at every socket. What does not hold ends the program with status 3 and one line.
#include "nearfar_memory.h"

#include "checker.h"

#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using sc_core::sc_time;
using sc_core::sc_time_stamp;

namespace {

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "expected " << what << " at " << sc_time_stamp() << '\n';
  std::exit(3);
}

sc_time picoseconds(std::uint64_t count) { return sc_time::from_value(count); }

/// A transaction with its data, and the count of them that are alive.
struct Transaction : tlm::tlm_generic_payload {
  std::size_t number = 0;
  std::vector<unsigned char> data;

  void set(tlm::tlm_command command, std::uint64_t address, std::size_t size) {
    data.resize(size);
    set_command(command);
    set_address(address);
    set_data_ptr(data.data());
    set_data_length(static_cast<unsigned int>(size));
    set_streaming_width(static_cast<unsigned int>(size));
    set_byte_enable_ptr(nullptr);
    set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  }
};

class Manager : public tlm::tlm_mm_interface {
 public:
  Transaction& make() {
    auto* const made = new Transaction;
    made->set_mm(this);
    made->acquire();
    ++alive;
    return *made;
  }
  void free(tlm::tlm_generic_payload* payload) override {
    payload->reset();
    delete static_cast<Transaction*>(payload);
    --alive;
  }

  std::uint64_t alive = 0;
};

/// Sends by non-blocking transport; when responses begin, `answered` is called, which says how long
/// they last.
class Initiator : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Initiator> socket;
  Manager manager;
  sc_core::sc_event request_ended;

  explicit Initiator(sc_core::sc_module_name name) : sc_module(name), socket("socket") {
    socket.register_nb_transport_bw(this, &Initiator::backward);
    SC_HAS_PROCESS(Initiator);
    SC_THREAD(act);
    SC_METHOD(end_response);
    sensitive << response_ends_;
    dont_initialize();
  }

 protected:
  virtual void act() = 0;
  virtual sc_time answered(Transaction&) { return sc_core::SC_ZERO_TIME; }

  /// Returns when the request phase is over.
  void send(Transaction& transaction, sc_time delay = sc_core::SC_ZERO_TIME) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    const auto answer = socket->nb_transport_fw(transaction, phase, delay);
    if (answer == tlm::TLM_ACCEPTED) wait(request_ended);
  }

 private:
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_time&) {
    auto& transaction = static_cast<Transaction&>(payload);
    if (phase == tlm::END_REQ) {
      request_ended.notify();
      return tlm::TLM_ACCEPTED;
    }
    const sc_time lasts = answered(transaction);
    if (lasts == sc_core::SC_ZERO_TIME) {
      transaction.release();
      return tlm::TLM_COMPLETED;
    }
    answering_ = &transaction;
    response_ends_.notify(lasts);
    return tlm::TLM_ACCEPTED;
  }

  void end_response() {
    tlm::tlm_phase phase = tlm::END_RESP;
    sc_time delay = sc_core::SC_ZERO_TIME;
    Transaction* const over = answering_;
    socket->nb_transport_fw(*over, phase, delay);
    over->release();
  }

  Transaction* answering_ = nullptr;
  sc_core::sc_event response_ends_;
};

/// Requests from standard input: TIME_PS ADDRESS R|W.
class Player : public Initiator {
 public:
  using Initiator::Initiator;

  void print() const {
    for (std::size_t i = 0; i < accepted_.size(); ++i) {
      std::cout << accepted_[i].value() << ' ' << done_[i].value() << '\n';
    }
  }

 private:
  void act() override {
    std::uint64_t due = 0;
    std::string address;
    char op = 0;
    while (std::cin >> due >> address >> op) {
      if (picoseconds(due) > sc_time_stamp()) wait(picoseconds(due) - sc_time_stamp());
      Transaction& transaction = manager.make();
      transaction.number = done_.size();
      transaction.set(op == 'W' ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                      std::stoull(address, nullptr, 0), 64);
      done_.emplace_back();
      send(transaction);
      accepted_.push_back(sc_time_stamp());
    }
  }
  sc_time answered(Transaction& transaction) override {
    done_[transaction.number] = sc_time_stamp();
    return sc_core::SC_ZERO_TIME;
  }

  std::vector<sc_time> accepted_, done_;
};

/// Writes a pattern in its own part of memory, without waiting, and reads it back, in sizes from a
/// byte to several lines; some responses last.
class Worker : public Initiator {
 public:
  Worker(sc_core::sc_module_name name, unsigned number) : Initiator(name), number_(number) {}

  std::uint64_t checked = 0;

 private:
  static constexpr std::size_t rounds = 300;

  unsigned char pattern(std::uint64_t address) const {
    return static_cast<unsigned char>(address * 7 + address / 256 + number_);
  }
  std::uint64_t address_of(std::size_t i) const { return (std::uint64_t{number_} << 24) + i * 200; }
  static std::size_t size_of(std::size_t i) { return 1 + i * 37 % 200; }

  void act() override {
    for (const auto command : {tlm::TLM_WRITE_COMMAND, tlm::TLM_READ_COMMAND}) {
      for (std::size_t i = 0; i < rounds; ++i) {
        Transaction& transaction = manager.make();
        transaction.set(command, address_of(i), size_of(i));
        if (command == tlm::TLM_WRITE_COMMAND) {
          for (std::size_t at = 0; at < size_of(i); ++at) {
            transaction.data[at] = pattern(address_of(i) + at);
          }
        }
        send(transaction, picoseconds(i % 3 * 1000));
      }
    }
  }
  sc_time answered(Transaction& transaction) override {
    if (transaction.is_read()) {
      for (std::size_t at = 0; at < transaction.data.size(); ++at) {
        expect(transaction.data[at] == pattern(transaction.get_address() + at), "what was written");
      }
      ++checked;
    }
    return picoseconds(checked % 4 * 5000);
  }

  unsigned number_;
};

/// Calls what is not the usual way.
class Rules : public Initiator {
 public:
  Rules(sc_core::sc_module_name name, nearfar::systemc::Memory& memory)
      : Initiator(name), memory_(memory) {}

 private:
  void act() override {
    refuses_direct_access();
    answers_errors();
    debugs();
    blocks();
    idles();
    std::cout << "rules hold\n";
  }

  void refuses_direct_access() {
    Transaction& transaction = manager.make();
    transaction.set(tlm::TLM_READ_COMMAND, 0, 64);
    tlm::tlm_dmi region;
    expect(!socket->get_direct_mem_ptr(transaction, region), "no direct access");
    expect(region.get_end_address() == ~sc_dt::uint64{0}, "a refusal for all addresses");
    transaction.release();
  }

  tlm::tlm_response_status status_of(tlm::tlm_command command, std::uint64_t address,
                                     std::size_t size, unsigned width) {
    Transaction& transaction = manager.make();
    transaction.set(command, address, size);
    transaction.set_streaming_width(width);
    send(transaction);
    const auto status = transaction.get_response_status();
    transaction.release();
    return status;
  }
  void answers_errors() {
    const std::uint64_t end = memory_.memory().capacity();
    const auto read = tlm::TLM_READ_COMMAND;
    expect(status_of(read, end - 32, 64, 64) == tlm::TLM_ADDRESS_ERROR_RESPONSE, "address error");
    expect(status_of(read, 0, 64, 8) == tlm::TLM_BURST_ERROR_RESPONSE, "burst error");
    expect(status_of(tlm::TLM_IGNORE_COMMAND, 0, 64, 64) == tlm::TLM_OK_RESPONSE, "nothing done");
    expect(sc_time_stamp() == sc_core::SC_ZERO_TIME, "no time for errors");
  }

  void debugs() {
    Transaction& transaction = manager.make();
    transaction.set(tlm::TLM_WRITE_COMMAND, 4090, 12);
    std::memcpy(transaction.data.data(), "twelve bytes", 12);
    expect(socket->transport_dbg(transaction) == 12, "12 bytes written");
    transaction.set(tlm::TLM_READ_COMMAND, 4090, 12);
    std::memset(transaction.data.data(), 0, 12);
    expect(socket->transport_dbg(transaction) == 12, "12 bytes read");
    expect(std::memcmp(transaction.data.data(), "twelve bytes", 12) == 0, "the bytes written");
    transaction.set(tlm::TLM_READ_COMMAND, memory_.memory().capacity() - 4, 12);
    expect(socket->transport_dbg(transaction) == 4, "4 bytes before the end");
    expect(sc_time_stamp() == sc_core::SC_ZERO_TIME, "no time for debugging");
    transaction.release();
  }

  void blocks() {
    Transaction& transaction = manager.make();
    unsigned char every_other[] = {TLM_BYTE_ENABLED, TLM_BYTE_DISABLED};
    transaction.set(tlm::TLM_WRITE_COMMAND, 4090, 12);
    std::memset(transaction.data.data(), '-', 12);
    transaction.set_byte_enable_ptr(every_other);
    transaction.set_byte_enable_length(2);
    sc_time delay = picoseconds(3000);
    socket->b_transport(transaction, delay);
    expect(transaction.is_response_ok(), "a write done");
    expect(sc_time_stamp() + delay >= picoseconds(3000), "the delay kept");
    transaction.set(tlm::TLM_READ_COMMAND, 4090, 12);
    delay = sc_core::SC_ZERO_TIME;
    socket->b_transport(transaction, delay);
    expect(std::memcmp(transaction.data.data(), "-w-l-e-b-t-s", 12) == 0, "every other byte");
    const sc_time before = sc_time_stamp() + delay;
    transaction.set(tlm::TLM_READ_COMMAND, 1 << 20, 64);
    socket->b_transport(transaction, delay);
    expect(sc_time_stamp() + delay > before + picoseconds(10000), "the time of a read");
    transaction.release();
  }

  void idles() {
    wait(sc_time(1, sc_core::SC_US));
    const std::uint64_t before = memory_.activations();
    wait(sc_time(1, sc_core::SC_SEC));
    expect(memory_.activations() == before, "no event in an idle second");
  }

  nearfar::systemc::Memory& memory_;
};

void print_counters(nearfar::systemc::Memory& memory) {
  for (const auto& [name, value] : memory.memory().counters()) {
    std::cout << name << " = " << value << '\n';
  }
}

template <typename Host>
void join(Host& host, Checker& checker, nearfar::systemc::Memory& memory) {
  host.socket.bind(checker.from_initiator);
  checker.to_target.bind(memory.socket);
}

void stream(nearfar::systemc::Memory& memory) {
  Player player("player");
  Checker checker("checker");
  join(player, checker, memory);
  sc_core::sc_start();
  checker.expect_all_finished();
  player.print();
  print_counters(memory);
  expect(player.manager.alive == 0, "every transaction released");
}

void crowd(nearfar::systemc::Memory& memory) {
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::unique_ptr<Checker>> checkers;
  for (unsigned i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Worker>(sc_core::sc_gen_unique_name("worker"), i));
    checkers.push_back(std::make_unique<Checker>(sc_core::sc_gen_unique_name("checker")));
    join(*workers.back(), *checkers.back(), memory);
  }
  sc_core::sc_start();
  std::uint64_t checked = 0;
  std::uint64_t held_back = 0;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    checkers[i]->expect_all_finished();
    expect(workers[i]->manager.alive == 0, "every transaction released");
    checked += workers[i]->checked;
    held_back += checkers[i]->held_back;
  }
  std::cout << "checked " << checked << "\nheld back " << held_back << '\n';
}

void rules(nearfar::systemc::Memory& memory) {
  Rules initiator("rules", memory);
  Checker checker("checker");
  join(initiator, checker, memory);
  sc_core::sc_start();
  checker.expect_all_finished();
}

}  // namespace

int sc_main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    nearfar::systemc::Memory memory("memory", argv[1]);
    const std::string mode = argv[2];
    if (mode == "stream") stream(memory);
    if (mode == "crowd") crowd(memory);
    if (mode == "rules") rules(memory);
  } catch (const std::exception& error) {
    std::cerr << "host: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
