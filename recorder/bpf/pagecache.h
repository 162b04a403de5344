/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * The page cache: what was asked for, what had to be read, what came ahead of demand, what left.
 *
 * A page that is added while a thread reads it (a page of the range of the read call, or the page that it
 * faulted on) is a demand miss; any other page that a reader adds is readahead. Which pages readahead brought
 * and nobody has asked for yet, and which were evicted, is kept in bitmaps, so that the first look at a
 * prefetched page and the return of an evicted one are distinguished.
 */
#ifndef IOWHY_PAGECACHE_H
#define IOWHY_PAGECACHE_H

#include "chunks.h"
#include "entry.h"
#include "folio.h"
#include "lookup.h"

/* The thread frees memory, for itself, its group, or as kswapd or kdamond do (include/linux/sched.h). */
#define PF_MEMALLOC 0x00000800

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct inode *inode = READ_ONLY(struct address_space, mapping)->host;
	struct cache_counts *counts;
	__u64 from, to, size, demand = 0, ahead, found;
	struct file_id file;
	struct thread *t;

	if (is_reading(ctx, inode))
		return 0;
	t = current_thread();
	if (!t)
		return 0;
	if (t->call >= 0 && (__u64)inode == t->inode && has_range(t)) {
		/* The range is the call's; it is counted when the call returns. */
		t->call_flags |= CALL_LOOKED_UP;
		return 0;
	}
	/* A read whose range is in no argument: io_uring, splice, the kernel's own. */
	file = identify_known(inode);
	from = index;
	to = last + 1;
	size = (inode->i_size + PAGE_SIZE - 1) >> page_shift;
	if (to > size)
		to = size;
	counts = counts_of(&file, t->tgid);
	if (!counts)
		return 0;
	if (t->pending_inode == (__u64)inode) {
		__u64 low = t->pending_from > from ? t->pending_from : from;
		__u64 high = t->pending_to < to ? t->pending_to : to;

		if (low < high) {
			demand = high - low;
			t->pending_from = high;
			if (t->pending_from >= t->pending_to)
				t->pending_inode = 0;
		}
	}
	settle_pending(t);
	/* One read asks again for what its first batch of pages did not hold. */
	if (t->asked_inode == (__u64)inode && t->asked_to == to && from)
		ahead = 0;
	else
		ahead = to > from ? to - from : 0;
	t->asked_inode = (__u64)inode;
	t->asked_to = to;
	COUNT(counts, lookups, ahead);
	COUNT(counts, demand, demand);
	found = take_ahead(t, &file, from, to);
	COUNT(counts, prefetched, found);
	return 0;
}

