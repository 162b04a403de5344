/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* What a block request is, and whose: the file that owns its first page, and the scope that it is in. */
#ifndef IOWHY_REQUEST_H
#define IOWHY_REQUEST_H

#include "chunks.h"
#include "rings.h"
#include "request_op.h"

enum owner_kind {
	OWNER_UNKNOWN,
	OWNER_DATA,
	OWNER_JOURNAL,
	OWNER_METADATA,
	OWNER_FLUSH,
	OWNER_SWAP,
	OWNER_DEVICE,
};

/* Bits of event_request.flags. */
enum request_flag {
	REQUEST_SYNC = 1,
	REQUEST_METADATA = 2,
	REQUEST_FUA = 4,
	REQUEST_PREFLUSH = 8,
	REQUEST_READAHEAD = 16,
	REQUEST_BACKGROUND = 32,
	REQUEST_SWAP = 64,
	REQUEST_PRIORITY = 128,
};

enum request_scope {
	SCOPE_OTHER,
	SCOPE_COMMAND,
	SCOPE_SHARED,
};

struct event_request {
	struct event_header header; /* tid: the submitter */
	__u64 queued;
	__u64 issued; /* 0: not seen */
	__u64 completed; /* 0: not seen */
	__u64 sector;
	__u64 owner_ino;
	__u64 owner_page; /* ~0: not known */
	__u64 ring; /* address of the ring or context that it was submitted through, or 0 */
	__u32 bytes;
	__u32 dev;
	__u32 owner_dev;
	__u32 owner_generation;
	__u32 tgid;
	__s32 error;
	__u8 op;
	__u8 owner;
	__u8 scope;
	__u8 flags;
	__u8 end_unseen; /* `completed` is when it was over at the latest */
	__u8 from_above; /* made for a request of a device that lies on this one (layers.h) */
	__u16 requeues; /* times that the driver gave it back; no more than fit */
};

static __always_inline __u8 request_flags(__u32 opf)
{
	return FLAG(opf, __REQ_SYNC) * REQUEST_SYNC | FLAG(opf, __REQ_META) * REQUEST_METADATA |
	       FLAG(opf, __REQ_FUA) * REQUEST_FUA | FLAG(opf, __REQ_PREFLUSH) * REQUEST_PREFLUSH |
	       FLAG(opf, __REQ_RAHEAD) * REQUEST_READAHEAD | FLAG(opf, __REQ_BACKGROUND) * REQUEST_BACKGROUND |
	       FLAG(opf, __REQ_SWAP) * REQUEST_SWAP | FLAG(opf, __REQ_PRIO) * REQUEST_PRIORITY;
}

/* jbd2's commit threads are known by their names: jbd2/vda1-8. */
static __always_inline bool is_journal_thread(struct task_struct *task)
{
	return (OF_CURRENT(task, flags) & PF_KTHREAD) && OF_CURRENT(task, comm[0]) == 'j' &&
	       OF_CURRENT(task, comm[1]) == 'b' && OF_CURRENT(task, comm[2]) == 'd' &&
	       OF_CURRENT(task, comm[3]) == '2' && OF_CURRENT(task, comm[4]) == '/';
}

/* No page is described at an address from here on: what looks like one is a mask (include/linux/page-flags.h). */
#define HEAD_MASKS 0xffffffffe0000000ULL

/* The first page of the folio that this one is of. A later page points to it: bit 0 is set, the rest its address, or
 * the mask that makes it of the page's own. */
static __always_inline __u64 head_of(__u64 page)
{
	__u64 info;

	if (bpf_core_field_exists(struct page___since_7_0, compound_info))
		info = BPF_CORE_READ((struct page___since_7_0 *)page, compound_info);
	else
		info = BPF_CORE_READ((struct page *)page, compound_head);
	if (!(info & 1))
		return page;
	return info >= HEAD_MASKS ? page & info : info - 1;
}

static __always_inline void set_owner(struct event_request *r, const struct file_id *file)
{
	r->owner_ino = file->ino;
	r->owner_dev = file->dev;
	r->owner_generation = file->generation;
}

static __always_inline struct file_id owner_of(const struct event_request *r)
{
	struct file_id file = { .ino = r->owner_ino, .dev = r->owner_dev, .generation = r->owner_generation };

	return file;
}

/*
 * The owner of a page of the page cache; sets the inode's kind, and its inode where it is a device's. Returns false for
 * anonymous memory.
 */
static __always_inline bool page_owner(struct bio *bio, struct event_request *r, bool *file_page,
				       struct inode **device)
{
	struct bio_vec *vecs = READ_ONLY(struct bio, bio)->bi_io_vec;
	__u32 at = bio->bi_iter.bi_idx;
	struct address_space *mapping;
	struct inode *inode;
	struct file_id file;
	__u64 page, head;
	__u64 magic;

	*file_page = false;
	*device = NULL;
	if (!vecs)
		return false;
	vecs += at;
	page = (__u64)BPF_CORE_READ(vecs, bv_page);
	if (!page)
		return false;
	head = head_of(page);
	mapping = page_mapping(head);
	if (!mapping || ((__u64)mapping & 3))
		return false;
	inode = BPF_CORE_READ(mapping, host);
	if (!inode)
		return false;
	magic = BPF_CORE_READ(inode, i_sb, s_magic);
	if (magic == BDEVFS_MAGIC) {
		*device = inode;
		return true;
	}
	/* Shared memory, which only swapping writes out: here it is what a direct read or write goes to or from. */
	if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC)
		return false;
	file = identify(inode);
	if (magic == BTRFS_SUPER_MAGIC && file.ino == BTRFS_BTREE_INODE)
		return true;
	*file_page = true;
	set_owner(r, &file);
	r->owner_page = page_index(head) + (page - head) / bpf_core_type_size(struct page) +
			(BPF_CORE_READ(vecs, bv_offset) >> page_shift);
	return true;
}

