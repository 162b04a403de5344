/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Block requests: from the queue to the driver to completion, with the file that owns the first page. */
#ifndef IOWHY_BLOCK_H
#define IOWHY_BLOCK_H

#include "pagecache.h"

#define REQUESTS_MOST 32768
/* From here on entries are taken out again, so that devices with more requests than that fit. */
#define REQUESTS_KEPT 24576

/*
 * What is known of a request in flight: the record that it will become. Key: its address. The kernel uses the
 * same requests again and again, so an entry stays when its request is done, with `queued` 0: to put it in and take
 * it out each time would cost more than all the rest.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_MOST);
	__type(key, __u64);
	__type(value, struct event_request);
} requests SEC(".maps");

__u64 requests_made = 0; /* entries that were ever put in */

#define OP_MASK 0xff
#define FLAG(opf, name) (!!((opf) & (1U << bpf_core_enum_value(enum req_flag_bits, name))))

static __always_inline __u8 operation(__u32 opf)
{
	__u32 op = opf & OP_MASK;

	if (op == REQ_OP_READ)
		return OP_READ;
	/* Writing zeroes counts as a write, as in /proc/diskstats. */
	if (op == REQ_OP_WRITE || op == bpf_core_enum_value(enum req_op, REQ_OP_WRITE_ZEROES))
		return OP_WRITE;
	if (op == REQ_OP_FLUSH)
		return OP_FLUSH;
	if (op == REQ_OP_DISCARD)
		return OP_DISCARD;
	if (op == bpf_core_enum_value(enum req_op, REQ_OP_DRV_IN) ||
	    op == bpf_core_enum_value(enum req_op, REQ_OP_DRV_OUT) ||
	    op == bpf_core_enum_value(enum req_op, REQ_OP_SECURE_ERASE))
		return OP_OTHER;
	return OP_ZONE;
}

static __always_inline __u8 request_flags(__u32 opf)
{
	return FLAG(opf, __REQ_SYNC) * REQUEST_SYNC | FLAG(opf, __REQ_META) * REQUEST_METADATA |
	       FLAG(opf, __REQ_FUA) * REQUEST_FUA | FLAG(opf, __REQ_PREFLUSH) * REQUEST_PREFLUSH |
	       FLAG(opf, __REQ_RAHEAD) * REQUEST_READAHEAD |
	       FLAG(opf, __REQ_BACKGROUND) * REQUEST_BACKGROUND | FLAG(opf, __REQ_SWAP) * REQUEST_SWAP |
	       FLAG(opf, __REQ_PRIO) * REQUEST_PRIORITY;
}

/* jbd2's commit threads are told by their names: jbd2/vda1-8. */
static __always_inline bool is_journal_thread(struct task_struct *task)
{
	return (task->flags & PF_KTHREAD) && task->comm[0] == 'j' && task->comm[1] == 'b' &&
	       task->comm[2] == 'd' && task->comm[3] == '2' && task->comm[4] == '/';
}

/* No page is described at an address from here on: what looks like one is a mask (include/linux/page-flags.h). */
#define HEAD_MASKS 0xffffffffe0000000ULL

/* The first page of the folio that this one is of. A later page tells it: bit 0 is set, the rest its address, or
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

/* The owner of a page of the page cache; sets the inode's kind. Returns false for anonymous memory. */
static __always_inline bool page_owner(struct bio *bio, struct event_request *r, bool *file_page,
				       struct inode **owner)
{
	struct bio_vec *vecs = bio->bi_io_vec;
	__u32 at = bio->bi_iter.bi_idx;
	struct address_space *mapping;
	struct inode *inode;
	__u64 page, head;
	__u64 magic;

	*file_page = false;
	if (!vecs)
		return false;
	vecs += at;
	page = (__u64)BPF_CORE_READ(vecs, bv_page);
	if (!page)
		return false;
	head = head_of(page);
	mapping = BPF_CORE_READ((struct folio *)head, mapping);
	if (!mapping || ((__u64)mapping & 3))
		return false;
	inode = BPF_CORE_READ(mapping, host);
	if (!inode)
		return false;
	magic = BPF_CORE_READ(inode, i_sb, s_magic);
	if (magic == BDEVFS_MAGIC)
		return true;
	/* Shared memory, which only swapping writes out: here it is what a direct read or write goes to or from. */
	if (magic == TMPFS_MAGIC || magic == HUGETLBFS_MAGIC)
		return false;
	*file_page = true;
	*owner = inode;
	r->owner_ino = BPF_CORE_READ(inode, i_ino);
	r->owner_dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (magic == BTRFS_SUPER_MAGIC && r->owner_ino == BTRFS_BTREE_INODE) {
		*file_page = false;
		r->owner_ino = 0;
		r->owner_dev = 0;
		return true;
	}
	r->owner_page = BPF_CORE_READ((struct folio *)head, index) +
			(page - head) / bpf_core_type_size(struct page) +
			(BPF_CORE_READ(vecs, bv_offset) >> PAGE_SHIFT);
	return true;
}