/* long: read call, fault, write and readahead decide about the same values, and a program has 512 bytes of stack. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_add, struct folio *folio)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct address_space *mapping;
	struct inode *inode;
	struct cache_counts *counts;
	__u64 page, end, pages, low = 0, high = 0, demand = 0, found;
	bool mapped = false;
	struct file_id file;

	if (!t)
		return 0;
	mapping = folio_mapping(folio);
	if (!mapping)
		return 0;
	inode = READ_ONLY(struct address_space, mapping)->host;
	if (!inode || !is_regular(inode))
		return 0;
	/* A write that makes a page reads none of it (or its edges, which is not the reader's demand). */
	if (t->call >= 0 && t->call_kind == CALL_WRITE && (__u64)inode == t->inode)
		return 0;
	page = folio_index(folio);
	end = folio_end(folio, inode);
	pages = end - page;
	file = identify_known(inode);
	counts = counts_of(&file, t->tgid);
	if (!counts)
		return 0;
	found = walk_chunks(&file, page, end, TAKE_EVICTED);
	COUNT(counts, refault, found);
	if (t->fault_mapping == (__u64)mapping && t->fault_number == fault_number(task)) {
		if (t->fault_index >= page && t->fault_index < end) {
			demand = 1;
			low = t->fault_index;
			high = low + 1;
			mapped = maps_folios();
			if (!t->fault_major) {
				t->fault_major = 1;
				COUNT(counts, major, 1);
			}
		}
	} else if (t->call >= 0 && (__u64)inode == t->inode && has_range(t)) {
		low = t->call_offset >> page_shift;
		high = (t->call_offset + t->call_bytes + PAGE_SIZE - 1) >> page_shift;
		if (low < page)
			low = page;
		if (high > end)
			high = end;
		if (high > low)
			demand = high - low;
	} else if (t->call >= 0 && t->call_kind == CALL_AHEAD) {
		demand = 0;
	} else if (estimate_lookups && t->call < 0) {
		/* A page fault, whose page is in no tracepoint: one of those that it adds is that. */
		demand = t->fault_number != fault_number(task);
		t->fault_number = fault_number(task);
		if (is_in_exception(task)) {
			t->fault_file = file;
			t->fault_named = t->fault_number;
		}
		low = page;
		high = page + 1;
		COUNT(counts, lookups, demand);
	} else {
		/* Whether it was asked for shows when it is looked up. */
		if (t->pending_inode == (__u64)inode && t->pending_to == page) {
			t->pending_to = end;
			return 0;
		}
		settle_pending(t);
		t->pending_inode = (__u64)inode;
		t->pending_from = page;
		t->pending_to = end;
		return 0;
	}
	COUNT(counts, demand, demand);
	if (demand < pages) {
		COUNT(counts, readahead, pages - demand);
		if (mapped) {
			/* The rest of the folio is within reach as soon as this fault is over. */
			COUNT(counts, prefetched, pages - demand);
			return 0;
		}
		walk_chunks(&file, page, end, SET_AHEAD);
		if (demand)
			walk_chunks(&file, low, high, TAKE_AHEAD);
		__sync_fetch_and_add(&ahead_changes, 1);
	}
	return 0;
}

