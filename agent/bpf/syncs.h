/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * How long a filesystem takes to make a file durable, whoever asks (fsync, fdatasync, msync, O_SYNC, io_uring).
 *
 * These hang on functions, not on tracepoints: ext4 alone has one for the end, and to trace all calls for it would cost
 * every call of the machine some 150 ns. Each is called through a pointer (file_operations.fsync), so that no compiler
 * can have done away with it; where a kernel has none of that name or of that shape, it is left out and that is said.
 */
#ifndef IOWHY_SYNCS_H
#define IOWHY_SYNCS_H

#include "aggregate.h"

/* When a thread's sync began. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} syncs SEC(".maps");

static __always_inline int begin_sync(void)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	if (bpf_map_update_elem(&syncs, &pid, &now, BPF_ANY))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

static __always_inline int end_sync(struct file *file, int datasync)
{
	struct aggregate_key key = { .measure = MEASURE_SYNC, .what = datasync ? SYNC_DATA : SYNC_ALL };
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	__u64 *begun = bpf_map_lookup_elem(&syncs, &pid);
	__s64 ns;

	if (!begun)
		return 0;
	ns = bpf_ktime_get_ns() - *begun;
	bpf_map_delete_elem(&syncs, &pid);
	key.cgroup = group_id_of(current_task());
	key.dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	add(&key, ns, 0);
	return 0;
}

#define SYNC_OF(function)                                                                 \
	SEC("fentry/" #function)                                                          \
	int BPF_PROG(begin_##function, struct file *file, __s64 from, __s64 to, int data) \
	{                                                                                 \
		return begin_sync();                                                      \
	}                                                                                 \
	SEC("fexit/" #function)                                                           \
	int BPF_PROG(end_##function, struct file *file, __s64 from, __s64 to, int data)   \
	{                                                                                 \
		return end_sync(file, data);                                              \
	}

SYNC_OF(ext4_sync_file)
SYNC_OF(xfs_file_fsync)
SYNC_OF(btrfs_sync_file)

#endif
