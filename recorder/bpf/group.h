/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Which control group a task is in, on the hierarchy that the programs go by. A group is known by the number of its
 * directory's inode (kernfs_node.id).
 */
#ifndef IOWHY_GROUP_H
#define IOWHY_GROUP_H

#include "older.h"

/* Place in css_set.subsys of a controller of version 1, whose hierarchy counts; -1: that of version 2. */
const volatile __s32 group_controller = -1;

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

/* The number of the group of a task that the verifier knows as one: its fields are read as they stand, which takes a tenth of a helper's time. */
static __always_inline __u64 group_id_of(struct task_struct *task)
{
	if (HAS_TASKS && group_controller < 0)
		return READ_ONLY(struct task_struct, task)->cgroups->dfl_cgrp->kn->id;
	return cgroup_id(cgroup_of(task));
}

#endif