/*
 * Whether a read is one of swap, which the kernel does not mark, as it does writes: its page will be of anonymous or
 * shared memory, and is in no mapping yet. Memory that a direct read goes to is in one.
 */
static __always_inline bool reads_swap(struct bio *bio)
{
	struct bio_vec *vecs = bio->bi_io_vec;
	__u32 at = bio->bi_iter.bi_idx;
	unsigned long flags = 0;
	__u64 head;

	if (!vecs)
		return false;
	head = head_of((__u64)BPF_CORE_READ(vecs + at, bv_page));
	/* The flags are the first word of a page, whatever their type is called. */
	if (!head || page_mapping(head) || bpf_probe_read_kernel(&flags, sizeof(flags), (void *)head))
		return false;
	return flags & (1UL << bpf_core_enum_value(enum pageflags, PG_swapbacked));
}

/* long: the cases of who may own a request, each tried when those before it are not met. */
static __always_inline void find_owner(struct bio *bio, struct task_struct *task, struct thread *t,
				       struct event_request *r)
{
	__u64 end_io = (__u64)bio->bi_end_io;
	struct file_id file;
	struct inode *device;
	bool file_page;

	if (r->op == OP_FLUSH) {
		r->owner = OWNER_FLUSH;
		return;
	}
	if (end_io && end_io == xfs_log_end) {
		r->owner = OWNER_JOURNAL;
		return;
	}
	if (end_io && end_io == xfs_buffer_end) {
		r->owner = OWNER_METADATA;
		return;
	}
	if (r->flags & REQUEST_SWAP) {
		r->owner = OWNER_SWAP;
		return;
	}
	if (r->op == OP_DISCARD) {
		/* Blocks that were freed: no page, no file any more. */
		r->owner = OWNER_METADATA;
		return;
	}
	if (end_io && end_io == iomap_dio_end) {
		struct iomap_dio *dio = (void *)bio->bi_private;
		struct inode *inode = BPF_CORE_READ(dio, iocb, ki_filp, f_inode);

		if (inode) {
			file = identify(inode);
			r->owner = OWNER_DATA;
			set_owner(r, &file);
			return;
		}
	}
	if (page_owner(bio, r, &file_page, &device)) {
		if (file_page)
			r->owner = OWNER_DATA;
		else if (is_journal_thread(task))
			r->owner = OWNER_JOURNAL;
		else if ((r->flags & REQUEST_METADATA) || holder_of(bio, device))
			r->owner = OWNER_METADATA;
		else
			r->owner = OWNER_DEVICE;
		return;
	}
	if (r->op == OP_READ && reads_swap(bio)) {
		r->owner = OWNER_SWAP;
		return;
	}
	if (is_journal_thread(task)) {
		r->owner = OWNER_JOURNAL;
		return;
	}
	if (r->flags & REQUEST_METADATA) {
		r->owner = OWNER_METADATA;
		return;
	}
	/* Pages of the caller's own memory: direct I/O of the call that the thread is in. */
	if (t && t->call >= 0 && (t->call_flags & CALL_HAS_FILE) &&
	    (t->call_kind == CALL_READ || t->call_kind == CALL_WRITE)) {
		struct inode *inode = (void *)t->inode;

		if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK) {
			r->owner = OWNER_DEVICE;
			return;
		}
		r->owner = OWNER_DATA;
		set_owner(r, &t->file);
		return;
	}
	r->owner = OWNER_UNKNOWN;
}

/*
 * Work on a file's pages that is done for whoever used them: a kernel thread's, and a write from the page cache,
 * which any process's sync can make. What another program reads, or writes around the cache, is its own, even of
 * a file that the command has open too.
 */
static __always_inline bool writes_back(struct task_struct *task, const struct event_request *r)
{
	return (OF_CURRENT(task, flags) & PF_KTHREAD) || (r->op == OP_WRITE && r->owner_page != ~0ULL);
}

/* Fills in whose request it is, at the time when it is made. */
static __always_inline void describe(struct bio *bio, __u32 opf, struct event_request *r)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct file_id file;

	r->header.kind = EVENT_REQUEST;
	r->header.nr = 0xffff;
	r->header.tid = CURRENT_TID(task);
	r->tgid = CURRENT_TGID(task);
	r->ring = ring_of(task, t);
	r->op = operation(opf);
	r->flags = request_flags(opf);
	r->owner_page = ~0ULL;
	if (r->op == OP_FLUSH || !bio) {
		r->owner = r->op == OP_FLUSH ? OWNER_FLUSH : OWNER_UNKNOWN;
	} else if (!bio->bi_iter.bi_size && (r->flags & REQUEST_PREFLUSH)) {
		r->owner = OWNER_FLUSH;
	} else {
		find_owner(bio, task, t, r);
	}
	file = owner_of(r);
	if (r->tgid == recorder_tgid)
		r->scope = SCOPE_OTHER;
	else if (t && !t->kernel_thread)
		r->scope = SCOPE_COMMAND;
	else if (r->owner == OWNER_DATA && writes_back(task, r) && is_touched(&file))
		r->scope = SCOPE_COMMAND;
	else if ((OF_CURRENT(task, flags) & PF_KTHREAD) && r->owner != OWNER_DATA)
		r->scope = SCOPE_SHARED;
	else
		r->scope = SCOPE_OTHER;
}

#endif
