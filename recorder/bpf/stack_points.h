/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Of which calls and waits the user's stack is taken, and the time that it stands for.
 *
 * Calls are taken in proportion to their time (points.h), as many as the time allows (allowance.h). The first call of each
 * place in a program is taken as well: for its own length, which is left out of the time along which points are set.
 */
#ifndef IOWHY_STACK_POINTS_H
#define IOWHY_STACK_POINTS_H

#include "allowance.h"
#include "user_stack.h"

/* The wait whose stack was taken at `ts` has ended. */
struct event_user_wait {
	struct event_header header;
	__u64 ts;
	__u64 weight;
};

/*
 * Places in programs of which a call was taken. Of programs and not of processes: each of the many short ones of a compilation
 * makes the same calls as it begins, which were most of its stacks and told nothing new.
 */
struct place_key {
	__u64 program; /* inode of its file, in memory */
	__u32 within; /* a page: where in memory a program's code lies changes by pages */
	__u32 nr;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct place_key);
	__type(value, __u8);
} sampled_places SEC(".maps");

/* Between two points of the time in calls, on average, at least. */
#define GAP_LEAST_NS 1000000ull

/* Moments up to which the time that allows stacks (allowance.h) was used, so that the cost stays bounded. */
__u64 calls_used[SAMPLE_GROUPS] = {};
__u64 waits_used = 0;

/* A call that has returned. */
struct ended_call {
	struct thread *thread;
	struct task_struct *task;
	struct pt_regs *regs;
	__u64 now;
	__u64 dur;
	__u64 weight;
	__s64 ret;
	__s32 nr;
	__u32 group;
};

static __noinline long take_call(struct ended_call *call)
{
	struct sample_buffer *buffer = sample_buffer(0);
	struct thread *t = call->thread;
	struct event_user_stack *e;

	if (!buffer || !t)
		return 0;
	e = &buffer->event;
	begin_sample(e, t, SAMPLE_OF_CALL, call->now);
	e->header.nr = call->nr;
	e->weight = call->weight;
	e->dur = call->dur;
	e->runnable = t->states[RUNNABLE] - t->call_runnable;
	e->blocked = t->states[BLOCKED] - t->call_blocked;
	e->sleeping = t->states[SLEEPING] - t->call_sleeping;
	e->ret = call->ret;
	if (t->call_flags & CALL_HAS_FILE)
		set_sample_file(e, &t->file);
	read_registers(e, call->regs);
	return emit_sample(buffer, call->task);
}

/* Whether no call of this place was taken yet. Most calls find theirs among the thread's last. */
static __always_inline bool is_new_place(struct ended_call *call, __u64 ip)
{
	struct task_struct *task = call->task;
	struct thread *t = call->thread;
	__s32 nr = call->nr;
	__u64 known = ip ^ ((__u64)(__u32)nr << 48);
	__u32 place = (ip ^ (ip >> 7) ^ nr) & (KNOWN_PLACES - 1);
	struct place_key key = { .within = ip & (PAGE_SIZE - 1), .nr = nr };
	__u8 yes = 1;

	if (t->known_places[place] == known)
		return false;
	t->known_places[place] = known;
	key.program = (__u64)BPF_CORE_READ(task, mm, exe_file, f_inode);
	if (bpf_map_lookup_elem(&sampled_places, &key))
		return false;
	bpf_map_update_elem(&sampled_places, &key, &yes, BPF_ANY);
	return true;
}

static __always_inline __u64 *used_by(__u32 group)
{
	/* The verifier does not see that the compiler knows this. */
	barrier_var(group);
	return &calls_used[group & (SAMPLE_GROUPS - 1)];
}

/* Takes it, if more may be taken; what is not taken is sampled by none. */
static __always_inline bool try_to_take(struct ended_call *call)
{
	struct thread *t = call->thread;
	__u64 before, spent;
	bool taken;

	if (!t || !use_allowance(used_by(call->group), call->now))
		return false;
	before = bpf_ktime_get_ns();
	taken = take_call(call);
	spent = bpf_ktime_get_ns() - before;
	use_spent(used_by(call->group), spent);
	t->own.stacks_ns += spent;
	return taken;
}

/* What the call that returned now, of `group`, adds to the time along which points are set. */
static __always_inline void sample_call(struct ended_call *call, __u64 ip)
{
	struct unsampled *unsampled = unsampled_here();
	struct sample_clock *clock;
	__u32 group = call->group;
	__u64 mean;

	if (!unsampled)
		return;
	if (is_new_place(call, ip)) {
		call->weight = call->dur;
		if (try_to_take(call))
			return;
	}
	barrier_var(group);
	clock = &unsampled->calls[group & (SAMPLE_GROUPS - 1)];
	clock->ns += call->dur;
	if (clock->ns < clock->next)
		return;
	mean = stretched(used_by(group), call->now, GAP_LEAST_NS);
	call->weight = pass_points(clock, call->dur, mean);
	/* Calls that come later are others' time: what this one would stand for goes with it. */
	if (call->weight)
		try_to_take(call);
}

/* The current thread begins to wait outside of calls. */
static __noinline long take_wait(struct thread *t, struct task_struct *task)
{
	const struct pt_regs *regs = user_registers(task);
	struct sample_buffer *buffer;
	__u32 one_in = stretched(&waits_used, t->wait_since, 1);
	__u64 before;
	bool taken;

	t->wait_taken = 0;
	if (!regs || !unsampled_here() || (one_in > 1 && bpf_get_prandom_u32() % one_in) ||
	    !use_allowance(&waits_used, t->wait_since))
		return 0;
	buffer = sample_buffer(0);
	if (!buffer)
		return 0;
	before = bpf_ktime_get_ns();
	begin_sample(&buffer->event, t, SAMPLE_OF_WAIT, t->wait_since);
	buffer->event.header.nr = 0xffff;
	buffer->event.stack = t->wait_stack;
	find_sample_file(&buffer->event, t, task);
	read_registers(&buffer->event, regs);
	taken = emit_sample(buffer, task);
	use_spent(&waits_used, bpf_ktime_get_ns() - before);
	if (taken)
		t->wait_taken = one_in;
	return taken;
}

/* A wait has ended: it stands for itself, and for those that were not taken meanwhile, as far as there are any. */
static __always_inline void weigh_wait(struct thread *t, __u64 dur)
{
	struct unsampled *unsampled;
	struct event_user_wait *e;
	__u64 weight;

	if (t->call >= 0)
		return;
	unsampled = unsampled_here();
	if (!unsampled)
		return;
	unsampled->waits_ns += dur;
	if (!t->wait_taken)
		return;
	weight = dur * t->wait_taken;
	if (weight > unsampled->waits_ns)
		weight = unsampled->waits_ns;
	t->wait_taken = 0;
	e = bpf_ringbuf_reserve(&stack_ring, sizeof(*e), 0);
	if (!e)
		return;
	e->header.kind = EVENT_USER_WAIT;
	e->header.flags = 0;
	e->header.nr = 0xffff;
	e->header.tid = t->tid;
	e->ts = t->wait_since;
	e->weight = weight;
	SUBMIT(e);
	unsampled->waits_ns -= weight;
}

#endif
