/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * What the programs at a call's entry and end cost. One call in some thirty is timed, by another reading of the clock at
 * the end of each of the two: to time all would make every call dearer. Which one is left to chance (the clock's last bits),
 * as programs repeat themselves. What lies before a program's first reading is measured at the start (src/calibration.rs).
 */
#ifndef IOWHY_COST_H
#define IOWHY_COST_H

#include "state.h"

#define TIMED_LEAST 16
#define TIMED_CHANCE 31 /* a power of 2, less 1 */
/* A program does not take that long: an interrupt came, or the hypervisor took the CPU. */
#define TIMED_MOST_NS 20000

static __always_inline void choose_timed(struct thread *t, __u64 now)
{
	t->until_timed = TIMED_LEAST + ((now >> 4) & TIMED_CHANCE);
}

/*
 * Time since `now`, at which the program took its reading; more than the most where the thread left the CPU since. Without
 * what the reading here takes, which a call that is not timed does not pay: as long as the next one.
 */
static __always_inline __u64 time_since(const struct thread *t, __u64 now)
{
	__u64 then = bpf_ktime_get_ns();
	__u64 reading = bpf_ktime_get_ns() - then;
	__u64 ns = then - now;

	if (*(volatile __u64 *)&t->since != now)
		return TIMED_MOST_NS + 1;
	return ns > reading ? ns - reading : 0;
}

static __always_inline void time_entry(struct thread *t, __u64 now)
{
	if (t->until_timed)
		t->until_timed--;
	if (!t->until_timed)
		t->entry_ns = time_since(t, now);
}

static __always_inline void time_end(struct thread *t, __u64 now)
{
	__u64 ns;

	t->own.calls++;
	if (t->until_timed)
		return;
	ns = time_since(t, now);
	if (ns <= TIMED_MOST_NS && t->entry_ns <= TIMED_MOST_NS) {
		t->own.timed++;
		t->own.entry_ns += t->entry_ns;
		t->own.end_ns += ns;
	}
	choose_timed(t, now);
}

#endif
