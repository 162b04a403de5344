/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Threads: which are in scope, and when each runs, waits for a CPU, is blocked or sleeps. */
#ifndef IOWHY_SCHED_H
#define IOWHY_SCHED_H

#include "thread.h"
#include "stack.h"
#include "syscall.h"
#include "waiting.h"
#include "lookup.h"

static __always_inline void emit_wait(struct thread *t, __u64 now)
{
	struct event_wait *e = RESERVE(struct event_wait, EVENT_WAIT);
	struct file_id file;

	if (e) {
		e->header.kind = EVENT_WAIT;
		e->header.flags = t->wait_flags;
		e->header.nr = t->wait_call;
		e->header.tid = t->tid;
		e->ts = t->wait_since;
		e->dur = now - t->wait_since;
		e->tgid = t->tgid;
		e->stack = t->wait_stack;
		/* A copy: the verifier follows two pointers for longer. */
		file = t->call >= 0 ? t->file : t->fault_file;
		e->ino = file.ino;
		e->dev = file.dev;
		e->generation = file.generation;
		SUBMIT(e);
	}
	if (take_stacks)
		weigh_wait(t, now - t->wait_since);
	t->wait_since = 0;
}

static __always_inline void wake(struct thread *t, __u64 now)
{
	if (now < t->since)
		now = t->since;
	if (t->wait_since)
		emit_wait(t, now);
	advance(t, now, RUNNABLE);
}

/*
 * Also where a signal may end the sleep (FUSE): people and peers are waited for in other calls, but for those that copy
 * between a file of FUSE and a pipe or socket, where the stack tells which it is.
 */
static __always_inline bool waits_for_names(const struct thread *t)
{
	__u32 nr = t->call;

	barrier_var(nr);
	return nr < CALLS && (calls[nr].how & HOW_OF_NAMES);
}

/*
 * Whether the call is on a file that a process serves; it is that of the wait then. These calls keep no file: most of them have
 * none to ask for, and return at once.
 */
static __always_inline bool asks_who_serves(struct thread *t, struct task_struct *task)
{
	struct file *file = file_of(task, BPF_CORE_READ(entry_registers(task), ARG0_FIELD));

	if (!is_served(file))
		return false;
	/* The next call with a file looks it up, and names it. */
	t->inode = 0;
	t->file = identify(data_inode(file, FIELD(struct file, file, f_inode)));
	t->call_flags |= CALL_HAS_FILE;
	return true;
}

/*
 * Where FUSE may be waited for and where that is one of several things: in calls that close files (others wait there for
 * what a socket or a terminal has still to send), in some calls on an open file (others hold its locks), and outside of calls
 * in page faults (another process may supply the page). Seldom enough that the stack is looked at each time: user space tells by it which it is.
 */
static __always_inline bool may_wait_for_served(struct thread *t, struct task_struct *task)
{
	__u32 nr = t->call;

	if (t->call < 0)
		return !t->kernel_thread && is_in_exception(task);
	barrier_var(nr);
	if (nr >= CALLS)
		return false;
	return (calls[nr].how & HOW_CLOSES) || ((calls[nr].how & HOW_SERVED) && asks_who_serves(t, task));
}

/* The wait that the thread begins, as enum wait_flag; negative: it begins none. */
static __always_inline int wait_of(struct thread *t, struct task_struct *task, unsigned int state)
{
	int flags = 0;

	if (!(state & TASK_UNINTERRUPTIBLE) || (state & TASK_NOLOAD)) {
		if (!(state & TASK_INTERRUPTIBLE))
			return -1;
		if (!waits_for_names(t) && !(t->call >= 0 && t->call_is_served)) {
			if (!may_wait_for_served(t, task))
				return -1;
			flags = WAIT_OF_ANY_KIND;
		}
	}
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		flags |= WAIT_IN_IOWAIT;
	if (t->call >= 0 ? t->call_flags & CALL_HAS_FILE : t->fault_named == fault_number(task))
		flags |= WAIT_HAS_FILE;
	return flags;
}

