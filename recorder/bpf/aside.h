/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * What iowhy does itself in a recorded process (it starts a recorder, waits for it, judges) is not that process's: a thread steps
 * aside for it, and what it starts meanwhile is outside for good. A recorded block begins and ends with the same mark, at the
 * instruction, whatever the recorder does later.
 *
 * The mark is a call that does nothing anywhere (python/iowhy/sources/aside.py): posix_fadvise of no file, with our word as its
 * offset, whose last byte says which it is, and the number of the block as its length.
 */
#ifndef IOWHY_ASIDE_H
#define IOWHY_ASIDE_H

#include "thread.h"
#include "calls.h"
#include "entry.h"

/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h */
#if defined(__TARGET_ARCH_x86)
#define NR_FADVISE64 221
#elif defined(__TARGET_ARCH_arm64)
#define NR_FADVISE64 223
#endif

#define MARK 0x696f776879ULL /* iowhy */

enum mark {
	MARK_BACK,
	MARK_ASIDE,
};

/* Back in scope, in the call that says so. */
static __always_inline void come_back(struct thread *t, struct task_struct *task)
{
	begin_again(t, task, bpf_ktime_get_ns());
	t->arrived = t->start;
	t->state = ON_CPU_KERNEL;
	t->call = NOT_SEEN;
	t->aside = IN_SCOPE;
	emit_thread(task, t, 0);
}

/* Whether the call is a mark: then it is no call of the program's. */
static __always_inline bool take_mark(struct thread *t, struct task_struct *task, struct pt_regs *regs)
{
	__u64 word = ARG1(regs), number = ARG2(regs), now;

	/* Who records the machine records iowhy, too. */
	if ((__s32)ARG0(regs) != -1 || word >> 8 != MARK || whole_machine || block_ended || is_compat(task))
		return false;
	if ((word & 0xff) == MARK_BACK) {
		if (t->aside == IN_SCOPE)
			t->call = NOT_SEEN;
		if (t->aside != STEPPED_ASIDE)
			return true;
		come_back(t, task);
		if (block && number == block && !block_began)
			block_began = t->start;
	} else if (t->aside == IN_SCOPE) {
		now = bpf_ktime_get_ns();
		advance(t, now, ON_CPU_USER);
		if (block && number == block) {
			block_ended = now;
			return true;
		}
		emit_calls(t);
		emit_exit(task, t, EXIT_ASIDE);
		t->aside = STEPPED_ASIDE;
	}
	return true;
}

/* A child of iowhy's work. */
static __always_inline void keep_outside(struct task_struct *child)
{
	struct thread *t = make_thread(child);

	if (!t)
		return;
	t->tid = tid_of(child);
	t->aside = OUTSIDE;
}

#endif
