// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* What the administrator reserved on the kernel's command line: memmap=SIZE$START or SIZE!START. */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "nearfar.h"

#define MOST_COMMAND_LINE 8192
#define NAME "memmap="

/* One SIZE$START or SIZE!START; the bytes from `physical` to its end, or 0. */
static u64 reserved_by(char* option, u64 physical) {
  char* rest;
  const u64 size = memparse(option, &rest);
  u64 start;

  if (rest == option || (*rest != '$' && *rest != '!')) return 0;
  start = memparse(rest + 1, &rest);
  if (*rest || start + size < start || physical < start || physical >= start + size) return 0;
  return start + size - physical;
}

u64 nearfar_reserved_from(u64 physical) {
  struct file* file;
  char *line, *left, *word, *option;
  loff_t at = 0;
  ssize_t length;
  u64 found = 0;

  line = kzalloc(MOST_COMMAND_LINE, GFP_KERNEL);
  if (!line) return 0;
  file = filp_open("/proc/cmdline", O_RDONLY, 0);
  if (IS_ERR(file)) {
    kfree(line);
    return 0;
  }
  length = kernel_read(file, line, MOST_COMMAND_LINE - 1, &at);
  filp_close(file, NULL);
  left = length > 0 ? line : NULL;
  while (!found && (word = strsep(&left, " \n")) != NULL) {
    if (!str_has_prefix(word, NAME)) continue;
    word += strlen(NAME);
    while (!found && (option = strsep(&word, ",")) != NULL) found = reserved_by(option, physical);
  }
  kfree(line);
  return found;
}