static __always_inline void begin_wait(void *ctx, struct thread *t, struct task_struct *task, __u64 now)
{
	t->wait_since = now;
	t->wait_call = call_of_wait(t, task);
	t->wait_stack = stack_id(ctx, t);
	if (take_stacks && t->call < 0)
		take_wait(t, task);
}

static __always_inline int switched(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next,
				    unsigned int prev_state)
{
	struct thread *t;
	__u64 now = bpf_ktime_get_ns();
	int wait;

	t = prev->pid ? thread_of(prev) : NULL;
	if (t) {
		/* The scheduler's own record of when it gave this thread the CPU sets its clock against ours. */
		__u64 arrival = prev->sched_info.last_arrival;

		if (arrival && t->arrived > t->start) {
			__s64 offset = (__s64)(t->arrived - arrival);

			/* Far less than before: it was also given the CPU once unseen. */
			if (!clock_offset || offset > clock_offset - 100000)
				clock_offset = offset;
		}
		end_reading(t);
		/* While it is off the CPU none of its calls waits here, and its end comes after them. */
		emit_calls(t);
		if (preempt || !prev_state) {
			advance(t, now, RUNNABLE);
		} else if (prev_state & TASK_DEAD) {
			advance(t, now, SLEEPING);
			emit_exit(prev, t, EXIT_LAST);
			forget_thread(prev);
		} else if ((wait = wait_of(t, prev, prev_state)) >= 0) {
			advance(t, now, BLOCKED);
			t->wait_flags = wait;
			begin_wait(ctx, t, prev, now);
		} else {
			advance(t, now, SLEEPING);
		}
		leave_cpu(t);
	}
	t = next->pid ? thread_of(next) : NULL;
	if (t) {
		if (t->state == BLOCKED || t->state == SLEEPING) {
			/* The wake-up was not seen: the scheduler knows when it queued the thread. */
			__u64 queued = next->sched_info.last_queued;
			__u64 woken = now;

			if (queued && clock_offset) {
				woken = queued + clock_offset;
				if (woken > now || woken < t->since)
					woken = now;
			}
			if (t->state == SLEEPING)
				woken_by(t, NULL, woken);
			wake(t, woken);
		}
		advance(t, now, on_cpu_state(t));
		t->arrived = now;
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return switched(ctx, preempt, prev, next, prev_state);
}

/* Its shape before 5.18: the state is the task's own, which another CPU that wakes it may have changed already. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch_alone, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 state = task_state(prev);

	if (state & TASK_WAKING)
		state = BPF_CORE_READ_BITFIELD(prev, in_iowait) ? TASK_UNINTERRUPTIBLE : TASK_INTERRUPTIBLE;
	return switched(ctx, preempt, prev, next, state);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct *task)
{
	struct thread *t = thread_of(task);

	/* A thread that is woken before it left the CPU never waited. */
	if (t && (t->state == BLOCKED || t->state == SLEEPING))
		wake(t, bpf_ktime_get_ns());
	return 0;
}

/* Threads that the kernel makes for io_uring do not pass through fork's tracepoint. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;
	struct thread *of, *t;

	if (any_thread_of(task) || !leader || leader == task || tgid_of(task) == recorder_tgid)
		return 0;
	of = any_thread_of(leader);
	if (!whole_machine && (!of || of->aside == OUTSIDE))
		return 0;
	t = adopt(task, RUNNABLE);
	if (t)
		emit_thread(task, t, 0);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread *t = any_thread_of(parent);

	if (t && t->aside) {
		keep_outside(child);
		return 0;
	}
	if (whole_machine ? tgid_of(parent) == recorder_tgid : !thread_of(parent) && !in_chosen_group(child))
		return 0;
	t = adopt(child, RUNNABLE);
	if (t) {
		begin_chain(t, thread_of(parent));
		emit_thread(child, t, 0);
		if (take_stacks)
			fork_code(tgid_of(parent), t->tgid);
	}
	return 0;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	__u32 state;

	/* An int, and a byte from 7.0 on. */
	if (BPF_CORE_READ_BITFIELD(task, on_cpu))
		return ON_CPU_USER;
	state = task_state(task);
	if (!state)
		return RUNNABLE;
	if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD))
		return BLOCKED;
	return SLEEPING;
}

