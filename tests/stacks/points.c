/* The recorder's choice of calls, as a library: what the kernel gives its programs is made here. */
#define RANDOM32() random32()
#include "random.h"
#include "points.h"

/* The calls of `durations`, over and over until there were `calls`: what each place of it is sampled for in all. */
void sample(const __u64 *durations, __u64 *weights, __u64 length, __u64 calls, __u64 mean, __u64 seed)
{
	struct sample_clock clock = { 0 };

	state = seed;
	for (__u64 call = 0; call < calls; call++) {
		__u64 dur = durations[call % length];

		clock.ns += dur;
		if (clock.ns >= clock.next)
			weights[call % length] += pass_points(&clock, dur, mean);
	}
}

/* One run of `durations` alone, `runs` times: what each call is sampled for in all, from the first point on. */
void sample_starts(const __u64 *durations, __u64 *weights, __u64 length, __u64 runs, __u64 mean, __u64 seed)
{
	state = seed;
	for (__u64 run = 0; run < runs; run++) {
		struct sample_clock clock = { 0 };

		for (__u64 call = 0; call < length; call++) {
			clock.ns += durations[call];
			if (clock.ns >= clock.next)
				weights[call] += pass_points(&clock, durations[call], mean);
		}
	}
}
