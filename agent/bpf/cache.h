/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* What the page cache lacked and had to read, and what it gave up. */
#ifndef IOWHY_CACHE_H
#define IOWHY_CACHE_H

#include "call.h"
#include "folio.h"

static __always_inline int count_folio(struct folio *folio, __u16 what)
{
	struct aggregate_key key = { .measure = MEASURE_CACHE, .what = what };
	struct address_space *mapping = folio_mapping(folio);
	struct task_struct *task = current_task();
	struct inode *inode;
	const volatile struct call_known *known;

	inode = mapping ? mapping->host : NULL;
	if (!inode || (inode->i_mode & S_IFMT) != S_IFREG)
		return 0;
	if (what == CACHE_MISSED) {
		/* A page that a write makes was asked of nobody. */
		known = known_of(current_call(task, entry_registers(task)));
		if (known && known->does == DOES_WRITE)
			return 0;
	}
	key.cgroup = group_id_of(task);
	key.dev = inode->i_sb->s_dev;
	add(&key, -1, folio_pages(folio) << page_shift);
	return 0;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(page_added, struct folio *folio)
{
	return count_folio(folio, CACHE_MISSED);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(page_removed, struct folio *folio)
{
	return count_folio(folio, CACHE_EVICTED);
}

#endif
