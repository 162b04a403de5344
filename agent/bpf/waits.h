/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Uninterruptible waits: how long, in which call, and whether for I/O. Threads that merely sleep cost a comparison. */
#ifndef IOWHY_WAITS_H
#define IOWHY_WAITS_H

#include "call.h"

#define WAITS 16384

struct wait {
	__u64 since;
	struct aggregate_key key;
};

/* Threads that wait now, by their number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITS);
	__type(key, __u32);
	__type(value, struct wait);
} waits SEC(".maps");

__u64 waiting = 0;

static __always_inline void begin_wait(struct task_struct *task, __u32 state)
{
	struct wait wait = {};
	struct pt_regs *regs;
	__u32 pid = BPF_CORE_READ(task, pid);

	if (!(state & TASK_UNINTERRUPTIBLE) || (state & (TASK_NOLOAD | TASK_DEAD)))
		return;
	regs = entry_registers(task);
	wait.since = bpf_ktime_get_ns();
	wait.key.what = current_call(task, regs);
	wait.key.measure = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? MEASURE_IO_WAIT : MEASURE_BLOCK;
	wait.key.cgroup = cgroup_id(cgroup_of(task));
	wait.key.dev = device_of_call(task, regs, wait.key.what);
	if (bpf_map_update_elem(&waits, &pid, &wait, BPF_NOEXIST))
		__sync_fetch_and_add(&lost, 1);
	else
		__sync_fetch_and_add(&waiting, 1);
}

static __always_inline void end_wait(__u32 pid)
{
	struct wait *found = bpf_map_lookup_elem(&waits, &pid);
	struct wait wait;

	if (!found)
		return;
	wait = *found;
	/* Who takes it out counts it: a thread can be woken while it is given a CPU. */
	if (bpf_map_delete_elem(&waits, &pid))
		return;
	__sync_fetch_and_add(&waiting, -1);
	add(&wait.key, bpf_ktime_get_ns() - wait.since, 0);
}

/* A wake-up that was not seen (on some virtual machines) shows when the thread runs again. */
static __always_inline void runs_again(struct task_struct *task)
{
	if (*(volatile __u64 *)&waiting)
		end_wait(BPF_CORE_READ(task, pid));
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_with_state, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	if (!preempt)
		begin_wait(prev, prev_state);
	runs_again(next);
	return 0;
}

/* Its shape before 5.18: the state is the task's own. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_without_state, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!preempt)
		begin_wait(prev, task_state(prev));
	runs_again(next);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	if ((task_state(task) & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
		end_wait(task->pid);
	return 0;
}

#endif
