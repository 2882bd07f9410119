#include "probe/chase.h"

#include <string>

#include "base/error.h"
#include "probe/instructions.h"

namespace nearfar::probe {
namespace {

/// A pass is cut into at least so many chunks, so that a quick one has fast ones to choose from.
constexpr std::uint64_t chunks_a_pass = 32;
/// But no chunk is so short that reading the clock would be a sizeable part of it.
constexpr std::uint64_t least_chunk_lines = 512;

/// One thread's walk: regions, passes over them, and the chunks these are timed in.
class Chaser {
 public:
  Chaser(std::byte* base, const ChaseRequest& request, const std::uint32_t* next, Member& member)
      : request_(request),
        base_(base),
        member_(&member),
        clock_(&Clock::host()),
        block_lines_(request.block / line_bytes),
        size_(std::max(request.lines / chunks_a_pass, least_chunk_lines) / block_lines_) {
    walk_.blocks = {base, request.block, request.stride};
    walk_.next = next;
    if (request.fence_place == FencePlace::block) walk_.fence = request.fence;
    const Width width = Isa::host().width();
    kernel_ = walk_kernel(request.op, request.successor, width);
    read_back_ = walk_kernel(Op::nt_load, Successor::lines, width);
  }

  std::vector<Chunk> run() {
    prepare();
    member_->await_start();
    const std::uint64_t regions = request_.regions();
    for (std::uint64_t pass = 0; wanted(pass, regions) && member_->carry_on();) {
      const std::uint64_t together = regions_in_chunk(regions - std::min(pass, regions));
      if (together > 1) {
        time_regions(pass, together);
      } else {
        time_region(pass);
      }
      pass += together;
    }
    return std::move(chunks_);
  }

 private:
  [[nodiscard]] bool wanted(std::uint64_t pass, std::uint64_t regions) const {
    if (pass < regions) return true;
    return request_.repeat && chunks_.size() < request_.least_chunks;
  }

  /// Non-temporal loads of a repeated region are to miss the caches every time, as they do on
  /// memory that is not cached: the region is dropped between passes, outside the timing.
  [[nodiscard]] bool drops_between_passes() const {
    return request_.repeat && request_.op == Op::nt_load;
  }

  /// Lines are linked where loads are to follow them, and everything leaves the caches;
  /// a repeated walk is then walked once to be warm.
  void prepare() {
    const std::uint64_t regions = request_.repeat ? 1 : request_.regions();
    if (is_load(request_.op)) {
      const std::span next(walk_.next, request_.blocks());
      for (std::uint64_t region = 0; region < regions; ++region) link(blocks_of(region), next);
    }
    flush(base_, regions * request_.span());
    if (request_.repeat && !drops_between_passes()) walk_region(0);
  }

  [[nodiscard]] Blocks blocks_of(std::uint64_t pass) const {
    Blocks blocks = walk_.blocks;
    blocks.base = base_ + (request_.repeat ? 0 : pass * request_.span());
    return blocks;
  }

  /// How many whole regions make a chunk; one also when a region is cut into several chunks.
  [[nodiscard]] std::uint64_t regions_in_chunk(std::uint64_t left) const {
    if (drops_between_passes()) return 1;
    const std::uint64_t fitting = size_.units() / request_.blocks();
    return std::clamp<std::uint64_t>(fitting, 1, std::max<std::uint64_t>(left, 1));
  }

  void walk_region(std::uint64_t pass) {
    walk_.blocks = blocks_of(pass);
    kernel_(walk_, 0, request_.blocks());
    end_region();
    if (!request_.read_after_write) return;
    fence(Fence::mfence);
    read_back_(walk_, 0, request_.blocks());
    end_region();
  }

  void end_region() const {
    if (request_.fence_place != FencePlace::none) fence(request_.fence);
  }

  void time_regions(std::uint64_t pass, std::uint64_t count) {
    const bool endless =
        request_.repeat && request_.fence_place != FencePlace::region && !request_.read_after_write;
    walk_.blocks = blocks_of(pass);
    const std::uint64_t start = start_cycles();
    if (endless) {
      kernel_(walk_, 0, count * request_.blocks());  // nothing happens where a round ends
    } else {
      for (std::uint64_t i = 0; i < count; ++i) walk_region(pass + i);
    }
    record(stop_cycles() - start, count * request_.blocks() * phases(), 0);
  }

