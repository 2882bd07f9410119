#include "tier/swap/os/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <utility>

#include "tier/os/page_scan.h"

namespace nearfar::tier::swap::os {
namespace {

using tier::os::call;
using tier::os::page_is_file;
using tier::os::page_is_present;
using tier::os::page_is_swapped;
using tier::os::page_is_zero;
using tier::os::page_scan_request;
using tier::os::PageScan;
using tier::os::ScannedRegion;
using tier::os::word;

// What Debian 12's headers do not have yet.
constexpr int advice_page_out = 21;  // MADV_PAGEOUT
constexpr int same_memory = 1;       // KCMP_VM

std::string path_of(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

Descriptor open_read(const std::string& path) {
  return Descriptor(call(__NR_openat, AT_FDCWD, word(path.c_str()), O_RDONLY | O_CLOEXEC));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) call(__NR_close, number_);
}

Descriptor open_page_map(pid_t process) {
  Descriptor pages = open_read(path_of(process, "pagemap"));
  std::uint64_t first = 0;
  // Of a process without memory, reading tells so; PAGEMAP_SCAN crashes Linux 6.7 to 6.15.
  const bool has_memory =
      pages.open() && call(__NR_pread64, pages.number(), word(&first), sizeof first, 0) > 0;
  return has_memory ? std::move(pages) : Descriptor();
}

Process::Process(pid_t number) : number_(number), handle_(call(__NR_pidfd_open, number, 0)) {}

bool Process::look(Place begin, Place end, const std::function<void(const Run&)>& found) const {
  const Descriptor pages = open_page_map(number_);
  if (!pages.open()) return false;
  std::array<ScannedRegion, 512> regions;
  PageScan scan{};
  scan.size = sizeof scan;
  scan.regions = tier::os::place(regions.data());
  scan.most_regions = regions.size();
  scan.inverted = page_is_file | page_is_zero;
  scan.all_of = page_is_file | page_is_zero;
  scan.any_of = page_is_present | page_is_swapped;
  scan.told = page_is_present | page_is_swapped;
  for (scan.begin = begin, scan.end = end; scan.begin < end; scan.begin = scan.walked_to) {
    const long got = call(__NR_ioctl, pages.number(), page_scan_request, word(&scan));
    if (got < 0) return false;
    for (long i = 0; i < got; ++i) {
      const ScannedRegion& region = regions[static_cast<std::size_t>(i)];
      found({region.begin, region.end, (region.categories & page_is_present) != 0});
    }
    if (scan.walked_to <= scan.begin) break;
  }
  return true;
}

void Process::page_out(std::span<const Span> spans) const {
  constexpr std::size_t most = 512;
  std::vector<iovec> vector;
  while (!spans.empty()) {
    vector.clear();
    std::size_t asked = 0;
    for (const Span& span : spans.first(std::min(spans.size(), most))) {
      vector.push_back({tier::os::pointer(span.begin), span.length});
      asked += span.length;
    }
    const long done = call(__NR_process_madvise, handle_.number(), word(vector.data()),
                           word(vector.size()), advice_page_out, 0);
    if (done == -ESRCH) return;
    if (done >= 0 && static_cast<std::size_t>(done) == asked) {
      spans = spans.subspan(vector.size());
      continue;
    }
    // It stopped at a span that is not (wholly) there any more, or may not leave: go on behind it.
    std::size_t before = 0;
    std::size_t at = 0;
    for (; at + 1 < vector.size(); ++at) {
      before += vector[at].iov_len;
      if (done < 0 || before > static_cast<std::size_t>(done)) break;
    }
    spans = spans.subspan(at + 1);
  }
}

long can_look() noexcept {
  const long pages = call(__NR_openat, AT_FDCWD, word("/proc/self/pagemap"), O_RDONLY | O_CLOEXEC);
  if (pages < 0) return pages;
  PageScan scan{};
  scan.size = sizeof scan;
  scan.begin = scan.end = page_bytes;
  scan.any_of = scan.told = page_is_present;
  const long result = call(__NR_ioctl, pages, page_scan_request, word(&scan));
  call(__NR_close, pages);
  return std::min(result, 0L);
}

bool share_memory(pid_t one, pid_t other) noexcept {
  return call(__NR_kcmp, one, other, same_memory, 0, 0) == 0;
}

std::vector<pid_t> listed(const std::string& file) {
  std::istringstream stream(contents(file));
  std::vector<pid_t> processes;
  for (pid_t one = 0; stream >> one;) processes.push_back(one);
  return processes;
}

std::vector<pid_t> descendants(pid_t of) {
  std::vector<pid_t> all{of};
  for (std::size_t at = 0; at < all.size(); ++at) {
    std::error_code gone;  // a process or thread that ends meanwhile is no error
    std::filesystem::directory_iterator thread(path_of(all[at], "task"), gone);
    while (!gone && thread != std::filesystem::directory_iterator()) {
      for (const pid_t child : listed(thread->path().string() + "/children")) {
        if (std::ranges::find(all, child) == all.end()) all.push_back(child);
      }
      thread.increment(gone);
    }
  }
  std::erase(all, static_cast<pid_t>(call(__NR_getpid)));
  return all;
}

std::string contents(const std::string& file) {
  const Descriptor opened = open_read(file);
  std::string text;
  if (!opened.open()) return text;
  std::array<char, 4096> part;
  for (;;) {
    const long got = call(__NR_read, opened.number(), word(part.data()), word(part.size()));
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

void set(const std::string& file, const std::string& value) {
  const Descriptor opened(call(__NR_openat, AT_FDCWD, word(file.c_str()), O_WRONLY | O_CLOEXEC));
  if (opened.open()) call(__NR_write, opened.number(), word(value.data()), word(value.size()));
}

std::uint64_t resident_anonymous(pid_t process) {
  std::istringstream stream(contents(path_of(process, "statm")));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t of_files = 0;
  stream >> size >> resident >> of_files;
  return resident > of_files ? resident - of_files : 0;
}

void reap_orphans(pid_t except) noexcept {
  for (;;) {
    siginfo_t ended{};
    if (call(__NR_waitid, P_ALL, 0, word(&ended), WEXITED | WNOHANG | WNOWAIT) < 0) return;
    if (ended.si_pid == 0 || ended.si_pid == except) return;
    call(__NR_wait4, ended.si_pid, 0, WNOHANG, 0);
  }
}

void hurry() noexcept {
  constexpr int nice = -10;
  call(__NR_setpriority, PRIO_PROCESS, 0, nice);
}

std::uint64_t cpu_time_ns() noexcept {
  timespec time{};
  call(__NR_clock_gettime, CLOCK_THREAD_CPUTIME_ID, word(&time));
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace nearfar::tier::swap::os
