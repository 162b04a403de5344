/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Every I/O call, where that is asked for: it costs each call of the machine its way to the programs. */
#ifndef IOWHY_AGENT_CALLS_H
#define IOWHY_AGENT_CALLS_H

#include "call.h"

struct call_begun {
	__u64 at;
	__u32 number;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_begun);
} begun SEC(".maps");

/* The same where tasks have no storage. Else it is not made. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct call_begun);
} begun_by_number SEC(".maps");

static __always_inline struct call_begun *call_begun(struct task_struct *task, bool make)
{
	static const struct call_begun none;
	struct call_begun *found;
	__u32 pid;

	if (HAS_TASKS)
		return bpf_task_storage_get(&begun, task, 0, make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	pid = (__u32)bpf_get_current_pid_tgid();
	found = bpf_map_lookup_elem(&begun_by_number, &pid);
	if (found || !make)
		return found;
	bpf_map_update_elem(&begun_by_number, &pid, &none, BPF_ANY);
	return bpf_map_lookup_elem(&begun_by_number, &pid);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call_enter, struct pt_regs *regs, long number)
{
	const volatile struct call_known *known = known_of(number);
	struct task_struct *task;
	struct call_begun *begins;

	if (!known || !known->recorded)
		return 0;
	task = current_task();
	if (is_compat(task))
		return 0;
	begins = call_begun(task, true);
	if (!begins) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	begins->number = number;
	begins->at = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(call_exit, struct pt_regs *regs, long result)
{
	struct aggregate_key key = { .measure = MEASURE_CALL };
	struct task_struct *task = current_task();
	struct call_begun *begins = call_begun(task, false);
	const volatile struct call_known *known;
	__u64 at;

	if (!begins || !begins->at)
		return 0;
	at = begins->at;
	begins->at = 0;
	key.what = begins->number;
	known = known_of(begins->number);
	if (!known)
		return 0;
	key.cgroup = group_id_of(task);
	key.dev = device_of_call(task, regs, key.what);
	add(&key, bpf_ktime_get_ns() - at, known->does != DOES_OTHER && result > 0 ? result : 0);
	return 0;
}

#endif
