/* A guest of a few instructions under KVM, whose processor adds one to a word of every page, round
   after round, while nearfar manages its memory from the same process. At the end each word must be
   the number of rounds. Says "... here" where KVM does not run it. */

#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MIB = 16, PAGES = MIB << 8, FIRST = 256 };

static int not_here(const char* why) {
  printf("no %s here\n", why);
  return 0;
}

static void set_up(int cpu, char* ram) {
  /* Page tables: 1 GiB as it is, by pages of 2 MiB, for all privileges. */
  uint64_t* fourth = (uint64_t*)(void*)(ram + 0x2000);
  uint64_t* third = (uint64_t*)(void*)(ram + 0x3000);
  uint64_t* second = (uint64_t*)(void*)(ram + 0x4000);
  fourth[0] = 0x3000 | 7;
  third[0] = 0x4000 | 7;
  for (uint64_t i = 0; i < 512; ++i) second[i] = i << 21 | 0x87;
  struct kvm_sregs special;
  ioctl(cpu, KVM_GET_SREGS, &special);
  special.cr3 = 0x2000;
  special.cr4 = 0x20;
  special.cr0 = 0x80050033;
  special.efer = 0xd01;
  struct kvm_segment segment = {.limit = 0xffffffff, .selector = 0x2b, .present = 1, .type = 11,
                                .dpl = 3, .s = 1, .l = 1, .g = 1};
  special.cs = segment;
  segment.type = 3;
  segment.selector = 0x33;
  segment.l = 0;
  segment.db = 1;
  special.ds = special.es = special.fs = special.gs = special.ss = segment;
  ioctl(cpu, KVM_SET_SREGS, &special);
}

/* rcx: rounds. rax = 1 MiB; add one to [rax], rax += a page, until the end; again; out 0x10. */
static void write_code(char* ram) {
  unsigned char code[] = {0x48, 0xc7, 0xc0, 0,    0,    0x10, 0,    0x48, 0xff, 0x00, 0x48, 0x05,
                          0,    0x10, 0,    0,    0x48, 0x3d, 0,    0,    0,    0,    0x72, 0xf0,
                          0x48, 0xff, 0xc9, 0x75, 0xe4, 0xb0, 0x01, 0xe6, 0x10, 0xf4};
  const uint32_t end = MIB << 20;
  memcpy(code + 18, &end, sizeof end);
  memcpy(ram + 0x1000, code, sizeof code);
}

int main(int count, char** words) {
  const uint64_t rounds = count > 1 ? strtoull(words[1], NULL, 10) : 1000;
  const int kvm = open("/dev/kvm", O_RDWR);
  if (kvm < 0) return not_here("/dev/kvm");
  const int machine = ioctl(kvm, KVM_CREATE_VM, 0);
  if (machine < 0) return not_here("virtual machine");
  char* ram = mmap(NULL, (size_t)MIB << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(ram, 0, (size_t)MIB << 20);
  ioctl(machine, KVM_SET_TSS_ADDR, 0xfffbd000);
  struct kvm_userspace_memory_region slot = {.memory_size = (uint64_t)MIB << 20,
                                             .userspace_addr = (uintptr_t)ram};
  if (ioctl(machine, KVM_SET_USER_MEMORY_REGION, &slot) != 0) return not_here("memory of a guest");
  const int cpu = ioctl(machine, KVM_CREATE_VCPU, 0);
  const int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
  if (cpu < 0 || size <= 0) return not_here("virtual processor");
  struct kvm_run* run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
  struct {
    struct kvm_cpuid2 head;
    struct kvm_cpuid_entry2 entries[100];
  } features = {.head.nent = 100};
  ioctl(kvm, KVM_GET_SUPPORTED_CPUID, &features);
  ioctl(cpu, KVM_SET_CPUID2, &features);
  set_up(cpu, ram);
  write_code(ram);
  struct kvm_regs registers = {.rip = 0x1000, .rflags = 0x3002, .rcx = rounds, .rsp = 0x8000};
  ioctl(cpu, KVM_SET_REGS, &registers);
  int ran = 0;
  do {
    ran = ioctl(cpu, KVM_RUN, 0);
  } while (ran != 0 && run->exit_reason == KVM_EXIT_INTR);
  if (ran != 0 || run->exit_reason != KVM_EXIT_IO) return not_here("guest that KVM runs");
  size_t wrong = 0;
  for (size_t page = FIRST; page < PAGES; ++page)
    wrong += *(uint64_t*)(void*)(ram + page * PAGE) != rounds;
  printf(wrong == 0 ? "ok\n" : "%zu words are wrong\n", wrong);
  return wrong != 0;
}
