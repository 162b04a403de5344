/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Block requests, as they complete: a request knows itself when it was made. */
#ifndef IOWHY_REQUESTS_H
#define IOWHY_REQUESTS_H

#include "aggregate.h"
#include "request_op.h"

/* The control group whose request it is, as the kernel accounts for it: of writeback, that of who made the pages dirty. */
static __always_inline __u64 group_of_request(struct request *rq)
{
	if (group_controller >= 0 || !bpf_core_field_exists(struct bio, bi_blkg))
		return 0;
	return rq->bio->bi_blkg->blkcg->css.cgroup->kn->id;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_complete, struct request *rq, unsigned char error, unsigned int bytes)
{
	__u32 length = rq->__data_len;
	struct aggregate_key key = { .measure = MEASURE_REQUEST };
	__u64 made = rq->start_time_ns;
	__u64 now = bpf_ktime_get_ns();
	struct gendisk *disk;

	/* A request can complete in parts: it is done with the last. */
	if (bytes < length)
		return 0;
	key.what = operation(rq->cmd_flags);
	/* What only asks for a flush: the flush itself is a request of its own. */
	if (key.what == OP_WRITE && !length)
		return 0;
	disk = disk_of_request(rq);
	key.dev = disk ? (__u32)disk->major << 20 | disk->first_minor : 0;
	key.cgroup = group_of_request(rq);
	/* The kernel leaves it out where the disk's iostats are off. */
	add(&key, made && made <= now ? (__s64)(now - made) : -1, length);
	return 0;
}

#endif
