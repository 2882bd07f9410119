#include "tier/preload/report.h"

#include <fcntl.h>

#include <cerrno>

#include "policy/registry.h"
#include "tier/os/system.h"
#include "tier/preload/environment.h"
#include "tier/tree/orders.h"

namespace nearfar::tier::preload {
namespace {

/// Text that is put together without an allocator; what does not fit is left out.
class Text {
 public:
  Text& operator<<(const char* text) {
    for (; *text != '\0' && length_ < sizeof text_; ++text) text_[length_++] = *text;
    return *this;
  }
  Text& operator<<(std::uint64_t value) {
    char digits[24] = {};
    std::size_t at = sizeof digits - 1;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return *this << digits + at;
  }
  /// Of a whole, to four places.
  Text& share(std::uint64_t part, std::uint64_t whole) {
    const std::uint64_t parts = whole == 0 ? 0 : part * 10000 / whole;
    *this << parts / 10000 << ".";
    for (std::uint64_t place = 1000; place != 0; place /= 10) *this << parts / place % 10;
    return *this;
  }
  /// False if not all of it could be.
  [[nodiscard]] bool write(int descriptor) const {
    std::size_t done = 0;
    while (done < length_) {
      const long wrote = os::call(__NR_write, descriptor, os::word(text_ + done), length_ - done);
      if (wrote == -EINTR) continue;
      if (wrote <= 0) return false;
      done += static_cast<std::size_t>(wrote);
    }
    return true;
  }

 private:
  char text_[4096];
  std::size_t length_ = 0;
};

std::uint64_t count(const Control& control, Count what) {
  return control.counts[static_cast<std::size_t>(what)].load();
}

int standard_error = -1;

/// A line to standard error, if a reader is left.
void say(const Text& text) { (void)text.write(standard_error >= 0 ? standard_error : 2); }

bool write_json(Control& control, int descriptor) {
  const std::uint64_t managed = count(control, Count::managed_peak);
  const std::uint64_t unmanaged = count(control, Count::unmanaged_peak);
  Text text;
  text << "{\n \"schema\": \"nearfar/tier/1\",\n \"status\": null,\n \"policy\": \""
       << policy::replacements()[control.policy].name.data()
       << "\",\n \"near_limit_bytes\": " << control.limit_pages.load() * os::page_bytes
       << ",\n \"near_peak_bytes\": " << count(control, Count::near_peak) * os::page_bytes
       << ",\n \"far_peak_bytes\": " << count(control, Count::slots_peak) * os::page_bytes
       << ",\n \"far_stored_peak_bytes\": " << count(control, Count::stored_peak)
       << ",\n \"compression\": \"" << name_of(orders_of(control).compression)
       << "\",\n \"eviction\": \"" << name_of(orders_of(control).eviction)
       << "\",\n \"managed_peak_bytes\": " << managed * os::page_bytes
       << ",\n \"unmanaged_peak_bytes\": " << unmanaged * os::page_bytes
       << ",\n \"managed_share\": ";
  text.share(managed, managed + unmanaged);
  for (std::size_t i = 0; i < number_of_counts; ++i) {
    const auto what = static_cast<Count>(i);
    if (!is_peak(what)) text << ",\n \"" << all_counts[i].name << "\": " << count(control, what);
  }
  text << "\n}\n";
  return text.write(descriptor);
}

void write_line(const Control& control) {
  constexpr std::uint64_t kib_a_page = os::page_bytes / 1024;
  const std::uint64_t managed = count(control, Count::managed_peak);
  const std::uint64_t all = managed + count(control, Count::unmanaged_peak);
  Text text;
  text << "nearfar tier: near " << count(control, Count::near_peak) * kib_a_page
       << " KiB at most (limit " << control.limit_pages.load() * kib_a_page << " KiB), far "
       << count(control, Count::slots_peak) * kib_a_page << " KiB; managed ";
  text.share(managed, all);
  text << " of the peak of anonymous memory; " << count(control, Count::faults) << " faults, "
       << count(control, Count::copies_in) << " pages copied in, "
       << count(control, Count::evictions) << " evictions, " << count(control, Count::copies_out)
       << " pages copied out; threads waited " << count(control, Count::stall_ns) / 1000 << " us";
  if (const std::uint64_t outside = count(control, Count::outside); outside != 0)
    text << "; " << outside << " programs executed outside the limit";
  text << "\n";
  say(text);
}

void cannot_write(const char* file) {
  Text text;
  text << "nearfar tier: " << file << ": cannot be written (NEARFAR_TIER_REPORT)\n";
  say(text);
}

}  // namespace

void report(Control& control) {
  static char name[4096];
  if (!started_with("NEARFAR_TIER_REPORT", name, sizeof name)) {
    write_line(control);
    return;
  }
  if (name[0] == '\0') return;
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const long file = os::call(__NR_openat, AT_FDCWD, os::word(name), flags, 0666);
  if (file < 0 || !write_json(control, static_cast<int>(file))) cannot_write(name);
  if (file >= 0) os::call(__NR_close, file);
}

void keep_standard_error() {
  const long copy = os::call(__NR_fcntl, 2, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0) standard_error = os::hide(static_cast<int>(copy));
}

void drop_standard_error() {
  if (standard_error >= 0) os::call(__NR_close, standard_error);
  standard_error = -1;
}

int kept_standard_error() { return standard_error; }

}  // namespace nearfar::tier::preload
