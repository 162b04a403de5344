/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* System calls: each I/O call as a record, all the others as totals. */
#ifndef IOWHY_SYSCALL_H
#define IOWHY_SYSCALL_H

#include "thread.h"
#include "calls.h"
#include "aside.h"
#include "totals.h"
#include "file.h"
#include "durable.h"
#include "rings.h"
#include "iovec.h"
#include "contexts.h"
#include "pagecache.h"
#include "writeback.h"
#include "journal.h"
#include "stack_points.h"
#include "code.h"
#include "entry.h"

static __always_inline __u64 argument(struct pt_regs *regs, __s8 number)
{
	switch (number) {
	case 0:
		return ARG0(regs);
	case 1:
		return ARG1(regs);
	case 2:
		return ARG2(regs);
	case 3:
		return ARG3(regs);
	case 4:
		return ARG4(regs);
	case 5:
		return ARG5(regs);
	}
	return 0;
}

/* A call that reads: a range of a file, or an eventfd until a ring has something to reap. */
static __always_inline void begin_read(struct thread *t, struct file *file)
{
	if (any_notifier && file)
		set_ring_waited_for(t, ring_behind(private_of(file)));
	if (!estimate_lookups && has_range(t))
		begin_reading(t);
}

/* Whether a process in user space answers for the file: who waits for that sleeps as for a peer, so that a signal may end it. */
static __always_inline bool is_served(struct file *file)
{
	struct inode *inode = file ? FIELD(struct file, file, f_inode) : NULL;
	struct super_block *super;

	if (!inode)
		return false;
	super = FIELD(struct inode, data_inode(file, inode), i_sb);
	return super && FIELD(struct super_block, super, s_magic) == FUSE_SUPER_MAGIC;
}

/* A call that writes: to the file of the call, or copies to another. */
static __always_inline void begin_writing(struct thread *t, struct task_struct *task, struct pt_regs *regs,
					  const volatile struct call_shape *shape, struct file *file)
{
	if (shape->written_arg != shape->fd_arg) {
		struct file *from = file;

		file = file_of(task, argument(regs, shape->written_arg));
		t->call_is_served = is_served(from) || is_served(file);
	}
	if (is_durable(file, shape->flags_arg >= 0 ? argument(regs, shape->flags_arg) : 0))
		t->call_flags |= CALL_DURABLE;
}

/* Before 6.12 there is no tracepoint for look-ups: a buffered read of a file is one. */
static __always_inline void estimate_lookup(struct thread *t, struct file *file)
{
	struct inode *inode = (struct inode *)t->inode;

	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFREG && !(BPF_CORE_READ(file, f_flags) & direct_flag))
		t->call_flags |= CALL_LOOKED_UP;
}

/*
 * A call whose descriptor, buffer and length are its first arguments, as read, write, pread64 and pwrite64: what begin_io
 * comes to for these, with the table asked no more. Most calls are such.
 */
static __always_inline void begin_usual(struct thread *t, struct task_struct *task, struct pt_regs *regs,
					__u8 kind, __u8 how)
{
	__u32 fd = ARG0(regs);
	struct file *file = file_of(task, fd);
	bool known = set_file(t, file);
	__u8 flags = CALL_HAS_BYTES | (known ? CALL_HAS_FILE : 0);

	t->call_fd = fd;
	t->call_bytes = ARG2(regs);
	if (!(how & HOW_FILE_POSITION)) {
		__u64 offset = ARG3(regs);

		/* As begin_io has it. */
		t->call_offset = offset == ~0ULL && file ? FIELD(struct file, file, f_pos) : offset;
		flags |= CALL_HAS_OFFSET;
	} else if (known) {
		t->call_offset = FIELD(struct file, file, f_pos);
		flags |= CALL_HAS_OFFSET;
		if (kind == CALL_WRITE && (FIELD(struct file, file, f_flags) & O_APPEND))
			t->call_appends = 1;
	}
	if (kind == CALL_WRITE && is_durable(file, 0))
		flags |= CALL_DURABLE;
	t->call_flags = flags;
	if (kind != CALL_READ)
		return;
	if (estimate_lookups && known)
		estimate_lookup(t, file);
	begin_read(t, file);
}

/*
 * Every other call with a record, but for those of rings. A function of its own: what it keeps would leave the usual call
 * no registers.
 */
