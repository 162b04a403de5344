/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Blocks of files as the filesystems allocate them. */
#ifndef IOWHY_ALLOC_H
#define IOWHY_ALLOC_H

#include "file.h"

struct event_allocation {
	struct event_header header;
	__u64 ts;
	__u64 ino;
	__u64 logical;
	__u64 physical;
	__u64 blocks;
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 pad;
};

/* fs/btrfs/ordered-data.h: data that is written in place, or into what fallocate took. */
#define BTRFS_ORDERED_NOCOW 1
#define BTRFS_ORDERED_PREALLOC 2

/* fs/ext4/ext4.h */
#define EXT4_MB_HINT_DATA 0x0020

static __always_inline void emit_allocation(struct inode *inode, __u64 logical, __u64 physical, __u64 blocks)
{
	struct file_id file = identify(inode);
	struct event_allocation *e;
	__u64 who = current_ids();

	if (!whole_machine && !is_touched(&file))
		return;
	e = RESERVE(struct event_allocation, EVENT_ALLOCATION);
	if (!e)
		return;
	e->header.kind = EVENT_ALLOCATION;
	e->header.flags = 0;
	e->header.nr = 0xffff;
	e->header.tid = (__u32)who;
	e->ts = bpf_ktime_get_ns();
	e->ino = file.ino;
	e->logical = logical;
	e->physical = physical;
	e->blocks = blocks;
	e->dev = file.dev;
	e->generation = file.generation;
	e->tgid = who >> 32;
	e->pad = 0;
	SUBMIT(e);
}

SEC("tp_btf/ext4_allocate_blocks")
int BPF_PROG(on_ext4_allocate, struct ext4_allocation_request *ar, unsigned long long block)
{
	struct inode *inode;

	/* Blocks of the extent tree itself are not the file's data. */
	if (!ar || !(ar->flags & EXT4_MB_HINT_DATA))
		return 0;
	inode = ar->inode;
	emit_allocation(inode, ar->logical, block, ar->len);
	return 0;
}

SEC("tp_btf/btrfs_ordered_extent_add")
int BPF_PROG(on_btrfs_extent, struct btrfs_inode *inode, struct btrfs_ordered_extent *extent)
{
	__u8 shift;

	if (!inode || !extent || (extent->flags & (1 << BTRFS_ORDERED_NOCOW | 1 << BTRFS_ORDERED_PREALLOC)))
		return 0;
	shift = BPF_CORE_READ(inode, vfs_inode.i_sb, s_blocksize_bits);
	emit_allocation(&inode->vfs_inode, extent->file_offset >> (shift & 63),
			extent->disk_bytenr >> (shift & 63), extent->num_bytes >> (shift & 63));
	return 0;
}

#endif
