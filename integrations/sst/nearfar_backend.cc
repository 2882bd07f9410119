#include "nearfar_backend.h"

#include <fstream>
#include <vector>

namespace SST {
namespace Nearfar {

Backend::Backend(ComponentId_t id, Params& params)
    : SimpleMemBackend(id, params),
      model_(params.find<std::string>("model", "")),
      trace_(params.find<std::string>("trace", "")),
      statistics_(params.find<std::string>("statistics", "")),
      memory_(std::make_unique<nearfar::Memory>(open())) {
  if (m_memSize > memory_->capacity()) {
    output->fatal(CALL_INFO, -1, "%s: found mem_size %zu, expected at most the %llu bytes of %s\n",
                  getName().c_str(), m_memSize,
                  static_cast<unsigned long long>(memory_->capacity()), model_.c_str());
  }
  if (!trace_.empty()) memory_->record(trace_);
  // Most of SST's outputs take no statistic that is registered later.
  for (const auto& [name, value] : memory_->counters()) {
    counters_.push_back(registerStatistic<std::uint64_t>("counter", name));
  }
  link_ = configureSelfLink("next", "1ps", new Event::Handler<Backend, &Backend::wake_up>(this));
}

nearfar::Memory Backend::open() const {
  try {
    return nearfar::Memory::open(model_);
  } catch (const nearfar::Error& error) {
    output->fatal(CALL_INFO, -1, "%s: model: %s\n", getName().c_str(), error.what());
    throw;
  }
}

/// The controller asks again each cycle after a refusal; only after the wake is the memory asked.
bool Backend::issueRequest(ReqId id, MemHierarchy::Addr address, bool is_write,
                           unsigned num_bytes) {
  const std::uint64_t end = address + num_bytes;
  // One more than its lines, until the last of them is accepted.
  if (lines_.emplace(id, 1).second) next_line_ = address / line_bytes * line_bytes;
  while (!refused_ && next_line_ < end) {
    nearfar_request request{};
    request.id = static_cast<std::uint64_t>(id);
    request.address = next_line_;
    request.op = is_write ? NEARFAR_WRITE : NEARFAR_READ;
    refused_ = !memory_->send(request, now());
    if (refused_) break;
    ++lines_[id];
    next_line_ += line_bytes;
  }
  call_back_at_next();
  if (next_line_ < end) return false;
  --lines_[id];
  return true;
}

void Backend::wake_up(Event* event) {
  delete event;
  // Events cannot be taken back: those that an earlier one has overtaken find nothing to do.
  if (now() >= called_at_) called_at_ = NEARFAR_NEVER;
  memory_->advance(now());
  std::vector<ReqId> over;
  memory_->completions([&](const nearfar_completion& come) {
    if (come.kind == NEARFAR_WAKE) {
      refused_ = false;
    } else {
      over.push_back(static_cast<ReqId>(come.id));
    }
  });
  for (const ReqId id : over) done(id);
  call_back_at_next();
}

void Backend::done(ReqId id) {
  const auto found = lines_.find(id);
  if (--found->second > 0) return;
  lines_.erase(found);
  handleMemResponse(id);
}

void Backend::call_back_at_next() {
  const std::uint64_t next = memory_->next_event();
  if (next >= called_at_) return;
  called_at_ = next;
  link_->send(next - now(), new EmptyEvent());
}

void Backend::finish() {
  auto counter = counters_.begin();
  for (const auto& [name, value] : memory_->counters()) (*counter++)->addData(value);
  // The backend's own output is silent unless it debugs.
  getSimulationOutput().output("%s: %s %s\n", getName().c_str(), memory_->model_name().c_str(),
                               memory_->model_hash().c_str());
  if (!statistics_.empty()) std::ofstream(statistics_) << memory_->statistics();
}

void Backend::serialize_order(SST::Core::Serialization::serializer& ser) {
  SimpleMemBackend::serialize_order(ser);
  SST_SER(model_);
  SST_SER(trace_);
  SST_SER(statistics_);
  SST_SER(link_);
  SST_SER(called_at_);
  SST_SER(refused_);
  SST_SER(next_line_);
  SST_SER(lines_);
  SST_SER(counters_);
  std::string state = memory_ ? memory_->save() : "";
  SST_SER(state);
  if (ser.mode() == SST::Core::Serialization::serializer::UNPACK) {
    memory_ = std::make_unique<nearfar::Memory>(open());
    memory_->restore(state);
  }
}

}  // namespace Nearfar
}  // namespace SST
