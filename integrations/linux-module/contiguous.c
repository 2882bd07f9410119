// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* Contiguous memory of the system: one block of pages, or a range that is cleared of others' pages.
 */
#include <linux/gfp.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pfn.h>
#include <linux/sched/signal.h>

#include "nearfar.h"

#define GATHERED (~0U)
#define MOST_BLOCK (4UL << 20)
/* Ranges begin at multiples of the largest block of pages. */
#define APART (MOST_BLOCK >> PAGE_SHIFT)
#define WANTED (GFP_KERNEL | __GFP_NOWARN)

#ifndef ACR_FLAGS_NONE
#define ACR_FLAGS_NONE MIGRATE_MOVABLE
#endif

static void clear(struct nearfar_region* region) {
  u64 at;

  for (at = 0; at < region->bytes; at += PAGE_SIZE) {
    clear_page((char*)region->base + at);
    if (at % MOST_BLOCK == 0) cond_resched();
  }
}

static void took(struct nearfar_region* region, struct page* page, u64 bytes, unsigned int order) {
  region->base = page_address(page);
  region->physical = PFN_PHYS(page_to_pfn(page));
  region->bytes = bytes;
  region->order = order;
  region->kind = NEARFAR_ALLOCATE;
  clear(region);
}

#ifdef CONFIG_CONTIG_ALLOC
static bool lies_in(const struct zone* zone, unsigned long first, unsigned long count) {
  unsigned long pfn;

  for (pfn = first; pfn < first + count; pfn++) {
    struct page* page = pfn_to_online_page(pfn);

    if (!page || page_zone(page) != zone || PageReserved(page) || PageHuge(page)) return false;
  }
  return true;
}

static int gather_in(struct nearfar_region* region, struct zone* zone, u64 bytes) {
  const unsigned long count = bytes >> PAGE_SHIFT;
  const unsigned long end = zone_end_pfn(zone);
  unsigned long pfn;

  for (pfn = ALIGN(zone->zone_start_pfn, APART); pfn + count <= end; pfn += APART) {
    cond_resched();
    if (signal_pending(current)) return -EINTR;
    if (!lies_in(zone, pfn, count)) continue;
    if (alloc_contig_range(pfn, pfn + count, ACR_FLAGS_NONE, WANTED)) continue;
    took(region, pfn_to_page(pfn), bytes, GATHERED);
    return 0;
  }
  return -ENOMEM;
}

static int gather(struct nearfar_region* region, u64 bytes, int wanted_node) {
  int node, kind, error = -ENOMEM;

  for_each_online_node(node) {
    if (wanted_node >= 0 && node != wanted_node) continue;
    for (kind = MAX_NR_ZONES - 1; kind >= 0 && error == -ENOMEM; kind--) {
      struct zone* zone = &NODE_DATA(node)->node_zones[kind];

      if (kind != ZONE_DMA && populated_zone(zone)) error = gather_in(region, zone, bytes);
    }
  }
  return error;
}
#else
static int gather(struct nearfar_region* region, u64 bytes, int wanted_node) { return -EOPNOTSUPP; }
#endif

int nearfar_take_contiguous(struct nearfar_region* region, u64 bytes, int node) {
  struct page* page;
  unsigned int order;

  if (bytes == 0 || bytes % PAGE_SIZE || node < -1 || node >= MAX_NUMNODES ||
      (node >= 0 && !node_online(node)))
    return -EINVAL;
  if (bytes > NEARFAR_MOST_ALLOCATED) return -E2BIG;
  if (bytes > MOST_BLOCK) return gather(region, bytes, node);
  order = (unsigned int)get_order(bytes);
  page = alloc_pages_node(node < 0 ? NUMA_NO_NODE : node,
                          WANTED | __GFP_RETRY_MAYFAIL | (node < 0 ? 0 : __GFP_THISNODE), order);
  if (!page) return -ENOMEM;
  took(region, page, bytes, order);
  return 0;
}

void nearfar_give_back_contiguous(struct nearfar_region* region) {
#ifdef CONFIG_CONTIG_ALLOC
  if (region->order == GATHERED) {
    free_contig_range(region->physical >> PAGE_SHIFT, region->bytes >> PAGE_SHIFT);
    return;
  }
#endif
  __free_pages(pfn_to_page(region->physical >> PAGE_SHIFT), region->order);
}