static __always_inline void find_owner(struct bio *bio, struct task_struct *task, struct thread *t,
				       struct event_request *r, struct inode **owner)
{
	__u64 end_io = (__u64)bio->bi_end_io;
	bool file_page;

	if (r->op == OP_FLUSH) {
		r->owner = OWNER_FLUSH;
		return;
	}
	if (end_io && end_io == (__u64)&xlog_bio_end_io) {
		r->owner = OWNER_JOURNAL;
		return;
	}
	if (end_io && end_io == (__u64)&xfs_buf_bio_end_io) {
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
	if (end_io && end_io == (__u64)&iomap_dio_bio_end_io) {
		struct iomap_dio *dio = (void *)bio->bi_private;
		struct inode *inode = BPF_CORE_READ(dio, iocb, ki_filp, f_inode);

		if (inode) {
			*owner = inode;
			r->owner = OWNER_DATA;
			r->owner_ino = BPF_CORE_READ(inode, i_ino);
			r->owner_dev = BPF_CORE_READ(inode, i_sb, s_dev);
			return;
		}
	}
	if (page_owner(bio, r, &file_page, owner)) {
		if (file_page)
			r->owner = OWNER_DATA;
		else if (is_journal_thread(task))
			r->owner = OWNER_JOURNAL;
		else if ((r->flags & REQUEST_METADATA) || bio->bi_bdev->bd_holder)
			r->owner = OWNER_METADATA;
		else
			r->owner = OWNER_DEVICE;
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
		r->owner_ino = t->ino;
		r->owner_dev = t->dev;
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
	return (task->flags & PF_KTHREAD) || (r->op == OP_WRITE && r->owner_page != ~0ULL);
}

/* Fills in whose request it is, at the time when it is made. */
static __always_inline void describe(struct bio *bio, __u32 opf, struct event_request *r)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *t = thread_of(task);
	struct inode *owner = NULL;

	r->header.kind = EVENT_REQUEST;
	r->header.nr = 0xffff;
	r->header.tid = task->pid;
	r->tgid = task->tgid;
	r->op = operation(opf);
	r->flags = request_flags(opf);
	r->owner_page = ~0ULL;
	if (r->op == OP_FLUSH || !bio) {
		r->owner = r->op == OP_FLUSH ? OWNER_FLUSH : OWNER_UNKNOWN;
	} else if (!bio->bi_iter.bi_size && (r->flags & REQUEST_PREFLUSH)) {
		r->owner = OWNER_FLUSH;
	} else {
		find_owner(bio, task, t, r, &owner);
	}
	if (task->tgid == recorder_tgid)
		r->scope = SCOPE_OTHER;
	else if (t && !t->kernel_thread)
		r->scope = SCOPE_COMMAND;
	else if (owner && r->owner == OWNER_DATA && writes_back(task, r) &&
		 is_touched(owner, r->owner_dev, r->owner_ino))
		r->scope = SCOPE_COMMAND;
	else if ((task->flags & PF_KTHREAD) && r->owner != OWNER_DATA)
		r->scope = SCOPE_SHARED;
	else
		r->scope = SCOPE_OTHER;
}

static __always_inline __u32 disk_of(struct request *rq)
{
	struct gendisk *disk = rq->q->disk;

	return disk ? (__u32)disk->major << 20 | disk->first_minor : 0;
}

/* The entry of a request that is in flight, or NULL. */
static __always_inline struct event_request *in_flight(__u64 key)
{
	struct event_request *r = bpf_map_lookup_elem(&requests, &key);

	return r && r->queued ? r : NULL;
}

/* The entry for a request that begins, or NULL (counted). */
static __always_inline struct event_request *entry_for(__u64 key)
{
	struct event_request *r = bpf_map_lookup_elem(&requests, &key);
	struct event_request fresh = {};

	if (!r) {
		bpf_map_update_elem(&requests, &key, &fresh, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&requests, &key);
		if (!r) {
			count_lost(EVENT_REQUEST);
			return NULL;
		}
		__sync_fetch_and_add(&requests_made, 1);
		return r;
	}
	/* The kernel uses this request again, so it is done: its completion was not seen. */
	if (r->queued && r->issued && bpf_ringbuf_output(&ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		count_lost(EVENT_REQUEST);
	r->issued = 0;
	r->completed = 0;
	r->owner_ino = 0;
	r->owner_dev = 0;
	r->error = 0;
	return r;
}

static __always_inline void forget(__u64 key, struct event_request *r)
{
	r->queued = 0;
	if (requests_made > REQUESTS_KEPT)
		bpf_map_delete_elem(&requests, &key);
}

static __always_inline struct event_request *begin_request(struct request *rq, __u64 now)
{
	struct event_request *r = entry_for((__u64)rq);
	struct event_request *flush = no_io_start ? in_flight((__u64)rq->bio) : NULL;

	if (!r)
		return NULL;
	if (flush) {
		/* Described where it was made: on_bio_queue. */
		*r = *flush;
		r->sector = rq->__sector;
		r->bytes = rq->__data_len;
		forget((__u64)rq->bio, flush);
		return r;
	}
	r->queued = now;
	r->dev = disk_of(rq);
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	describe(rq->bio, rq->cmd_flags, r);
	return r;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	begin_request(rq, bpf_ktime_get_ns());
	return 0;
}

/*
 * Kernels before 6.5 have no block_io_start: there a request is first seen where it is inserted, or issued
 * directly, and knows itself when it was made (unless the disk's iostats are off).
 */
static __always_inline __u64 made_at(struct request *rq, __u64 now)
{
	__u64 made = no_io_start ? rq->start_time_ns : 0;

	return made && made < now ? made : now;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_rq_insert, struct request *rq)
{
	struct event_request *r = in_flight((__u64)rq);

	if (!r || r->issued)
		begin_request(rq, made_at(rq, bpf_ktime_get_ns()));
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	__u64 now = bpf_ktime_get_ns();
	struct event_request *r = in_flight((__u64)rq);

	if (!r || r->issued) {
		/* The flush machinery's own request, one that was not seen to begin, or after one not seen to end. */
		r = begin_request(rq, made_at(rq, now));
		if (!r)
			return 0;
	}
	r->issued = now;
	if (r->op == OP_WRITE && r->owner == OWNER_DATA && r->owner_page != ~0ULL)
		walk_chunks(r->owner_ino, r->owner_dev, r->owner_page,
			    r->owner_page + (rq->__data_len >> PAGE_SHIFT), SET_CLEAN);
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	return 0;
}

/* The driver cannot take it now: it is issued again later. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_rq_requeue, struct request *rq)
{
	struct event_request *r = in_flight((__u64)rq);

	if (r)
		r->issued = 0;
	return 0;
}

/* Joined to the request before it: it goes on as part of that. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_rq_merge, struct request *rq)
{
	struct event_request *r = in_flight((__u64)rq);

	if (r)
		forget((__u64)rq, r);
	return 0;
}

static __always_inline void end_request(__u64 key, __u64 now, __s32 error)
{
	struct event_request *r = in_flight(key);

	if (!r)
		return;
	r->completed = now;
	r->error = error;
	if (bpf_ringbuf_output(&ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		count_lost(EVENT_REQUEST);
	forget(key, r);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	/* A request can complete in parts: it is done with the last. */
	if (bytes < rq->__data_len)
		return 0;
	/* A flush alone is neither inserted nor issued: another request makes it. */
	if (no_io_start && !in_flight((__u64)rq) && in_flight((__u64)rq->bio))
		begin_request(rq, bpf_ktime_get_ns());
	end_request((__u64)rq, bpf_ktime_get_ns(), error);
	return 0;
}

/*
 * Disks that take bios, not requests (zram): a bio stands for a request. And what flushes, on kernels before 6.5:
 * its request is first seen after the flush, when another thread works.
 */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	struct gendisk *disk = bio->bi_bdev->bd_disk;
	struct event_request *r;
	bool flush = false;

	if (!disk)
		return 0;
	if (disk->queue->mq_ops) {
		flush = no_io_start && (FLAG(bio->bi_opf, __REQ_PREFLUSH) || FLAG(bio->bi_opf, __REQ_FUA));
		if (!flush)
			return 0;
	}
	r = entry_for((__u64)bio);
	if (!r)
		return 0;
	r->queued = bpf_ktime_get_ns();
	r->issued = flush ? 0 : r->queued;
	r->dev = (__u32)disk->major << 20 | disk->first_minor;
	r->sector = bio->bi_iter.bi_sector;
	r->bytes = bio->bi_iter.bi_size;
	describe(bio, bio->bi_opf, r);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *q, struct bio *bio)
{
	if (q->mq_ops)
		return 0;
	end_request((__u64)bio, bpf_ktime_get_ns(), bio->bi_status);
	return 0;
}

#endif
