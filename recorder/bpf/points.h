/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Points along the time that calls take: which calls are sampled, and what time each sample stands for. Plain C over
 * RANDOM32(), so that tests try it on made durations (tests/stacks/test_points.py).
 *
 * The calls that end on a CPU are laid one after the other, whatever their threads are: a thread that ends after one short
 * call has its part of a gap, where a time line of its own would end before its first point. Points are a gap apart that
 * is drawn anew each time, `mean` on average; the call in which one lies stands for the gaps that end there. Each moment
 * is then stood for once on average, if none is more likely than another to be near a point:
 * - the first point lies as if the points had begun long ago: the gap across the beginning is drawn by its length
 *   (a long gap is met more often than a short one), and the beginning lies anywhere in it;
 * - so does the first point after a long call, in which there are too many to pass them one by one.
 */
#ifndef IOWHY_POINTS_H
#define IOWHY_POINTS_H

#ifndef RANDOM32
#include "kernel.h"
#define RANDOM32() bpf_get_prandom_u32()
#endif

/* Time since the last point, and from there to the next one; 0: not drawn yet. */
struct sample_clock {
	__u64 ns;
	__u64 next;
};

/* A call of so many mean gaps is long: there is a point in it, as no gap has more than one and a half. */
#define LONG_CALL 3
/* More gaps than fit into one that is not. */
#define GAPS_PASSED 8

/* Evenly from none to all of `most`. */
static __always_inline __u64 draw(__u64 most)
{
	return ((__u64)RANDOM32() * most) >> 32;
}

/* Evenly from half of the mean to one and a half. */
static __always_inline __u64 draw_gap(__u64 mean)
{
	return mean / 2 + draw(mean) + 1;
}

/* Sets it as at a moment that is not chosen by where points lie. */
static __always_inline void set_clock(struct sample_clock *clock, __u64 mean)
{
	__u64 gap = draw_gap(mean), other = draw_gap(mean);

	/* Half of these evenly, and half of them the larger of two: each with a chance in proportion to its length. */
	if (other > gap && (RANDOM32() & 1))
		gap = other;
	clock->next = gap;
	clock->ns = draw(gap);
}

/* The time that a call stands for whose `dur` was added to the clock; 0: there is no point in it. */
static __always_inline __u64 pass_points(struct sample_clock *clock, __u64 dur, __u64 mean)
{
	__u64 before = clock->ns, weight = 0;

	if (!clock->next) {
		set_clock(clock, mean);
		clock->ns += dur;
		before = clock->ns;
	}
	if (before < clock->next)
		return 0;
	if (dur >= LONG_CALL * mean) {
		set_clock(clock, mean);
		return before > clock->ns ? before - clock->ns : 0;
	}
	for (int i = 0; i < GAPS_PASSED && before - weight >= clock->next; i++) {
		weight += clock->next;
		clock->next = draw_gap(mean);
	}
	clock->ns = before - weight;
	return weight;
}

#endif
