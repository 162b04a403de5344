/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * CPU time that a thread spends to free memory itself (direct reclaim), because it found none: pages are looked
 * through, written to swap, compressed (zram, zswap).
 */
#ifndef IOWHY_RECLAIM_H
#define IOWHY_RECLAIM_H

#include "thread.h"

static __always_inline __u64 cpu_time(struct thread *t)
{
	advance(t, bpf_ktime_get_ns(), t->state);
	return t->states[ON_CPU_USER] + t->states[ON_CPU_KERNEL];
}

static __always_inline void begin_reclaim(void)
{
	struct thread *t = current_thread();

	if (t)
		t->reclaim_from = cpu_time(t) + 1;
}

static __always_inline void end_reclaim(void)
{
	struct thread *t = current_thread();
	__u64 spent;

	if (!t || !t->reclaim_from)
		return;
	spent = cpu_time(t) + 1 - t->reclaim_from;
	t->reclaim += spent;
	if (t->call >= 0)
		t->reclaim_in_calls += spent;
	t->reclaim_from = 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	begin_reclaim();
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end)
{
	end_reclaim();
	return 0;
}

/* For the limit of a control group. */
SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim_begin)
{
	begin_reclaim();
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end)
{
	end_reclaim();
	return 0;
}

#endif
