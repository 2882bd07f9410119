// Random calls of the module, as a system-call fuzzer makes them: storm COUNT [SEED]. Says what
// memory the kernel has lost by the second half of them.
#include <sys/mman.h>
#include <sys/time.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>

#include "guest.h"

namespace {

using namespace guest;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // A number as wrong arguments are: near a power of two, small, or anything.
  std::uint64_t odd() {
    switch (below(4)) {
      case 0:
        return below(5);
      case 1:
        return (std::uint64_t{1} << below(64)) - below(3) + 1;
      case 2:
        return std::uint64_t{64} << below(12);
      default:
        return next();
    }
  }

 private:
  std::uint64_t state_;
};

class Storm {
 public:
  explicit Storm(std::uint64_t seed) : dice_(seed), chunks_(4096) {
    for (int& file : files_) file = open(device, O_RDWR);
    dax_ = open(dax_device, O_RDWR);
  }

  void run(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) call();
  }

  void close_all() {
    for (const int file : files_) close(file);
    close(dax_);
  }

  // How often each error came.
  [[nodiscard]] const std::map<int, std::uint64_t>& answers() const { return answers_; }

 private:
  void call() {
    int& file = files_[dice_.below(files_.size())];
    if (dice_.below(512) == 0) {
      close(file);
      file = open(device, O_RDWR);
    }
    switch (dice_.below(16)) {
      case 0:
        return send(file, NEARFAR_IOC_INFO, nearfar_info{});
      case 1:
      case 2:
        return send(file, NEARFAR_IOC_MEMORY, memory());
      case 3:
      case 4:
        return send(file, NEARFAR_IOC_STREAM, stream(chunks_, size(), op(), lines()));
      case 5:
        return send(file, NEARFAR_IOC_OVERWRITE,
                    nearfar_overwrite{.run = run_into(chunks_),
                                      .region = size(),
                                      .writes = lines(),
                                      .op = op(),
                                      .fence = fence()});
      case 6:
      case 7:
        return send(file, NEARFAR_IOC_FOLLOW, follow());
      case 8:
        return send(file, NEARFAR_IOC_DROP,
                    nearfar_drop{.run = run_into(chunks_), .lines = lines(), .least_chunks = 4});
      case 9:
        return dice_.below(2) == 0 ? anything(file)
                                   : send(file, NEARFAR_IOC_CONTENTION, contention());
      default:
        return send(file, NEARFAR_IOC_CHASE, chase());
    }
  }

  [[nodiscard]] std::uint32_t op() { return static_cast<std::uint32_t>(dice_.below(NEARFAR_OPS)); }
  [[nodiscard]] std::uint32_t fence() {
    return static_cast<std::uint32_t>(dice_.below(NEARFAR_FENCES));
  }
  [[nodiscard]] std::uint64_t size() { return std::uint64_t{64} << dice_.below(10); }
  [[nodiscard]] std::uint64_t lines() { return 1 + dice_.below(512); }

  nearfar_memory memory() {
    switch (dice_.below(8)) {
      case 0:
        return range(reserved_at + 4096 * dice_.below(9000), 4096 * dice_.below(64));
      case 1:
        return dax(dax_, 2 * mib * dice_.below(20));
      case 2:
        return dax(static_cast<int>(dice_.below(16)), 2 * mib);
      case 3:
        return {.protocol = NEARFAR_PROTOCOL, .kind = NEARFAR_RELEASE, .node = -1};
      case 4:
        return allocation(dice_.below(64) == 0 ? 16 * mib : mib);
      default:
        return allocation(4096 << dice_.below(8));
    }
  }

  nearfar_chase chase() {
    nearfar_chase asked = guest::chase(chunks_, size(), op(), lines());
    asked.fence = fence();
    asked.fence_place = static_cast<std::uint32_t>(dice_.below(3));
    asked.flags = static_cast<std::uint32_t>(dice_.below(8));
    asked.seed = dice_.next();
    return asked;
  }

  nearfar_follow follow() {
    offsets_.resize(1 + dice_.below(64));
    for (std::uint64_t& offset : offsets_) offset = 64 * dice_.below(80);
    return {.run = run_into(chunks_),
            .offsets = reinterpret_cast<std::uint64_t>(offsets_.data()),
            .count = offsets_.size(),
            .least_chunks = dice_.below(8),
            .warm_passes = 1,
            .changes = static_cast<std::uint32_t>(dice_.below(2))};
  }

  // Members beside the reader wait in vain for others, until the timer's signal.
  nearfar_contention contention() {
    nearfar_contention asked{.run = run_into(chunks_), .area = 8 * size(), .op = op()};
    asked.seed = dice_.next();
    asked.role = static_cast<std::uint32_t>(dice_.below(4) == 0 ? dice_.below(4) : 0);
    if (asked.role == NEARFAR_READS) {
      asked.reads = lines();
    } else {
      asked.run.members = 2;
      asked.accesses = asked.role == NEARFAR_GENERATES;
    }
    return asked;
  }

  // A call that is right but for a few of its fields.
  template <typename Asked>
  void send(int file, unsigned long command, Asked asked) {
    std::array<std::uint32_t, sizeof(Asked) / 4> words;
    std::memcpy(words.data(), &asked, sizeof asked);
    for (std::uint64_t wrong = dice_.below(3); wrong != 0; --wrong) {
      const std::uint64_t value = dice_.odd();
      const std::uint64_t at = dice_.below(words.size());
      words[at] = static_cast<std::uint32_t>(value);
      if (at + 1 < words.size() && dice_.below(2) == 0) {
        words[at + 1] = static_cast<std::uint32_t>(value >> 32);
      }
    }
    std::memcpy(&asked, words.data(), sizeof asked);
    if constexpr (requires { asked.run; }) keep_own_memory(asked.run);
    deliver(file, command, &asked);
  }

  // Timings may go where they fault, but not over this program.
  void keep_own_memory(nearfar_run& run) {
    const std::uint64_t right = reinterpret_cast<std::uint64_t>(chunks_.data());
    if (run.chunks != right || run.room > chunks_.size()) run.chunks = 8;
  }

  void anything(int file) {
    std::array<std::uint64_t, 64> words{};
    for (std::uint64_t& word : words) word = dice_.odd();
    static constexpr std::array<unsigned long, 8> known{
        NEARFAR_IOC_INFO,      NEARFAR_IOC_MEMORY, NEARFAR_IOC_CHASE, NEARFAR_IOC_STREAM,
        NEARFAR_IOC_OVERWRITE, NEARFAR_IOC_FOLLOW, NEARFAR_IOC_DROP,  NEARFAR_IOC_CONTENTION};
    const unsigned long command =
        dice_.below(2) == 0 ? dice_.next() : known[dice_.below(known.size())];
    void* const argument = dice_.below(2) == 0 ? static_cast<void*>(words.data())
                                               : reinterpret_cast<void*>(dice_.odd());
    deliver(file, command, argument);
  }

  void deliver(int file, unsigned long command, void* argument) {
    const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 5'000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    ++answers_[ioctl(file, command, argument) == 0 ? 0 : errno];
  }

  Dice dice_;
  Chunks chunks_;
  std::array<int, 4> files_{};
  int dax_ = -1;
  std::vector<std::uint64_t> offsets_;
  std::map<int, std::uint64_t> answers_;
};