/*
 * What comes into the control group comes into scope. Of a process only its first thread is traced: the others are
 * found by the walk that user space begins when this counts.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct thread *t = any_thread_of(task);

	if (t) {
		if (!t->aside)
			emit_thread(task, t, THREAD_MOVED);
		return 0;
	}
	if (!in_chosen_group(task) || tgid_of(task) == recorder_tgid)
		return 0;
	t = adopt(task, state_of(task));
	if (t) {
		emit_thread(task, t, 0);
		__sync_fetch_and_add(&entered, 1);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct thread *t = thread_of(task);

	if (!t)
		return 0;
	if (t->tid != tid_of(task)) {
		/* A thread that runs exec takes over its process's id: its clock begins again under that. */
		emit_calls(t);
		emit_exit(task, t, EXIT_LAST);
		t->tid = tid_of(task);
		begin_again(t, task, bpf_ktime_get_ns());
	}
	t->ran_exec = 1;
	emit_thread(task, t, THREAD_RAN_EXEC);
	touch_program(task);
	if (take_stacks)
		begin_program(task, t->tgid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread *t = any_thread_of(task);

	if (t && t->aside == STEPPED_ASIDE)
		come_back(t, task);
	t = thread_of(task);
	if (!t)
		return 0;
	add_unreturned(t);
	emit_calls(t);
	/* It still closes its files: its last word comes when it leaves the CPU for good. */
	emit_exit(task, t, 0);
	return 0;
}

/* A thread that nobody follows yet comes into scope if its process, or its group, was asked for. */
static __always_inline void adopt_target(struct task_struct *task)
{
	struct thread *t;
	__u32 tgid;

	if (inner_pids && !pid_space)
		find_pid_space();
	tgid = tgid_of(task);
	if (tgid == recorder_tgid)
		return;
	if ((!whole_machine || only_targets) && !bpf_map_lookup_elem(&targets, &tgid) && !in_chosen_group(task))
		return;
	/* What it does at this moment is not known: its first switch or wake-up shows it. */
	t = adopt(task, state_of(task));
	if (t && block && tid_of(task) == block_tid)
		t->aside = STEPPED_ASIDE;
	else if (t)
		emit_thread(task, t, 0);
}

/* Ten times a second: every thread's clock, and the call that it is in. Adopts the targets on the way. */
SEC("iter/task")
int each_thread(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct event_sample sample;
	struct thread *t;

	if (!task)
		return 0;
	t = any_thread_of(task);
	if (!t && adopting) {
		adopt_target(task);
		return 0;
	}
	if (!t || t->aside)
		return 0;
	if (ended)
		emit_calls(t);
	__builtin_memset(&sample, 0, sizeof(sample));
	if (!read_clock(task, t, &sample.clock))
		return 0;
	if (t->call >= 0 && t->call_kind != CALL_PLAIN && t->call_entry <= sample.clock.now) {
		struct event_call *e = &sample.call;

		e->header.kind = EVENT_CALL;
		e->header.flags = t->call_flags;
		e->header.nr = t->call;
		e->header.tid = t->tid;
		e->ts = t->call_entry;
		e->dur = sample.clock.now - t->call_entry;
		e->runnable = sample.clock.states[RUNNABLE] - t->call_runnable;
		e->blocked = sample.clock.states[BLOCKED] - t->call_blocked;
		e->sleeping = sample.clock.states[SLEEPING] - t->call_sleeping;
		e->tgid = t->tgid;
		e->fd = t->call_fd;
		e->ino = t->file.ino;
		e->dev = t->file.dev;
		e->generation = t->file.generation;
		e->offset = t->call_offset;
		e->bytes = t->call_bytes;
		/* Another call has begun meanwhile: these are neither the one's numbers nor the other's. */
		if (t->call_entry != e->ts || t->call != e->header.nr)
			e->header.kind = 0;
	}
	bpf_seq_write(seq, &sample, sizeof(sample));
	return 0;
}

#endif
