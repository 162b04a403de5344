/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Control groups: which one a task is in, on the hierarchy that the recorder goes by, and whether that lies in one that
 * is recorded. A group is known by the number of its directory's inode (kernfs_node.id).
 */
#ifndef IOWHY_CGROUP_H
#define IOWHY_CGROUP_H

#include "state.h"

/* Depth at which a group is no longer looked for. */
#define GROUP_LEVELS 32

/* The groups of `groups` are recorded, with all below them. */
const volatile bool by_group = false;
/* Place in css_set.subsys of a controller of version 1, whose hierarchy counts; -1: that of version 2. */
const volatile __s32 group_controller = -1;
/* Processes that came into a recorded group from elsewhere. */
__u64 entered = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u8);
} groups SEC(".maps");

static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state;

	if (group_controller < 0)
		return BPF_CORE_READ(set, dfl_cgrp);
	if (bpf_core_read(&state, sizeof(state), &set->subsys[0] + group_controller))
		return NULL;
	return BPF_CORE_READ(state, cgroup);
}

static __always_inline __u64 cgroup_id(struct cgroup *group)
{
	return BPF_CORE_READ(group, kn, id);
}

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
