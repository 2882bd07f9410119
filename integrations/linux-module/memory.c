// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* The memory that is measured: allocated, reserved, or a DAX device's; never any that is in use. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "nearfar.h"

#define OWNER "nearfar"
#define MOST_SMALL_PAGES (1UL << 24)

static struct dev_pagemap* pagemap_of(unsigned long pfn) {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
  return get_dev_pagemap(pfn);
#else
  return get_dev_pagemap(pfn, NULL);
#endif
}

static int take_range(struct nearfar_region* region, u64 physical, u64 bytes) {
  const u64 reserved = nearfar_reserved_from(physical);

  if (physical % PAGE_SIZE || bytes % PAGE_SIZE) return -EINVAL;
  if (bytes == 0) bytes = round_down(reserved, PAGE_SIZE);
  if (bytes == 0 || bytes > reserved) return -EPERM; /* not what memmap= reserves */
  if (region_intersects(physical, bytes, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT)
    return -EBUSY;
  if (!request_mem_region(physical, bytes, OWNER)) return -EBUSY;
  region->base = memremap(physical, bytes, MEMREMAP_WB);
  if (!region->base) {
    release_mem_region(physical, bytes);
    return -ENOMEM;
  }
  region->kind = NEARFAR_RANGE;
  region->physical = physical;
  region->bytes = bytes;
  return 0;
}

static bool is_dax_device(const struct file* file) {
  return S_ISCHR(file_inode(file)->i_mode) && file->f_mapping->host &&
         IS_DAX(file->f_mapping->host);
}

/* The physical page behind one of a mapping, which is touched. */
static int page_behind(unsigned long address, unsigned long* pfn) {
  struct page* page;

  if (pin_user_pages_fast(address, 1, FOLL_WRITE, &page) != 1) return -ENXIO;
  *pfn = page_to_pfn(page);
  unpin_user_page(page);
  return 0;
}

/* Maps the device for a moment, to learn where its first and its last page lie. */
static int take_mapped(struct nearfar_region* region, struct file* dax, u64 bytes) {
  const unsigned long count = bytes >> PAGE_SHIFT;
  const unsigned long at = vm_mmap(dax, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
  struct dev_pagemap* pagemap;
  unsigned long first, last;
  int error;

  if (IS_ERR_VALUE(at)) return (int)at;
  error = page_behind(at, &first);
  if (!error) error = page_behind(at + bytes - PAGE_SIZE, &last);
  vm_munmap(at, bytes);
  if (error) return error;
  pagemap = pagemap_of(first);
  if (!pagemap) return -ENODEV;
  if (pagemap->type != MEMORY_DEVICE_GENERIC || pagemap->nr_range != 1 ||
      last - first != count - 1) {
    put_dev_pagemap(pagemap);
    return -ENODEV;
  }
  region->base = page_address(pfn_to_page(first));
  region->kind = NEARFAR_DAX;
  region->physical = PFN_PHYS(first);
  region->bytes = bytes;
  region->pagemap = pagemap;
  region->dax = get_file(dax);
  return 0;
}

static int take_dax(struct nearfar_region* region, int fd, u64 bytes) {
  struct file* file = fget((unsigned int)fd);
  int error = 0;

  if (!file) return -EBADF;
  if (!is_dax_device(file))
    error = -ENODEV;
  else if (!(file->f_mode & FMODE_WRITE) || !(file->f_mode & FMODE_READ))
    error = -EACCES;
  else if (bytes == 0 || bytes % PAGE_SIZE || bytes > TASK_SIZE)
    error = -EINVAL;
  else if (mapping_mapped(file->f_mapping))
    error = -EBUSY;
  if (!error) error = take_mapped(region, file, bytes);
  fput(file);
  return error;
}

/* Maps the memory once more, by pages of 4 KiB: translation is then part of what is measured. */
static int map_small(struct nearfar_region* region) {
  const unsigned long count = region->bytes >> PAGE_SHIFT;
  const unsigned long first = region->physical >> PAGE_SHIFT;
  struct page** pages;
  unsigned long i;

  if (count > MOST_SMALL_PAGES) return -E2BIG;
  pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL | __GFP_NOWARN);
  if (!pages) return -ENOMEM;
  for (i = 0; i < count; i++) pages[i] = pfn_to_page(first + i);
  region->small = vmap(pages, (unsigned int)count, VM_MAP, PAGE_KERNEL);
  kvfree(pages);
  if (!region->small) return -ENOMEM;
  region->base = region->small;
  return 0;
}

int nearfar_still_alone(const struct nearfar_region* region) {
  return region->dax && mapping_mapped(region->dax->f_mapping) ? -EBUSY : 0;
}

int nearfar_take(struct nearfar_region* region, struct nearfar_memory* asked) {
  int error = -EINVAL;

  if (asked->protocol != NEARFAR_PROTOCOL) return -EPROTO;
  if (asked->kind > NEARFAR_DAX || (asked->kind != NEARFAR_ALLOCATE && asked->node != -1) ||
      (asked->kind != NEARFAR_DAX && asked->fd) ||
      (asked->kind != NEARFAR_RANGE && asked->physical) || asked->zero ||
      asked->flags & ~NEARFAR_SMALL_PAGES)
    return -EINVAL;
  if (asked->flags && asked->kind != NEARFAR_ALLOCATE && asked->kind != NEARFAR_DAX)
    return -EOPNOTSUPP; /* a range has no struct page */
  nearfar_give_back(region);
  switch (asked->kind) {
    case NEARFAR_RELEASE:
      error = asked->bytes ? -EINVAL : 0;
      break;
    case NEARFAR_ALLOCATE:
      error = nearfar_take_contiguous(region, asked->bytes, asked->node);
      break;
    case NEARFAR_RANGE:
      error = take_range(region, asked->physical, asked->bytes);
      break;
    case NEARFAR_DAX:
      error = take_dax(region, asked->fd, asked->bytes);
      break;
  }
  if (!error && asked->flags & NEARFAR_SMALL_PAGES) {
    error = map_small(region);
    if (error) nearfar_give_back(region);
  }
  asked->physical = region->physical;
  asked->bytes = region->bytes;
  return error;
}

void nearfar_give_back(struct nearfar_region* region) {
  if (region->base) {
    vunmap(region->small);
    switch (region->kind) {
      case NEARFAR_RELEASE:
        break;
      case NEARFAR_ALLOCATE:
        nearfar_give_back_contiguous(region);
        break;
      case NEARFAR_RANGE:
        memunmap(region->base);
        release_mem_region(region->physical, region->bytes);
        break;
      case NEARFAR_DAX:
        put_dev_pagemap(region->pagemap);
        fput(region->dax);
        break;
    }
  }
  memset(region, 0, sizeof(*region));
}
