/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * A thread's clock: its time since it came into scope, by state.
 *
 * Kept so that states[] always sum to since - start: a reader on another CPU that finds the sum wrong has read
 * in the middle of a change, and reads again.
 */
#ifndef IOWHY_THREAD_H
#define IOWHY_THREAD_H

#include "state.h"
#include "cgroup.h"
#include "cost.h"

static __always_inline void advance(struct thread *t, __u64 now, __u32 state)
{
	__u32 old = t->state;

	if (now > t->since) {
		if (old < STATES)
			t->states[old] += now - t->since;
		t->since = now;
	}
	t->state = state;
}

/* The number of the page fault that the thread is in: it stays while the kernel tries again. */
static __always_inline __u64 fault_number(struct task_struct *task)
{
	return OF_CURRENT(task, min_flt) + OF_CURRENT(task, maj_flt) + 1;
}

static __always_inline __u32 on_cpu_state(const struct thread *t)
{
	return t->kernel_thread || t->call >= 0 ? ON_CPU_KERNEL : ON_CPU_USER;
}

/* What is counted beside its clock begins with that. */
static __always_inline void begin_accounts(struct thread *t, struct task_struct *task, __u64 now)
{
	t->first_user = OF_CURRENT(task, utime);
	t->first_kernel = OF_CURRENT(task, stime);
	t->first_faults = OF_CURRENT(task, min_flt) + OF_CURRENT(task, maj_flt);
	t->reclaim = t->reclaim_in_calls = t->reclaim_from = 0;
	t->chain = t->mark = now;
	t->mark_runnable = t->mark_blocked = 0;
	t->waits = t->waited = t->waited_runnable = t->waited_blocked = 0;
	__builtin_memset(&t->own, 0, sizeof(t->own));
	choose_timed(t, now);
}

/* Its clock and accounts begin anew. */
static __always_inline void begin_again(struct thread *t, struct task_struct *task, __u64 now)
{
	for (int i = 0; i < STATES; i++)
		t->states[i] = 0;
	t->start = t->since = now;
	t->call_runnable = t->call_blocked = t->call_sleeping = 0;
	t->sampled_cpu = 0;
	begin_accounts(t, task, now);
}

static __always_inline struct thread *adopt(struct task_struct *task, __u32 state)
{
	__u32 tid = tid_of(task);
	struct thread *t;
	__u64 now;

	/* Outside of the recorder's pid namespace. */
	if (!tid)
		return NULL;
	t = make_thread(task);
	if (!t) {
		__sync_fetch_and_add(&lost_threads, 1);
		return NULL;
	}
	if (t->start)
		return t;
	now = bpf_ktime_get_ns();
	t->since = now;
	t->arrived = now;
	t->state = state;
	t->call = NOT_SEEN;
	t->tgid = tgid_of(task);
	t->tid = tid;
	t->kernel_thread = !!(task->flags & PF_KTHREAD);
	t->wait_stack = -1;
	begin_accounts(t, task, now);
	t->start = now;
	return t;
}

static __always_inline void emit_thread(struct task_struct *task, const struct thread *t, __u8 flags)
{
	struct event_thread *e = RESERVE(struct event_thread, EVENT_THREAD);

	if (!e)
		return;
	e->header.kind = EVENT_THREAD;
	e->header.flags = flags;
	e->header.nr = 0xffff;
	e->header.tid = t->tid;
	e->ts = flags ? bpf_ktime_get_ns() : t->start;
	e->tgid = t->tgid;
	e->ppid = tgid_of(BPF_CORE_READ(task, real_parent));
	e->cgroup = cgroup_id(cgroup_of(task));
	e->mnt_ns = BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum);
	e->pad = 0;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), task->comm);
	SUBMIT(e);
}

/* The thread's clock at this moment; false when it could not be read whole. */
static __always_inline bool read_clock(struct task_struct *task, const volatile struct thread *t,
				       struct event_clock *clock)
{
	__u64 now, sum;
	__u64 since;
	__u32 state;

	clock->start = t->start;
	clock->tgid = t->tgid;
	clock->tid = t->tid;
	for (int attempt = 0; attempt < 4; attempt++) {
		since = t->since;
		state = t->state;
		sum = 0;
		for (int i = 0; i < STATES; i++) {
			clock->states[i] = t->states[i];
			sum += clock->states[i];
		}
		if (t->since != since || sum != since - t->start)
			continue;
		now = block_ended ?: bpf_ktime_get_ns();
		if (now < since)
			now = since;
		if (state < STATES)
			clock->states[state] += now - since;
		clock->now = now;
		clock->ticks_user = BPF_CORE_READ(task, utime) - t->first_user;
		clock->ticks_kernel = BPF_CORE_READ(task, stime) - t->first_kernel;
		clock->faults = BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt) - t->first_faults;
		clock->reclaim = t->reclaim;
		clock->reclaim_in_calls = t->reclaim_in_calls;
		clock->waits = t->waits;
		clock->waited = t->waited;
		clock->waited_runnable = t->waited_runnable;
		clock->waited_blocked = t->waited_blocked;
		clock->own = t->own;
		clock->ppid = tgid_of(BPF_CORE_READ(task, real_parent));
		clock->exit_code = BPF_CORE_READ(task, exit_code);
		clock->allowed_cpus = 0;
		clock->allowed_mask = 0;
		clock->pad = 0;
		/* Since Linux 5.3. */
		if (bpf_core_field_exists(task->cpus_mask)) {
			clock->allowed_cpus = BPF_CORE_READ(task, nr_cpus_allowed);
			clock->allowed_mask = BPF_CORE_READ(task, cpus_mask.bits[0]);
		}
		bpf_probe_read_kernel(clock->comm, sizeof(clock->comm), task->comm);
		return true;
	}
	return false;
}

static __always_inline void emit_exit(struct task_struct *task, const struct thread *t, __u8 flags)
{
	struct event_exit *e = RESERVE(struct event_exit, EVENT_EXIT);

	if (!e)
		return;
	e->header.kind = EVENT_EXIT;
	e->header.flags = flags;
	e->header.nr = 0xffff;
	e->header.tid = t->tid;
	if (!read_clock(task, t, &e->clock)) {
		bpf_ringbuf_discard(e, BPF_RB_NO_WAKEUP);
		return;
	}
	SUBMIT(e);
}

#endif
