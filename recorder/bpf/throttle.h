/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Writers that the dirty limits hold back. */
#ifndef IOWHY_THROTTLE_H
#define IOWHY_THROTTLE_H

#include "state.h"

struct event_throttle {
	struct event_header header;
	__u64 ts;
	__u64 pause_ticks;
	__u64 dirty;
	__u64 limit;
	__u32 tgid;
	__u32 pad;
};

static __always_inline void emit_throttle(long pause, __u64 dirty, __u64 limit)
{
	struct thread *t = current_thread();
	struct event_throttle *e;

	if (!t || pause <= 0)
		return;
	e = RESERVE(struct event_throttle, EVENT_THROTTLE);
	if (!e)
		return;
	e->header.kind = EVENT_THROTTLE;
	e->header.flags = 0;
	e->header.nr = t->call;
	e->header.tid = t->tid;
	e->ts = bpf_ktime_get_ns();
	e->pause_ticks = pause;
	e->dirty = dirty;
	e->limit = limit;
	e->tgid = t->tgid;
	e->pad = 0;
	SUBMIT(e);
}

/* Its last arguments are `pause` in ticks, negative when the writer need not wait, and the start. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_throttle, struct bdi_writeback *wb, struct dirty_throttle_control *dtc,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	emit_throttle(pause, dtc->dirty, dtc->limit ? dtc->limit : dtc->thresh);
	return 0;
}

/* Its shape before 6.16. */
SEC("tp_btf/balance_dirty_pages")
int BPF_PROG(on_throttle_numbers, struct bdi_writeback *wb, unsigned long thresh, unsigned long bg_thresh,
	     unsigned long dirty, unsigned long bdi_thresh, unsigned long bdi_dirty,
	     unsigned long dirty_ratelimit, unsigned long task_ratelimit, unsigned long dirtied,
	     unsigned long period, long pause)
{
	emit_throttle(pause, dirty, thresh);
	return 0;
}

#endif
