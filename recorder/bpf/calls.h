/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Calls on their way into the ring: they wait in their thread, and go as one record when there are some thirty, when
 * the thread leaves the CPU, or when the first has waited for long. A place in the ring for each would cost more than
 * the rest of a call does: it takes a lock, and writes to memory that another CPU has read last.
 */
#ifndef IOWHY_CALLS_H
#define IOWHY_CALLS_H

#include "state.h"

#define PARTS_MOST                                                                         \
	(sizeof(struct call_file) + sizeof(struct call_waits) + sizeof(struct call_wide) + \
	 sizeof(struct call_return))
/* Less than the interval of user space, so that few calls are counted in the next one. */
#define CALLS_WAIT_NS 10000000

static __always_inline void emit_calls(struct thread *t)
{
	__u64 length = t->calls.length;

	/* Busy: the thread is taken off the CPU while it adds a call (where programs can be preempted). */
	if (!length || t->calls_busy)
		return;
	if (length > PARTS_BYTES)
		length = PARTS_BYTES;
	t->calls.header.kind = EVENT_CALLS;
	t->calls.header.tid = t->tid;
	t->calls.tgid = t->tgid;
	if (bpf_ringbuf_output(&ring, &t->calls, sizeof(t->calls) + length, BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost[EVENT_CALLS], t->calls.header.nr);
	t->calls.length = 0;
	t->calls.header.nr = 0;
}

struct call_times {
	__u64 dur;
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
};

/* The file of the call, unless it is that of the call before; gives where the next part lies. */
static __always_inline __u64 add_file(struct thread *t, __u64 at)
{
	struct call_file *part = (struct call_file *)(t->parts + at);

	if (is_same_file(&t->calls_file, &t->file))
		return at;
	part->part = PART_FILE;
	part->file = t->calls_file = t->file;
	return at + sizeof(*part);
}

static __always_inline void add_call(struct thread *t, __s32 nr, const struct call_times *times, long ret,
				     __u8 flags)
{
	__u64 at = t->calls.length, after, bytes = t->call_bytes, dur = times->dur;
	struct call_return *call;

	if (at > PARTS_BYTES - PARTS_MOST) {
		emit_calls(t);
		at = 0;
	}
	t->calls_busy = 1;
	if (!at) {
		t->calls.ts = t->calls_ts = t->call_entry;
		__builtin_memset(&t->calls_file, 0, sizeof(t->calls_file));
	}
	if (flags & CALL_HAS_FILE)
		at = add_file(t, at);
	if (times->runnable | times->blocked | times->sleeping) {
		struct call_waits *waits = (struct call_waits *)(t->parts + at);

		waits->part = PART_WAITS;
		waits->runnable = times->runnable;
		waits->blocked = times->blocked;
		waits->sleeping = times->sleeping;
		at += sizeof(*waits);
	}
	after = t->call_entry - t->calls_ts;
	if ((after | dur | bytes) >> 32 || ret != (__s32)ret) {
		struct call_wide *wide = (struct call_wide *)(t->parts + at);

		wide->part = PART_WIDE;
		wide->ts = t->call_entry;
		wide->dur = dur;
		wide->bytes = bytes;
		wide->ret = ret;
		at += sizeof(*wide);
	}
	call = (struct call_return *)(t->parts + at);
	call->part = PART_RETURN;
	call->flags = flags;
	call->nr = nr;
	call->fd = t->call_fd;
	call->after = after;
	call->dur = dur;
	call->bytes = bytes;
	call->ret = ret;
	call->offset = t->call_offset;
	t->calls.length = at + sizeof(*call);
	t->calls.header.nr++;
	t->calls_ts = t->call_entry;
	barrier();
	t->calls_busy = 0;
	if (t->since - t->calls.ts > CALLS_WAIT_NS)
		emit_calls(t);
}

#endif
