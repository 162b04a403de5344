/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Who waits for a ring or a context without naming it: by an eventfd that is told of what is done (aio_resfd of libaio,
 * registered with io_uring), by polling the ring itself, or by an epoll that watches one of these. Such a call waits for
 * the requests of that ring or context. Of several behind one eventfd or one epoll it is the one that was used last.
 *
 * A kernel that was built without one of the three has none of its types, and what would read them is cut out.
 *
 * Which ring an eventfd belongs to is seen whenever the ring or context is used, and which epolls watch it in its own
 * queue of waiters: also where all of that was set up before the recording.
 */
#ifndef IOWHY_NOTIFIED_H
#define IOWHY_NOTIFIED_H

#include "file.h"

/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h; -1: there is none */
#define NR_EPOLL_PWAIT2 441
#if defined(__TARGET_ARCH_x86)
#define NR_POLL 7
#define NR_PPOLL 271
#define NR_EPOLL_WAIT 232
#define NR_EPOLL_CTL 233
#define NR_EPOLL_PWAIT 281
#define NR_EVENTFD 284
#define NR_EVENTFD2 290
#elif defined(__TARGET_ARCH_arm64)
#define NR_POLL -1
#define NR_PPOLL 73
#define NR_EPOLL_WAIT -1
#define NR_EPOLL_CTL 21
#define NR_EPOLL_PWAIT 22
#define NR_EVENTFD -1
#define NR_EVENTFD2 19
#endif

/* include/uapi/linux/eventpoll.h */
#define EPOLL_CTL_ADD 1
/* Descriptors of one poll, and waiters of one eventfd, that are looked at. */
#define POLLED_MOST 16
#define WATCHERS_MOST 8

struct user_pollfd {
	__s32 fd;
	__s16 events;
	__s16 revents;
};

struct notifier {
	__u64 ring;
	__u64 queue; /* address of its queue of waiters */
};

/* By the address of an eventfd_ctx, or of the ring. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct notifier);
} notifiers SEC(".maps");

/* By the address of an epoll, the notifier that it was last seen to watch: whether it still does is looked up. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} watching SEC(".maps");

bool any_notifier = false;

/* The address that lies at another one. */
static __always_inline __u64 pointer_at(__u64 address)
{
	return FIELD(struct timespec64, address, tv_sec);
}

static __always_inline __u64 private_of(struct file *file)
{
	return file ? (__u64)BPF_CORE_READ(file, private_data) : 0;
}

/* The epoll behind a waiter in a queue, or 0: both epoll and poll keep the queue's address right behind the waiter. */
static __always_inline __u64 epoll_of(__u64 waiter, __u64 queue)
{
	struct eppoll_entry *entry;

	if (!bpf_core_type_exists(struct eppoll_entry) || !bpf_core_type_exists(struct epitem))
		return 0;
	waiter -= bpf_core_field_offset(struct wait_queue_entry, entry);
	entry = (struct eppoll_entry *)(waiter - bpf_core_field_offset(struct eppoll_entry, wait));
	return (__u64)BPF_CORE_READ(entry, whead) == queue ? (__u64)BPF_CORE_READ(entry, base, ep) : 0;
}

/*
 * Whether an epoll is among the waiters of a queue; with `notifier`, all epolls there are noted to watch that. A function
 * of its own (not static), so that the verifier looks at it once.
 */
__noinline int find_watchers(__u64 queue, __u64 epoll, __u64 notifier)
{
	__u64 head = queue + bpf_core_field_offset(struct wait_queue_head, head);
	__u64 waiter = pointer_at(head), found;

	for (int i = 0; i < WATCHERS_MOST; i++) {
		if (!waiter || waiter == head)
			break;
		found = epoll_of(waiter, queue);
		if (found && found == epoll)
			return 1;
		if (found && notifier)
			bpf_map_update_elem(&watching, &found, &notifier, BPF_ANY);
		waiter = pointer_at(waiter);
	}
	return 0;
}

/* What is told when something of a ring or context is done: every time that this is used. */
__noinline int note_notifier(__u64 address, __u64 ring, __u64 queue)
{
	struct notifier *known = bpf_map_lookup_elem(&notifiers, &address);
	struct notifier now = { .ring = ring, .queue = queue };

	if (known && known->ring == ring)
		return 0;
	bpf_map_update_elem(&notifiers, &address, &now, BPF_ANY);
	find_watchers(queue, 0, address);
	any_notifier = true;
	return 0;
}

static __always_inline void note_eventfd(__u64 address, __u64 ring)
{
	if (address && ring && bpf_core_type_exists(struct eventfd_ctx))
		note_notifier(address, ring, address + bpf_core_field_offset(struct eventfd_ctx, wqh));
}

