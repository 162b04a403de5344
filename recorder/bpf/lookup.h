/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Whether the read call that a CPU is in has asked the page cache: kept by CPU, so that the one program which a cached
 * read passes between its entry and its end need not find its thread first, which costs more than all that it does.
 *
 * What is kept is the place of the call on its thread's stack in the kernel: nothing else has that place while the call
 * lasts. It is taken away when the thread leaves the CPU, and what was seen so far goes to the thread.
 */
#ifndef IOWHY_LOOKUP_H
#define IOWHY_LOOKUP_H

#include "state.h"

/* Reads on CPUs beyond find their thread. */
#define READING_CPUS 512
/* THREAD_SIZE of the kernel: a stack takes no more than this. */
#define THREAD_STACK_BYTES (1 << 14)

struct reading {
	__u64 position; /* thread.call_position of the call; 0: none */
	__u64 inode;
	__u64 here; /* the verifier lets a pointer be reckoned with only after it was stored */
	__u64 looked_up;
	__u64 pad[4];
} __attribute__((aligned(64))); /* a cache line of its own */

struct reading readings[READING_CPUS] = {};

static __always_inline struct reading *reading_here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (cpu >= READING_CPUS)
		return NULL;
	/* The verifier of 6.1 forgets that comparison where a program is large: it sees the mask. */
	barrier_var(cpu);
	return &readings[cpu & (READING_CPUS - 1)];
}

/* The thread's call reads a range of its file. */
static __always_inline void begin_reading(const struct thread *t)
{
	struct reading *r = reading_here();

	if (!r)
		return;
	r->position = 0;
	r->inode = t->inode;
	r->looked_up = 0;
	barrier();
	r->position = t->call_position;
}

/* True where it is that call, on this CPU since its beginning, that asks for pages of the inode. */
static __always_inline bool is_reading(void *ctx, const void *inode)
{
	struct reading *r = reading_here();

	if (!r || r->inode != (__u64)inode)
		return false;
	r->here = (__u64)ctx;
	/* Its frames lie below those of the call. */
	if (r->position - *(volatile __u64 *)&r->here >= THREAD_STACK_BYTES)
		return false;
	r->looked_up = 1;
	return true;
}

/* The call ends, or its thread leaves the CPU. */
static __always_inline void end_reading(struct thread *t)
{
	struct reading *r = reading_here();

	if (!r || !r->position || r->position != t->call_position)
		return;
	r->position = 0;
	if (r->looked_up)
		t->call_flags |= CALL_LOOKED_UP;
}

#endif
