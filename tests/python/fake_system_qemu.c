/*
 * Stands in for QEMU 9.2's system mode: loads a plug-in of interface 4, translates blocks of real
 * instructions, and plays them with registers, accesses and a guest's page table as it is told.
 *
 * The functions behave as QEMU's documentation of its plug-in interface says.
 *
 *   qemu-system-x86_64 -plugin FILE,run=FOLDER,... with the lines of a file named by
 *   FAKE_QEMU_SCRIPT, all numbers hexadecimal:
 *     map VIRTUAL PHYSICAL   a page of the guest; of none an access is to a device
 *     load ADDRESS SHIFT     2^SHIFT bytes, by code of a user program
 *     kload ADDRESS SHIFT    by the kernel
 *     flush ADDRESS          clwb, by the kernel
 *     switch                 mov %rax, %cr3, by the kernel
 *     segment ADDRESS        mov %eax, %ds, which reads a descriptor there, by the kernel
 *     halt                   hlt, by the kernel
 */
#include "fake_plugin_host.h"

/* A block of one instruction. */
typedef struct {
  const char* verb;
  uint64_t address;
  const char* bytes;
  size_t size;
  udata_cb block_executed, executed;
  void *block_data, *executed_data;
  mem_cb accessed;
  void* accessed_data;
} block;

#define KERNEL 0xffffffff81000000
#define CODE(text) .bytes = text, .size = sizeof(text) - 1
static block blocks[] = {
    {.verb = "load", .address = 0x401000, CODE("\x48\x8b\x03")}, /* mov (%rbx), %rax */
    {.verb = "kload", .address = KERNEL, CODE("\x48\x8b\x03")},
    {.verb = "flush", .address = KERNEL + 0x1000, CODE("\x66\x0f\xae\x33")},   /* clwb (%rbx) */
    {.verb = "switch", .address = KERNEL + 0x2000, CODE("\x0f\x22\xd8")},
    {.verb = "segment", .address = KERNEL + 0x3000, CODE("\x8e\xd8")},
    {.verb = "halt", .address = KERNEL + 0x4000, CODE("\xf4")},
};
enum { block_count = sizeof blocks / sizeof *blocks };

static uint64_t rbx;
static struct {
  uint64_t virtual_page, physical_page;
} pages[64];
static unsigned page_count;
static void (*translated)(uint64_t id, block*);
static void (*at_exit)(uint64_t id, void*);

/* What the plug-in calls. */

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*callback)(uint64_t, block*)) {
  (void)id;
  translated = callback;
}
void qemu_plugin_register_vcpu_tb_exec_cb(block* of, udata_cb callback, int flags, void* data) {
  (void)flags;
  of->block_executed = callback;
  of->block_data = data;
}
void qemu_plugin_register_vcpu_insn_exec_cb(block* of, udata_cb callback, int flags, void* data) {
  (void)flags;
  of->executed = callback;
  of->executed_data = data;
}
void qemu_plugin_register_vcpu_mem_cb(block* of, mem_cb callback, int flags, int direction,
                                      void* data) {
  (void)flags, (void)direction;
  of->accessed = callback;
  of->accessed_data = data;
}
void qemu_plugin_register_atexit_cb(uint64_t id, void (*callback)(uint64_t, void*), void* data) {
  (void)id, (void)data;
  at_exit = callback;
}
size_t qemu_plugin_tb_n_insns(const block* of) {
  (void)of;
  return 1;
}
uint64_t qemu_plugin_tb_vaddr(const block* of) { return of->address; }
block* qemu_plugin_tb_get_insn(block* of, size_t index) { return index == 0 ? of : NULL; }
size_t qemu_plugin_insn_size(const block* of) { return of->size; }
size_t qemu_plugin_insn_data(const block* of, void* to, size_t room) {
  const size_t size = room < of->size ? room : of->size;
  memcpy(to, of->bytes, size);
  return size;
}

/* Where the latest address that was asked for lies; ~0 is a device's. */
static uint64_t physical;
const uint64_t* qemu_plugin_get_hwaddr(uint32_t info, uint64_t address) {
  (void)info;
  physical = ~(uint64_t)0;
  for (unsigned i = 0; i < page_count; ++i) {
    if (pages[i].virtual_page == address >> 12) {
      physical = pages[i].physical_page << 12 | (address & 0xfff);
    }
  }
  return &physical;
}
bool qemu_plugin_hwaddr_is_io(const uint64_t* address) { return *address == ~(uint64_t)0; }
uint64_t qemu_plugin_hwaddr_phys_addr(const uint64_t* address) { return *address; }

/* The one register that code here names is rbx. */
byte_array* qemu_plugin_get_registers(void) {
  struct {
    void* handle;
    const char *name, *feature;
  } const found = {&rbx, "rbx", "org.gnu.gdb.i386.core"};
  byte_array* const array = g_byte_array_set_size(g_byte_array_new(), sizeof found);
  memcpy(array->data, &found, sizeof found);
  array->len = 1;
  return array;
}
int qemu_plugin_read_register(void* handle, byte_array* to) {
  const unsigned before = to->len;
  g_byte_array_set_size(to, before + sizeof rbx);
  memcpy(to->data + before, handle, sizeof rbx);
  return sizeof rbx;
}

/* What a guest does. */

static void map(uint64_t address, uint64_t to) {
  unsigned i = 0;
  while (i < page_count && pages[i].virtual_page != address >> 12) ++i;
  if (i == page_count) ++page_count;
  pages[i].virtual_page = address >> 12;
  pages[i].physical_page = to >> 12;
}

static void play(block* of, uint64_t address, unsigned shift) {
  rbx = address;
  of->block_executed(0, of->block_data);
  if (of->executed != NULL) of->executed(0, of->executed_data);
  const bool accesses = strcmp(of->verb, "load") == 0 || strcmp(of->verb, "kload") == 0 ||
                        strcmp(of->verb, "segment") == 0;
  if (accesses) of->accessed(0, shift, address, of->accessed_data);
}

static void obey(const char* verb, uint64_t first, uint64_t second) {
  if (strcmp(verb, "map") == 0) map(first, second);
  for (int i = 0; i < block_count; ++i) {
    if (strcmp(verb, blocks[i].verb) == 0) play(&blocks[i], first, (unsigned)second);
  }
}

int main(int count, char** words) {
  if (count == 2) {
    puts(strcmp(words[1], "--help") == 0 ? "-plugin [file=]<file>" : "QEMU emulator version 9.2.0");
    return 0;
  }
  const qemu_info_t info = {.target_name = "x86_64",
                            .version = {.min = 2, .cur = 4},
                            .system_emulation = true,
                            .system = {.smp_vcpus = 1, .max_vcpus = 1}};
  const int status = load_plugin(count, words, &info);
  if (status != 0) return status;
  for (int i = 0; i < block_count; ++i) translated(1, &blocks[i]);
  FILE* const script = fopen(getenv("FAKE_QEMU_SCRIPT"), "r");
  char line[128], verb[32];
  while (fgets(line, sizeof line, script) != NULL) {
    uint64_t first = 0, second = 3;
    if (sscanf(line, "%31s %lx %lx", verb, &first, &second) >= 1) obey(verb, first, second);
  }
  at_exit(1, NULL);
  return 0;
}
