/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Whether a task's control group lies in one that is recorded. */
#ifndef IOWHY_CGROUP_H
#define IOWHY_CGROUP_H

#include "state.h"
#include "group.h"

/* Depth at which a group is no longer looked for. */
#define GROUP_LEVELS 32

/* The groups of `groups` are recorded, with all below them. */
const volatile bool by_group = false;
/* Processes that came into a recorded group from elsewhere. */
__u64 entered = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u8);
} groups SEC(".maps");

/* A function of its own (not static), so that the verifier looks at it once. */
__noinline int is_chosen_group(__u64 address)
{
	struct cgroup *group = (struct cgroup *)address;

	for (int level = 0; level < GROUP_LEVELS && group; level++) {
		__u64 id = cgroup_id(group);

		if (bpf_map_lookup_elem(&groups, &id))
			return 1;
		group = BPF_CORE_READ(group, self.parent, cgroup);
	}
	return 0;
}

static __always_inline bool in_chosen_group(struct task_struct *task)
{
	return by_group && is_chosen_group((__u64)cgroup_of(task));
}

#endif
