/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Which ring (io_uring) or context (libaio) a call, or a thread that the kernel made for io_uring, works for: who reaps
 * from it waits for its requests, not for those of another one. A ring is known by the address of its io_ring_ctx, a
 * context by its aio_context_t; user space numbers them.
 */
#ifndef IOWHY_RINGS_H
#define IOWHY_RINGS_H

#include "notified.h"

/* include/uapi/linux/io_uring.h */
#define IORING_ENTER_REGISTERED_RING (1U << 4)
#define REGISTERED_RINGS 16
/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h: one number for all */
#define NR_IO_URING_ENTER 426

/* The ring behind a descriptor of io_uring_enter, which can be a place among the thread's registered rings. */
static __always_inline __u64 ring_of_fd(struct task_struct *task, __u32 fd, __u32 flags)
{
	struct file *file;
	__u64 own;

	if (!(flags & IORING_ENTER_REGISTERED_RING)) {
		file = file_of(task, fd);
	} else {
		if (!bpf_core_field_exists(struct io_uring_task, registered_rings) || fd >= REGISTERED_RINGS)
			return 0;
		own = (__u64)OF_CURRENT(READ_ONLY(struct task_struct, task), io_uring);
		own += bpf_core_field_offset(struct io_uring_task, registered_rings);
		file = (struct file *)FIELD(struct timespec64, own + fd * 8, tv_sec);
	}
	return file ? (__u64)BPF_CORE_READ(file, private_data) : 0;
}

/* A call that submits to a ring or a context, or reaps from it. */
static __always_inline void begin_ring(struct thread *t, struct task_struct *task, struct pt_regs *regs)
{
	t->ring = t->call == NR_IO_URING_ENTER ? ring_of_fd(task, ARG0(regs), ARG3(regs)) : ARG0(regs);
	if (!t->ring)
		return;
	if (t->call == NR_IO_URING_ENTER)
		note_ring(t->ring);
	t->call_offset = t->ring;
	t->call_flags |= CALL_HAS_RING;
}

/* The ring of what a worker of io_uring does at this moment, or 0. One that polls has it from on_uring_submit. */
static __always_inline __u64 ring_of_worker(struct task_struct *task, const struct thread *t)
{
	struct io_worker *worker;
	struct io_wq_work *work;
	struct io_kiocb *request;

	if (!bpf_core_field_exists(struct task_struct, worker_private))
		return 0;
	worker = OF_CURRENT(task, worker_private);
	if (!worker)
		return t->ring;
	work = BPF_CORE_READ(worker, cur_work);
	if (!work)
		return 0;
	request = (void *)work - bpf_core_field_offset(struct io_kiocb, work);
	return (__u64)BPF_CORE_READ(request, ctx);
}

/* The ring or context that a thread in scope works for now, or 0. */
static __always_inline __u64 ring_of(struct task_struct *task, const struct thread *t)
{
	if (!t)
		return 0;
	if (t->call >= 0)
		return t->call_kind == CALL_RING ? t->ring : 0;
	return OF_CURRENT(task, flags) & PF_IO_WORKER ? ring_of_worker(task, t) : 0;
}

#endif
