/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * How long a filesystem takes to make a file durable, whoever asks (fsync, fdatasync, msync, O_SYNC, io_uring).
 *
 * ext4 traces the begin and the end. XFS and btrfs do not trace the end, and to trace all calls for it would cost every call
 * of the machine some 150 ns: there programs hang on the functions. Each is called through a pointer (file_operations.fsync), so that
 * no compiler can have done away with it; where a kernel has none of that name or of that shape, or lets no function be traced, it is
 * left out and that is said.
 */
#ifndef IOWHY_SYNCS_H
#define IOWHY_SYNCS_H

#include "aggregate.h"

struct sync {
	__u64 since;
	__u64 data; /* only data were asked for */
};

/* What a thread's sync is, and when it began. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct sync);
} syncs SEC(".maps");

static __always_inline int begin_sync(int data)
{
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	struct sync sync = { .since = bpf_ktime_get_ns(), .data = data != 0 };

	if (bpf_map_update_elem(&syncs, &pid, &sync, BPF_ANY))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

static __always_inline int end_sync(struct inode *inode)
{
	struct aggregate_key key = { .measure = MEASURE_SYNC };
	__u32 pid = (__u32)bpf_get_current_pid_tgid();
	struct sync *begun = bpf_map_lookup_elem(&syncs, &pid);
	__s64 ns;

	if (!begun)
		return 0;
	ns = bpf_ktime_get_ns() - begun->since;
	key.what = begun->data ? SYNC_DATA : SYNC_ALL;
	bpf_map_delete_elem(&syncs, &pid);
	key.cgroup = group_id_of(current_task());
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	add(&key, ns, 0);
	return 0;
}

SEC("tp_btf/ext4_sync_file_enter")
int BPF_PROG(ext4_sync_began, struct file *file, int data)
{
	return begin_sync(data);
}

SEC("tp_btf/ext4_sync_file_exit")
int BPF_PROG(ext4_sync_ended, struct inode *inode, int result)
{
	return end_sync(inode);
}

#define SYNC_OF(function)                                                                 \
	SEC("fentry/" #function)                                                          \
	int BPF_PROG(begin_##function, struct file *file, __s64 from, __s64 to, int data) \
	{                                                                                 \
		return begin_sync(data);                                                  \
	}                                                                                 \
	SEC("fexit/" #function)                                                           \
	int BPF_PROG(end_##function, struct file *file, __s64 from, __s64 to, int data)   \
	{                                                                                 \
		return end_sync(BPF_CORE_READ(file, f_inode));                            \
	}

SYNC_OF(xfs_file_fsync)
SYNC_OF(btrfs_sync_file)

#endif
