/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Counts of the page cache by process and file, and bitmaps of its pages: which readahead brought and nobody has asked
 * for yet, which were evicted, which are dirty.
 */
#ifndef IOWHY_CHUNKS_H
#define IOWHY_CHUNKS_H

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
/* The verifier follows each step of a loop there: 32 MiB. The rest of a longer range is counted as lost. */
#define WORDS_MOST_BEFORE_5_17 128

struct chunk_key {
	struct file_id file;
	__u64 chunk;
};

struct chunk {
	__u64 ahead[CHUNK_WORDS]; /* brought by readahead, not asked for yet */
	__u64 evicted[CHUNK_WORDS];
	__u64 dirty[CHUNK_WORDS]; /* written to, not yet handed to the device */
	__u64 any_dirty; /* the kernel has traced a dirty page here: this file goes through the cache */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct chunk_key);
	__type(value, struct chunk);
} chunks SEC(".maps");

/* All zero. Not on the stack: three functions that call each other share 512 bytes of it. */
static const struct chunk no_chunk;

/* Becomes another value whenever readahead brings pages: while it stays, an empty bitmap stays empty. */
__u64 ahead_changes = 0;

static __always_inline struct cache_counts *counts_of(const struct file_id *file, __u32 tgid)
{
	struct cache_key key = { .file = *file, .tgid = tgid };
	struct cache_counts fresh = {};
	struct cache_counts *counts;

	/* Twice, as another CPU may put the entry there between the look and the update. */
	if (half & 1) {
		counts = bpf_map_lookup_elem(&cache_1, &key);
		if (counts)
			return counts;
		bpf_map_update_elem(&cache_1, &key, &fresh, BPF_NOEXIST);
		__sync_fetch_and_add(&new_counts[1], 1);
		counts = bpf_map_lookup_elem(&cache_1, &key);
	} else {
		counts = bpf_map_lookup_elem(&cache_0, &key);
		if (counts)
			return counts;
		bpf_map_update_elem(&cache_0, &key, &fresh, BPF_NOEXIST);
		__sync_fetch_and_add(&new_counts[0], 1);
		counts = bpf_map_lookup_elem(&cache_0, &key);
	}
	if (!counts)
		__sync_fetch_and_add(&lost_counts, 1);
	return counts;
}

#define COUNT(counts, field, n)                                    \
	do {                                                       \
		if (n)                                             \
			__sync_fetch_and_add(&(counts)->field, n); \
	} while (0)

static __always_inline __u64 bits_set(__u64 x)
{
	x = x - ((x >> 1) & 0x5555555555555555ULL);
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

/* Clears bits; gives those that were set. Without atomics two CPUs may take the same one. */
static __always_inline __u64 clear_bits(__u64 *word, __u64 mask)
{
	__u64 old;

	if (HAS_ATOMICS)
		return __sync_fetch_and_and(word, ~mask) & mask;
	old = *word;
	*word = old & ~mask;
	return old & mask;
}

/* Sets bits; gives those that were clear. */
static __always_inline __u64 set_bits(__u64 *word, __u64 mask)
{
	__u64 old;

	if (HAS_ATOMICS)
		return ~__sync_fetch_and_or(word, mask) & mask;
	old = *word;
	*word = old | mask;
	return ~old & mask;
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
	struct file_id file;
	__u64 page;
	__u64 end;
	__u64 found;
	__u32 action;
};

/*
 * An atomic addition, as what it makes is no number that the verifier knows: of one that it knows, one that does not see
 * which numbers matter (before 6.2, where that was not mended later) would follow every sum of every step.
 */
static __always_inline void add_found(struct chunk_walk *w, __u64 bits)
{
	__sync_fetch_and_add(&w->found, bits_set(bits));
}

/*
 * One word of a bitmap: up to 64 pages. A step for each word, not a loop over the words of a bitmap, keeps the
 * verifier's work small, which is most of the time that the recorder takes to start.
 */
/* long: one walk for every action: each function of its own is looked at again by the verifier. */
static __noinline long chunk_step(__u32 step, struct chunk_walk *w)
{
	struct chunk_key key = { .file = w->file, .chunk = w->page >> CHUNK_SHIFT };
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
		if (action != SET_AHEAD && action != SET_EVICTED && action != SET_DIRTY)
			return 0;
		bpf_map_update_elem(&chunks, &key, &no_chunk, BPF_NOEXIST);
		chunk = bpf_map_lookup_elem(&chunks, &key);
		if (!chunk)
			return 0;
	}
	switch (action) {
	case TAKE_AHEAD:
		if (chunk->ahead[word] & mask)
			add_found(w, clear_bits(&chunk->ahead[word], mask));
		break;
	case SET_AHEAD:
		set_bits(&chunk->ahead[word], mask);
		break;
	case TAKE_EVICTED:
		if (chunk->evicted[word] & mask)
			add_found(w, clear_bits(&chunk->evicted[word], mask));
		break;
	case SET_EVICTED:
		clear_bits(&chunk->ahead[word], mask);
		set_bits(&chunk->evicted[word], mask);
		break;
	case FORGET:
		clear_bits(&chunk->ahead[word], mask);
		clear_bits(&chunk->evicted[word], mask);
		clear_bits(&chunk->dirty[word], mask);
		break;
	case SET_DIRTY_TOO:
		if (!chunk->any_dirty)
			break;
		/* fallthrough */
	case SET_DIRTY:
		chunk->any_dirty = 1;
		if (~chunk->dirty[word] & mask)
			add_found(w, set_bits(&chunk->dirty[word], mask));
		break;
	case SET_CLEAN:
		if (chunk->dirty[word] & mask)
			clear_bits(&chunk->dirty[word], mask);
		break;
	}
	return 0;
}

