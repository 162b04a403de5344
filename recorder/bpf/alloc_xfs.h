/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Blocks of files as XFS allocates them. Its tracepoints of writes tell what is asked for: what is reserved, and the
 * reservation that writeback makes real, which may become less or more of the file than that. So the file's extents
 * are watched as they change in memory: by how much more real blocks they hold when a transaction is committed, so
 * many were allocated in it, be it for a write, for fallocate or for a page that was kept back.
 */
#ifndef IOWHY_ALLOC_XFS_H
#define IOWHY_ALLOC_XFS_H

#include "alloc.h"

/* fs/xfs/libxfs/xfs_bmap.h: the change is one of the attributes' extents. */
#define BMAP_ATTRFORK (1 << 8)
/* fs/xfs/libxfs/xfs_iext_tree.c: how an extent lies in memory, and how many are in one leaf. */
#define IEXT_OFFSET_BITS 54
#define IEXT_LENGTH_BITS 21
#define IEXT_RECORDS 15
/* fs/xfs/libxfs/xfs_bmap.h: of a delayed extent's start block all bits of the mask are set. */
#define XFS_DELAYED_BLOCK (((1ULL << 35) - 1) << 17)

/* The blocks of an extent that are real: none of a delayed one. */
struct xfs_extent {
	__u64 logical;
	__u64 physical;
	__u64 blocks;
};

/* What a thread's transaction has changed so far. */
struct xfs_change {
	struct xfs_inode *inode;
	struct xfs_extent before; /* it is updated */
	struct xfs_extent added; /* the last that is more than was taken away */
	__s64 balance; /* below 0: taken away, and perhaps put back as another extent */
	__u32 remaps; /* whether blocks of another file or fork change hands */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct xfs_change);
} xfs_changes SEC(".maps");

static const struct xfs_change no_xfs_change;

static __always_inline struct xfs_change *xfs_change_here(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct xfs_change *change = bpf_map_lookup_elem(&xfs_changes, &tid);

	if (change)
		return change;
	bpf_map_update_elem(&xfs_changes, &tid, &no_xfs_change, BPF_ANY);
	return bpf_map_lookup_elem(&xfs_changes, &tid);
}

static __always_inline void emit_xfs_change(struct xfs_change *change)
{
	struct xfs_inode *ip = change->inode;
	__u8 shift = BPF_CORE_READ(ip, i_mount, m_sb.sb_agblklog) & 63;
	__u64 group = change->added.physical >> shift;
	__u64 block = change->added.physical & ((1ULL << shift) - 1);

	emit_allocation(&ip->i_vnode, change->added.logical, group << 32 | block, change->balance);
}

/* The change of a regular file's data that the extent at the cursor is part of; NULL: it is none. */
static __always_inline struct xfs_change *xfs_change_of(struct xfs_inode *ip, struct xfs_iext_cursor *cursor,
							int state, struct xfs_extent *extent)
{
	struct xfs_change *change;
	__u64 record[2];
	int at;

	if (!ip || !cursor || state & BMAP_ATTRFORK || (ip->i_vnode.i_mode & S_IFMT) != S_IFREG)
		return NULL;
	at = cursor->pos;
	if (at < 0 || at >= IEXT_RECORDS ||
	    bpf_probe_read_kernel(record, sizeof(record), cursor->leaf + at * sizeof(record)))
		return NULL;
	extent->logical = record[0] & ((1ULL << IEXT_OFFSET_BITS) - 1);
	/* Behind the length stands whether it is unwritten, and then what is left of the start block. */
	extent->physical = record[0] >> IEXT_OFFSET_BITS | record[1] >> (IEXT_LENGTH_BITS + 1)
										<< (64 - IEXT_OFFSET_BITS);
	extent->blocks = record[1] & ((1ULL << IEXT_LENGTH_BITS) - 1);
	if ((extent->physical & XFS_DELAYED_BLOCK) == XFS_DELAYED_BLOCK)
		extent->blocks = 0;
	change = xfs_change_here();
	if (change && change->inode != ip) {
		change->inode = ip;
		change->balance = 0;
	}
	return change;
}

/*
 * What is only moved or converted is taken away first, and then put back: the balance is above 0 where blocks are new,
 * and one extent is whole where more come.
 */
static __always_inline void add_xfs_extent(struct xfs_change *change, const struct xfs_extent *extent)
{
	if (!extent->blocks)
		return;
	if (change->balance > 0 && !change->remaps) {
		emit_xfs_change(change);
		change->balance = 0;
	}
	change->balance += extent->blocks;
	change->added = *extent;
}

SEC("tp_btf/xfs_iext_insert")
int BPF_PROG(on_xfs_insert, struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	struct xfs_extent extent;
	struct xfs_change *change = xfs_change_of(ip, cursor, state, &extent);

	if (change)
		add_xfs_extent(change, &extent);
	return 0;
}

static __always_inline void take_xfs_extent(struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	struct xfs_extent extent;
	struct xfs_change *change = xfs_change_of(ip, cursor, state, &extent);

	if (change)
		change->balance -= extent.blocks;
}

SEC("tp_btf/xfs_iext_remove")
int BPF_PROG(on_xfs_remove, struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	take_xfs_extent(ip, cursor, state);
	return 0;
}

/* What was inserted just now was read from the disk. */
SEC("tp_btf/xfs_read_extent")
int BPF_PROG(on_xfs_read, struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	take_xfs_extent(ip, cursor, state);
	return 0;
}

SEC("tp_btf/xfs_bmap_pre_update")
int BPF_PROG(on_xfs_before, struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	struct xfs_extent extent;
	struct xfs_change *change = xfs_change_of(ip, cursor, state, &extent);

	if (change)
		change->before = extent;
	return 0;
}

SEC("tp_btf/xfs_bmap_post_update")
int BPF_PROG(on_xfs_after, struct xfs_inode *ip, struct xfs_iext_cursor *cursor, int state)
{
	struct xfs_extent extent;
	struct xfs_change *change = xfs_change_of(ip, cursor, state, &extent);
	__u64 before;

	if (!change)
		return 0;
	before = change->before.blocks;
	if (extent.blocks <= before) {
		change->balance -= before - extent.blocks;
		return 0;
	}
	extent.blocks -= before;
	/* Grown at its end, unless it begins earlier. */
	if (before && extent.logical == change->before.logical) {
		extent.logical += before;
		extent.physical += before;
	}
	add_xfs_extent(change, &extent);
	return 0;
}

/* Blocks of a reflink, or of its copy on write, go from one file or fork to another. */
SEC("tp_btf/xfs_bmap_deferred")
int BPF_PROG(on_xfs_remap)
{
	struct xfs_change *change = xfs_change_here();

	if (change)
		change->remaps = 1;
	return 0;
}

/* Also when a long one goes on as another. */
SEC("tp_btf/xfs_trans_commit")
int BPF_PROG(on_xfs_commit)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct xfs_change *change = bpf_map_lookup_elem(&xfs_changes, &tid);

	if (!change)
		return 0;
	if (change->balance > 0 && !change->remaps)
		emit_xfs_change(change);
	bpf_map_delete_elem(&xfs_changes, &tid);
	return 0;
}

#endif
