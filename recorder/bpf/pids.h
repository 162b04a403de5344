/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Numbers of tasks as the recorder knows them. In a container with a pid namespace of its own they are that
 * namespace's, as in its /proc; a task outside of it has none there, which is 0.
 */
#ifndef IOWHY_PIDS_H
#define IOWHY_PIDS_H

#include "kernel.h"
#include "older.h"

/* The recorder is in a pid namespace below the machine's first. */
const volatile bool inner_pids = false;
/* That namespace and how deep it lies; the recorder's own walk over the tasks finds them. */
__u64 pid_space = 0;
__u32 pid_level = 0;

static __always_inline void find_pid_space(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid own;

	if (bpf_core_read(&own, sizeof(own), &pid->numbers[0] + level))
		return;
	pid_level = level;
	pid_space = (__u64)own.ns;
}

static __always_inline __u32 number_of(struct pid *pid)
{
	struct upid number;

	if (!pid || !pid_space || BPF_CORE_READ(pid, level) < pid_level)
		return 0;
	if (bpf_core_read(&number, sizeof(number), &pid->numbers[0] + pid_level))
		return 0;
	return (__u64)number.ns == pid_space ? number.nr : 0;
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return inner_pids ? number_of(BPF_CORE_READ(task, thread_pid)) : BPF_CORE_READ(task, pid);
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return inner_pids ? number_of(BPF_CORE_READ(task, group_leader, thread_pid)) :
			    BPF_CORE_READ(task, tgid);
}

/* Of the current task, where the verifier knows it. */
#define CURRENT_TID(task) (inner_pids ? tid_of(task) : OF_CURRENT(task, pid))
#define CURRENT_TGID(task) (inner_pids ? tgid_of(task) : OF_CURRENT(task, tgid))

/* As bpf_get_current_pid_tgid gives them: the process above, the thread below. */
static __always_inline __u64 current_ids(void)
{
	struct task_struct *task;

	if (!inner_pids)
		return bpf_get_current_pid_tgid();
	task = (struct task_struct *)bpf_get_current_task();
	return (__u64)tgid_of(task) << 32 | tid_of(task);
}

#endif
