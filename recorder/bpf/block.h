/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Block requests: from the queue to the driver to completion. */
#ifndef IOWHY_BLOCK_H
#define IOWHY_BLOCK_H

#include "layers.h"

static __always_inline __u32 disk_of(struct request *rq)
{
	struct gendisk *disk = disk_of_request(rq);

	return disk ? (__u32)disk->major << 20 | disk->first_minor : 0;
}

static __always_inline struct event_request *begin_request(struct request *rq, __u64 now)
{
	struct event_request *r = entry_for((__u64)rq);
	struct bio *bio = READ_ONLY(struct request, rq)->bio;
	struct event_request *flush = no_io_start ? in_flight((__u64)bio) : NULL;

	if (!r)
		return NULL;
	/* One that is issued is of a device above, and was handed on. */
	if (flush && !flush->issued) {
		/* Described where it was made: on_bio_queue. */
		*r = *flush;
		r->sector = rq->__sector;
		r->bytes = rq->__data_len;
		forget((__u64)bio, flush);
		return r;
	}
	r->queued = now;
	r->dev = disk_of(rq);
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	describe(bio, rq->cmd_flags, r);
	inherit((__u64)rq, bio, r);
	set_request_place(r, (__u64)rq, true);
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

/* Pages whose write begins are dirty no more. */
static __always_inline void clean_pages(const struct event_request *r, __u32 bytes)
{
	struct file_id file = owner_of(r);

	if (r->op == OP_WRITE && r->owner == OWNER_DATA && r->owner_page != ~0ULL && !r->from_above)
		walk_chunks(&file, r->owner_page, r->owner_page + (bytes >> page_shift), SET_CLEAN);
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
	clean_pages(r, rq->__data_len);
	r->sector = rq->__sector;
	r->bytes = rq->__data_len;
	return 0;
}

/* The driver cannot take it now, or it failed and is tried again: it is issued again later. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_rq_requeue, struct request *rq)
{
	struct event_request *r = in_flight((__u64)rq);

	if (!r)
		return 0;
	/* What the driver refused before it began was not issued yet. */
	if (r->issued && r->requeues < 0xffff)
		r->requeues++;
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

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	struct event_request *r;

	/* A request can complete in parts: it is done with the last. */
	if (bytes < rq->__data_len)
		return 0;
	if (stacked)
		end_bios(READ_ONLY(struct request, rq)->bio, error);
	/* A flush alone is neither inserted nor issued: another request makes it. */
	if (no_io_start && !in_flight((__u64)rq) && in_flight((__u64)READ_ONLY(struct request, rq)->bio))
		begin_request(rq, bpf_ktime_get_ns());
	r = in_flight((__u64)rq);
	if (!r)
		return 0;
	set_request_place(r, (__u64)rq, false);
	end_in_flight((__u64)rq, r, bpf_ktime_get_ns(), error);
	return 0;
}

/*
 * Disks that take bios, not requests (zram, dm, md): a bio stands for a request. And what flushes, on kernels before 6.5:
 * its request is first seen after the flush, when another thread works.
 */
static __always_inline int queue_bio(struct bio *bio)
{
	struct gendisk *disk = disk_of_bio(bio);
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
	inherit((__u64)bio, bio, r);
	if (flush)
		return 0;
	/* No request of its own comes of it, as of the like on disks that take requests. */
	if (r->owner == OWNER_FLUSH)
		r->op = OP_FLUSH;
	clean_pages(r, r->bytes);
	if (stacked)
		set_places(r, (__u64)bio, true);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	return queue_bio(bio);
}

/* Its shape before 5.11. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue_of, struct request_queue *q, struct bio *bio)
{
	return queue_bio(bio);
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *q, struct bio *bio)
{
	__u64 key = (__u64)bio;

	if (q->mq_ops)
		return 0;
	if (stacked)
		bpf_map_delete_elem(&origins, &key);
	end_bio(key, in_flight(key), bio->bi_status);
	return 0;
}

#endif
