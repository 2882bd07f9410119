// Stands between an initiator and a target, and ends the program with status 3 and one line when
// either breaks the base protocol of TLM-2.0 (IEEE 1666-2011, 15.2).
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>
#include <systemc>
#include <tlm>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>

class Checker : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<Checker> from_initiator;
  tlm_utils::simple_initiator_socket<Checker> to_target;

  explicit Checker(sc_core::sc_module_name name)
      : sc_module(name), from_initiator("from_initiator"), to_target("to_target") {
    from_initiator.register_nb_transport_fw(this, &Checker::forward);
    from_initiator.register_b_transport(this, &Checker::block);
    from_initiator.register_get_direct_mem_ptr(this, &Checker::direct);
    from_initiator.register_transport_dbg(this, &Checker::debug);
    to_target.register_nb_transport_bw(this, &Checker::backward);
  }

  /// Requests that had to wait for their END_REQ, and transactions that are over.
  std::uint64_t held_back = 0;
  std::uint64_t finished = 0;

  void expect_all_finished() const {
    if (!phases_.empty()) fail("transactions were never answered");
  }

 private:
  using Payload = tlm::tlm_generic_payload;

  [[noreturn]] static void fail(const char* what) {
    std::cerr << "protocol: " << what << " at " << sc_core::sc_time_stamp() << '\n';
    std::exit(3);
  }
  static void expect(bool holds, const char* else_what) {
    if (!holds) fail(else_what);
  }

  tlm::tlm_sync_enum forward(Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_REQ) {
      expect(requesting_ == nullptr, "BEGIN_REQ before the END_REQ of the request before it");
      expect(phases_.count(&payload) == 0, "BEGIN_REQ of a transaction that is under way");
      phases_[&payload] = tlm::BEGIN_REQ;
      requesting_ = &payload;
      began_ = sc_core::sc_time_stamp() + delay;
    } else {
      expect(phase == tlm::END_RESP, "a phase that initiators do not begin");
      end_response(payload);
    }
    const tlm::tlm_sync_enum answer = to_target->nb_transport_fw(payload, phase, delay);
    if (phase == tlm::BEGIN_REQ && answer == tlm::TLM_COMPLETED) {
      expect(payload.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE, "no status at the end");
      requesting_ = nullptr;
      phases_.erase(&payload);
      ++finished;
    }
    return answer;
  }

  tlm::tlm_sync_enum backward(Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
    const auto at = phases_.find(&payload);
    expect(at != phases_.end(), "a phase of a transaction that was never requested");
    if (phase == tlm::END_REQ) {
      expect(at->second == tlm::BEGIN_REQ, "END_REQ twice, or after BEGIN_RESP");
      expect(sc_core::sc_time_stamp() >= began_, "END_REQ before the request");
      if (sc_core::sc_time_stamp() > began_) ++held_back;
      at->second = tlm::END_REQ;
      requesting_ = nullptr;
      return from_initiator->nb_transport_bw(payload, phase, delay);
    }
    expect(phase == tlm::BEGIN_RESP, "a phase that targets do not begin");
    expect(at->second == tlm::END_REQ, "BEGIN_RESP before END_REQ, or twice");
    expect(responding_ == nullptr, "BEGIN_RESP before the END_RESP of the response before it");
    expect(payload.get_response_status() == tlm::TLM_OK_RESPONSE, "BEGIN_RESP without a status");
    at->second = tlm::BEGIN_RESP;
    responding_ = &payload;
    const tlm::tlm_sync_enum answer = from_initiator->nb_transport_bw(payload, phase, delay);
    if (answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP)) {
      end_response(payload);
    }
    return answer;
  }

  void end_response(Payload& payload) {
    expect(responding_ == &payload, "END_RESP without BEGIN_RESP");
    responding_ = nullptr;
    phases_.erase(&payload);
    ++finished;
  }

  void block(Payload& payload, sc_core::sc_time& delay) { to_target->b_transport(payload, delay); }
  bool direct(Payload& payload, tlm::tlm_dmi& region) {
    return to_target->get_direct_mem_ptr(payload, region);
  }
  unsigned int debug(Payload& payload) { return to_target->transport_dbg(payload); }

  std::map<const Payload*, tlm::tlm_phase> phases_;
  const Payload* requesting_ = nullptr;
  const Payload* responding_ = nullptr;
  sc_core::sc_time began_;
};
