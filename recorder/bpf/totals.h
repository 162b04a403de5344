/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Calls without a record: counts and times by thread and number. */
#ifndef IOWHY_TOTALS_H
#define IOWHY_TOTALS_H

#include "state.h"

/* Two halves: one is written while user space drains the other, so that no count is lost between. */
struct totals_half {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct total_key);
	__type(value, struct total);
};
struct totals_half totals_0 SEC(".maps");
struct totals_half totals_1 SEC(".maps");

/* As strace counts: the kernel's own codes for a call that a signal broke off (from 512 on) are errors, too. */
static __always_inline bool is_error(long ret)
{
	return ret < 0 && ret >= -MAX_ERRNO;
}

/* There is another entry of this key in a half. */
static __always_inline void note_total(const struct total_key *key, __u32 in)
{
	if (HAS_ATOMICS)
		total_keys[in][__sync_fetch_and_add(&new_totals[in], 1) & (TOTAL_KEYS - 1)] = *key;
	else
		__sync_fetch_and_add(&new_totals[in], 1);
}

static __always_inline void count_call(struct thread *t, __u64 dur, __u64 cpu, long ret)
{
	struct total_key key = { .tid = t->tid, .nr = t->call };
	struct total fresh = {};
	/* Read once: the entry and the count of entries are of the same half. */
	__u32 in = *(volatile __u32 *)&half & 1;
	struct total *total;

	total = in ? bpf_map_lookup_elem(&totals_1, &key) : bpf_map_lookup_elem(&totals_0, &key);
	if (!total) {
		fresh.calls = 1;
		fresh.errors = is_error(ret);
		fresh.total = dur;
		fresh.max = dur;
		fresh.cpu = cpu;
		fresh.tgid = t->tgid;
		if (in ? bpf_map_update_elem(&totals_1, &key, &fresh, BPF_ANY) :
			 bpf_map_update_elem(&totals_0, &key, &fresh, BPF_ANY))
			__sync_fetch_and_add(&lost_totals, 1);
		else
			note_total(&key, in);
		return;
	}
	/* Only this thread writes its own counts. */
	total->calls += 1;
	total->errors += is_error(ret);
	total->total += dur;
	total->cpu += cpu;
	if (dur > total->max)
		total->max = dur;
}

#endif
