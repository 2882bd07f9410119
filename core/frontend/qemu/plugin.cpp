// The plug-in that QEMU loads: tells the simulated machine what the guest executes.
//
// The process is one for all of QEMU's threads and forks, and QEMU's callbacks carry no pointer
// to it: it is this library's one global.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <exception>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "frontend/qemu/guest_memory.h"
#include "frontend/qemu/instructions.h"
#include "frontend/qemu/process.h"
#include "frontend/qemu/system_calls.h"
#include "frontend/qemu/translate.h"
#include "frontend/qemu/translated.h"

#define NEARFAR_EXPORT extern "C" __attribute__((visibility("default")))

namespace nearfar::frontend::qemu {
namespace {

using sim::cpu::InstructionKind;

struct Plugin {
  explicit Plugin(std::unique_ptr<Process> made) : process(std::move(made)), calls(*process) {}

  std::unique_ptr<Process> process;
  SystemCalls calls;
  Blocks blocks;
  std::uint64_t id = 0;  ///< QEMU's
  bool counts = false;   ///< the code that is there only counts instructions
  bool changes = false;  ///< new code was asked for
};

Plugin* plugin = nullptr;  // as long as the process lives: QEMU may call until its very end

void begin(std::uint64_t id);

/// Whether blocks tell everything or only count is in QEMU's code: for the other it drops all code,
/// and translates again. That happens as soon as the block has ended, on the thread that asks.
void change_code() {
  if (plugin->changes || plugin->process->only_counts() == plugin->counts) return;
  plugin->changes = true;
  qemu_plugin_reset(plugin->id, [](std::uint64_t id) {
    plugin->changes = false;
    plugin->counts = !plugin->counts;
    plugin->process->counting(plugin->counts);
    begin(id);
  });
}

void on_block(unsigned, void* data) {
  Thread& thread = plugin->process->thread();
  if (thread.recorder.full()) {
    plugin->process->drain(thread);
    change_code();
  }
  thread.recorder.begin(*static_cast<const Translated*>(data));
}

/// A block begins to execute, and nothing else will be told of it.
void on_passing_block(unsigned, void* data) {
  Thread& thread = plugin->process->thread();
  if (!thread.passing.pass(*static_cast<const Translated*>(data))) return;
  plugin->process->passed(thread);
  change_code();
}

/// What a copy stores for its flushes; a non-temporal store needs none.
void tell_stored(Thread& thread, std::uint64_t address, unsigned size, std::uint16_t index) {
  const Translated* block = thread.recorder.current();
  if (block == nullptr || index >= block->block.instructions.size()) return;
  if (block->block.instructions[index].kind == InstructionKind::nt_store) return;
  thread.told.stored(address, size);
}

void on_access(unsigned, std::uint32_t info, std::uint64_t address, void* data) {
  // By a callback of code that is gone: see g_array_free().
  if (plugin->counts) return;
  Thread& thread = plugin->process->thread();
  const unsigned size = 1u << qemu_plugin_mem_size_shift(info);
  const bool store = qemu_plugin_mem_is_store(info);
  thread.recorder.access(address, size, as_index(data), store);
  if (store && thread.told.copies()) tell_stored(thread, address, size, as_index(data));
}

/// Registers are not to be seen, but memory is: it still has what was loaded.
void tell_pointer(std::uint32_t info, std::uint64_t address, void* data) {
  if (plugin->counts) return;
  const unsigned size = 1u << qemu_plugin_mem_size_shift(info);
  if (qemu_plugin_mem_is_store(info) || size != sizeof(std::uint64_t)) return;
  if (const auto value = read_guest<std::uint64_t>(address)) {
    plugin->process->thread().recorder.pointer(*value, as_index(data));
  }
}

/// A load behind mkpt.
void on_marked_load(unsigned vcpu, std::uint32_t info, std::uint64_t address, void* data) {
  on_access(vcpu, info, address, data);
  tell_pointer(info, address, data);
}

/// A load that may have turned out to load a pointer.
void on_possible_pointer(unsigned vcpu, std::uint32_t info, std::uint64_t address, void* data) {
  on_access(vcpu, info, address, data);
  const Translated* block = plugin->process->thread().recorder.current();
  if (block != nullptr && block->pointers.is(as_index(data))) tell_pointer(info, address, data);
}

/// What is told of an instruction that accesses memory.
qemu_plugin_vcpu_mem_cb_t callback_for(const Translated& block, std::size_t index) {
  if (block.told[index] == Told::marked) return on_marked_load;
  const bool possible = plugin->process->finds_pointers() && block.pointers.may_be(index);
  return possible ? on_possible_pointer : on_access;
}

/// A flush or prefetch: QEMU does nothing for it, so no access shows its address.
void on_line(unsigned, void* data) {
  Thread& thread = plugin->process->thread();
  const Translated* block = thread.recorder.current();
  const std::uint16_t index = as_index(data);
  if (block == nullptr || index >= block->addresses.size()) return;
  const bool flush = block->block.instructions[index].kind != InstructionKind::prefetch;
  if (const auto address = address_of(block->addresses[index])) {
    thread.recorder.line(*address, index);
  } else if (!flush) {
    ++thread.fresh.prefetches_unresolved;
  } else if (const auto line = thread.told.flushed()) {
    thread.recorder.line(*line, index);
    ++thread.fresh.flushes_told;
  } else {
    ++thread.fresh.flushes_unresolved;
  }
}

std::vector<Located> decode_all(const qemu_plugin_tb* tb) {
  std::vector<Located> out;
  std::uint64_t pc = qemu_plugin_tb_vaddr(tb);
  for (std::size_t i = 0; i < qemu_plugin_tb_n_insns(tb); ++i) {
    const qemu_plugin_insn* handle = qemu_plugin_tb_get_insn(tb, i);
    const InstructionBytes one = bytes_of(handle);
    out.push_back(
        {decode(std::span(one.bytes).first(one.size), pc), qemu_plugin_insn_size(handle)});
    if (out.back().decoded.evex) plugin->process->note_avx512(pc);
    pc += qemu_plugin_insn_size(handle);
  }
  return out;
}

/// Everything that the block does is told.
void tell_all(qemu_plugin_tb* tb, const Translated& block) {
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                       const_cast<Translated*>(&block));
  for (std::size_t i = 0; i < block.told.size(); ++i) {
    if (block.told[i] == Told::nothing) continue;
    qemu_plugin_insn* const handle = qemu_plugin_tb_get_insn(tb, i);
    if (block.told[i] == Told::line) {
      qemu_plugin_register_vcpu_insn_exec_cb(handle, on_line, reading_registers, as_data(i));
    } else {
      qemu_plugin_register_vcpu_mem_cb(handle, callback_for(block, i), QEMU_PLUGIN_CB_NO_REGS,
                                       QEMU_PLUGIN_MEM_RW, as_data(i));
    }
  }
}

void on_translation(std::uint64_t, qemu_plugin_tb* tb) {
  const Translated& block = plugin->blocks.get(
      key_of(tb), [&] { return translate(qemu_plugin_tb_vaddr(tb), decode_all(tb)); });
  if (plugin->counts) {
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_passing_block, QEMU_PLUGIN_CB_NO_REGS,
                                         const_cast<Translated*>(&block));
  } else {
    tell_all(tb, block);
  }
}

