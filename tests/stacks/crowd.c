/* The recorder's choice of calls with what it is allowed, as a library: threads that are in calls all the time. */
#include <string.h>
#define RANDOM32() random32()
#include "random.h"
#include "points.h"
#include "allowance.h"

#define LEAST_GAP 1000000ull
#define MOST_THREADS 65536

/* What was taken of the threads of each path: all time that it stands for, and how many were taken. */
struct taken {
	__u64 weight;
	__u64 squares; /* of weights in microseconds */
	__u64 samples;
	__u64 in_calls; /* the truth */
};

/*
 * From `from` to `to`, `threads` of them at once, of which each path has as many (the rest of their number by `paths`): calls of a
 * path take as long as it says, half of that or one and a half. Calls end on CPUs by turns. To take one takes `spent` ns.
 */
void crowd(__u64 threads, const __u64 *durations, __u64 paths, __u64 cpus, __u64 from, __u64 to, __u64 *used,
	   struct sample_clock *clocks, struct taken *taken, __u64 spent, __u64 seed)
{
	static __u64 ends[MOST_THREADS], lasted[MOST_THREADS];
	__u64 turn = 0;

	state = seed;
	for (__u64 thread = 0; thread < threads; thread++) {
		lasted[thread] = draw(durations[thread % paths]) + 1;
		ends[thread] = from + lasted[thread];
	}
	for (;;) {
		__u64 next = 0, dur, weight;
		struct sample_clock *clock;
		struct taken *of;

		for (__u64 thread = 1; thread < threads; thread++)
			if (ends[thread] < ends[next])
				next = thread;
		if (ends[next] >= to)
			return;
		dur = lasted[next];
		of = &taken[next % paths];
		of->in_calls += dur;
		clock = &clocks[turn++ % cpus];
		clock->ns += dur;
		if (clock->ns >= clock->next) {
			weight = pass_points(clock, dur, stretched(used, ends[next], LEAST_GAP));
			if (weight && use_allowance(used, ends[next])) {
				use_spent(used, spent);
				of->weight += weight;
				of->squares += weight / 1000 * (weight / 1000);
				of->samples++;
			}
		}
		lasted[next] = durations[next % paths] / 2 + draw(durations[next % paths]) + 1;
		ends[next] += lasted[next];
	}
}
