// Runs a fuzz target, an LLVMFuzzerTestOneInput(), without libFuzzer: on every file of a corpus,
// and then on inputs that are made of them, the same ones for the same seed.
//
//     fuzz_text [-runs=N] [-seconds=S] [-seed=N] [-only=N] CORPUS...
//
// Whatever the target does that it must not (a signal, a report of a sanitizer, more than 5 s for
// an input, more than a gibibyte) ends the program; the input is in the file crash-TARGET-NUMBER
// then, and -only=NUMBER runs it again. Where the core is compiled with
// -fsanitize-coverage=trace-pc, an input that reaches code not reached before joins those that
// others are made of.

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using nearfar::Rng;

constexpr std::size_t reached_bits = 1 << 16;
std::array<std::uint8_t, reached_bits> reached{};
bool reached_new = false;

}  // namespace

/// Called by the code of the core at each of its branches.
extern "C" void __sanitizer_cov_trace_pc() {
  // Relative to something of the program, which lies elsewhere in each run.
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const auto program = reinterpret_cast<std::uintptr_t>(&reached);
  const std::size_t bit = (here - program) * 0x9e3779b97f4a7c15U >> 48U;
  if (reached[bit] == 0) {
    reached[bit] = 1;
    reached_new = true;
  }
}

namespace {

constexpr std::size_t most_bytes = 4096;
constexpr std::size_t most_seeds = 20'000;
constexpr int most_seconds_an_input = 5;  // of the processor, as the machine may be busy
constexpr long most_kib = 1024 * 1024;

std::string input;          // the present one, for what ends the program
std::uint64_t number = 0;   // and which it is
std::string target;

[[noreturn]] void keep_and_end(const char* why) {
  const std::string file = "crash-" + target + "-" + std::to_string(number);
  std::ofstream(file, std::ios::binary)
      .write(input.data(), static_cast<std::streamsize>(input.size()));
  std::fprintf(stderr, "%s: %s, on input %llu of %zu bytes, which is in %s\n", target.c_str(), why,
               static_cast<unsigned long long>(number), input.size(), file.c_str());
  std::_Exit(1);
}

void on_signal(int signal) {
  keep_and_end(signal == SIGPROF ? "took more than 5 s" : "ended by a signal");
}

void run(std::string bytes) {
  input = std::move(bytes);
  const itimerval limit{{0, 0}, {most_seconds_an_input, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& error) {
    keep_and_end(error.what());
  }
}

void check_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (usage.ru_maxrss > most_kib) keep_and_end("took more than a gibibyte");
}

/// Makes inputs of others.
class Mutations {
 public:
  Mutations(std::vector<std::string> seeds, std::uint64_t seed)
      : seeds_(std::move(seeds)), seed_(seed) {}

  std::string make(std::uint64_t which) {
    Rng rng(seed_ * 0x9e3779b97f4a7c15U + which);
    std::string bytes = seeds_[rng.below(seeds_.size())];
    for (std::uint64_t edits = 1 + rng.below(8); edits > 0; --edits) edit(bytes, rng);
    bytes.resize(std::min(bytes.size(), most_bytes));
    return bytes;
  }

  void keep(const std::string& bytes) {
    if (seeds_.size() < most_seeds) seeds_.push_back(bytes);
  }

