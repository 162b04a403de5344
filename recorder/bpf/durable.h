/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Writes that return once they are durable: told by who asks for that, not by what they wait for. */
#ifndef IOWHY_DURABLE_H
#define IOWHY_DURABLE_H

#include "file.h"

/* include/uapi/asm-generic/fcntl.h (O_SYNC contains it), include/uapi/linux/fs.h, include/linux/fs.h */
#define O_DSYNC 00010000
#define RWF_DSYNC 0x2
#define RWF_SYNC 0x4
#define S_SYNC (1 << 0)
#define SB_SYNCHRONOUS (1UL << 4)

/* As iocb_is_dsync (include/linux/fs.h): the flags of the call or file, chattr +S, or a mount with sync. */
static __always_inline bool is_durable(struct file *file, __u64 call_flags)
{
	struct inode *inode = file ? FIELD(struct file, file, f_inode) : NULL;
	struct super_block *super;
	__u16 kind;

	if (!inode)
		return false;
	kind = FIELD(struct inode, inode, i_mode) & S_IFMT;
	if (kind != S_IFREG && kind != S_IFBLK)
		return false;
	if ((call_flags & (RWF_DSYNC | RWF_SYNC)) || (FIELD(struct file, file, f_flags) & O_DSYNC))
		return true;
	inode = data_inode(file, inode);
	super = FIELD(struct inode, inode, i_sb);
	return (FIELD(struct inode, inode, i_flags) & S_SYNC) ||
	       (super && (FIELD(struct super_block, super, s_flags) & SB_SYNCHRONOUS));
}

#endif
