#include "library/checkpoint.h"

#include <array>
#include <cstddef>

#include "base/archive.h"
#include "base/error.h"
#include "base/sha256.h"

namespace nearfar::library {
namespace {

constexpr std::string_view state_mark = "nearfar-state";

/// The words of the first line, behind the mark: version, model's hash, checksum.
std::array<std::string_view, 3> words_of(std::string_view line) {
  std::array<std::string_view, 3> words;
  for (std::string_view& word : words) {
    if (line.empty() || line.front() != ' ') return {};
    line.remove_prefix(1);
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  return words;
}

[[noreturn]] void found(const char* what, std::string_view is, std::string_view expected) {
  throw InputError("state: was saved " + std::string(what) + " " + std::string(is) + ", expected " +
                   std::string(expected));
}

}  // namespace

std::string save(Memory& memory, const Model& model, std::string_view version) {
  Archive archive;
  memory.state(archive);
  const std::string& state = archive.written();
  return std::string(state_mark) + ' ' + std::string(version) + ' ' + model.hash + ' ' +
         sha256(state) + '\n' + state;
}

Memory restore(const Model& model, std::string_view version, std::string_view saved) {
  const std::size_t end = saved.find('\n');
  if (!saved.starts_with(state_mark) || end == std::string_view::npos) {
    throw InputError("state: begins otherwise than a saved state, expected '" +
                     std::string(state_mark) + "'");
  }
  const std::string_view state = saved.substr(end + 1);
  const auto [wrote, hash, sum] =
      words_of(saved.substr(state_mark.size(), end - state_mark.size()));
  if (wrote != version) found("by nearfar", wrote, version);
  if (hash != model.hash) found("of the model", hash, model.hash + ", which is " + model.name);
  if (sum != sha256(state)) throw InputError("state: is damaged: its checksum does not fit");
  Memory memory(model.settings);
  Archive archive(state);
  memory.state(archive);
  if (!archive.all_read()) throw InputError("state: is longer than this model's");
  return memory;
}

}  // namespace nearfar::library
