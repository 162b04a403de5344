/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Counts and log-linear histograms of times, by control group, device and what was done. Nothing is written for each event:
 * user space takes out what was summed up, some times a minute.
 *
 * Each key has several entries, so that CPUs seldom write to the same one; they are added up in user space.
 */
#ifndef IOWHY_AGGREGATE_H
#define IOWHY_AGGREGATE_H

#include "group.h"
#include "older.h"

enum measure {
	MEASURE_CALL,
	MEASURE_SYNC,
	MEASURE_IO_WAIT,
	MEASURE_BLOCK,
	MEASURE_REQUEST,
	MEASURE_PAUSE,
	MEASURE_CACHE,
};

/* Values of aggregate_key.what besides numbers of system calls and enum request_op. */
#define NO_CALL 0xffff
enum sync_kind { SYNC_ALL, SYNC_DATA };
enum cache_kind { CACHE_MISSED, CACHE_EVICTED };

struct aggregate_key {
	__u64 cgroup; /* 0: not known */
	__u32 dev; /* 0: none */
	__u16 what;
	__u8 measure;
	__u8 shard;
};

/*
 * Bucket 0 holds what is shorter than 2^LOWEST ns, the last what takes 2^HIGHEST ns and more; between them each power of two
 * is four buckets of the same width. A time is known to a quarter of itself.
 */
#define LOWEST 10
#define HIGHEST 36
#define PARTS 4
#define BUCKETS (2 + PARTS * (HIGHEST - LOWEST))

struct aggregate {
	__u64 count;
	__u64 sum_ns;
	__u64 bytes;
	__u64 untimed; /* of count: those whose time is not known, which are in no bucket */
	__u32 buckets[BUCKETS];
};

/* CPUs share an entry only where there are more than this, or where the entries are too few (shared). */
#define SHARDS 16
#define KEYS 16384

/*
 * Two halves: one is written while user space empties the other, so that no count is lost between. All entries are there from the
 * start: to make them as they are asked for fails where many are at once, as after each emptying.
 */
struct aggregates_half {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KEYS);
	__type(key, struct aggregate_key);
	__type(value, struct aggregate);
};
struct aggregates_half aggregates_0 SEC(".maps");
struct aggregates_half aggregates_1 SEC(".maps");

__u32 half = 0;
__u64 lost = 0; /* what found no entry */
__u32 shared =
	0; /* how often user space has halved the CPUs that have entries of their own, as there were too few */
/* All zero: too large for the stack of a program. User space takes these types from here. */
struct aggregate no_aggregate = {};
struct aggregate_key no_key = {};
enum measure no_measure = 0;
enum sync_kind no_sync = 0;
enum cache_kind no_cache = 0;

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 power = 0;
	__u64 rest = ns;

	if (ns >> HIGHEST)
		return BUCKETS - 1;
	if (!(ns >> LOWEST))
		return 0;
	if (rest >> 32) {
		power += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		power += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		power += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		power += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		power += 2;
		rest >>= 2;
	}
	power += rest >> 1;
	return 1 + (power - LOWEST) * PARTS + ((ns >> (power - 2)) & (PARTS - 1));
}

static __always_inline struct aggregate *aggregate_of(const struct aggregate_key *key)
{
	/* Read once: both look-ups are in the same half. */
	void *map = *(volatile __u32 *)&half & 1 ? (void *)&aggregates_1 : (void *)&aggregates_0;
	struct aggregate *found = bpf_map_lookup_elem(map, key);

	if (found)
		return found;
	bpf_map_update_elem(map, key, &no_aggregate, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* `ns` < 0: its time is not known. */
static __always_inline void add(struct aggregate_key *key, __s64 ns, __u64 bytes)
{
	struct aggregate *to;
	__u32 bucket;

	key->shard = bpf_get_smp_processor_id() & ((SHARDS - 1) >> (*(volatile __u32 *)&shared & 7));
	to = aggregate_of(key);
	if (!to) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	__sync_fetch_and_add(&to->count, 1);
	if (bytes)
		__sync_fetch_and_add(&to->bytes, bytes);
	if (ns < 0) {
		__sync_fetch_and_add(&to->untimed, 1);
		return;
	}
	__sync_fetch_and_add(&to->sum_ns, ns);
	bucket = bucket_of(ns);
	if (bucket < BUCKETS)
		__sync_fetch_and_add(&to->buckets[bucket], 1);
}

#endif
