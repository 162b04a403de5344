/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Writers that the dirty limits hold back. */
#ifndef IOWHY_THROTTLED_H
#define IOWHY_THROTTLED_H

#include "call.h"

/* Length of a tick of the kernel's clock. */
const volatile __u64 tick_ns = 4000000;

static __always_inline int add_pause(long ticks)
{
	struct aggregate_key key = { .measure = MEASURE_PAUSE };
	struct task_struct *task = current_task();
	struct pt_regs *regs;

	if (ticks <= 0)
		return 0;
	regs = entry_registers(task);
	key.what = current_call(task, regs);
	key.cgroup = group_id_of(task);
	key.dev = device_of_call(task, regs, key.what);
	add(&key, ticks * tick_ns, 0);
	return 0;
}

/* `pause` is in ticks, negative when the writer need not wait. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(throttled, struct bdi_writeback *wb, struct dirty_throttle_control *dtc,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	return add_pause(pause);
}

/* Its shape before 6.16. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(throttled_numbers, struct bdi_writeback *wb, unsigned long thresh, unsigned long bg_thresh,
	     unsigned long dirty, unsigned long bdi_thresh, unsigned long bdi_dirty,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	return add_pause(pause);
}

#endif
