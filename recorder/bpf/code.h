/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Where the code of a process lies: user stacks are unwound by the files that are mapped, also of a process that has
 * ended before user space could look into /proc. Forks, exec and mappings of code go into the ring of the stacks, in the
 * order in which they happen between those.
 */
#ifndef IOWHY_CODE_H
#define IOWHY_CODE_H

#include "file.h"
#include "user_stack.h"

/* include/uapi/asm-generic/mman-common.h */
#define PROT_EXEC 4
/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h */
#if defined(__TARGET_ARCH_x86)
#define NR_MMAP 9
#define NR_MPROTECT 10
#elif defined(__TARGET_ARCH_arm64)
#define NR_MMAP 222
#define NR_MPROTECT 226
#endif

/* Values of event_code.header.nr. */
enum code_change {
	CODE_EXEC = 1, /* nothing is mapped yet */
	CODE_FORK, /* what its parent has */
	CODE_MAP,
};

struct event_code {
	struct event_header header;
	__u64 start;
	__u64 end;
	__u64 offset; /* in the file, bytes */
	__u64 ino; /* 0: no file */
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 parent; /* process that forked it */
};

static __always_inline struct event_code *begin_code(__u32 tgid, __u16 change)
{
	struct event_code *e = bpf_ringbuf_reserve(&stack_ring, sizeof(*e), 0);

	if (!e) {
		count_lost(EVENT_CODE);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->header.kind = EVENT_CODE;
	e->header.nr = change;
	e->tgid = tgid;
	return e;
}

struct code_search {
	__u32 tgid;
};

static __noinline long found_code(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	struct code_search *search = context;
	struct file *file = BPF_CORE_READ(area, vm_file);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	struct file_id id = {};
	struct event_code *e;

	if (inode) {
		id = identify(inode);
		name_file(&id, file, 0);
	}
	e = begin_code(search->tgid, CODE_MAP);
	if (!e)
		return 0;
	e->start = BPF_CORE_READ(area, vm_start);
	e->end = BPF_CORE_READ(area, vm_end);
	e->offset = BPF_CORE_READ(area, vm_pgoff) << page_shift;
	e->ino = id.ino;
	e->dev = id.dev;
	e->generation = id.generation;
	SUBMIT(e);
	return 0;
}

/* What is mapped at an address of the current process is code. */
static __always_inline void find_code(__u32 tgid, __u64 address)
{
	struct code_search search = { .tgid = tgid };

	if (HAS_HELPER(find_vma))
		bpf_find_vma(current_task(), address, found_code, &search, 0);
	else
		search_areas(current_task(), address, found_code, &search);
}

/* The program that was begun, and the one that links it. */
static __noinline long begin_program(struct task_struct *task, __u32 tgid)
{
	const struct pt_regs *regs = user_registers(task);
	struct event_code *e = begin_code(tgid, CODE_EXEC);

	if (!e)
		return 0;
	SUBMIT(e);
	find_code(tgid, BPF_CORE_READ(task, mm, start_code));
	if (regs)
		find_code(tgid, BPF_CORE_READ(regs, USER_IP_FIELD));
	return 0;
}

static __always_inline void fork_code(__u32 parent, __u32 child)
{
	struct event_code *e;

	if (parent == child)
		return;
	e = begin_code(child, CODE_FORK);
	if (!e)
		return;
	e->parent = parent;
	SUBMIT(e);
}

/* A call that maps memory, or changes what may be done with it. */
static __always_inline void map_code(struct pt_regs *regs, __s32 nr, __u32 tgid, long ret)
{
	if ((nr != NR_MMAP && nr != NR_MPROTECT) || !(ARG2(regs) & PROT_EXEC) || (ret < 0 && ret >= -MAX_ERRNO))
		return;
	find_code(tgid, nr == NR_MMAP ? ret : ARG0(regs));
}

#endif