void on_system_call(std::uint64_t, unsigned, std::int64_t number, std::uint64_t a, std::uint64_t b,
                    std::uint64_t c, std::uint64_t d, std::uint64_t e, std::uint64_t f,
                    std::uint64_t, std::uint64_t) {
  plugin->calls.enter({number, {a, b, c, d, e, f}});
}

void on_system_call_return(std::uint64_t, unsigned, std::int64_t, std::int64_t result) {
  plugin->calls.exit(result);
}

void on_exit(std::uint64_t, void*) { plugin->process->end(); }

void begin(std::uint64_t id) {
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_system_call_return);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
}

/// The value of `name=value` among the plug-in's arguments.
std::string_view argument(std::span<char*> arguments, std::string_view name) {
  for (const std::string_view text : arguments) {
    if (text.starts_with(name) && text.substr(name.size()).starts_with("=")) {
      return text.substr(name.size() + 1);
    }
  }
  return {};
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool deadly(int signal) {
  struct sigaction action{};
  if (signal == SIGKILL) return true;
  if (signal == 0 || sigaction(signal, nullptr, &action) != 0) return false;
  const bool ignored = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
                       signal == SIGWINCH || signal == SIGSTOP || signal == SIGTSTP ||
                       signal == SIGTTIN || signal == SIGTTOU;
  return action.sa_handler == SIG_DFL && !ignored;
}

}  // namespace
}  // namespace nearfar::frontend::qemu

using namespace nearfar::frontend::qemu;

int qemu_plugin_version = interface_version;

NEARFAR_EXPORT int qemu_plugin_install(std::uint64_t id, const qemu_info_t* info, int argc,
                                       char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  try {
    if (std::string_view(info->target_name) != "x86_64" || info->system_emulation) {
      throw nearfar::InputError("expected QEMU's user mode for x86_64");
    }
    auto process = std::make_unique<Process>(std::string(argument(arguments, "run")),
                                             nearfar::Tick(number(argument(arguments, "start"))),
                                             number(argument(arguments, "number")));
    plugin = std::make_unique<Plugin>(std::move(process)).release();
  } catch (const std::exception& error) {
    // `nearfar run` prints it; QEMU says only that the plug-in failed to begin.
    std::ofstream(std::string(argument(arguments, "run")) + "/refused") << error.what() << '\n';
    return 1;
  }
  plugin->id = id;
  plugin->counts = plugin->process->only_counts();
  plugin->process->counting(plugin->counts);
  begin(id);
  pthread_atfork([] { plugin->process->before_fork(); },
                 [] { plugin->process->after_fork_in_parent(); },
                 [] { plugin->process->after_fork_in_child(); });
  return 0;
}

#if NEARFAR_QEMU_API == 1
struct GArray;

/// In place of GLib's. An instruction that ends its block by a helper (ret does) leaves QEMU up to
/// version 7.2 with a pointer to its callbacks, and the next access within a helper goes there,
/// even if the code has been dropped since and nothing is told of that access. So callbacks are not
/// freed with the code that they belong to, which is done by this function.
NEARFAR_EXPORT char* g_array_free(GArray* array, int with_contents) {
  using Free = char* (*)(GArray*, int);
  static const auto really = reinterpret_cast<Free>(dlsym(RTLD_NEXT, "g_array_free"));
  if (plugin != nullptr && plugin->changes) return nullptr;
  return really(array, with_contents);
}
#endif

/// In place of the C library's, by which QEMU 7.2 ends itself when a signal ends the guest: its
/// interface does not tell plug-ins of that, and the measurements would be lost.
NEARFAR_EXPORT int kill(pid_t process, int signal) noexcept {
  if (plugin != nullptr && process == getpid() && deadly(signal)) {
    plugin->process->end(signal);
  }
  return static_cast<int>(syscall(SYS_kill, process, signal));
}