/* A ring of io_uring is used: it can be polled itself, and may have an eventfd. */
static __always_inline void note_ring(__u64 ring)
{
	struct io_ring_ctx *ctx = (struct io_ring_ctx *)ring;
	__u64 registered;

	if (!ring || !bpf_core_field_exists(ctx->cq_wait))
		return;
	/* Since 6.2 those who poll have a queue of their own; since 5.18 the eventfd lies in a structure. */
	note_notifier(ring, ring,
		      ring + (bpf_core_field_exists(ctx->poll_wq) ?
				      bpf_core_field_offset(struct io_ring_ctx, poll_wq) :
				      bpf_core_field_offset(struct io_ring_ctx, cq_wait)));
	if (bpf_core_field_exists(ctx->io_ev_fd)) {
		registered = (__u64)BPF_CORE_READ(ctx, io_ev_fd);
		if (registered)
			note_eventfd((__u64)BPF_CORE_READ((struct io_ev_fd *)registered, cq_ev_fd), ring);
	} else if (bpf_core_field_exists(((struct io_ring_ctx___before_5_18 *)ring)->cq_ev_fd)) {
		note_eventfd((__u64)BPF_CORE_READ((struct io_ring_ctx___before_5_18 *)ring, cq_ev_fd), ring);
	}
}

/* The ring or context behind what a file is of (file.private_data), or 0. */
__noinline __u64 ring_behind(__u64 private)
{
	struct notifier *of = bpf_map_lookup_elem(&notifiers, &private);
	__u64 *watched;

	if (of)
		return of->ring;
	watched = bpf_map_lookup_elem(&watching, &private);
	if (!watched)
		return 0;
	of = bpf_map_lookup_elem(&notifiers, watched);
	return of && find_watchers(of->queue, private, 0) ? of->ring : 0;
}

/* The same of a descriptor of the current task. */
__noinline __u64 ring_behind_fd(__u32 fd)
{
	__u64 private = private_of(file_of(current_task(), fd));

	return private ? ring_behind(private) : 0;
}

/* Of the first of the polled descriptors that has one. */
__noinline __u64 ring_polled(__u64 places, __u32 count)
{
	struct user_pollfd polled;
	__u64 ring = 0;

	for (__u32 i = 0; i < POLLED_MOST && !ring; i++) {
		if (i >= count)
			break;
		if (bpf_probe_read_user(&polled, sizeof(polled), (void *)(places + i * sizeof(polled))))
			break;
		if (polled.fd >= 0)
			ring = ring_behind_fd(polled.fd);
	}
	return ring;
}

/* An epoll begins to watch a notifier. */
static __always_inline void begin_watching(struct task_struct *task, __u32 epoll_fd, __u32 fd)
{
	__u64 epoll = private_of(file_of(task, epoll_fd));
	__u64 notifier = private_of(file_of(task, fd));

	if (epoll && notifier && bpf_map_lookup_elem(&notifiers, &notifier))
		bpf_map_update_elem(&watching, &epoll, &notifier, BPF_ANY);
}

static __always_inline void set_ring_waited_for(struct thread *t, __u64 ring)
{
	if (!ring)
		return;
	t->ring = t->call_offset = ring;
	t->call_flags = (t->call_flags & ~CALL_HAS_OFFSET) | CALL_HAS_RING;
}

/* A call that is only counted begins: where it waits for a ring it gets a row of its own, as a call that reaps. */
static __always_inline void begin_notified(struct thread *t, struct task_struct *task, struct pt_regs *regs)
{
	__s32 nr = t->call;
	__u64 ring = 0;

	if (nr == NR_EPOLL_CTL && ARG1(regs) == EPOLL_CTL_ADD)
		begin_watching(task, ARG0(regs), ARG2(regs));
	if (nr < 0)
		return;
	if (nr == NR_EPOLL_WAIT || nr == NR_EPOLL_PWAIT || nr == NR_EPOLL_PWAIT2)
		ring = ring_behind_fd(ARG0(regs));
	else if (nr == NR_POLL || nr == NR_PPOLL)
		ring = ring_polled(ARG0(regs), ARG1(regs));
	if (!ring)
		return;
	set_ring_waited_for(t, ring);
	t->call_kind = CALL_RING;
	t->call_fd = -1;
}

/* A new eventfd has nothing to do with one that was at its address before. */
static __always_inline void forget_notifier(struct task_struct *task, __s32 nr, long fd)
{
	__u64 fresh;

	if (fd < 0 || (nr != NR_EVENTFD && nr != NR_EVENTFD2))
		return;
	fresh = private_of(file_of(task, fd));
	bpf_map_delete_elem(&notifiers, &fresh);
}

#endif
