/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* The system call that a thread is in, read from the registers with which it entered the kernel: it costs other calls nothing. */
#ifndef IOWHY_AGENT_CALL_H
#define IOWHY_AGENT_CALL_H

#include "aggregate.h"
#include "entry.h"
#include "overlay.h"

#define CALLS 512

/* What user space knows of each call: its argument that is a file descriptor, and what it does. */
enum call_does { DOES_OTHER, DOES_READ, DOES_WRITE };
enum call_does no_does = 0;
struct call_known {
	__s8 fd_argument; /* -1: none */
	__u8 does;
	__u8 recorded;
	__u8 pad;
};
const volatile struct call_known calls[CALLS] = {};

/* What is known of a call; NULL: it is none. The compiler must not see through the mask, which the verifier wants. */
static __always_inline const volatile struct call_known *known_of(__u64 number)
{
	if (number >= CALLS)
		return NULL;
	barrier_var(number);
	return &calls[number & (CALLS - 1)];
}

static __always_inline __s64 register_of(struct pt_regs *regs, __s8 argument)
{
#if defined(__TARGET_ARCH_x86)
	switch (argument) {
	case 0:
		return BPF_CORE_READ(regs, di);
	case 1:
		return BPF_CORE_READ(regs, si);
	case 2:
		return BPF_CORE_READ(regs, dx);
	}
	return BPF_CORE_READ(regs, r8);
#else
	if (!argument)
		return BPF_CORE_READ(regs, orig_x0);
	return BPF_CORE_READ(regs, regs[argument & 7]);
#endif
}

/* Number of the call that the current thread is in; NO_CALL: none (a page fault, a thread of the kernel), or not known. */
static __always_inline __u16 current_call(struct task_struct *task, struct pt_regs *regs)
{
	__s64 number;

	if ((BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) || is_compat(task))
		return NO_CALL;
#if defined(__TARGET_ARCH_x86)
	number = BPF_CORE_READ(regs, orig_ax);
#else
	number = BPF_CORE_READ(regs, syscallno);
#endif
	return number >= 0 && number < CALLS ? number : NO_CALL;
}

/* The device of the filesystem that has the data of a descriptor's file (of an overlay, the one below); 0: there is none. */
static __always_inline __u32 device_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;
	struct inode *inode;

	if (!files || fd >= BPF_CORE_READ(table, max_fds) || bpf_core_read(&file, sizeof(file), files + fd) ||
	    !file)
		return 0;
	inode = data_inode(file, BPF_CORE_READ(file, f_inode));
	return BPF_CORE_READ(inode, i_sb, s_dev);
}

/* The same of the file that a call works on. */
static __always_inline __u32 device_of_call(struct task_struct *task, struct pt_regs *regs, __u16 call)
{
	const volatile struct call_known *known = known_of(call);
	__s8 argument = known ? known->fd_argument : -1;

	return argument < 0 ? 0 : device_of(task, register_of(regs, argument));
}

#endif
