// A nearfar memory as a target of SystemC TLM-2.0 (IEEE 1666-2011):
//
//   nearfar::systemc::Memory memory("memory", "optane-100");   // or a file that was exported
//   cpu.socket.bind(memory.socket);                            // and any other initiator
//
// Non-blocking transport has the four phases of the base protocol: END_REQ comes when the memory
// has accepted the last line of a transaction, BEGIN_RESP when the last is done. A full memory
// holds END_REQ back, so each initiator waits for its own. Blocking transport waits as long. There
// is no direct memory interface: an access without transport would have no timing.
//
// A transaction is played as the 64-byte lines that it touches. The module has one event, which is
// notified for the memory's next instant, and none while nothing is under way.
#ifndef NEARFAR_SYSTEMC_MEMORY_H
#define NEARFAR_SYSTEMC_MEMORY_H

#ifndef SC_INCLUDE_DYNAMIC_PROCESSES
#define SC_INCLUDE_DYNAMIC_PROCESSES
#endif

#include <nearfar/memory.hpp>

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <systemc>
#include <tlm>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nearfar_bytes.h"

namespace nearfar::systemc {

class Memory : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<Memory> socket;

  /// `model` is an exported file, or a preset's name. An error is an SC_REPORT_FATAL.
  Memory(sc_core::sc_module_name name, const std::string& model)
      : sc_module(name), socket("socket"), memory_(open(model)) {
    if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS)) {
      SC_REPORT_FATAL("nearfar", "the time resolution is not 1 ps, which the memory counts in");
    }
    socket.register_nb_transport_fw(this, &Memory::nb_transport_fw);
    socket.register_b_transport(this, &Memory::b_transport);
    socket.register_get_direct_mem_ptr(this, &Memory::get_direct_mem_ptr);
    socket.register_transport_dbg(this, &Memory::transport_dbg);
    SC_HAS_PROCESS(Memory);
    SC_METHOD(play);
    sensitive << due_;
    dont_initialize();
  }

  /// For its counters, model and state.
  nearfar::Memory& memory() { return memory_; }
  /// How often the module was woken.
  std::uint64_t activations() const { return activations_; }

 private:
  static constexpr std::uint64_t line_bytes = 64;

  /// A transaction from BEGIN_REQ to END_RESP, or a call of b_transport.
  struct Access {
    tlm::tlm_generic_payload* payload;
    std::size_t initiator;
    std::uint64_t next_line;
    std::uint64_t end;        ///< of its lines
    std::uint64_t under_way;  ///< lines accepted and not done
    sc_core::sc_event* done;  ///< of b_transport; null: it has phases
  };
  /// What the base protocol says of one initiator.
  struct Initiator {
    std::deque<Access*> requests;   ///< in order of arrival; the first is being sent
    std::deque<Access*> responses;  ///< done; the first has sent BEGIN_RESP if `responding`
    bool responding = false;
    bool refused = false;
  };
  /// Something that an initiator announced for a later time.
  struct Arrival {
    Access* access;  ///< null: the response phase of `initiator` ends
    std::size_t initiator;
  };

  static nearfar::Memory open(const std::string& model) {
    try {
      return nearfar::Memory::open(model);
    } catch (const nearfar::Error& error) {
      SC_REPORT_FATAL("nearfar", error.what());
      throw;
    }
  }

  // Calls of initiators.
  tlm::tlm_sync_enum nb_transport_fw(int id, tlm::tlm_generic_payload& payload,
                                     tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    const auto initiator = static_cast<std::size_t>(id);
    if (phase == tlm::END_RESP) {
      announce({nullptr, initiator}, delay);
      return tlm::TLM_COMPLETED;
    }
    if (phase != tlm::BEGIN_REQ) {
      SC_REPORT_ERROR("nearfar", "a phase of the initiator is neither BEGIN_REQ nor END_RESP");
      return tlm::TLM_COMPLETED;
    }
    if (is_over_at_once(payload)) return tlm::TLM_COMPLETED;
    if (!payload.has_mm()) {
      SC_REPORT_FATAL("nearfar", "a transaction of nb_transport_fw has no memory manager");
    }
    payload.acquire();
    announce({add(payload, initiator, nullptr), initiator}, delay);
    return tlm::TLM_ACCEPTED;
  }

  void b_transport(int id, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    if (is_over_at_once(payload)) return;
    const auto initiator = static_cast<std::size_t>(id);
    sc_core::sc_event done;
    announce({add(payload, initiator, &done), initiator}, delay);
    sc_core::wait(done);
    delay = sc_core::SC_ZERO_TIME;
  }

  bool get_direct_mem_ptr(int, tlm::tlm_generic_payload&, tlm::tlm_dmi& region) {
    // Denied for all addresses, so that no initiator need ask again.
    region.allow_none();
    region.set_start_address(0);
    region.set_end_address(~sc_dt::uint64{0});
    return false;
  }

  unsigned int transport_dbg(int, tlm::tlm_generic_payload& payload) {
    const std::uint64_t capacity = memory_.capacity();
    const std::uint64_t address = payload.get_address();
    if (address >= capacity || payload.get_data_ptr() == nullptr) return 0;
    const std::uint64_t size =
        std::min<std::uint64_t>(payload.get_data_length(), capacity - address);
    if (payload.is_read()) bytes_.read(address, payload.get_data_ptr(), size);
    if (payload.is_write()) bytes_.write(address, payload.get_data_ptr(), size);
    return payload.get_command() == tlm::TLM_IGNORE_COMMAND ? 0 : static_cast<unsigned int>(size);
  }

  /// Whether a transaction needs no memory: one that does nothing, or is wrong. Sets its status.
  bool is_over_at_once(tlm::tlm_generic_payload& payload) const {
    payload.set_dmi_allowed(false);
    const std::uint64_t capacity = memory_.capacity();
    const std::uint64_t size = payload.get_data_length();
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) {
      payload.set_response_status(tlm::TLM_OK_RESPONSE);
    } else if (size == 0 || payload.get_data_ptr() == nullptr ||
               payload.get_streaming_width() < size) {
      payload.set_response_status(tlm::TLM_BURST_ERROR_RESPONSE);
    } else if (payload.get_address() >= capacity || size > capacity - payload.get_address()) {
      payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    } else if (payload.get_byte_enable_ptr() != nullptr && payload.get_byte_enable_length() == 0) {
      payload.set_response_status(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    } else {
      return false;
    }
    return true;
  }

  Access* add(tlm::tlm_generic_payload& payload, std::size_t initiator, sc_core::sc_event* done) {
    const std::uint64_t first = payload.get_address() / line_bytes * line_bytes;
    auto access = std::make_unique<Access>(Access{
        &payload, initiator, first, payload.get_address() + payload.get_data_length(), 0, done});
    Access* const added = access.get();
    accesses_.emplace(added, std::move(access));
    return added;
  }

  void announce(Arrival arrival, const sc_core::sc_time& delay) {
    arrivals_.emplace(sc_core::sc_time_stamp() + delay, arrival);
    due_.notify(delay);
  }

  // Time.
  void play() {
    ++activations_;
    const std::uint64_t now = sc_core::sc_time_stamp().value();
    memory_.advance(now);
    take_completions();
    while (!arrivals_.empty() && arrivals_.begin()->first <= sc_core::sc_time_stamp()) {
      const Arrival arrival = arrivals_.begin()->second;
      arrivals_.erase(arrivals_.begin());
      arrive(arrival);
    }
    // A place in the memory may become free again while another initiator sends.
    for (std::size_t i = 0; i < initiators_.size(); ++i) send(i, now);
    take_completions();
    for (std::size_t i = 0; i < initiators_.size(); ++i) respond(i);
    notify_next(now);
  }

  void notify_next(std::uint64_t now) {
    const std::uint64_t next = memory_.next_event();
    if (next != NEARFAR_NEVER) {
      due_.notify(sc_core::sc_time::from_value(next < now ? 0 : next - now));
    }
    if (!arrivals_.empty()) due_.notify(arrivals_.begin()->first - sc_core::sc_time_stamp());
  }

  void arrive(const Arrival& arrival) {
    if (arrival.initiator >= initiators_.size()) initiators_.resize(arrival.initiator + 1);
    Initiator& initiator = initiators_[arrival.initiator];
    if (arrival.access != nullptr) {
      initiator.requests.push_back(arrival.access);
    } else if (!initiator.responding) {
      SC_REPORT_ERROR("nearfar", "END_RESP of an initiator that has no response");
    } else {
      end_response(initiator);
    }
  }

  /// Sends what the initiator has, until the memory refuses.
  void send(std::size_t number, std::uint64_t now) {
    while (!initiators_[number].refused && !initiators_[number].requests.empty()) {
      Access& access = *initiators_[number].requests.front();
      nearfar_request request{};
      request.id = reinterpret_cast<std::uintptr_t>(&access);
      request.address = access.next_line;
      request.op = access.payload->is_write() ? NEARFAR_WRITE : NEARFAR_READ;
      request.port = static_cast<std::uint16_t>(number);
      if (!memory_.send(request, now)) {
        initiators_[number].refused = true;
        return;
      }
      ++access.under_way;
      access.next_line += line_bytes;
      if (access.next_line < access.end) continue;
      initiators_[number].requests.pop_front();
      move_data(*access.payload);
      if (access.done == nullptr) end_request(access);
    }
  }

  void take_completions() {
    memory_.completions([this](const nearfar_completion& come) {
      if (come.kind == NEARFAR_WAKE) {
        initiators_[come.id].refused = false;
        return;
      }
      auto& access = *reinterpret_cast<Access*>(static_cast<std::uintptr_t>(come.id));
      if (--access.under_way > 0 || access.next_line < access.end) return;
      access.payload->set_response_status(tlm::TLM_OK_RESPONSE);
      if (access.done != nullptr) {
        access.done->notify(sc_core::SC_ZERO_TIME);
        accesses_.erase(&access);
      } else {
        initiators_[access.initiator].responses.push_back(&access);
      }
    });
  }

  // The phases of the target.
  void end_request(Access& access) {
    tlm::tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    socket[static_cast<int>(access.initiator)]->nb_transport_bw(*access.payload, phase, delay);
  }

  void respond(std::size_t number) {
    while (!initiators_[number].responding && !initiators_[number].responses.empty()) {
      initiators_[number].responding = true;
      tlm::tlm_phase phase = tlm::BEGIN_RESP;
      sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
      const tlm::tlm_sync_enum answer = socket[static_cast<int>(number)]->nb_transport_bw(
          *initiators_[number].responses.front()->payload, phase, delay);
      const bool ended =
          answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP);
      if (!ended) return;
      if (delay != sc_core::SC_ZERO_TIME) return announce({nullptr, number}, delay);
      end_response(initiators_[number]);
    }
  }

  void end_response(Initiator& initiator) {
    Access* const access = initiator.responses.front();
    initiator.responses.pop_front();
    initiator.responding = false;
    access->payload->release();
    accesses_.erase(access);
  }

  /// In the order in which the memory accepts transactions, so that each read sees the writes
  /// before it and no later one.
  void move_data(tlm::tlm_generic_payload& payload) {
    unsigned char* const data = payload.get_data_ptr();
    const unsigned char* const enabled = payload.get_byte_enable_ptr();
    const std::uint64_t address = payload.get_address();
    const std::uint64_t size = payload.get_data_length();
    const std::uint64_t step = enabled == nullptr ? size : 1;
    for (std::uint64_t at = 0; at < size; at += step) {
      const bool skipped =
          enabled != nullptr && enabled[at % payload.get_byte_enable_length()] != TLM_BYTE_ENABLED;
      if (skipped) continue;
      if (payload.is_write()) {
        bytes_.write(address + at, data + at, step);
      } else {
        bytes_.read(address + at, data + at, step);
      }
    }
  }

  nearfar::Memory memory_;
  Bytes bytes_;
  sc_core::sc_event due_;
  std::multimap<sc_core::sc_time, Arrival> arrivals_;
  std::vector<Initiator> initiators_;
  std::unordered_map<Access*, std::unique_ptr<Access>> accesses_;
  std::uint64_t activations_ = 0;
};

}  // namespace nearfar::systemc

#endif