 private:
  void edit(std::string& bytes, Rng& rng) {
    static constexpr std::string_view words[] = {"0x",
                                                 "\n",
                                                 " ",
                                                 "\r\n",
                                                 ":",
                                                 ",",
                                                 "18446744073709551615",
                                                 "18446744073709551616",
                                                 "READ",
                                                 "WRITE",
                                                 "LD",
                                                 "ST",
                                                 "R ",
                                                 "W ",
                                                 "NVMV1\n",
                                                 "BOFF",
                                                 "IFETCH",
                                                 "(64) ",
                                                 "read ",
                                                 "write ",
                                                 "#",
                                                 "\xef\xbb\xbf",
                                                 "4294967295",
                                                 "-1",
                                                 "0",
                                                 "=",
                                                 ".",
                                                 "\"",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 "gem5",
                                                 "nearfar-trace 1 {",
                                                 "\x1f\x8b",
                                                 "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    const auto place = [&] { return static_cast<std::size_t>(rng.below(bytes.size() + 1)); };
    switch (rng.below(9)) {
      case 0:
        if (!bytes.empty()) bytes[rng.below(bytes.size())] = static_cast<char>(rng.next());
        break;
      case 1:
        if (!bytes.empty()) {
          char& c = bytes[rng.below(bytes.size())];
          c = static_cast<char>(c ^ (1 << rng.below(8)));
        }
        break;
      case 2:
        bytes.insert(place(), 1 + rng.below(4), static_cast<char>(rng.next()));
        break;
      case 3:
        bytes.erase(place(), 1 + rng.below(16));
        break;
      case 4:
        bytes.insert(place(), words[rng.below(std::size(words))]);
        break;
      case 5: {
        const std::string& other = seeds_[rng.below(seeds_.size())];
        const std::size_t from = rng.below(other.size() + 1);
        bytes.insert(place(), other.substr(from, rng.below(64)));
        break;
      }
      case 6: {
        const std::size_t from = place();
        bytes.insert(place(), bytes.substr(from, 1 + rng.below(200)));
        break;
      }
      case 7:
        bytes.resize(place());
        break;
      case 8:
        bytes.insert(place(), 1 + rng.below(40), static_cast<char>('0' + rng.below(10)));
        break;
    }
  }

  std::vector<std::string> seeds_;
  std::uint64_t seed_;
};

std::vector<std::string> read_corpus(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (std::filesystem::is_directory(place)) {
      for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry);
    } else {
      files.emplace_back(place);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
      std::exit(2);
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

struct Options {
  std::uint64_t runs = ~std::uint64_t{0};
  std::uint64_t seconds = ~std::uint64_t{0};
  std::uint64_t seed = 1;
  std::uint64_t only = 0;
  std::vector<std::string> corpus;
};

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto number_behind = [&](std::string_view name, std::uint64_t& value) {
      if (!word.starts_with(name)) return false;
      value = std::strtoull(words[i] + name.size(), nullptr, 10);
      return true;
    };
    if (!number_behind("-runs=", options.runs) && !number_behind("-seconds=", options.seconds) &&
        !number_behind("-seed=", options.seed) && !number_behind("-only=", options.only)) {
      options.corpus.emplace_back(word);
    }
  }
  return options;
}

}  // namespace

int main(int count, char** words) {
  target = std::filesystem::path(words[0]).filename().string();
  const Options options = read_options(count, words);
  for (const int signal : {SIGPROF, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, on_signal);
  }
  std::vector<std::string> corpus = read_corpus(options.corpus);
  const std::size_t files = corpus.size();
  for (const std::string& bytes : corpus) run(bytes);
  if (corpus.empty()) corpus.emplace_back();
  Mutations mutations(std::move(corpus), options.seed);
  const auto begin = std::chrono::steady_clock::now();
  const auto end = begin + std::chrono::seconds(std::min<std::uint64_t>(options.seconds, 1 << 30));
  std::uint64_t kept = 0;
  for (number = 1; number <= options.runs; ++number) {
    if (number % 256 == 0) {
      check_memory();
      if (std::chrono::steady_clock::now() >= end) break;
    }
    std::string bytes = mutations.make(number);
    reached_new = false;
    if (options.only != 0 && number == options.only) std::fprintf(stderr, "%s\n", bytes.c_str());
    run(std::move(bytes));
    if (reached_new) {
      mutations.keep(input);
      ++kept;
    }
    if (number == options.only) break;
  }
  std::printf(
      "%s: %zu files and %llu inputs made of them, of which %llu reached code of their own\n",
      target.c_str(), files, static_cast<unsigned long long>(number - 1),
      static_cast<unsigned long long>(kept));
  return 0;
}
