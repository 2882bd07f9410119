#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "machine_fixture.h"

/// What holds for every memory and every stream of requests.
namespace nearfar::sim::testing {

/// Every request is answered once: its own id, its own address, in time.
inline void expect_conserved(const std::vector<Arrival>& arrivals, const Outcome& outcome) {
  std::unordered_map<std::uint64_t, std::size_t> index_of;
  for (std::size_t i = 0; i < arrivals.size(); ++i) index_of[arrivals[i].request.id] = i;
  std::vector<Tick> done(arrivals.size(), Tick::never());
  std::vector<Tick> media(arrivals.size(), Tick::never());
  Tick last{};
  for (const Completion& completion : outcome.completions) {
    ASSERT_GE(completion.time, last) << "out of order: " << text(completion);
    last = completion.time;
    if (completion.kind == Completion::Kind::wake) continue;
    const auto found = index_of.find(completion.id);
    ASSERT_NE(found, index_of.end()) << "of no request: " << text(completion);
    const std::size_t i = found->second;
    const Request& request = arrivals[i].request;
    ASSERT_EQ(completion.address, request.address) << text(completion);
    ASSERT_GE(completion.time, outcome.accepted[i]) << text(completion);
    if (completion.kind == Completion::Kind::done) {
      ASSERT_TRUE(done[i].is_never()) << "twice: " << text(completion);
      done[i] = completion.time;
      if (request.op == Op::write) {
        ASSERT_EQ(completion.time, outcome.accepted[i]) << "a write is done when accepted";
      }
    } else {
      ASSERT_TRUE(request.tell_media) << "not asked for: " << text(completion);
      ASSERT_FALSE(done[i].is_never()) << "on the media before accepted: " << text(completion);
      ASSERT_TRUE(media[i].is_never()) << "twice: " << text(completion);
      media[i] = completion.time;
    }
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    ASSERT_FALSE(done[i].is_never()) << "never done: " << i;
    ASSERT_EQ(media[i].is_never(), !arrivals[i].request.tell_media) << "request " << i;
  }
}

/// Each read returns an allowed value. Accepted at a and answered at d, it may return the
/// write to its line that was the last accepted before it, or any that was accepted after it
/// and no later than d; never an older one, and never one that was not sent.
inline void expect_ordered(const std::vector<Arrival>& arrivals, const Outcome& outcome) {
  std::unordered_map<std::uint64_t, std::size_t> index_of;
  for (std::size_t i = 0; i < arrivals.size(); ++i) index_of[arrivals[i].request.id] = i;
  std::vector<Tick> done(arrivals.size());
  std::vector<DataHandle> got(arrivals.size());
  for (const Completion& completion : outcome.completions) {
    if (completion.kind != Completion::Kind::done) continue;
    done[index_of.at(completion.id)] = completion.time;
    got[index_of.at(completion.id)] = completion.data;
  }
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> writes;  // by line, in order
  std::vector<std::size_t> written_before(arrivals.size());
  for (const std::size_t i : outcome.order) {
    auto& of_line = writes[arrivals[i].request.address.value()];
    written_before[i] = of_line.size();
    if (arrivals[i].request.op == Op::write) of_line.push_back(i);
  }
  for (const std::size_t i : outcome.order) {
    if (arrivals[i].request.op != Op::read) continue;
    const auto& of_line = writes[arrivals[i].request.address.value()];
    std::size_t at = written_before[i];
    bool allowed = got[i] == (at == 0 ? 0 : arrivals[of_line[at - 1]].request.data);
    for (; !allowed && at < of_line.size() && outcome.accepted[of_line[at]] <= done[i]; ++at) {
      allowed = got[i] == arrivals[of_line[at]].request.data;
    }
    ASSERT_TRUE(allowed) << "read " << i << " of line " << arrivals[i].request.address.value()
                         << " returned " << got[i] << ", last written before it "
                         << (written_before[i] == 0
                                 ? 0
                                 : arrivals[of_line[written_before[i] - 1]].request.data);
  }
}

/// After everything, each line holds what was last written to it, wherever it has moved.
inline void expect_final_content(Device& device, const std::vector<Arrival>& arrivals,
                                 const Outcome& outcome) {
  std::map<std::uint64_t, DataHandle> last;
  for (const std::size_t i : outcome.order) {
    const Request& request = arrivals[i].request;
    if (request.op == Op::write) last[request.address.value()] = request.data;
  }
  std::vector<Arrival> reads;
  for (const auto& [address, data] : last) {
    Request request;
    request.id = reads.size();
    request.address = Address(address);
    reads.push_back({Tick(0), request});
  }
  Driving driving;
  driving.start = outcome.settled;
  const Outcome read_back = drive(device, reads, driving);
  std::size_t answered = 0;
  for (const Completion& completion : read_back.completions) {
    if (completion.kind != Completion::Kind::done) continue;
    ++answered;
    ASSERT_EQ(completion.data, last.at(completion.address.value()))
        << "address " << completion.address.value();
  }
  ASSERT_EQ(answered, reads.size());
}

}  // namespace nearfar::sim::testing