// KiB that one of the lines of /proc/meminfo tells.
long told(const char* name) {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  std::array<char, 256> line{};
  long found = -1;
  while (std::fgets(line.data(), line.size(), file) != nullptr) {
    if (std::strncmp(line.data(), name, std::strlen(name)) == 0) {
      found = std::atol(line.data() + std::strlen(name) + 1);
    }
  }
  std::fclose(file);
  return found;
}

// Free pages that processors keep for themselves are not told as free. Clearing a range makes them
// give theirs back, so that both halves end alike.
void settle() {
  const int file = open(device, O_RDWR);
  nearfar_memory asked = allocation(16 * mib);
  ask(file, NEARFAR_IOC_MEMORY, asked);
  close(file);
}

}  // namespace

int main(int count, char** words) {
  const std::uint64_t calls = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1000;
  const std::uint64_t seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
  struct sigaction action{};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  std::map<int, std::uint64_t> answers;
  std::array<long, 2> slab{};
  std::array<long, 2> free{};
  for (int half = 0; half < 2; ++half) {
    Storm storm(seed + static_cast<std::uint64_t>(half));
    storm.run(calls / 2);
    storm.close_all();
    for (const auto& [error, times] : storm.answers()) answers[error] += times;
    settle();
    slab[half] = told("SUnreclaim:");
    free[half] = told("MemFree:");
  }
  for (const auto& [error, times] : answers) {
    std::printf("answered %s %lu\n", error == 0 ? "0" : strerrorname_np(error), times);
  }
  std::printf("lost slab_kib=%ld free_kib=%ld\n", slab[1] - slab[0], free[0] - free[1]);
  return 0;
}
