/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Block requests: from the queue to the driver to completion. */
#ifndef IOWHY_BLOCK_H
#define IOWHY_BLOCK_H

#include "request.h"

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

static __always_inline __u32 disk_of(struct request *rq)
{
	struct gendisk *disk = disk_of_request(rq);

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
	if (r->queued && r->issued) {
		r->completed = bpf_ktime_get_ns();
		r->end_unseen = 1;
		if (bpf_ringbuf_output(&ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
			count_lost(EVENT_REQUEST);
	}
	r->end_unseen = 0;
	r->issued = 0;
	r->completed = 0;
	r->owner_ino = 0;
	r->owner_dev = 0;
	r->owner_generation = 0;
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
	if (r->op == OP_WRITE && r->owner == OWNER_DATA && r->owner_page != ~0ULL) {
		struct file_id file = owner_of(r);

		walk_chunks(&file, r->owner_page, r->owner_page + (rq->__data_len >> PAGE_SHIFT), SET_CLEAN);
	}
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
	if (q->mq_ops)
		return 0;
	end_request((__u64)bio, bpf_ktime_get_ns(), bio->bi_status);
	return 0;
}

#endif
