#include "frontend/qemu/execute.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

namespace nearfar::frontend::qemu {
namespace {

constexpr std::string_view preload = "LD_PRELOAD=";

/// The interpreter and its argument in a script's first line, as Linux splits it.
std::vector<std::string> interpreter(std::string_view line) {
  const auto trim = [](std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string_view();
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  };
  line = trim(line.substr(0, line.find('\n')));
  const auto end = std::min(line.find_first_of(" \t"), line.size());
  std::vector<std::string> words{std::string(line.substr(0, end))};
  const std::string_view argument = trim(line.substr(end));
  if (!argument.empty()) words.emplace_back(argument);
  return words;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// The guest's LD_PRELOAD: its own, behind the guest library.
std::string preloaded(const std::vector<std::string>& environment, const std::string& library) {
  for (const std::string& entry : environment) {
    if (!entry.starts_with(preload)) continue;
    std::string theirs = entry.substr(preload.size());
    if (theirs.empty()) break;
    if (theirs.starts_with(library)) return theirs;
    return std::string(library).append(":").append(theirs);
  }
  return library;
}

}  // namespace

Executable resolve(Execution& execution) {
  // As often as Linux follows one script to another.
  for (int depth = 0; depth < 5; ++depth) {
    struct stat status{};
    if (access(execution.path.c_str(), X_OK) != 0 || stat(execution.path.c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode)) {
      return Executable::none;
    }
    std::array<char, 256> head{};
    std::ifstream file(execution.path, std::ios::binary);
    file.read(head.data(), head.size() - 1);
    if (head[0] != '#' || head[1] != '!') {
      Elf64_Ehdr elf;
      std::memcpy(&elf, head.data(), sizeof elf);
      const bool ours = std::memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
                        elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_machine == EM_X86_64;
      return ours ? Executable::seen : Executable::foreign;
    }
    std::vector<std::string> words = interpreter(head.data() + 2);
    if (words[0].empty()) return Executable::foreign;
    std::string script = execution.path;
    execution.path = words[0];
    words.push_back(std::move(script));
    auto& arguments = execution.arguments;
    if (!arguments.empty()) arguments.erase(arguments.begin());
    arguments.insert(arguments.begin(), words.begin(), words.end());
  }
  return Executable::none;
}

Execution under_qemu(const Execution& execution, const Settings& options, const std::string& folder,
                     Tick start, std::uint64_t number) {
  const std::string& plugin = options.name("plugin");
  Execution out;
  out.path = options.name("qemu");
  out.arguments = {out.path, "-cpu", options.name("processor"), "-plugin",
                   plugin + ",run=" + folder + ",start=" + std::to_string(start.ps()) +
                       ",number=" + std::to_string(number)};
  const auto add = [&](std::string_view option, std::string value) {
    out.arguments.emplace_back(option);
    out.arguments.push_back(std::move(value));
  };
  // The dynamic linker's variables are meant for the guest: QEMU is linked dynamically itself.
  for (const std::string& entry : execution.environment) {
    if (!entry.starts_with("LD_")) {
      out.environment.push_back(entry);
    } else if (!entry.starts_with(preload)) {
      add("-E", entry);
    }
  }
  add("-E", std::string(preload) + preloaded(execution.environment, options.name("guest")));
  // Preloaded into QEMU, the plug-in sees QEMU end by a signal (see `kill` there).
  out.environment.push_back(std::string(preload) + plugin);
  if (!execution.arguments.empty()) add("-0", execution.arguments.front());
  out.arguments.push_back(execution.path);
  if (execution.arguments.size() > 1) {
    out.arguments.insert(out.arguments.end(), execution.arguments.begin() + 1,
                         execution.arguments.end());
  }
  return out;
}

void execute(const Execution& execution) {
  execve(execution.path.c_str(), pointers(execution.arguments).data(),
         pointers(execution.environment).data());
}

}  // namespace nearfar::frontend::qemu
