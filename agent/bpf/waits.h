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

/* Whose a slot is while its wait is written. */
#define BEING_WRITTEN (~0u)

struct slot {
	__u32 pid; /* 0: nobody's */
	__u32 pad;
	struct wait wait;
};

/* Threads that wait now, by the last bits of their number: an array's element costs a tenth of a table's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAITS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* Those whose slot another has, by their number; all of them where a slot cannot be had for sure. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITS);
	__type(key, __u32);
	__type(value, struct wait);
} waits SEC(".maps");

__u64 waiting = 0; /* in that table */

static __always_inline struct slot *slot_of(__u32 pid)
{
	__u32 place = pid & (WAITS - 1);

	return HAS_ATOMICS && pid ? bpf_map_lookup_elem(&slots, &place) : NULL;
}

static __always_inline bool put_into_slot(__u32 pid, const struct wait *wait)
{
	struct slot *slot = slot_of(pid);

	if (!slot || __sync_val_compare_and_swap(&slot->pid, 0, BEING_WRITTEN))
		return false;
	slot->wait = *wait;
	/* Atomic, so that nobody sees the number before the wait. */
	__sync_val_compare_and_swap(&slot->pid, BEING_WRITTEN, pid);
	return true;
}

static __always_inline bool take_from_slot(__u32 pid, struct wait *wait)
{
	struct slot *slot = slot_of(pid);

	if (!slot || *(volatile __u32 *)&slot->pid != pid)
		return false;
	*wait = slot->wait;
	return __sync_val_compare_and_swap(&slot->pid, pid, 0) == pid;
}

static __always_inline bool take_from_table(__u32 pid, struct wait *wait)
{
	struct wait *found;

	if (!*(volatile __u64 *)&waiting)
		return false;
	found = bpf_map_lookup_elem(&waits, &pid);
	if (!found)
		return false;
	*wait = *found;
	if (bpf_map_delete_elem(&waits, &pid))
		return false;
	__sync_fetch_and_add(&waiting, -1);
	return true;
}

static __always_inline void begin_wait(struct task_struct *task, __u32 state)
{
	struct wait wait = {};
	struct pt_regs *regs;
	__u32 pid = task->pid;

	if (!(state & TASK_UNINTERRUPTIBLE) || (state & (TASK_NOLOAD | TASK_DEAD)))
		return;
	regs = entry_registers(task);
	wait.since = bpf_ktime_get_ns();
	wait.key.what = current_call(task, regs);
	wait.key.measure = BPF_CORE_READ_BITFIELD(task, in_iowait) ? MEASURE_IO_WAIT : MEASURE_BLOCK;
	wait.key.cgroup = group_id_of(task);
	wait.key.dev = device_of_call(task, regs, wait.key.what);
	if (put_into_slot(pid, &wait))
		return;
	if (bpf_map_update_elem(&waits, &pid, &wait, BPF_NOEXIST))
		__sync_fetch_and_add(&lost, 1);
	else
		__sync_fetch_and_add(&waiting, 1);
}

/* Who takes it out counts it: a thread can be woken while it is given a CPU. */
static __always_inline void end_wait(__u32 pid)
{
	struct wait wait;

	if (take_from_slot(pid, &wait) || take_from_table(pid, &wait))
		add(&wait.key, bpf_ktime_get_ns() - wait.since, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_with_state, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	if (!preempt)
		begin_wait(prev, prev_state);
	/* A wake-up that was not seen (on some virtual machines) shows when the thread runs again. */
	end_wait(next->pid);
	return 0;
}

/* Its shape before 5.18: the state is the task's own. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_without_state, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!preempt)
		begin_wait(prev, task_state(prev));
	/* A wake-up that was not seen (on some virtual machines) shows when the thread runs again. */
	end_wait(next->pid);
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
