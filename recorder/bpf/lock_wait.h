/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Waits for locks on files (flock, fcntl), and who holds these. */
#ifndef IOWHY_LOCK_WAIT_H
#define IOWHY_LOCK_WAIT_H

#include "file.h"

/* include/linux/filelock.h: the lock is held, and the request waits. */
#define FILE_LOCK_DEFERRED 1
/* Requests between one and the lock: each waits for the one before. */
#define BEFORE_IT 8

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_lock_core {
	struct file_lock_core *flc_blocker;
	int flc_pid;
};

struct file_lock {
	struct file_lock_core c;
};

struct file_lock___before_6_9 {
	struct file_lock *fl_blocker;
	unsigned int fl_pid;
};

#pragma clang attribute pop

struct event_lock_wait {
	struct event_header header;
	__u64 ts;
	__u64 ino;
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 holder; /* who took the lock; 0: nobody on this machine */
};

static __always_inline struct file_lock *blocker_of(struct file_lock *lock)
{
	if (bpf_core_type_exists(struct file_lock_core))
		return (struct file_lock *)BPF_CORE_READ((struct file_lock_core *)lock, flc_blocker);
	return BPF_CORE_READ((struct file_lock___before_6_9 *)lock, fl_blocker);
}

static __always_inline int pid_of(struct file_lock *lock)
{
	if (bpf_core_type_exists(struct file_lock_core))
		return BPF_CORE_READ((struct file_lock_core *)lock, flc_pid);
	return BPF_CORE_READ((struct file_lock___before_6_9 *)lock, fl_pid);
}

/* The lock may be released and gone by now: what is read of it then is no process, or for once another. */
static __always_inline int lock_waited(struct inode *inode, struct file_lock *request, int result)
{
	struct thread *t = result == FILE_LOCK_DEFERRED && inode && request ? current_thread() : NULL;
	struct file_lock *held = t ? blocker_of(request) : NULL, *before;
	struct event_lock_wait *e;
	struct file_id file;
	int holder;

	if (!held)
		return 0;
#pragma unroll
	for (int step = 0; step < BEFORE_IT; step++) {
		before = blocker_of(held);
		if (!before)
			break;
		held = before;
	}
	holder = pid_of(held);
	file = identify_known(inode);
	e = RESERVE(struct event_lock_wait, EVENT_LOCK_WAIT);
	if (!e)
		return 0;
	e->header.kind = EVENT_LOCK_WAIT;
	e->header.flags = 0;
	e->header.nr = t->call;
	e->header.tid = t->tid;
	e->ts = bpf_ktime_get_ns();
	e->ino = file.ino;
	e->dev = file.dev;
	e->generation = file.generation;
	e->tgid = t->tgid;
	e->holder = holder > 0 ? holder : 0;
	SUBMIT(e);
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(on_flock, struct inode *inode, struct file_lock *request, int result)
{
	return lock_waited(inode, request, result);
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(on_posix_lock, struct inode *inode, struct file_lock *request, int result)
{
	return lock_waited(inode, request, result);
}

#endif
