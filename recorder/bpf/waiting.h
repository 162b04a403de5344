/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Who waits for whom: a thread that sleeps until another one in scope wakes it waited for that one, which shows which
 * thread's time is the time of the work.
 *
 * How long it waited for it ends with the wake-up. It begins no sooner than the chain of wake-ups that led to it: what
 * came from outside (a timer, a device, the network) could not have been done before. So a worker that sleeps for an
 * hour until the next request waits for the request, not for the thread that hands it over.
 *
 * waits            of a thread's sleep, for others in scope
 * chain            the last wake-up from outside that led to what it does now
 * mark             from here on what it does may be what another waits for: its own wake-up, or the last one that it made;
 *                  with its sums then
 * waited           of its time since marks, while one slept until it was done; of that, ready for a CPU, and blocked
 */
#ifndef IOWHY_WAITING_H
#define IOWHY_WAITING_H

#include "entry.h"
#include "stack.h"

/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h: the calls that send to another socket */
#if defined(__TARGET_ARCH_x86)
#define NR_SENDTO 44
#define NR_SENDMSG 46
#define NR_SENDMMSG 307
#else
#define NR_SENDTO 206
#define NR_SENDMSG 211
#define NR_SENDMMSG 269
#endif

/*
 * The thread in scope that wakes another at this moment, or NULL. An interrupt wakes on behalf of a device or a
 * timer, in whichever thread it finds, and on a stack of its own, not on that of the thread's call. What a thread
 * sends to another on this machine arrives in a soft interrupt within its call.
 */
static __always_inline struct thread *waker(void *ctx)
{
	struct thread *t = current_thread();

	/* Outside system calls no thread wakes another; one that was killed there is not seen to. */
	if (!t || t->call < 0 || t->kernel_thread)
		return NULL;
	if (t->call_kind == CALL_WRITE || t->call == NR_SENDTO || t->call == NR_SENDMSG ||
	    t->call == NR_SENDMMSG)
		return t;
	/* The verifier lets a pointer be reckoned with only after it was stored. */
	t->position = (__u64)ctx;
	return t->call_position - *(volatile __u64 *)&t->position < STACK_SIZE ? t : NULL;
}

static __always_inline void begin_chain(struct thread *t, const struct thread *parent)
{
	if (parent && parent->chain < t->chain)
		t->chain = parent->chain;
}

static __always_inline void set_mark(struct thread *t, __u64 now)
{
	t->mark = now;
	t->mark_runnable = t->states[RUNNABLE];
	t->mark_blocked = t->states[BLOCKED];
}

/* A part of what lies between the mark and now: all of it where the sleep began before. */
static __always_inline __u64 part(__u64 ns, __u64 length, __u64 span)
{
	if (length >= span)
		return ns;
	/* In microseconds, so that the product fits. */
	return (ns >> 10) * (length >> 10) / ((span >> 10) + 1) << 10;
}

/* A thread's sleep ends, which began at t->since: `by` in scope, or NULL. */
static __always_inline void woken_by(struct thread *t, struct thread *by, __u64 now)
{
	__u64 since = t->since, span, length;

	if (by) {
		__u64 from = by->chain > since ? by->chain : since;

		if (now > from)
			t->waits += now - from;
		if (now > by->mark && now > since) {
			span = now - by->mark;
			length = since > by->mark ? now - since : span;
			by->waited += length;
			by->waited_runnable += part(by->states[RUNNABLE] - by->mark_runnable, length, span);
			by->waited_blocked += part(by->states[BLOCKED] - by->mark_blocked, length, span);
			set_mark(by, now);
		}
		t->chain = by->chain;
	} else {
		t->chain = now;
	}
	set_mark(t, now);
}

/* In the context of whoever wakes it: sched_wakeup may come later, on another CPU. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct *task)
{
	struct thread *t = thread_of(task), *by;

	if (!t || t->state != SLEEPING)
		return 0;
	by = waker(ctx);
	woken_by(t, by == t ? NULL : by, bpf_ktime_get_ns());
	return 0;
}

/* The call that the current thread waits in; of one that began before the thread came into scope, its registers have the number. */
static __always_inline __s32 call_of_wait(const struct thread *t, struct task_struct *task)
{
	if (t->call != NOT_SEEN || t->kernel_thread || is_compat(task))
		return t->call;
	return BPF_CORE_READ(entry_registers(task), CALL_NUMBER_FIELD);
}

#endif
