/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * The page cache: what was asked for, what had to be read, what came ahead of demand, what left.
 *
 * A page that is added while a thread reads it (a page of the range of the read call, or the page that it
 * faulted on) is a demand miss; any other page that a reader adds is readahead. Which pages readahead brought
 * and nobody has asked for yet, and which were evicted, is kept in bitmaps, so that the first look at a
 * prefetched page and the return of an evicted one are told apart.
 */
#ifndef IOWHY_PAGECACHE_H
#define IOWHY_PAGECACHE_H

#include "thread.h"
#include "file.h"

/* Two halves, as for the totals of calls. */
struct cache_half {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct cache_key);
	__type(value, struct cache_counts);
};
struct cache_half cache_0 SEC(".maps");
struct cache_half cache_1 SEC(".maps");

/* Pages of one bitmap: 2 MiB of a file. */
#define CHUNK_SHIFT 9
#define CHUNK_PAGES (1 << CHUNK_SHIFT)
#define CHUNK_WORDS (CHUNK_PAGES / 64)
/* Words of a range that are looked at: 2 GiB. */
#define WORDS_MOST 8192

struct chunk_key {
	__u64 ino;
	__u32 dev;
	__u32 chunk;
};

struct chunk {
	__u64 ahead[CHUNK_WORDS]; /* brought by readahead, not asked for yet */
	__u64 evicted[CHUNK_WORDS];
	__u64 dirty[CHUNK_WORDS]; /* written to, not yet handed to the device */
	__u64 any_dirty; /* the kernel has told of a dirty page here: this file goes through the cache */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct chunk_key);
	__type(value, struct chunk);
} chunks SEC(".maps");

/* Becomes another value whenever readahead brings pages: while it stays, an empty bitmap stays empty. */
__u64 ahead_changes = 0;

static __always_inline struct cache_counts *counts_of(__u32 dev, __u64 ino, __u32 tgid)
{
	struct cache_key key = { .ino = ino, .dev = dev, .tgid = tgid };
	struct cache_counts fresh = {};
	struct cache_counts *counts;

	/* Twice, as another CPU may put the entry there between the look and the update. */
	if (half & 1) {
		counts = bpf_map_lookup_elem(&cache_1, &key);
		if (counts)
			return counts;
		bpf_map_update_elem(&cache_1, &key, &fresh, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&cache_1, &key);
	} else {
		counts = bpf_map_lookup_elem(&cache_0, &key);
		if (counts)
			return counts;
		bpf_map_update_elem(&cache_0, &key, &fresh, BPF_NOEXIST);
		counts = bpf_map_lookup_elem(&cache_0, &key);
	}
	if (!counts)
		__sync_fetch_and_add(&lost_counts, 1);
	return counts;
}

#define COUNT(counts, field, n)                                                                          \
	do {                                                                                             \
		if (n)                                                                                   \
			__sync_fetch_and_add(&(counts)->field, n);                                       \
	} while (0)

