/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Files of overlayfs, on which containers run: what is opened has an inode of its own, but its pages, requests and waits
 * are those of a file below, in the upper layer or in a lower one.
 *
 * Overlayfs may be a module whose types are out of reach (before 5.11, without CAP_SYS_ADMIN, loaded later). What is read
 * here without them was compared with Linux 5.10 to 6.18, and is believed only where what it leads to fits.
 */
#ifndef IOWHY_OVERLAY_H
#define IOWHY_OVERLAY_H

#include "field.h"

/* Overlays that lie on overlays (include/linux/fs.h, FILESYSTEM_MAX_STACK_DEPTH). */
#define OVERLAYS 2

static __always_inline bool is_overlay(const struct inode *inode)
{
	struct super_block *filesystem = FIELD(struct inode, inode, i_sb);

	return FIELD(struct super_block, filesystem, s_magic) == OVERLAYFS_SUPER_MAGIC;
}

/* The inode of the upper layer that has the file's data; NULL: they are where the file was opened. */
static __always_inline struct inode *upper_inode(struct inode *inode)
{
	void *at = inode;
	struct dentry *upper = NULL;
	unsigned long flags = 0;

	if (bpf_core_type_exists(struct ovl_inode)) {
		struct ovl_inode *overlay = at - bpf_core_field_offset(struct ovl_inode, vfs_inode);

		flags = BPF_CORE_READ(overlay, flags);
		upper = BPF_CORE_READ(overlay, __upperdentry);
	} else {
		/* They stand before and behind the inode (fs/overlayfs/ovl_entry.h). */
		bpf_probe_read_kernel(&flags, sizeof(flags), at - sizeof(flags));
		bpf_probe_read_kernel(&upper, sizeof(upper), at + bpf_core_type_size(struct inode));
	}
	/* Of a file of which only the attributes were copied up (metacopy) the data are below. */
	if (!upper || !(flags & (1UL << OVL_UPPERDATA)))
		return NULL;
	return BPF_CORE_READ(upper, d_inode);
}

/* The lower layer's file that one of the upper layer was copied from; NULL: there is none, or it cannot be told. */
static __always_inline struct inode *copied_from(struct inode *inode)
{
	void *overlay;

	if (!bpf_core_type_exists(struct ovl_inode))
		return NULL;
	overlay = (void *)inode - bpf_core_field_offset(struct ovl_inode, vfs_inode);
	if (bpf_core_field_exists(struct ovl_inode, oe)) {
		struct ovl_entry *entry = BPF_CORE_READ((struct ovl_inode *)overlay, oe);

		return BPF_CORE_READ(entry, __numlower) ?
			       BPF_CORE_READ(entry, __lowerstack[0].dentry, d_inode) :
			       NULL;
	}
	if (bpf_core_field_exists(struct ovl_inode___before_6_5, lowerpath))
		return BPF_CORE_READ((struct ovl_inode___before_6_5 *)overlay, lowerpath.dentry, d_inode);
	if (bpf_core_field_exists(struct ovl_inode___before_6_0, lower))
		return BPF_CORE_READ((struct ovl_inode___before_6_0 *)overlay, lower);
	return NULL;
}

/* Whether `below` is a file that overlayfs opened for `file`: by the same name (before 6.7), or by that of its own inode. */
static __always_inline bool is_opened_for(struct file *file, struct file *below)
{
	struct dentry *dentry = BPF_CORE_READ(below, f_path.dentry);
	struct inode *inode = BPF_CORE_READ(below, f_inode);

	if (!dentry || !inode)
		return false;
	return dentry == BPF_CORE_READ(file, f_path.dentry) || BPF_CORE_READ(dentry, d_inode) == inode;
}

/*
 * The inode that has the data of an open file: its own, or that of the file below an overlay's. A function of its own
 * (not static), so that the verifier looks at it once. Its argument and result are addresses.
 */
__noinline __u64 find_data(__u64 address)
{
	struct file *file = (struct file *)address, *below;
	struct inode *inode = BPF_CORE_READ(file, f_inode), *upper;

	for (int level = 0; level < OVERLAYS; level++) {
		/* A directory is read on all layers, and nothing but regular files has pages there. */
		if (!inode || !is_overlay(inode) || (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG)
			break;
		upper = upper_inode(inode);
		if (upper) {
			inode = upper;
			break;
		}
		/* A struct file, since 6.13 a structure that begins with its address. */
		below = BPF_CORE_READ(file, private_data);
		if (below && !is_opened_for(file, below))
			bpf_probe_read_kernel(&below, sizeof(below), below);
		if (!below || !is_opened_for(file, below))
			break;
		file = below;
		inode = BPF_CORE_READ(file, f_inode);
	}
	return (__u64)inode;
}

/* The same of a file whose own inode is known: nearly always that, and no call. */
static __always_inline struct inode *data_inode(struct file *file, struct inode *inode)
{
	return is_overlay(inode) ? (struct inode *)find_data((__u64)file) : inode;
}

/*
 * The name by which a program has opened a file: since 6.7 the file below keeps that of the overlay beside its own, which
 * begins at its layer (fs/file_table.c).
 */
static __always_inline struct dentry *opened_by(struct file *file, struct vfsmount **mount)
{
	if (bpf_core_field_exists(struct backing_file, user_path)) {
		struct backing_file *backing = (void *)file - bpf_core_field_offset(struct backing_file, file);
		struct dentry *dentry = BPF_CORE_READ(backing, user_path.dentry);
		struct inode *inode = BPF_CORE_READ(dentry, d_inode);

		/* Nothing says of all kernels which files are such: it is one where a name on an overlay follows. */
		if (inode && is_overlay(inode)) {
			*mount = BPF_CORE_READ(backing, user_path.mnt);
			return dentry;
		}
	}
	*mount = BPF_CORE_READ(file, f_path.mnt);
	return BPF_CORE_READ(file, f_path.dentry);
}

#endif
