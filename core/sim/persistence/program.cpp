#include "sim/persistence/program.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace nearfar::sim::persistence {
namespace {

void check_address(Address address, std::uint32_t op) {
  if (address.value() % 8 == 0) return;
  throw InputError("operation " + std::to_string(op) + " has address " +
                   std::to_string(address.value()) + ", expected a multiple of 8");
}

}  // namespace

Program::Program(std::vector<Operation> operations,
                 const std::vector<std::pair<Address, std::uint64_t>>& initial)
    : operations_(std::move(operations)) {
  for (std::uint32_t op = 0; op < size(); ++op) {
    const Operation& operation = operations_[op];
    if (has_address(operation.kind)) check_address(operation.address, op);
    if (operation.thread >= threads_.size()) threads_.resize(operation.thread + 1);
    threads_[operation.thread].push_back(op);
    if (operation.kind == Kind::label) {
      labels_ = std::max(labels_, static_cast<std::uint32_t>(operation.value) + 1);
    }
  }
  add_lines(initial);
}

void Program::add_lines(const std::vector<std::pair<Address, std::uint64_t>>& initial) {
  std::vector<Address> addresses;
  addresses.reserve(initial.size() + operations_.size());
  for (const auto& word : initial) addresses.push_back(word.first);
  for (const Operation& operation : operations_) {
    if (has_address(operation.kind)) addresses.push_back(operation.address);
  }
  for (Address& address : addresses) address = address.aligned_down(line_bytes);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  for (const Address address : addresses) lines_.push_back({address, {}, {}});

  for (const auto& word : initial) {
    lines_[place_of(word.first)].initial[word.first.value() % line_bytes / 8] = word.second;
  }
  line_of_.resize(operations_.size());
  for (std::uint32_t op = 0; op < size(); ++op) {
    if (!has_address(operations_[op].kind)) continue;
    line_of_[op] = place_of(operations_[op].address);
    if (is_store(operations_[op].kind)) lines_[line_of_[op]].stores.push_back(op);
  }
}

std::optional<std::uint32_t> Program::find_line(Address address) const {
  const std::uint32_t place = place_of(address);
  const bool known =
      place < lines_.size() && lines_[place].address == address.aligned_down(line_bytes);
  return known ? std::optional(place) : std::nullopt;
}

/// Where the line is among the lines, or would be.
std::uint32_t Program::place_of(Address address) const {
  const auto found =
      std::lower_bound(lines_.begin(), lines_.end(), address.aligned_down(line_bytes),
                       [](const Line& known, Address wanted) { return known.address < wanted; });
  return static_cast<std::uint32_t>(found - lines_.begin());
}

}  // namespace nearfar::sim::persistence
