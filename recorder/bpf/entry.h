/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* What the current thread brought into the kernel with it: its user's registers, and which table of calls it uses. */
#ifndef IOWHY_ENTRY_H
#define IOWHY_ENTRY_H

#include "older.h"

/* Size of a thread's stack in the kernel, at whose end its user's registers lie: 4 pages on x86 and arm64. */
#define KERNEL_STACK_BYTES (16 * 1024)

/* Whether the verifier knows these registers by their type. */
#define HAS_TYPED_REGISTERS (HAS_HELPER(task_pt_regs) && HAS_TASKS)

/* Where the kernel keeps the user's registers of the current thread, if it has any. */
static __always_inline struct pt_regs *entry_registers(struct task_struct *task)
{
	__u64 stack;

	if (HAS_TYPED_REGISTERS)
		return (struct pt_regs *)bpf_task_pt_regs(task);
	stack = (__u64)OF_CURRENT(task, stack);
	return (struct pt_regs *)(stack + KERNEL_STACK_BYTES - bpf_core_type_size(struct pt_regs));
}

/*
 * Whether what brought the current thread of a user into the kernel is no call: a fault of a page, or another exception. The
 * kernel gives these no number.
 */
static __always_inline bool is_in_exception(struct task_struct *task)
{
	return BPF_CORE_READ(entry_registers(task), CALL_NUMBER_FIELD) == -1;
}

/* A 32-bit program on a 64-bit kernel, whose numbers are of another table. */
static __always_inline bool is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return OF_CURRENT(task, thread_info.status) & TS_COMPAT;
#else
	return OF_CURRENT(task, thread_info.flags) & TIF_32BIT;
#endif
}

#endif
