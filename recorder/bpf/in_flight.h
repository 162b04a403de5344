/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Requests in flight. */
#ifndef IOWHY_IN_FLIGHT_H
#define IOWHY_IN_FLIGHT_H

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
	r->requeues = 0;
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

/* It is done: its record goes out. */
static __always_inline void end_in_flight(__u64 key, struct event_request *r, __u64 now, __s32 error)
{
	r->completed = now;
	r->error = error;
	if (bpf_ringbuf_output(&ring, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		count_lost(EVENT_REQUEST);
	forget(key, r);
}

#endif