static __always_inline __u64 bits_set(__u64 x)
{
	x = x - ((x >> 1) & 0x5555555555555555ULL);
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

enum chunk_action {
	TAKE_AHEAD, /* asked for: clears the bits, says how many were set */
	SET_AHEAD, /* brought by readahead */
	TAKE_EVICTED, /* added again: clears the bits, says how many were set */
	SET_EVICTED, /* left the cache; also no longer ahead */
	FORGET, /* gone for good */
	SET_DIRTY, /* written to: says how many were clean */
	SET_DIRTY_TOO, /* the same, where the bitmap has dirty pages already */
	SET_CLEAN, /* handed to the device */
};

struct chunk_walk {
	__u64 ino;
	__u64 page;
	__u64 end;
	__u64 found;
	__u32 dev;
	__u32 action;
};

/*
 * One word of a bitmap: up to 64 pages. A step for each word, not a loop over the words of a bitmap, keeps the
 * verifier's work small, which is most of the time that the recorder takes to start.
 */
static long chunk_step(__u32 step, struct chunk_walk *w)
{
	struct chunk_key key = { .ino = w->ino, .dev = w->dev, .chunk = w->page >> CHUNK_SHIFT };
	__u32 word = (w->page >> 6) & (CHUNK_WORDS - 1);
	__u32 from = w->page & 63;
	__u64 length = w->end - w->page;
	__u32 action = w->action;
	struct chunk *chunk;
	__u64 mask;

	if (w->page >= w->end)
		return 1;
	mask = ~0ULL << from;
	if (length < 64 - from)
		mask &= (1ULL << ((from + length) & 63)) - 1;
	w->page += 64 - from;
	chunk = bpf_map_lookup_elem(&chunks, &key);
	if (!chunk) {
		struct chunk fresh = {};

		if (action != SET_AHEAD && action != SET_EVICTED && action != SET_DIRTY)
			return 0;
		bpf_map_update_elem(&chunks, &key, &fresh, BPF_NOEXIST);
		chunk = bpf_map_lookup_elem(&chunks, &key);
		if (!chunk)
			return 0;
	}
	switch (action) {
	case TAKE_AHEAD:
		if (chunk->ahead[word] & mask)
			w->found += bits_set(__sync_fetch_and_and(&chunk->ahead[word], ~mask) & mask);
		break;
	case SET_AHEAD:
		__sync_fetch_and_or(&chunk->ahead[word], mask);
		break;
	case TAKE_EVICTED:
		if (chunk->evicted[word] & mask)
			w->found += bits_set(__sync_fetch_and_and(&chunk->evicted[word], ~mask) & mask);
		break;
	case SET_EVICTED:
		__sync_fetch_and_and(&chunk->ahead[word], ~mask);
		__sync_fetch_and_or(&chunk->evicted[word], mask);
		break;
	case FORGET:
		__sync_fetch_and_and(&chunk->ahead[word], ~mask);
		__sync_fetch_and_and(&chunk->evicted[word], ~mask);
		__sync_fetch_and_and(&chunk->dirty[word], ~mask);
		break;
	case SET_DIRTY_TOO:
		if (!chunk->any_dirty)
			break;
		/* fallthrough */
	case SET_DIRTY:
		chunk->any_dirty = 1;
		if (~chunk->dirty[word] & mask)
			w->found += bits_set(~__sync_fetch_and_or(&chunk->dirty[word], mask) & mask);
		break;
	case SET_CLEAN:
		if (chunk->dirty[word] & mask)
			__sync_fetch_and_and(&chunk->dirty[word], ~mask);
		break;
	}
	return 0;
}

/* Walks the bitmaps of [page, end); a function of its own, so that the verifier looks at it once. */
__noinline __u64 walk_chunks(__u64 ino, __u32 dev, __u64 page, __u64 end, __u32 action)
{
	struct chunk_walk w = { .ino = ino, .dev = dev, .page = page, .end = end, .action = action };

	bpf_loop(WORDS_MOST, chunk_step, &w, 0);
	return w.found;
}

/* Pages [page, end) of the file were asked for: how many of them had readahead brought? */
static __always_inline __u64 take_ahead(struct thread *t, __u32 dev, __u64 ino, __u64 page, __u64 end)
{
	__u64 changes = ahead_changes;
	__u64 chunk = page >> CHUNK_SHIFT;
	__u64 found;

	if (!changes || end <= page)
		return 0;
	if (t->none_ahead == changes && t->none_ino == ino && t->none_chunk == chunk &&
	    (end - 1) >> CHUNK_SHIFT == chunk)
		return 0;
	found = walk_chunks(ino, dev, page, end, TAKE_AHEAD);
	if (!found && (end - 1) >> CHUNK_SHIFT == chunk && (page & (CHUNK_PAGES - 1)) == 0 &&
	    (end & (CHUNK_PAGES - 1)) == 0) {
		t->none_ahead = changes;
		t->none_ino = ino;
		t->none_chunk = chunk;
	}
	return found;
}

/* A read call has returned `ret` bytes; it asked the page cache for the range that it read. */
static __always_inline void count_read(struct thread *t, long ret)
{
	struct cache_counts *counts;
	__u64 page, end, found;

	if (ret <= 0 || !(t->call_flags & CALL_HAS_OFFSET))
		return;
	page = t->call_offset >> PAGE_SHIFT;
	end = ((t->call_offset + ret - 1) >> PAGE_SHIFT) + 1;
	found = take_ahead(t, t->dev, t->ino, page, end);
	if (found) {
		counts = counts_of(t->dev, t->ino, t->tgid);
		if (counts)
			COUNT(counts, prefetched, found);
	}
}

/* A write call has written `ret` bytes. */
static __always_inline void count_write(struct thread *t, long ret)
{
	struct cache_counts *counts;
	__u64 start = t->call_offset, page, end, found;

	if (ret <= 0 || !(t->call_flags & CALL_HAS_OFFSET))
		return;
	page = start >> PAGE_SHIFT;
	end = ((start + ret - 1) >> PAGE_SHIFT) + 1;
	found = walk_chunks(t->ino, t->dev, page, end, t->call_flags & CALL_DIRTIED ? SET_DIRTY : SET_DIRTY_TOO);
	counts = found ? counts_of(t->dev, t->ino, t->tgid) : NULL;
	if (counts)
		COUNT(counts, dirtied, found);
}

/* What was added outside a read call and not asked for until now was readahead. */
static __always_inline void settle_pending(struct thread *t)
{
	struct inode *inode = (struct inode *)t->pending_inode;
	struct cache_counts *counts;
	__u64 ino, pages;
	__u32 dev;

	if (!inode)
		return;
	t->pending_inode = 0;
	pages = t->pending_to - t->pending_from;
	ino = BPF_CORE_READ(inode, i_ino);
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	counts = counts_of(dev, ino, t->tgid);
	if (counts)
		COUNT(counts, readahead, pages);
	walk_chunks(ino, dev, t->pending_from, t->pending_to, SET_AHEAD);
	__sync_fetch_and_add(&ahead_changes, 1);
}

/* Pages [first, end) are written to: a write of which no argument tells (io_uring's) made them, not a reader. */
static __always_inline void not_pending(struct thread *t, struct inode *inode, __u64 first, __u64 end)
{
	if (t->pending_inode != (__u64)inode || first >= t->pending_to || end <= t->pending_from)
		return;
	if (first <= t->pending_from)
		t->pending_from = end;
	else
		t->pending_to = first;
	if (t->pending_from >= t->pending_to)
		t->pending_inode = 0;
}

/* The number of the page fault that the thread is in: it stays while the kernel tries again. */
static __always_inline __u64 fault_number(struct task_struct *task)
{
	return task->min_flt + task->maj_flt + 1;
}

static __always_inline bool has_range(struct thread *t)
{
	return t->call_kind == CALL_READ && (t->call_flags & CALL_HAS_OFFSET) && (t->call_flags & CALL_HAS_BYTES);
}

SEC("tp_btf/mm_filemap_get_pages")
int BPF_PROG(on_get_pages, struct address_space *mapping, unsigned long index, unsigned long last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct inode *inode;
	struct cache_counts *counts;
	__u64 from, to, size, demand = 0, ahead, found, ino;
	__u32 dev;

	if (!t)
		return 0;
	inode = mapping->host;
	if (t->call >= 0 && (__u64)inode == t->inode && has_range(t)) {
		/* The range is the call's; it is counted when the call returns. */
		t->call_flags |= CALL_LOOKED_UP;
		return 0;
	}
	/* A read whose range no argument tells: io_uring, splice, the kernel's own. */
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	from = index;
	to = last + 1;
	size = (inode->i_size + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (to > size)
		to = size;
	counts = counts_of(dev, ino, t->tgid);
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
	found = take_ahead(t, dev, ino, from, to);
	COUNT(counts, prefetched, found);
	return 0;
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

/* From 6.18 on a fault maps the whole folio that it hits, not only the pages that its tracepoint tells. */
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
	__u64 end = folio->index + folio_pages(folio);
	__u64 size = (inode->i_size + PAGE_SIZE - 1) >> PAGE_SHIFT;

	return folio->index < size && size < end ? size : end;
}

static __always_inline bool is_regular(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFREG;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_add, struct folio *folio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct address_space *mapping;
	struct inode *inode;
	struct cache_counts *counts;
	__u64 page, end, pages, low = 0, high = 0, ino, demand = 0, found;
	bool mapped = false;
	__u32 dev;

	if (!t)
		return 0;
	mapping = folio->mapping;
	if (!mapping)
		return 0;
	inode = mapping->host;
	if (!inode || !is_regular(inode))
		return 0;
	/* A write that makes a page reads none of it (or its edges, which is not the reader's demand). */
	if (t->call >= 0 && t->call_kind == CALL_WRITE && (__u64)inode == t->inode)
		return 0;
	page = folio->index;
	end = folio_end(folio, inode);
	pages = end - page;
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	counts = counts_of(dev, ino, t->tgid);
	if (!counts)
		return 0;
	found = walk_chunks(ino, dev, page, end, TAKE_EVICTED);
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
		low = t->call_offset >> PAGE_SHIFT;
		high = (t->call_offset + t->call_bytes + PAGE_SIZE - 1) >> PAGE_SHIFT;
		if (low < page)
			low = page;
		if (high > end)
			high = end;
		if (high > low)
			demand = high - low;
	} else if (t->call >= 0 && t->call_kind == CALL_AHEAD) {
		demand = 0;
	} else if (estimate_lookups && t->call < 0) {
		/* A page fault, of which no tracepoint tells the page: one of those that it adds is that. */
		demand = t->fault_number != fault_number(task);
		t->fault_number = fault_number(task);
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
		walk_chunks(ino, dev, page, end, SET_AHEAD);
		if (demand)
			walk_chunks(ino, dev, low, high, TAKE_AHEAD);
		__sync_fetch_and_add(&ahead_changes, 1);
	}
	return 0;
}

SEC("tp_btf/mm_filemap_delete_from_page_cache")
int BPF_PROG(on_page_delete, struct folio *folio)
{
	struct address_space *mapping = folio->mapping;
	struct task_struct *task = bpf_get_current_task_btf();
	struct cache_counts *counts;
	struct inode *inode;
	struct thread *t;
	__u64 page, pages, ino;
	__u32 dev;
	__u8 kind;

	if (!mapping)
		return 0;
	inode = mapping->host;
	if (!inode || !is_regular(inode))
		return 0;
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (!whole_machine && !is_touched(inode, dev, ino))
		return 0;
	page = folio->index;
	pages = folio_end(folio, inode) - page;
	t = thread_of(task);
	kind = t && t->call >= 0 ? t->call_kind : CALL_PLAIN;
	if (!inode->i_nlink || kind == CALL_REMOVE || kind == CALL_OPEN /* O_TRUNC */) {
		/* Truncated or deleted: these pages will not be wanted again. */
		walk_chunks(ino, dev, page, page + pages, FORGET);
		return 0;
	}
	/* Given up (POSIX_FADV_DONTNEED): it is for no want of memory when they are read again. */
	walk_chunks(ino, dev, page, page + pages, kind == CALL_AHEAD ? FORGET : SET_EVICTED);
	counts = counts_of(dev, ino, task->tgid);
	if (counts)
		COUNT(counts, evicted, pages);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct cache_counts *counts;
	struct inode *inode;
	__u64 number, ino, found, from, to;
	__u32 dev;

	if (!t)
		return 0;
	number = fault_number(task);
	if (t->fault_number == number && t->fault_mapping == (__u64)mapping && t->fault_index == index)
		return 0; /* the same fault, tried again */
	inode = mapping->host;
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	counts = counts_of(dev, ino, t->tgid);
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
	t->fault_major = 0;
	from = index;
	to = index + 1;
	if (ahead_changes && maps_folios())
		folio_around(mapping, index, &from, &to);
	found = take_ahead(t, dev, ino, from, to);
	COUNT(counts, prefetched, found);
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct cache_counts *counts;
	struct inode *inode;
	__u64 number, ino, found, from, to;
	__u32 dev;

	if (!t)
		return 0;
	number = fault_number(task);
	inode = mapping->host;
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	counts = counts_of(dev, ino, t->tgid);
	if (!counts)
		return 0;
	if (t->fault_number != number) {
		COUNT(counts, faults, 1);
		COUNT(counts, lookups, 1);
		t->fault_number = number;
		t->fault_mapping = 0;
		t->fault_major = 0;
	}
	/* Pages that readahead brought are now within reach without another fault. */
	from = first;
	to = last + 1;
	if (ahead_changes && maps_folios()) {
		folio_around(mapping, first, &from, &to);
		folio_around(mapping, last, &from, &to);
	}
	found = take_ahead(t, dev, ino, from, to);
	COUNT(counts, prefetched, found);
	return 0;
}

/*
 * The kernel marks whole folios dirty, and says so once. What a write call dirtied are the pages of its range
 * that were clean: they are counted when it returns. Memory that is mapped is dirtied by folios.
 */
SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_page_dirty, struct folio *folio, struct address_space *mapping)
{
	struct thread *t = current_thread();
	struct cache_counts *counts;
	struct inode *inode;
	__u64 first, end, found;
	__u64 ino;
	__u32 dev;

	if (!t || !mapping)
		return 0;
	inode = mapping->host;
	if (!inode || !is_regular(inode))
		return 0;
	if (t->call >= 0 && t->call_kind == CALL_WRITE && (__u64)inode == t->inode &&
	    (t->call_flags & CALL_HAS_OFFSET)) {
		t->call_flags |= CALL_DIRTIED;
		return 0;
	}
	ino = inode->i_ino;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	first = folio->index;
	end = first + folio_pages(folio);
	not_pending(t, inode, first, end);
	found = walk_chunks(ino, dev, first, end, SET_DIRTY);
	counts = found ? counts_of(dev, ino, t->tgid) : NULL;
	if (counts)
		COUNT(counts, dirtied, found);
	return 0;
}

#endif
