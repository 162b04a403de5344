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

/* A register with which the current thread entered the kernel. */
#define OF_ENTRY(regs, name) (HAS_TYPED_REGISTERS ? (regs)->name : BPF_CORE_READ(regs, name))

static __always_inline __s64 register_of(struct pt_regs *regs, __s8 argument)
{
#if defined(__TARGET_ARCH_x86)
	switch (argument) {
	case 0:
		return OF_ENTRY(regs, di);
	case 1:
		return OF_ENTRY(regs, si);
	case 2:
		return OF_ENTRY(regs, dx);
	}
	return OF_ENTRY(regs, r8);
#else
	if (!argument)
		return OF_ENTRY(regs, orig_x0);
	return BPF_CORE_READ(regs, regs[argument & 7]);
#endif
}

/* Number of the call that the current thread is in; NO_CALL: none (a page fault, a thread of the kernel), or not known. */
static __always_inline __u16 current_call(struct task_struct *task, struct pt_regs *regs)
{
	__s64 number;

	if ((OF_CURRENT(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) || is_compat(task))
		return NO_CALL;
#if defined(__TARGET_ARCH_x86)
	number = OF_ENTRY(regs, orig_ax);
#else
	number = OF_ENTRY(regs, syscallno);
#endif
	return number >= 0 && number < CALLS ? number : NO_CALL;
}

static __always_inline struct fdtable *descriptors_of(struct task_struct *task)
{
	return HAS_TASKS ? task->files->fdt : BPF_CORE_READ(task, files, fdt);
}

/* The device of the filesystem that has the data of a descriptor's file (of an overlay, the one below); 0: there is none. */
static __always_inline __u32 device_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = descriptors_of(task);
	struct file **files = HAS_TASKS ? table->fd : BPF_CORE_READ(table, fd);
	__u32 length = HAS_TASKS ? table->max_fds : BPF_CORE_READ(table, max_fds);
	struct file *file = NULL;
	struct inode *inode;

	if (!files || fd >= length || bpf_core_read(&file, sizeof(file), files + fd) || !file)
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