static __noinline void begin_io(struct thread *t, struct task_struct *task, struct pt_regs *regs,
				const volatile struct call_shape *shape)
{
	__u8 how = shape->how;
	struct file *file = NULL;

	t->call_fd = -1;
	if (shape->fd_arg >= 0) {
		t->call_fd = argument(regs, shape->fd_arg);
		file = file_of(task, t->call_fd);
		if (set_file(t, file) && (how & HOW_FILE_POSITION)) {
			t->call_offset = BPF_CORE_READ(file, f_pos);
			t->call_flags |= CALL_HAS_OFFSET;
			if (shape->kind == CALL_WRITE && (BPF_CORE_READ(file, f_flags) & O_APPEND))
				t->call_appends = 1;
		}
	}
	if (shape->written_arg >= 0)
		begin_writing(t, task, regs, shape, file);
	if (estimate_lookups && shape->kind == CALL_READ && (t->call_flags & CALL_HAS_FILE) && file)
		estimate_lookup(t, file);
	if (shape->bytes_arg >= 0) {
		t->call_bytes = argument(regs, shape->bytes_arg);
		t->call_flags |= CALL_HAS_BYTES;
		if (how & HOW_IOVEC) {
			long bytes = iovec_bytes(t->call_bytes, argument(regs, shape->bytes_arg + 1));

			t->call_bytes = bytes;
			if (bytes < 0)
				t->call_flags &= ~CALL_HAS_BYTES;
		}
	}
	if (shape->offset_arg >= 0) {
		__u64 offset = argument(regs, shape->offset_arg);

		t->call_flags |= CALL_HAS_OFFSET;
		if (how & HOW_OFFSET_POINTER) {
			if (offset && bpf_probe_read_user(&t->call_offset, 8, (void *)offset))
				t->call_flags &= ~CALL_HAS_OFFSET;
			else if (!offset && file)
				t->call_offset = BPF_CORE_READ(file, f_pos);
		} else {
			/* preadv2 and pwritev2 take -1 for the file position. */
			t->call_offset = offset == ~0ULL && file ? BPF_CORE_READ(file, f_pos) : offset;
		}
	}
	if (shape->kind == CALL_MEMORY)
		find_mapped(t, ARG0(regs));
	else if (shape->kind == CALL_READ)
		begin_read(t, file);
}

/* What of the call's time the thread was not on a CPU. */
static __always_inline void read_times(const struct thread *t, struct call_times *times)
{
	times->dur = t->since - t->call_entry;
	times->runnable = t->states[RUNNABLE] - t->call_runnable;
	times->blocked = t->states[BLOCKED] - t->call_blocked;
	times->sleeping = t->states[SLEEPING] - t->call_sleeping;
}

/* A thread that is killed inside a call never returns from it. */
static __always_inline void add_unreturned(struct thread *t)
{
	__u64 now = bpf_ktime_get_ns();
	struct call_times times;

	if (t->call < 0 || t->call_kind == CALL_PLAIN)
		return;
	advance(t, now, ON_CPU_KERNEL);
	end_reading(t);
	read_times(t, &times);
	add_call(t, t->call, &times, 0, t->call_flags | CALL_UNRETURNED);
	t->call_kind = CALL_PLAIN;
}

/* The interface of 32-bit pointers in 64-bit programs has the numbers of the 64-bit one, with this bit. */
#define X32_BIT 0x40000000

