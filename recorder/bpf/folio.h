/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Which pages of a file a folio holds. On kernels before folios (5.16) one is the first page of what belongs together,
 * which lies in memory as a folio does.
 */
#ifndef IOWHY_FOLIO_H
#define IOWHY_FOLIO_H

#include "older.h"

static __always_inline struct address_space *folio_mapping(struct folio *folio)
{
	if (bpf_core_type_exists(struct folio))
		return READ_ONLY(struct folio, folio)->mapping;
	return ((struct page___before_5_16 *)folio)->mapping;
}

static __always_inline __u64 folio_index(struct folio *folio)
{
	if (bpf_core_type_exists(struct folio))
		return folio->index;
	return ((struct page___before_5_16 *)folio)->index;
}

static __always_inline __u64 folio_pages(struct folio *folio)
{
	__u32 at = bpf_core_type_size(struct page);
	unsigned long flags = 0;
	unsigned char order = 0;

	/* The flags are the first word of a page and of a folio; the second page's hold the order since 6.6. */
	if (bpf_core_field_exists(struct page___before_6_3, compound_order))
		at += bpf_core_field_offset(struct page___before_6_3, compound_order);
	else if (bpf_core_field_exists(struct folio___before_6_6, _folio_order))
		at = bpf_core_field_offset(struct folio___before_6_6, _folio_order);
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags & (1UL << bpf_core_enum_value(enum pageflags, PG_head))))
		return 1;
	bpf_probe_read_kernel(&order, sizeof(order), (void *)folio + at);
	return 1ULL << (order & 31);
}

extern int LINUX_KERNEL_VERSION __kconfig;

/* From 6.18 on a fault maps the whole folio that it hits, not only the pages of its tracepoint. */
static __always_inline bool maps_folios(void)
{
	return LINUX_KERNEL_VERSION >= (6 << 16 | 18 << 8);
}

/* Levels of the tree of a mapping's folios (lib/xarray.c): six bits of an index of 64 each. */
#define TREE_LEVELS 11
#define TREE_BITS 6

/*
 * Widens [from, to) to the large folios that hold its pages `from` and `to - 1`. Nothing is locked: a folio
 * that goes away meanwhile is not found, or is found where it was.
 */
static __noinline void folio_around(struct address_space *mapping, __u64 index, __u64 *from, __u64 *to)
{
	unsigned long entry = (unsigned long)BPF_CORE_READ(mapping, i_pages.xa_head);
	unsigned long first = 0;
	struct folio *folio;
	__u64 pages;

	for (int level = 0; level < TREE_LEVELS && (entry & 3) == 2 && entry > 4096; level++) {
		struct xa_node *node = (struct xa_node *)(entry - 2);
		__u64 slot = index >> (BPF_CORE_READ(node, shift) & 63) & ((1 << TREE_BITS) - 1);

		bpf_core_read(&entry, sizeof(entry), &node->slots[slot]);
		/* A sibling: the folio is in an earlier slot of this node. */
		if ((entry & 3) == 2 && entry < (1 << TREE_BITS) << 2) {
			slot = entry >> 2 & ((1 << TREE_BITS) - 1);
			bpf_core_read(&entry, sizeof(entry), &node->slots[slot]);
		}
	}
	if (!entry || entry & 3)
		return;
	folio = (struct folio *)entry;
	pages = folio_pages(folio);
	first = BPF_CORE_READ(folio, index);
	if (pages < 2 || index < first || index >= first + pages)
		return;
	if (*from > first)
		*from = first;
	if (*to < first + pages)
		*to = first + pages;
}

/* The end of a folio's pages; pages behind the end of the file (large blocks have such) hold nothing. */
static __always_inline __u64 folio_end(struct folio *folio, struct inode *inode)
{
	__u64 end = folio_index(folio) + folio_pages(folio);
	__u64 size = (inode->i_size + PAGE_SIZE - 1) >> page_shift;

	return folio_index(folio) < size && size < end ? size : end;
}

static __always_inline bool is_regular(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFREG;
}

#endif
