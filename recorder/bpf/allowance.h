/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * How many stacks may be taken, and how seldom they are: time itself allows them, so that a user space which is late
 * starves nobody. Plain C, so that tests try it on made threads (tests/stacks/test_allowance.py).
 *
 * Each stack uses up a piece of time: the least that there is for one, or more where it took the program longer, as a copy of
 * many pages does; what was not used is saved, up to a bound. The less there is left, the longer the gaps
 * between stacks, twice as long for each step: where more threads want stacks than may be taken, it stays at the place
 * where as many are taken as time allows, and gaps stay as long as there, whatever the number of threads.
 */
#ifndef IOWHY_ALLOWANCE_H
#define IOWHY_ALLOWANCE_H

/* One stack for each at least: 2,000 a second. */
#define ALLOWED_EACH_NS 500000ull
/*
 * What a stack takes of the program is so little of the time that it uses up: 0.5 % of a CPU. To find its callers takes the
 * recorder's threads about as long again. A most, as what interrupts one is measured with it.
 */
#define ALLOWED_TIMES 200
#define ALLOWED_EACH_MOST_NS (8 * ALLOWED_EACH_NS)
/* A step, after which gaps are twice as long, and how many there are. */
#define ALLOWED_STEP_NS (32 * ALLOWED_EACH_NS)
#define ALLOWED_STEPS 12
/* What is saved at most. */
#define ALLOWED_MOST_NS (ALLOWED_STEPS * ALLOWED_STEP_NS)

/* Time that is left of all up to `now`; `used` is the moment up to which it was used. */
static __always_inline __u64 allowed_ns(const __u64 *used, __u64 now)
{
	__u64 upto = *(const volatile __u64 *)used;

	if (now <= upto)
		return 0;
	return now - upto < ALLOWED_MOST_NS ? now - upto : ALLOWED_MOST_NS;
}

/* Whether one more may be taken, which it then is. Two CPUs at once may take one more than there is. */
static __always_inline bool use_allowance(__u64 *used, __u64 now)
{
	__u64 left = allowed_ns(used, now);

	if (left < ALLOWED_EACH_NS)
		return false;
	if (left == ALLOWED_MOST_NS)
		*(volatile __u64 *)used = now - ALLOWED_MOST_NS;
	__sync_fetch_and_add(used, ALLOWED_EACH_NS);
	return true;
}

/* One was taken, in `spent` ns, which may be more than it has used. */
static __always_inline void use_spent(__u64 *used, __u64 spent)
{
	__u64 uses = spent * ALLOWED_TIMES;

	if (uses > ALLOWED_EACH_MOST_NS)
		uses = ALLOWED_EACH_MOST_NS;
	if (uses > ALLOWED_EACH_NS)
		__sync_fetch_and_add(used, uses - ALLOWED_EACH_NS);
}

/* `least`, as many times as long as the steps down to what is left say. */
static __always_inline __u64 stretched(const __u64 *used, __u64 now, __u64 least)
{
	__u64 down = ALLOWED_MOST_NS - allowed_ns(used, now), steps = down / ALLOWED_STEP_NS;
	__u64 of_step = (down % ALLOWED_STEP_NS) >> 10;

	least <<= steps;
	return least + least * of_step / (ALLOWED_STEP_NS >> 10);
}

#endif
