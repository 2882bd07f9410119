/*
 * Stands in for QEMU 9.2's user mode: loads a plug-in of interface 4, translates two blocks of real
 * instructions, and plays them with registers and accesses as it is told. What the plug-in makes of
 * them is in the result that it writes.
 *
 * The functions behave as QEMU's documentation of its plug-in interface says. Registers can be read
 * in callbacks that asked for it and nowhere else; their order is gdb's, not the processor's.
 *
 *   fake_qemu -plugin FILE,run=FOLDER ...     with the lines of a file named by FAKE_QEMU_SCRIPT:
 *     set REGISTER VALUE     store ADDRESS     flush      all numbers hexadecimal
 */
#include "fake_plugin_host.h"

enum { NO_REGISTERS, READ_REGISTERS };

typedef struct {
  const char* bytes;
  size_t size;
  udata_cb executed;
  int executed_flags;
  void* executed_data;
  mem_cb accessed;
  void* accessed_data;
} instruction;

typedef struct {
  uint64_t address;
  size_t count;
  instruction instructions[16];
  udata_cb executed;
  int executed_flags;
  void* executed_data;
} block;

#define CODE(text) {.bytes = text, .size = sizeof(text) - 1}

static block store_block = {0x401000, 2, {
  CODE("\x48\x89\x03"),                              /* mov %rax, (%rbx) */
  CODE("\xc3"),                                      /* ret */
}};
static block flush_block = {0x402000, 10, {
  CODE("\x66\x0f\xae\x33"),                          /* clwb (%rbx) */
  CODE("\x66\x41\x0f\xae\x74\x24\x40"),              /* clwb 0x40(%r12) */
  CODE("\x66\x41\x0f\xae\xbc\xcd\x00\x10\x00\x00"),  /* clflushopt 0x1000(%r13,%rcx,8) */
  CODE("\x66\x0f\xae\x77\xc0"),                      /* clwb -0x40(%rdi) */
  CODE("\x66\x0f\xae\x35\x00\x10\x00\x00"),          /* clwb 0x1000(%rip): 0x403022 */
  CODE("\x0f\xae\x3c\x24"),                          /* clflush (%rsp) */
  CODE("\x64\x66\x0f\xae\x30"),                      /* clwb %fs:(%rax) */
  CODE("\x41\x0f\x18\x0f"),                          /* prefetcht0 (%r15) */
  CODE("\x0f\xae\xf8"),                              /* sfence */
  CODE("\xc3"),                                      /* ret */
}};

static const char* const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8",
                                    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
enum { registers = sizeof names / sizeof *names };
static uint64_t values[registers];
static int allowed = NO_REGISTERS; /* in the callback that runs */

static void (*translated)(uint64_t id, block*);
static void (*at_exit)(uint64_t id, void*);
static void* at_exit_data;

/* What the plug-in calls. */

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*callback)(uint64_t, block*)) {
  (void)id;
  translated = callback;
}
void qemu_plugin_register_vcpu_tb_exec_cb(block* of, udata_cb callback, int flags, void* data) {
  of->executed = callback;
  of->executed_flags = flags;
  of->executed_data = data;
}
void qemu_plugin_register_vcpu_insn_exec_cb(instruction* of, udata_cb callback, int flags,
                                            void* data) {
  of->executed = callback;
  of->executed_flags = flags;
  of->executed_data = data;
}
void qemu_plugin_register_vcpu_mem_cb(instruction* of, mem_cb callback, int flags, int direction,
                                      void* data) {
  (void)flags, (void)direction;
  of->accessed = callback;
  of->accessed_data = data;
}
void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, void* callback) { (void)id, (void)callback; }
void qemu_plugin_register_vcpu_syscall_ret_cb(uint64_t id, void* callback) {
  (void)id, (void)callback;
}
/* Only for samples, of which it plays none. */
void qemu_plugin_reset(uint64_t id, void (*callback)(uint64_t)) {
  (void)id;
  (void)callback;
  abort();
}
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t, void*), void* data) {
  (void)id;
  at_exit = callback;
  at_exit_data = data;
}

size_t qemu_plugin_tb_n_insns(const block* of) { return of->count; }
uint64_t qemu_plugin_tb_vaddr(const block* of) { return of->address; }
instruction* qemu_plugin_tb_get_insn(block* of, size_t index) {
  return index < of->count ? &of->instructions[index] : NULL;
}
size_t qemu_plugin_insn_size(const instruction* of) { return of->size; }
size_t qemu_plugin_insn_data(const instruction* of, void* to, size_t room) {
  const size_t size = room < of->size ? room : of->size;
  memcpy(to, of->bytes, size);
  return size;
}

typedef struct {
  void* handle; /* never null */
  const char* name;
  const char* feature;
} descriptor;

byte_array* qemu_plugin_get_registers(void) {
  descriptor* const found = calloc(registers, sizeof *found);
  for (int i = 0; i < registers; ++i) {
    found[i] = (descriptor){(void*)(uintptr_t)(i + 1), names[i], "org.gnu.gdb.i386.core"};
  }
  byte_array* const array = g_byte_array_new();
  array->data = (uint8_t*)found;
  array->len = registers;
  return array;
}
/* Appends the register's bytes; how many there are, or -1. */
int qemu_plugin_read_register(void* handle, byte_array* to) {
  if (allowed != READ_REGISTERS) return -1;
  const unsigned before = to->len;
  g_byte_array_set_size(to, before + sizeof *values);
  memcpy(to->data + before, &values[(uintptr_t)handle - 1], sizeof *values);
  return sizeof *values;
}

/* What a guest does. */

static void call(udata_cb callback, int flags, void* data) {
  if (callback == NULL) return;
  allowed = flags;
  callback(0, data);
  allowed = NO_REGISTERS;
}

static void play(block* of, uint64_t address) {
  call(of->executed, of->executed_flags, of->executed_data);
  for (size_t i = 0; i < of->count; ++i) {
    instruction* const now = &of->instructions[i];
    call(now->executed, now->executed_flags, now->executed_data);
    if (now->accessed == NULL) continue;
    const bool store = of == &store_block && i == 0; /* else the return address */
    now->accessed(0, store ? 0x103 : 3, store ? address : 0x7f00000ff000, now->accessed_data);
  }
}

static void obey(const char* verb, const char* name, uint64_t value) {
  if (strcmp(verb, "flush") == 0) return play(&flush_block, 0);
  if (strcmp(verb, "store") == 0) return play(&store_block, value);
  for (int i = 0; i < registers; ++i) {
    if (strcmp(name, names[i]) == 0) values[i] = value;
  }
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "--version") == 0) {
    puts("qemu-x86_64 version 9.2.0");
    return 0;
  }
  const qemu_info_t info = {.target_name = "x86_64", .version = {.min = 2, .cur = 4}};
  const int status = load_plugin(count, words, &info);
  if (status != 0) return status;
  translated(1, &store_block);
  translated(1, &flush_block);
  FILE* const script = fopen(getenv("FAKE_QEMU_SCRIPT"), "r");
  char line[128], verb[32], name[32];
  while (fgets(line, sizeof line, script) != NULL) {
    uint64_t value = 0;
    if (sscanf(line, "set %31s %lx", name, &value) == 2) {
      obey("set", name, value);
    } else if (sscanf(line, "%31s %lx", verb, &value) >= 1) {
      obey(verb, "", value);
    }
  }
  at_exit(1, at_exit_data);
  return 0;
}
