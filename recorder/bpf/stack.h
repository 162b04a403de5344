/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * The kernel's stack of a thread that begins to wait, which names the reason of the wait.
 *
 * A walk of the stack costs a microsecond and more, and a command waits in the same few places again and again. So a
 * stack is walked only when it is new. What makes it known is the call that it is in, how deep it is below the
 * place where that call entered the kernel, and the addresses of its innermost functions, each looked up where the
 * walk found it. Two stacks that are alike in all of these differ, if at all, only in outer functions whose
 * frames are of the same size.
 */
#ifndef IOWHY_STACK_H
#define IOWHY_STACK_H

#include "state.h"

/* Frames of a kernel stack that are kept. */
#define FRAMES 48
/* Words next to the end of the stack that are searched for addresses of its functions; a power of 2. */
#define END_WORDS 64
/* Addresses that are kept to know a stack again, and how many it takes at least. */
#define PLACES 12
#define PLACES_LEAST 4
/* Stacks of one call and depth that are kept: without a second place, two that alternate were walked each time. */
#define WAYS 2
/* Where no call shows how deep a stack is, its distance from a multiple of this does (THREAD_SIZE). */
#define STACK_SIZE (1 << 14)

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 32768);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, FRAMES * sizeof(__u64));
} stacks SEC(".maps");

struct known_stack {
	__s32 id;
	__u32 count;
	__u64 address[PLACES];
	__u8 place[PLACES]; /* number of the word */
};

struct stack_end {
	__u64 position;
	__u64 words[END_WORDS];
	__u64 frames[FRAMES];
	__u32 frame; /* the one to be found next */
	struct known_stack found;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_end);
} stack_ends SEC(".maps");

struct stack_key {
	__u32 depth;
	__s32 call;
	__u32 way;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct stack_key);
	__type(value, struct known_stack);
} known_stacks SEC(".maps");

static __always_inline __s32 walk_stack(void *ctx)
{
	/* Without the frame of this program. */
	return bpf_get_stackid(ctx, &stacks, BPF_F_FAST_STACK_CMP | 1);
}

static __always_inline bool is_same_stack(const struct stack_end *end, const struct known_stack *known)
{
#pragma unroll
	for (__u32 i = 0; i < PLACES; i++) {
		if (i >= known->count)
			break;
		if (end->words[known->place[i] & (END_WORDS - 1)] != known->address[i])
			return false;
	}
	return true;
}

/*
 * What was found so far lies in the map: of numbers on the stack the verifier would follow every value that they
 * take, which was most of its work on the switch of threads.
 */
struct place_search {
	struct stack_end *end;
};

static __noinline long find_place(__u32 i, struct place_search *search)
{
	struct stack_end *end = search->end;
	__u32 frame = end->frame, count = end->found.count;
	__u64 word;

	if (i >= END_WORDS || frame >= FRAMES - 1 || count >= PLACES)
		return 1;
	word = end->words[i];
	if (!word)
		return 0;
	/* One frame may be missing: the innermost address lies below the tracepoint's arguments. */
	if (word == end->frames[frame + 1])
		frame++;
	else if (word != end->frames[frame])
		return 0;
	end->found.address[count] = word;
	end->found.place[count] = i;
	end->found.count = count + 1;
	end->frame = frame + 1;
	return 0;
}

static __always_inline __s32 learn_stack(void *ctx, struct stack_end *end, const struct stack_key *key)
{
	struct place_search search = { .end = end };
	__s32 id = walk_stack(ctx);

	if (id < 0 || bpf_get_stack(ctx, end->frames, sizeof(end->frames), 1) <= 0)
		return id;
	end->frame = 0;
	__builtin_memset(&end->found, 0, sizeof(end->found));
	end->found.id = id;
	REPEAT(END_WORDS, END_WORDS, find_place, &search);
	/* Fewer are found where return addresses are signed (arm64): such a stack is walked each time. */
	if (end->found.count >= PLACES_LEAST)
		bpf_map_update_elem(&known_stacks, key, &end->found, BPF_ANY);
	return id;
}

/* The id of the current kernel stack, or a negative error. */
static __always_inline __s32 stack_id(void *ctx, const struct thread *t)
{
	struct known_stack *known;
	struct stack_key key = { .call = t->call };
	struct stack_end *end;
	__u32 zero = 0, way;

	end = bpf_map_lookup_elem(&stack_ends, &zero);
	/* The tracepoint's arguments lie at the end of the stack. */
	if (!end || bpf_probe_read_kernel(end->words, sizeof(end->words), ctx))
		return walk_stack(ctx);
	/* The verifier lets a pointer be reckoned with only after it was stored. */
	end->position = (__u64)ctx;
	key.depth = -*(volatile __u64 *)&end->position;
	/* A call's frames begin at a place that the kernel draws anew for each (CONFIG_RANDOMIZE_KSTACK_OFFSET). */
	if (t->call >= 0)
		key.depth += (__u32)t->call_position;
	else
		key.depth &= STACK_SIZE - 1;
	/* Kernels before 6.4 take a loop over a field for one without an end. */
#pragma unroll
	for (way = 0; way < WAYS; way++) {
		key.way = way;
		known = bpf_map_lookup_elem(&known_stacks, &key);
		if (!known)
			break;
		if (is_same_stack(end, known))
			return known->id;
	}
	if (way == WAYS)
		key.way = bpf_get_prandom_u32() % WAYS;
	return learn_stack(ctx, end, &key);
}

#endif
