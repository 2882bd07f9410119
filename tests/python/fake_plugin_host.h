/* What the stand-ins for QEMU 9.2 share: its information for a plug-in of interface 4, GLib's
 * arrays as far as they are used, and how a plug-in is loaded. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char* target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus, max_vcpus;
  } system;
} qemu_info_t;

typedef void (*udata_cb)(unsigned vcpu, void* data);
typedef void (*mem_cb)(unsigned vcpu, uint32_t info, uint64_t address, void* data);

unsigned qemu_plugin_mem_size_shift(uint32_t info) { return info & 0xff; }
bool qemu_plugin_mem_is_store(uint32_t info) { return (info & 0x100) != 0; }

typedef struct {
  uint8_t* data;
  unsigned len;
} byte_array;
byte_array* g_byte_array_new(void) { return calloc(1, sizeof(byte_array)); }
byte_array* g_byte_array_set_size(byte_array* array, unsigned length) {
  array->data = realloc(array->data, length + 1);
  array->len = length;
  return array;
}
char* g_array_free(byte_array* array, int free_segment) {
  char* const data = (char*)array->data;
  free(array);
  if (!free_segment) return data;
  free(data);
  return NULL;
}

/* Loads the plug-in that follows -plugin, with its arguments; 0, or a status to end with. */
static int load_plugin(int count, char** words, const qemu_info_t* info) {
  char* file = NULL;
  for (int i = 1; i + 1 < count; ++i) {
    if (strcmp(words[i], "-plugin") == 0) file = words[i + 1];
  }
  char* arguments[8];
  int argument_count = 0;
  for (char* at = strchr(file, ','); at != NULL; at = strchr(at, ',')) {
    *at++ = '\0';
    arguments[argument_count++] = at;
  }
  void* const plugin = dlopen(file, RTLD_NOW);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (*(int*)dlsym(plugin, "qemu_plugin_version") != 4) return 2;
  int (*install)(uint64_t, const qemu_info_t*, int, char**) = NULL;
  *(void**)&install = dlsym(plugin, "qemu_plugin_install");
  return install(1, info, argument_count, arguments) == 0 ? 0 : 3;
}