/* What is known of a call by its number; true where its arguments are. */
static __always_inline bool begin_call(struct thread *t, struct task_struct *task, long id, __u64 now)
{
	/* Compared as the 64 bits that it is: where the kernel keeps it in 32 (arm64) the compiler would compare those, and
	 * the verifier of 6.1 knows no bound of the rest then. */
	barrier_var(id);
	t->call = id & 0xffff;
	t->call_entry = now;
	t->call_runnable = t->states[RUNNABLE];
	t->call_blocked = t->states[BLOCKED];
	t->call_sleeping = t->states[SLEEPING];
	t->call_flags = 0;
	t->call_appends = t->call_is_served = 0;
	t->call_kind = CALL_PLAIN;
	/* Numbers and arguments of another table: counted, no more. */
	if (is_compat(task))
		t->call = (id & 0x1fff) | CALL_COMPAT;
	else if (id > 0 && (id & X32_BIT))
		t->call = (id & 0x1fff) | CALL_X32;
	else if (id >= 0 && id < CALLS)
		t->call_kind = calls[id].kind;
	return t->call_kind != CALL_PLAIN;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = current_task();
	struct thread *t = any_thread_of(task);
	__u64 now;

	if (!t)
		return 0;
	if (id == NR_FADVISE64 && take_mark(t, task, regs))
		return 0;
	if (t->aside || block_ended)
		return 0;
	now = bpf_ktime_get_ns();
	advance(t, now, ON_CPU_KERNEL);
	t->call_position = (__u64)ctx;
	if (begin_call(t, task, id, now) && id >= 0 && id < CALLS) {
		__u8 how = calls[id].how;

		if (how & HOW_USUAL) {
			begin_usual(t, task, regs, t->call_kind, how);
		} else if (t->call_kind == CALL_RING) {
			/* Not in begin_io: down to a file's name these have as many functions as the stack has room for. */
			t->call_fd = -1;
			begin_ring(t, task, regs);
			if (t->call == NR_IO_SUBMIT)
				submit_iocbs(ARG0(regs), ARG1(regs), ARG2(regs));
		} else {
			begin_io(t, task, regs, &calls[id]);
		}
	} else if (any_notifier) {
		begin_notified(t, task, regs);
	}
	time_entry(t, now);
	return 0;
}

static __always_inline void returned(struct thread *t, struct task_struct *task, struct pt_regs *regs, long ret,
				     __u64 now)
{
	struct call_times times;
	__s32 nr = t->call;

	t->call = NO_CALL;
	if (nr < 0)
		return;
	read_times(t, &times);
	if (t->call_kind == CALL_PLAIN) {
		t->call = nr;
		if (any_notifier)
			forget_notifier(task, nr, ret);
		count_call(t, times.dur, times.dur - times.runnable - times.blocked - times.sleeping, ret);
		t->call = NO_CALL;
		return;
	}
	if (!estimate_lookups && has_range(t))
		end_reading(t);
	if (!estimate_lookups && (t->call_flags & CALL_LOOKED_UP))
		t->own.lookups++;
	if (t->written_inode)
		settle_written(t);
	if (t->force_start)
		settle_force(t, now);
	if (t->call_appends && ret > 0) {
		/* Where the file ended is known only now. */
		struct file *file = file_of(task, t->call_fd);

		if (file)
			t->call_offset = BPF_CORE_READ(file, f_pos) - ret;
	}
	if (t->call_flags & CALL_LOOKED_UP)
		count_read(t, ret);
	else if (t->call_kind == CALL_WRITE)
		count_write(t, ret);
	if (t->call_kind == CALL_OPEN && ret >= 0) {
		struct file *file = file_of(task, ret);

		t->call_kind = CALL_PLAIN;
		name_copied(file);
		set_file(t, file);
	}
	if (t->call_kind == CALL_LINK && !ret)
		name_linked(task, ARG4(regs) & AT_EMPTY_PATH ? (int)ARG0(regs) : fd_of_path(ARG1(regs)));
	if (t->call_kind == CALL_RING)
		end_context(regs, nr, ret);
	add_call(t, nr, &times, ret, t->call_flags);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct ended_call call;
	__u64 now;

	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	advance(t, now, ON_CPU_USER);
	if (t->call == NO_CALL) {
		/* Refused before its entry is traced (seccomp): it has a number and a result, and no length. */
		begin_call(t, task, (__s64)regs->CALL_NUMBER_FIELD, t->since);
		t->call_fd = -1;
	}
	call.nr = t->call;
	call.group = t->call_kind == CALL_PLAIN ? SAMPLE_PLAIN : SAMPLE_IO;
	returned(t, task, regs, ret, now);
	time_end(t, now);
	if (!take_stacks || call.nr < 0)
		return 0;
	if (t->ran_exec) {
		t->ran_exec = 0;
		return 0;
	}
	call.thread = t;
	call.task = task;
	call.regs = regs;
	call.now = now;
	call.dur = t->since - t->call_entry;
	call.ret = ret;
	map_code(regs, call.nr, t->tgid, ret);
	sample_call(&call, regs->USER_IP_FIELD);
	return 0;
}

#endif