/* A function of its own, so that the verifier looks at it once; `filesystem` is the device and the generation. */
__noinline __u64 walk_words(__u64 ino, __u64 filesystem, __u64 page, __u64 end, __u32 action)
{
	struct chunk_walk w = {
		.file = { .ino = ino, .dev = filesystem >> 32, .generation = filesystem },
		.page = page,
		.end = end,
		.action = action,
	};
	__u64 none = 0;

	/* Not known from the beginning. A 0 that the compiler saw it would make another operation, which 5.10 lacks. */
	barrier_var(none);
	add_found(&w, none);
	REPEAT(WORDS_MOST, WORDS_MOST_BEFORE_5_17, chunk_step, &w);
	if (!HAS_HELPER(loop) && w.page < w.end)
		__sync_fetch_and_add(&lost_counts, 1);
	return w.found;
}

/* Walks the bitmaps of [page, end). */
static __always_inline __u64 walk_chunks(const struct file_id *file, __u64 page, __u64 end, __u32 action)
{
	return walk_words(file->ino, (__u64)file->dev << 32 | file->generation, page, end, action);
}

/* Whether readahead brought any page of the bitmap that nobody has asked for. */
static __always_inline bool holds_ahead(const struct file_id *file, __u64 number)
{
	struct chunk_key key = { .file = *file, .chunk = number };
	struct chunk *chunk = bpf_map_lookup_elem(&chunks, &key);
	__u64 any = 0;

	if (!chunk)
		return false;
#pragma unroll
	for (int word = 0; word < CHUNK_WORDS; word++)
		any |= chunk->ahead[word];
	return any;
}

/* Pages [page, end) of the file were asked for: how many of them had readahead brought? */
static __always_inline __u64 take_ahead(struct thread *t, const struct file_id *file, __u64 page, __u64 end)
{
	__u64 changes = ahead_changes;
	__u64 chunk = page >> CHUNK_SHIFT;
	__u64 found;
	bool one;

	if (!changes || end <= page)
		return 0;
	one = (end - 1) >> CHUNK_SHIFT == chunk;
	if (one && t->none_ahead == changes && is_same_file(&t->none_file, file) && t->none_chunk == chunk)
		return 0;
	found = walk_chunks(file, page, end, TAKE_AHEAD);
	/* `changes` was read first: a page that is brought meanwhile is seen here, or makes it another. */
	if (!found && one && !holds_ahead(file, chunk)) {
		t->none_ahead = changes;
		t->none_file = *file;
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
	page = t->call_offset >> page_shift;
	end = ((t->call_offset + ret - 1) >> page_shift) + 1;
	found = take_ahead(t, &t->file, page, end);
	if (found) {
		counts = counts_of(&t->file, t->tgid);
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
	page = start >> page_shift;
	end = ((start + ret - 1) >> page_shift) + 1;
	found = walk_chunks(&t->file, page, end, t->call_flags & CALL_DIRTIED ? SET_DIRTY : SET_DIRTY_TOO);
	counts = found ? counts_of(&t->file, t->tgid) : NULL;
	if (counts)
		COUNT(counts, dirtied, found);
}

/* What was added outside a read call and not asked for until now was readahead. */
static __always_inline void settle_pending(struct thread *t)
{
	struct inode *inode = (struct inode *)t->pending_inode;
	struct cache_counts *counts;
	struct file_id file;

	if (!inode)
		return;
	t->pending_inode = 0;
	file = identify(inode);
	counts = counts_of(&file, t->tgid);
	if (counts)
		COUNT(counts, readahead, t->pending_to - t->pending_from);
	walk_chunks(&file, t->pending_from, t->pending_to, SET_AHEAD);
	__sync_fetch_and_add(&ahead_changes, 1);
}

/* Pages [first, end) are written to: a write whose range is in no argument (io_uring's) made them, not a reader. */
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

static __always_inline bool has_range(struct thread *t)
{
	return t->call_kind == CALL_READ && (t->call_flags & CALL_HAS_OFFSET) &&
	       (t->call_flags & CALL_HAS_BYTES);
}

#endif