/* Whose counts these are; it may have ended when they are read. */
static __always_inline void name_outsider(struct cache_counts *counts)
{
	struct task_struct *task = current_task();

	if (!counts->comm[0])
		BPF_CORE_READ_STR_INTO(&counts->comm, task, group_leader, comm);
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(on_page_delete, struct folio *folio)
{
	struct address_space *mapping = folio_mapping(folio);
	struct task_struct *task = current_task();
	struct cache_counts *counts;
	struct inode *inode;
	struct thread *t;
	__u64 page, pages;
	struct file_id file;
	__u8 kind;

	if (!mapping)
		return 0;
	inode = READ_ONLY(struct address_space, mapping)->host;
	if (!inode || !is_regular(inode))
		return 0;
	file = identify_known(inode);
	if (!whole_machine && !is_touched(&file))
		return 0;
	page = folio_index(folio);
	pages = folio_end(folio, inode) - page;
	t = thread_of(task);
	kind = t && t->call >= 0 ? t->call_kind : CALL_PLAIN;
	if (!inode->i_nlink || kind == CALL_REMOVE || kind == CALL_OPEN /* O_TRUNC */) {
		/* Truncated or deleted: these pages will not be wanted again. */
		walk_chunks(&file, page, page + pages, FORGET);
		return 0;
	}
	/* Given up (POSIX_FADV_DONTNEED): it is for no want of memory when they are read again. */
	walk_chunks(&file, page, page + pages, kind == CALL_AHEAD ? FORGET : SET_EVICTED);
	counts = counts_of(&file, CURRENT_TGID(task));
	if (!counts)
		return 0;
	COUNT(counts, evicted, pages);
	if (OF_CURRENT(task, flags) & PF_MEMALLOC)
		COUNT(counts, reclaimed, pages);
	if (!t)
		name_outsider(counts);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct cache_counts *counts;
	struct inode *inode;
	__u64 number, found, from, to;
	struct file_id file;

	if (!t)
		return 0;
	number = fault_number(task);
	if (t->fault_number == number && t->fault_mapping == (__u64)mapping && t->fault_index == index)
		return 0; /* the same fault, tried again */
	inode = READ_ONLY(struct address_space, mapping)->host;
	file = identify_known(inode);
	counts = counts_of(&file, t->tgid);
	if (!counts)
		return 0;
	/* When the pages around it were mapped first, this fault is counted already. */
	if (t->fault_number != number) {
		COUNT(counts, faults, 1);
		COUNT(counts, lookups, 1);
	}
	t->fault_number = number;
	t->fault_mapping = (__u64)mapping;
	t->fault_index = index;
	t->fault_file = file;
	t->fault_named = number;
	t->fault_major = 0;
	from = index;
	to = index + 1;
	if (ahead_changes && maps_folios())
		folio_around(mapping, index, &from, &to);
	found = take_ahead(t, &file, from, to);
	COUNT(counts, prefetched, found);
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct cache_counts *counts;
	struct inode *inode;
	__u64 number, found, from, to;
	struct file_id file;

	if (!t)
		return 0;
	number = fault_number(task);
	inode = READ_ONLY(struct address_space, mapping)->host;
	file = identify_known(inode);
	counts = counts_of(&file, t->tgid);
	if (!counts)
		return 0;
	if (t->fault_number != number) {
		COUNT(counts, faults, 1);
		COUNT(counts, lookups, 1);
		t->fault_number = number;
		t->fault_mapping = 0;
		t->fault_major = 0;
	}
	if (t->fault_named != number) {
		t->fault_file = file;
		t->fault_named = number;
	}
	/* Pages that readahead brought are now within reach without another fault. */
	from = first;
	to = last + 1;
	if (ahead_changes && maps_folios()) {
		folio_around(mapping, first, &from, &to);
		folio_around(mapping, last, &from, &to);
	}
	found = take_ahead(t, &file, from, to);
	COUNT(counts, prefetched, found);
	return 0;
}

/* What waits for the filesystems of the command's files may wait for what others made dirty there. */
static __always_inline void dirtied_outside(struct inode *inode, struct folio *folio)
{
	struct file_id filesystem = { .dev = BPF_CORE_READ(inode, i_sb, s_dev) };
	struct cache_counts *counts;

	if (!bpf_map_lookup_elem(&touched_filesystems, &filesystem.dev))
		return;
	counts = counts_of(&filesystem, current_ids() >> 32);
	if (!counts)
		return;
	COUNT(counts, dirtied, folio_pages(folio));
	name_outsider(counts);
}

/*
 * The kernel marks whole folios dirty, and says so once. What a write call dirtied are the pages of its range
 * that were clean: they are counted when it returns. Memory that is mapped is dirtied by folios.
 */
static __always_inline int page_dirtied(struct folio *folio, struct address_space *mapping)
{
	struct thread *t = current_thread();
	struct cache_counts *counts;
	struct inode *inode;
	__u64 first, end, found;
	struct file_id file;

	if (!mapping)
		return 0;
	inode = READ_ONLY(struct address_space, mapping)->host;
	if (!inode || !is_regular(inode))
		return 0;
	if (!t) {
		dirtied_outside(inode, folio);
		return 0;
	}
	if (t->call >= 0 && t->call_kind == CALL_WRITE && (__u64)inode == t->inode &&
	    (t->call_flags & CALL_HAS_OFFSET)) {
		t->call_flags |= CALL_DIRTIED;
		return 0;
	}
	file = identify_known(inode);
	first = folio_index(folio);
	end = first + folio_pages(folio);
	not_pending(t, inode, first, end);
	found = walk_chunks(&file, first, end, SET_DIRTY);
	counts = found ? counts_of(&file, t->tgid) : NULL;
	if (counts)
		COUNT(counts, dirtied, found);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_page_dirty, struct folio *folio, struct address_space *mapping)
{
	return page_dirtied(folio, mapping);
}

/* Its name before 5.18. */
SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(on_one_page_dirty, struct folio *page, struct address_space *mapping)
{
	return page_dirtied(page, mapping);
}

#endif