  /// A region of its own, in chunks of equal length.
  void time_region(std::uint64_t pass) {
    if (drops_between_passes()) flush(base_, request_.span());
    walk_.blocks = blocks_of(pass);
    time_steps(kernel_, 0);
    if (!request_.read_after_write) return;
    fence(Fence::mfence);
    time_steps(read_back_, request_.region_lines());
  }

  /// `before`: lines that other steps have walked in this region.
  void time_steps(WalkKernel kernel, std::uint64_t before) {
    const std::uint64_t blocks = request_.blocks();
    std::uint64_t index = 0;
    for (std::uint64_t done = 0; done < blocks && member_->carry_on();) {
      const std::uint64_t left = blocks - done;
      const std::uint64_t pieces = (left + size_.units() - 1) / size_.units();
      const std::uint64_t steps = (left + pieces - 1) / pieces;
      const std::uint64_t start = start_cycles();
      index = kernel(walk_, index, steps);
      if (done + steps == blocks) end_region();
      record(stop_cycles() - start, steps, before + done * block_lines_);
      done += steps;
    }
  }

  void record(std::uint64_t cycles, std::uint64_t steps, std::uint64_t at) {
    const double ns = clock_->ns(cycles);
    size_.learn(ns, steps);
    chunks_.push_back({ns, steps * block_lines_, at});
  }

  [[nodiscard]] std::uint64_t phases() const { return request_.read_after_write ? 2 : 1; }

  const ChaseRequest& request_;
  std::byte* base_;
  Member* member_;
  const Clock* clock_;
  std::uint64_t block_lines_;
  ChunkSize size_;
  Walk walk_;
  WalkKernel kernel_ = nullptr;
  WalkKernel read_back_ = nullptr;
  std::vector<Chunk> chunks_;
};

}  // namespace

std::uint64_t ChaseRequest::regions() const {
  return std::max<std::uint64_t>((lines + region_lines() - 1) / region_lines(), 1);
}

Bytes ChaseRequest::footprint() const { return (repeat ? 1 : regions()) * span() * cpus.size(); }

Timings chase(const Memory& memory, const ChaseRequest& request, const Poll& poll) {
  if (request.region == 0 || request.block == 0 || request.region % request.block != 0 ||
      request.block % line_bytes != 0 || request.stride % line_bytes != 0 ||
      request.stride < request.block) {
    throw InputError("chase: region, block and stride do not fit one another");
  }
  memory.check_holds(request.footprint());
  const std::vector<std::uint32_t> next = random_cycle(request.blocks(), request.seed);
  const Bytes share = request.footprint() / request.cpus.size();
  Timings timings;
  timings.threads.resize(request.cpus.size());
  timings.disturbance = run_team(
      request.cpus,
      [&](Member& member) {
        std::byte* const base = memory.base() + member.index() * share;
        timings.threads[member.index()] = Chaser(base, request, next.data(), member).run();
      },
      poll);
  return timings;
}

Timings follow(const Memory& memory, const FollowRequest& request, const Poll& poll) {
  if (request.offsets.empty()) throw InputError("offsets: none are given");
  // What a changing walk counts up lies beside the word that it follows.
  const Bytes unit = request.changes ? line_bytes : sizeof(std::uint64_t);
  for (const std::uint64_t offset : request.offsets) {
    if (offset % unit != 0) {
      throw InputError("offsets: " + std::to_string(offset) + " is not a multiple of " +
                       std::to_string(unit));
    }
    memory.check_holds(offset + unit);
  }
  Timings timings;
  timings.threads.resize(1);
  timings.disturbance = run_team(
      {request.cpu},
      [&](const Member& member) {
        link(memory.base(), request.offsets);
        const Clock& clock = Clock::host();
        const std::uint64_t loads = request.offsets.size();
        std::byte* at = memory.base() + request.offsets.front();
        const auto walk = [&](std::uint64_t steps) {
          at = request.changes ? follow_changing(at, steps) : follow(at, steps);
        };
        for (std::uint64_t pass = 0; pass < request.warm_passes; ++pass) walk(loads);
        ChunkSize size(std::uint64_t{1} << 40, request.chunk_ns);
        // The first chunks only find out how long a load takes.
        while (timings.threads[0].size() < request.chunks && member.carry_on()) {
          const std::uint64_t steps = size.units();
          const std::uint64_t start = start_cycles();
          walk(steps);
          const double ns = clock.ns(stop_cycles() - start);
          if (size.settled()) timings.threads[0].push_back({ns, steps, 0});
          size.learn(ns, steps);
        }
      },
      poll);
  return timings;
}

}  // namespace nearfar::probe
