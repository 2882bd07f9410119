// Tests the module from inside a virtual machine, as root: prints "ok NAME" or "FAILED NAME: ..."
// for each behaviour.
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <functional>
#include <limits>
#include <thread>

#include "access.h"
#include "checks.h"

namespace {

using namespace guest;

void check_open() {
  const Client client;
  nearfar_info info{.protocol = 77};
  expect("the device tells of itself", ask(client.fd(), NEARFAR_IOC_INFO, info), 0);
  report("it tells its protocol", info.protocol == NEARFAR_PROTOCOL ? "" : "another");
  report("it tells the rate of its clock", info.tsc_khz > 0 ? "" : "none");
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(1000) != 0) _exit(99);
    _exit(open(device, O_RDWR) < 0 ? errno : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect("only root opens the device", WEXITSTATUS(status), EACCES);
}

template <typename Asked>
void refuses_versions(const Client& client, const char* name, unsigned long command, Asked asked,
                      nearfar_run Asked::*) {
  asked.run.protocol = NEARFAR_PROTOCOL + 1;
  expect(std::string(name) + " of another version is refused", ask(client.fd(), command, asked),
         EPROTO);
}

void check_versions() {
  const Client client(4 * mib);
  Chunks chunks(64);
  nearfar_memory memory = allocation(mib);
  memory.protocol = NEARFAR_PROTOCOL + 1;
  expect("memory of another version is refused", client.take(memory), EPROTO);
  refuses_versions(client, "a chase", NEARFAR_IOC_CHASE, chase(chunks, 4096, NEARFAR_LOAD, 64),
                   &nearfar_chase::run);
  refuses_versions(client, "a stream", NEARFAR_IOC_STREAM, stream(chunks, 4096, NEARFAR_LOAD, 64),
                   &nearfar_stream::run);
  expect("an unknown call is refused", ask(client.fd(), _IOWR('N', 99, nearfar_info), memory),
         ENOTTY);
}

struct Wrong {
  const char* name;
  int error;
  std::function<void(nearfar_chase&)> spoil;
};

void check_arguments() {
  const Client client(4 * mib);
  Chunks chunks(4096);
  const std::vector<Wrong> wrongs{
      {"a block of 0 B", EINVAL, [](nearfar_chase& c) { c.block = 0; }},
      {"a block of 65 B", EINVAL, [](nearfar_chase& c) { c.block = 65; }},
      {"a region of half blocks", EINVAL, [](nearfar_chase& c) { c.region = 4096 + 32; }},
      {"a stride below the block", EINVAL, [](nearfar_chase& c) { c.block = 128; }},
      {"an unknown operation", EINVAL, [](nearfar_chase& c) { c.op = NEARFAR_OPS; }},
      {"an unknown fence", EINVAL, [](nearfar_chase& c) { c.fence = NEARFAR_FENCES; }},
      {"an unknown flag", EINVAL, [](nearfar_chase& c) { c.flags = 128; }},
      {"no member", EINVAL, [](nearfar_chase& c) { c.run.members = 0; }},
      {"chunks longer than the limit", EINVAL, [](nearfar_chase& c) { c.run.target_ns = 100'001; }},
      {"a block beyond the limit", E2BIG,
       [](nearfar_chase& c) { c.region = c.block = c.stride = mib; }},
      {"too many lines", E2BIG, [](nearfar_chase& c) { c.lines = ~0UL; }},
      {"too many chunks", E2BIG, [](nearfar_chase& c) { c.run.room = ~0UL; }},
      {"a region beyond the memory", ERANGE, [](nearfar_chase& c) { c.region = 8 * mib; }},
      {"regions beyond the memory", ERANGE, [](nearfar_chase& c) { c.lines = 1 << 20; }},
      {"a base beyond the memory", ERANGE, [](nearfar_chase& c) { c.run.base = 1UL << 60; }},
      {"a stride beyond the memory", ERANGE, [](nearfar_chase& c) { c.stride = 1UL << 36; }},
      {"too little room for the timings", ENOSPC, [](nearfar_chase& c) { c.run.room = 1; }},
      {"timings to nowhere", EFAULT, [](nearfar_chase& c) { c.run.chunks = 8; }},
      {"timings to the kernel", EFAULT,
       [](nearfar_chase& c) { c.run.chunks = 0xffff888000000000; }},
  };
  for (const Wrong& wrong : wrongs) {
    nearfar_chase asked = chase(chunks, 64 << 10, NEARFAR_LOAD, 16384);
    wrong.spoil(asked);
    expect(std::string(wrong.name) + " is refused", ask(client.fd(), NEARFAR_IOC_CHASE, asked),
           wrong.error);
  }
  const Client none;
  nearfar_chase asked = chase(chunks, 4096, NEARFAR_LOAD, 64);
  expect("a measurement without memory is refused", ask(none.fd(), NEARFAR_IOC_CHASE, asked),
         ENODATA);
}

void check_memory() {
  const Client client;
  expect("the kernel's memory is refused", client.take(range(16 * mib, mib)), EPERM);
  expect("a range beyond the reservation is refused",
         client.take(range(reserved_at, reserved_bytes + 4096)), EPERM);
  expect("a crooked range is refused", client.take(range(reserved_at + 1, 4096)), EINVAL);
  expect("memory of no kind is refused", client.take({.protocol = NEARFAR_PROTOCOL, .kind = 9}),
         EINVAL);
  expect("2 GiB are refused", client.take(allocation(2048 * mib)), E2BIG);
  expect("16 MiB of contiguous memory are found", client.take(allocation(16 * mib)), 0);
  nearfar_memory all = range(reserved_at, 0);
  expect("a reserved range is taken", ask(client.fd(), NEARFAR_IOC_MEMORY, all), 0);
  report("all of it", all.bytes == reserved_bytes ? "" : std::to_string(all.bytes));
  const Client other;
  expect("a range in use is refused", other.take(range(reserved_at + mib, mib)), EBUSY);
  expect("memory is given back", client.take({.protocol = NEARFAR_PROTOCOL, .node = -1}), 0);
  expect("and can be taken by another", other.take(range(reserved_at + mib, mib)), 0);
}

void check_dax() {
  const Client client;
  const int zero = open("/dev/zero", O_RDWR);
  expect("a device that is not DAX is refused", client.take(dax(zero, 2 * mib)), ENODEV);
  expect("no descriptor is refused", client.take(dax(1234, 2 * mib)), EBADF);
  const int fd = open(dax_device, O_RDWR);
  if (fd < 0) {
    report("a DAX device is there", std::strerror(errno));
    return;
  }
  const int readable = open(dax_device, O_RDONLY);
  expect("a DAX device open for reading is refused", client.take(dax(readable, 4 * mib)), EACCES);
  expect("more than the DAX device has is refused", client.take(dax(fd, 512 * mib)), ENXIO);
  expect("a DAX device is taken", client.take(dax(fd, 16 * mib)), 0);
  Chunks chunks(4096);
  nearfar_chase asked = chase(chunks, 16 * mib, NEARFAR_LOAD, 1);
  asked.block = asked.stride = 4096;
  expect("a region of 16 MiB is walked on it", ask(client.fd(), NEARFAR_IOC_CHASE, asked), 0);
  void* const mapped = mmap(nullptr, 2 * mib, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  expect("a measurement of a mapped DAX device is refused",
         ask(client.fd(), NEARFAR_IOC_CHASE, asked = chase(chunks, 4096, NEARFAR_LOAD, 64)), EBUSY);
  const Client other;
  expect("and so is taking it", other.take(dax(fd, 16 * mib)), EBUSY);
  munmap(mapped, 2 * mib);
  expect("unmapped, it is measured again", ask(client.fd(), NEARFAR_IOC_CHASE, asked), 0);
  close(fd);
  close(readable);
  close(zero);
}

void check_walks() {
  const Client client(4 * mib);
  Chunks chunks(1 << 16);
  for (std::uint32_t op = 0; op < NEARFAR_OPS; ++op) {
    const std::string name = " with operation " + std::to_string(op);
    nearfar_chase asked = chase(chunks, 64 << 10, op, 16384);
    const int error = ask(client.fd(), NEARFAR_IOC_CHASE, asked);
    if (error == EOPNOTSUPP) continue;
    expect("a chase" + name, error, 0);
    report("walks every line" + name, lines_of(chunks, asked.run) == 16384 ? "" : "not all");
    nearfar_stream streamed = stream(chunks, mib, op, 16384);
    expect("a stream" + name, ask(client.fd(), NEARFAR_IOC_STREAM, streamed), 0);
    report("accesses every line" + name, lines_of(chunks, streamed.run) == 16384 ? "" : "not all");
    if (op < NEARFAR_STORE) continue;
    nearfar_overwrite over{
        .run = run_into(chunks), .region = 4096, .writes = 1000, .op = op, .fence = NEARFAR_MFENCE};
    expect("an overwrite" + name, ask(client.fd(), NEARFAR_IOC_OVERWRITE, over), 0);
    report("times every write" + name, over.run.made == 1000 ? "" : "not all");
  }
  std::vector<std::uint64_t> offsets{0, 4096, 64, 8192};
  nearfar_follow along{.run = run_into(chunks),
                       .offsets = reinterpret_cast<std::uint64_t>(offsets.data()),
                       .count = offsets.size(),
                       .least_chunks = 24,
                       .warm_passes = 2};
  expect("a walk along offsets", ask(client.fd(), NEARFAR_IOC_FOLLOW, along), 0);
  report("makes as many chunks as asked", along.run.made == 24 ? "" : "others");
  offsets[2] = 4 * mib;
  expect("an offset beyond the memory is refused",
         ask(client.fd(), NEARFAR_IOC_FOLLOW,
             along = {.run = run_into(chunks),
                      .offsets = along.offsets,
                      .count = 4,
                      .least_chunks = 1}),
         ERANGE);
  nearfar_drop dropped{.run = run_into(chunks), .lines = 64, .least_chunks = 24, .changes = 1};
  expect("a drop of lines", ask(client.fd(), NEARFAR_IOC_DROP, dropped), 0);
}

void check_interruption() {
  const Client client(4 * mib);
  Chunks chunks(1 << 20);
  struct sigaction action{};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  nearfar_stream endless = stream(chunks, 4 * mib, NEARFAR_LOAD, NEARFAR_MOST_LINES);
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  expect("a signal ends a measurement", ask(client.fd(), NEARFAR_IOC_STREAM, endless), EINTR);
}

void check_teams() {
  const Client client(4 * mib);
  std::array<int, 2> errors{-1, -1};
  std::vector<std::thread> members;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    members.emplace_back([&client, &errors, i] {
      Chunks chunks(4096);
      nearfar_stream asked = stream(chunks, mib, NEARFAR_LOAD, 16384);
      asked.run.members = 2;
      asked.run.base = i * mib;
      errors[i] = ask(client.fd(), NEARFAR_IOC_STREAM, asked);
    });
  }
  for (std::thread& member : members) member.join();
  expect("the first of two members measures", errors[0], 0);
  expect("and so does the second", errors[1], 0);
  Chunks chunks(4096);
  nearfar_stream alone = stream(chunks, mib, NEARFAR_LOAD, 64);
  alone.run.members = 2;
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 100'000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  expect("a signal ends waiting for another member", ask(client.fd(), NEARFAR_IOC_STREAM, alone),
         EINTR);
}

double median_ns(const Chunks& chunks, std::uint64_t made, double ns_per_cycle) {
  std::vector<double> each;
  for (std::uint64_t i = 0; i < made; ++i) {
    each.push_back(static_cast<double>(chunks[i].cycles) * ns_per_cycle /
                   static_cast<double>(chunks[i].lines));
  }
  std::nth_element(each.begin(), each.begin() + static_cast<long>(each.size() / 2), each.end());
  return each[each.size() / 2];
}

// Memory on huge pages, as the kernel's own mapping is.
class HugeMemory {
 public:
  explicit HugeMemory(std::uint64_t bytes)
      : bytes_(bytes + huge),
        mapped_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    madvise(mapped_, bytes_, MADV_HUGEPAGE);
  }
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory() { munmap(mapped_, bytes_); }

  [[nodiscard]] char* base() const {
    const auto at = reinterpret_cast<std::uint64_t>(mapped_);
    return static_cast<char*>(mapped_) + (huge - at % huge) % huge;
  }

 private:
  static constexpr std::uint64_t huge = 2 * mib;
  std::uint64_t bytes_;
  void* mapped_;
};

// The same chain, walked by the same code in this process.
double in_process_ns(std::uint64_t region, double ns_per_cycle) {
  const HugeMemory memory(region);
  char* const base = memory.base();
  std::vector<unsigned int> next(region / 64);
  for (unsigned int i = 0; i < next.size(); ++i) next[i] = i;
  unsigned long random = 1;
  nearfar_random_cycle(next.data(), next.size(), 1, &random);
  for (unsigned int i = 0; i < next.size(); ++i) {
    char* const to = base + next[i] * 64UL;
    std::memcpy(base + i * 64UL, &to, sizeof to);
  }
  const nearfar_way way{.base = base, .block = 64, .stride = 64, .next = next.data()};
  Chunks chunks(64);
  unsigned long index = 0;
  nearfar_walk(&way, &index, next.size(), 0);
  for (nearfar_chunk& chunk : chunks) {
    chunk.lines = 2048;
    chunk.cycles = nearfar_walk(&way, &index, chunk.lines, 0);
  }
  return median_ns(chunks, chunks.size(), ns_per_cycle);
}

// Both are of the same instructions on what QEMU makes of memory. They take turns, and the quickest
// of each counts: the machine below may be busy for as long as one of them takes.
void compare_with_process() {
  const Client client(4 * mib);
  nearfar_info info{};
  ask(client.fd(), NEARFAR_IOC_INFO, info);
  const double ns_per_cycle = 1e6 / static_cast<double>(info.tsc_khz);
  for (const std::uint64_t region : {16UL << 10, 256UL << 10, 4UL << 20}) {
    Chunks chunks(1 << 16);
    int failed = 0;
    double module = std::numeric_limits<double>::max();
    double process = std::numeric_limits<double>::max();
    for (int turn = 0; turn < 3; ++turn) {
      nearfar_chase asked = chase(chunks, region, NEARFAR_LOAD, 1 << 17);
      asked.flags = NEARFAR_REPEAT;
      asked.fence_place = 0;
      failed |= ask(client.fd(), NEARFAR_IOC_CHASE, asked);
      module = std::min(module, median_ns(chunks, asked.run.made, ns_per_cycle));
      process = std::min(process, in_process_ns(region, ns_per_cycle));
    }
    expect("a repeated chase", failed, 0);
    std::printf("latency region_kib=%lu module_ns=%.3f process_ns=%.3f\n", region >> 10, module,
                process);
  }
  ask(client.fd(), NEARFAR_IOC_INFO, info);
  std::printf("longest_ns %.0f\n", static_cast<double>(info.longest_cycles) * ns_per_cycle);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  check_open();
  check_versions();
  check_arguments();
  check_memory();
  check_dax();
  check_walks();
  check_interruption();
  check_teams();
  check_contention();
  compare_with_process();
  return failures == 0 ? 0 : 1;
}
