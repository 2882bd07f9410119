// The same as replay.c, in C++, by a host that is refused and woken:
//
//   c++ -std=c++17 replay.cpp $(nearfar lib --cflags --libs) -o replay
//   echo "0 0x40 R" | ./replay optane.model

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <nearfar/memory.hpp>

namespace {

struct Line {
  std::uint64_t due, address, accepted, done;
  char op;
};

std::vector<Line> read_requests() {
  std::vector<Line> lines;
  std::uint64_t due = 0;
  std::string address;
  char op = 0;
  while (std::cin >> due >> address >> op) {
    lines.push_back({due, std::stoull(address, nullptr, 0), 0, 0, op});
  }
  return lines;
}

// Plays up to the next completions. Returns whether a port was woken.
bool step(nearfar::Memory& memory, std::vector<Line>& lines) {
  bool woken = false;
  memory.wait([&](const nearfar_completion& come) {
    if (come.kind == NEARFAR_WAKE) {
      woken = true;
    } else {
      lines[come.id].done = come.time_ps;
    }
  });
  return woken;
}

void play(nearfar::Memory& memory, std::vector<Line>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    nearfar_request request{};
    request.id = i;
    request.address = lines[i].address;
    request.op = lines[i].op == 'W' ? NEARFAR_WRITE : NEARFAR_READ;
    while (!memory.send(request, std::max(lines[i].due, memory.now()))) {
      while (!step(memory, lines)) continue;  // refused: wait for the wake
    }
    lines[i].accepted = memory.now();
  }
  while (memory.next_event() != NEARFAR_NEVER) step(memory, lines);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: replay MODEL <REQUESTS\n";
    return 2;
  }
  try {
    auto memory = nearfar::Memory::open(argv[1]);
    std::vector<Line> lines = read_requests();
    play(memory, lines);
    for (const Line& line : lines) std::cout << line.accepted << ' ' << line.done << '\n';
    for (const auto& [name, value] : memory.counters()) std::cout << name << " = " << value << '\n';
  } catch (const std::exception& error) {
    std::cerr << "replay: " << error.what() << '\n';
    return 2;
  }
}
