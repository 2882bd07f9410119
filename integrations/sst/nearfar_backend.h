// A nearfar memory as a backend of SST's memory controller:
//
//   memory.addParams({"clock": "1GHz", "backend.mem_size": "64GiB"})
//   backend = memory.setSubComponent("backend", "nearfar.memory")
//   backend.addParams({"model": "optane-100", "mem_size": "64GiB"})
//
// It has no clock: it wakes itself by a link for the model's next instant, and the controller may
// stop its own clock while no request waits to be issued.
#ifndef NEARFAR_SST_BACKEND_H
#define NEARFAR_SST_BACKEND_H

#include <sst/core/event.h>
#include <sst/core/link.h>
#include <sst/core/output.h>
#include <sst/core/params.h>
#include <sst/elements/memHierarchy/membackend/memBackend.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <nearfar/memory.hpp>

namespace SST {
namespace Nearfar {

class Backend : public MemHierarchy::SimpleMemBackend {
 public:
  // clang-format off: macros without semicolons
  SST_ELI_REGISTER_SUBCOMPONENT(Backend, "nearfar", "memory", SST_ELI_ELEMENT_VERSION(0, 2, 0),
                                "A measured or assumed hybrid memory, simulated by nearfar",
                                SST::MemHierarchy::SimpleMemBackend)
  SST_ELI_DOCUMENT_PARAMS(
      MEMBACKEND_ELI_PARAMS,
      {"model", "(string) A preset's name, or a file that `nearfar model export` wrote", NULL},
      {"trace", "(string) File for the requests that were accepted", ""},
      {"statistics", "(string) File for the counters with the model's name and hash", ""})
  SST_ELI_DOCUMENT_STATISTICS(
      {"counter", "A counter of the model, which the sub-identifier names", "count", 1})
  // clang-format on

  Backend() = default;
  Backend(ComponentId_t id, Params& params);

  bool issueRequest(ReqId id, MemHierarchy::Addr address, bool is_write,
                    unsigned num_bytes) override;
  bool isClocked() override { return false; }
  void finish() override;

  void serialize_order(SST::Core::Serialization::serializer& ser) override;

 private:
  static constexpr std::uint64_t line_bytes = 64;

  nearfar::Memory open() const;
  std::uint64_t now() const { return getCurrentSimTime("1ps"); }
  void wake_up(Event* event);
  void call_back_at_next();
  void done(ReqId id);

  std::string model_;
  std::string trace_;
  std::string statistics_;
  std::unique_ptr<nearfar::Memory> memory_;
  Link* link_ = nullptr;
  std::uint64_t called_at_ = NEARFAR_NEVER;  ///< when the earliest event on the link comes
  bool refused_ = false;
  std::uint64_t next_line_ = 0;  ///< of the request that is being issued
  std::unordered_map<ReqId, unsigned> lines_;  ///< under way, by request
  std::vector<Statistics::Statistic<std::uint64_t>*> counters_;  ///< in order of their names

 public:
  ImplementSerializable(SST::Nearfar::Backend)
};

}  // namespace Nearfar
}  // namespace SST

#endif
