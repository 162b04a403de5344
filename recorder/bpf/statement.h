/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Statements of databases, from the functions that run them (uprobes, kernel/uprobes.rs): SQLite's in whatever program
 * has it, and where a session of PostgreSQL says what it does.
 *
 * A function that SQLite calls itself while it is in another one is the outer one's: the stack shows which returns.
 */
#ifndef IOWHY_STATEMENT_H
#define IOWHY_STATEMENT_H

#include "cpu_clock.h"

/* Bytes of a text that are looked at: normalised.py, MOST_CHARACTERS; a power of 2. */
#define STATEMENT_BYTES 2048
/* sqlite3.h, SQLITE_ROW */
#define GAVE_ROW 100

#if defined(__TARGET_ARCH_x86)
/* The return address is on the stack at entry, and is not when the function has returned. */
#define IS_LEFT(sp, entered) ((sp) > (entered))
#define PARAMETER_1(ctx) ((ctx)->registers[14])
#define PARAMETER_2(ctx) ((ctx)->registers[13])
#define PARAMETER_3(ctx) ((ctx)->registers[12])
#define PARAMETER_4(ctx) ((ctx)->registers[11])
#define PARAMETER_5(ctx) ((ctx)->registers[9])
#define PARAMETER_6(ctx) ((ctx)->registers[8])
#define RETURNED(ctx) ((ctx)->registers[10])
/* The first on the stack, behind the return address. */
#define PARAMETER_7(ctx, to) bpf_probe_read_user(to, sizeof(*(to)), (void *)(CLOCK_SP(ctx) + 8))
#elif defined(__TARGET_ARCH_arm64)
#define IS_LEFT(sp, entered) ((sp) >= (entered))
#define PARAMETER_1(ctx) ((ctx)->registers[0])
#define PARAMETER_2(ctx) ((ctx)->registers[1])
#define PARAMETER_3(ctx) ((ctx)->registers[2])
#define PARAMETER_4(ctx) ((ctx)->registers[3])
#define PARAMETER_5(ctx) ((ctx)->registers[4])
#define PARAMETER_6(ctx) ((ctx)->registers[5])
#define RETURNED(ctx) ((ctx)->registers[0])
#define PARAMETER_7(ctx, to) (*(to) = (ctx)->registers[6])
#endif

/* Bits of event_statement.header.flags. */
enum statement_flag {
	STATEMENT_PREPARED = 1, /* its text follows */
	STATEMENT_BEGINS = 2, /* a run of it begins with this stretch */
	STATEMENT_OF_SERVER =
		4, /* a session of a server says what it begins (its text follows), or that it is done */
};

/* A thread's time by state. */
struct statement_times {
	__u64 all;
	__u64 kernel;
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
};

struct event_statement {
	struct event_header header;
	__u64 ts;
	__u64 dur; /* of the stretch in which calls are the statement's */
	__u64 handle; /* address of the statement in its process */
	__u64 all; /* in the functions, also since the last stretch */
	__u64 kernel;
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
	__u32 tgid;
	__u32 length; /* bytes of text that follow */
};

struct statement_scratch {
	struct event_statement event;
	char text[STATEMENT_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct statement_scratch);
} statement_scratches SEC(".maps");

/* The function that a thread is in, by thread. */
struct in_database {
	__u64 sp;
	__u64 ts;
	__u64 calls; /* that it had made */
	struct statement_times before;
	__u64 handle; /* the statement, or where it will be */
	__u64 text;
	__u64 tail;
	__s32 bytes;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct in_database);
} in_databases SEC(".maps");

/* Statements that run, and their time that no record has yet. */
struct statement_key {
	__u64 handle;
	__u64 tgid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct statement_key);
	__type(value, struct statement_times);
} running_statements SEC(".maps");

static __always_inline struct statement_times times_of(const struct thread *t, __u64 now)
{
	return (struct statement_times){
		.all = now,
		.kernel = t->states[ON_CPU_KERNEL],
		.runnable = t->states[RUNNABLE],
		.blocked = t->states[BLOCKED],
		.sleeping = t->states[SLEEPING],
	};
}

static __always_inline struct in_database *function_of(const struct thread *t)
{
	__u32 tid = t->tid;

	return bpf_map_lookup_elem(&in_databases, &tid);
}

/* A function begins, unless it is within another one. */
static __always_inline int enter(struct clock_context *ctx, struct in_database *made)
{
	struct thread *t = current_thread();
	struct in_database *outer;
	__u64 sp = CLOCK_SP(ctx);
	__u32 tid;

	if (!t || !CLOCK_IN_64_BITS(ctx))
		return 0;
	outer = function_of(t);
	if (outer && outer->sp > sp)
		return 0;
	tid = t->tid;
	made->sp = sp;
	made->ts = bpf_ktime_get_ns();
	made->calls = t->own.calls;
	made->before = times_of(t, made->ts);
	bpf_map_update_elem(&in_databases, &tid, made, BPF_ANY);
	return 0;
}

/* The function that has returned; NULL: it was within another one, or its begin was not seen. */
static __always_inline struct in_database *left(struct clock_context *ctx, const struct thread *t)
{
	struct in_database *in = t ? function_of(t) : NULL;

	return in && IS_LEFT(CLOCK_SP(ctx), in->sp) ? in : NULL;
}

static __always_inline void add_times(struct statement_times *sum, const struct statement_times *now,
				      const struct statement_times *before)
{
	sum->all += now->all - before->all;
	sum->kernel += now->kernel - before->kernel;
	sum->runnable += now->runnable - before->runnable;
	sum->blocked += now->blocked - before->blocked;
	sum->sleeping += now->sleeping - before->sleeping;
}

static __always_inline void fill(struct event_statement *e, const struct thread *t, __u8 flags, __u64 ts,
				 __u64 now, __u64 handle, const struct statement_times *times)
{
	e->header.kind = EVENT_STATEMENT;
	e->header.flags = flags;
	e->header.nr = 0xffff;
	e->header.tid = t->tid;
	e->ts = ts;
	e->dur = now - ts;
	e->handle = handle;
	e->all = times->all;
	e->kernel = times->kernel;
	e->runnable = times->runnable;
	e->blocked = times->blocked;
	e->sleeping = times->sleeping;
	e->tgid = t->tgid;
	e->length = 0;
}

/* Emits what is in `s`, with the text at an address in the process: `bytes` of it, or up to its end where that is 0. */
static __always_inline void emit_text(struct statement_scratch *s, __u64 text, __u64 bytes)
{
	__u64 most = bytes ? bytes + 1 : STATEMENT_BYTES;
	__u64 n;

	/* The verifier wants to see the bound where it counts. */
	barrier_var(most);
	if (most > STATEMENT_BYTES)
		most = STATEMENT_BYTES;
	n = bpf_probe_read_user_str(s->text, most, (void *)text);
	barrier_var(n);
	if (n > STATEMENT_BYTES)
		n = 0;
	s->event.length = n;
	if (bpf_ringbuf_output(&ring, s, sizeof(s->event) + n, BPF_RB_NO_WAKEUP))
		count_lost(EVENT_STATEMENT);
}

static __always_inline int prepares(struct clock_context *ctx, __u64 handle, __u64 tail)
{
	struct in_database made = {};

	made.text = PARAMETER_2(ctx);
	made.bytes = PARAMETER_3(ctx);
	made.handle = handle;
	made.tail = tail;
	return enter(ctx, &made);
}

/* sqlite3_prepare(db, text, bytes, statement, tail), and _v2 */
SEC("uprobe")
int sqlite_prepare(struct clock_context *ctx)
{
	return prepares(ctx, PARAMETER_4(ctx), PARAMETER_5(ctx));
}

/* sqlite3_prepare_v3(db, text, bytes, flags, statement, tail) */
SEC("uprobe")
int sqlite_prepare_v3(struct clock_context *ctx)
{
	return prepares(ctx, PARAMETER_5(ctx), PARAMETER_6(ctx));
}

/*
 * sqlite3LockAndPrepare(db, text, bytes, flags, old, statement, tail), which all of these call; so does sqlite3_exec if a
 * compiler has put them into it.
 */
SEC("uprobe")
int sqlite_prepare_within(struct clock_context *ctx)
{
	__u64 tail = 0;

	PARAMETER_7(ctx, &tail);
	return prepares(ctx, PARAMETER_6(ctx), tail);
}

SEC("uretprobe")
int sqlite_prepared(struct clock_context *ctx)
{
	struct thread *t = current_thread();
	struct in_database *in = left(ctx, t);
	struct statement_times now, times = {};
	struct statement_scratch *s;
	__u32 tid, zero = 0;
	__u64 handle = 0, tail = 0, length = 0;

	if (!in || !t)
		return 0;
	tid = t->tid;
	s = bpf_map_lookup_elem(&statement_scratches, &zero);
	/* Nothing but blanks and comments makes no statement; nor does an error. */
	if (s && !bpf_probe_read_user(&handle, sizeof(handle), (void *)in->handle) && handle) {
		if (in->tail)
			bpf_probe_read_user(&tail, sizeof(tail), (void *)in->tail);
		if (tail > in->text)
			length = tail - in->text;
		else if (in->bytes > 0)
			length = in->bytes;
		now = times_of(t, bpf_ktime_get_ns());
		add_times(&times, &now, &in->before);
		fill(&s->event, t, STATEMENT_PREPARED, in->ts, now.all, handle, &times);
		emit_text(s, in->text, length);
	}
	bpf_map_delete_elem(&in_databases, &tid);
	return 0;
}

/* sqlite3_step(statement), sqlite3_reset and sqlite3_finalize */
SEC("uprobe")
int sqlite_enter(struct clock_context *ctx)
{
	struct in_database made = {};

	made.handle = PARAMETER_1(ctx);
	return enter(ctx, &made);
}

static __always_inline void emit_stretch(const struct thread *t, __u8 flags, const struct in_database *in,
					 __u64 now, const struct statement_times *times)
{
	struct event_statement *e = RESERVE(struct event_statement, EVENT_STATEMENT);

	if (!e)
		return;
	fill(e, t, flags, in->ts, now, in->handle, times);
	SUBMIT(e);
}

static __always_inline int leave(struct clock_context *ctx, bool steps)
{
	static const struct statement_times none;
	struct thread *t = current_thread();
	struct in_database *in = left(ctx, t);
	struct statement_times now, times = {}, *known;
	struct statement_key key = {};
	bool goes_on = steps && (__u32)RETURNED(ctx) == GAVE_ROW;
	__u8 flags = 0;
	__u32 tid;

	if (!in || !t)
		return 0;
	tid = t->tid;
	now = times_of(t, bpf_ktime_get_ns());
	key.handle = in->handle;
	key.tgid = t->tgid;
	known = bpf_map_lookup_elem(&running_statements, &key);
	if (!known && steps)
		flags = STATEMENT_BEGINS;
	if (known)
		times = *known;
	add_times(&times, &now, &in->before);
	/* One row after another, from memory: one record says it all. */
	if (known && goes_on && t->own.calls == in->calls && now.blocked == in->before.blocked) {
		*known = times;
	} else {
		if (steps || known || t->own.calls != in->calls)
			emit_stretch(t, flags, in, now.all, &times);
		if (goes_on)
			bpf_map_update_elem(&running_statements, &key, &none, BPF_ANY);
		else if (known)
			bpf_map_delete_elem(&running_statements, &key);
	}
	bpf_map_delete_elem(&in_databases, &tid);
	return 0;
}

SEC("uretprobe")
int sqlite_stepped(struct clock_context *ctx)
{
	return leave(ctx, true);
}

SEC("uretprobe")
int sqlite_ended(struct clock_context *ctx)
{
	return leave(ctx, false);
}

/* pgstat_report_activity(state, text): a text where a session begins to parse, bind or execute, none where it is done. */
SEC("uprobe")
int postgres_activity(struct clock_context *ctx)
{
	struct thread *t = current_thread();
	struct statement_times now, times = {};
	struct statement_scratch *s;
	struct in_database *in, made = {};
	__u64 text = PARAMETER_2(ctx);
	__u32 tid, zero = 0;

	s = bpf_map_lookup_elem(&statement_scratches, &zero);
	if (!t || !s)
		return 0;
	tid = t->tid;
	now = times_of(t, bpf_ktime_get_ns());
	in = function_of(t);
	if (in)
		add_times(&times, &now, &in->before);
	fill(&s->event, t, STATEMENT_OF_SERVER | (text ? STATEMENT_BEGINS : 0), in ? in->ts : now.all, now.all,
	     0, &times);
	if (text) {
		made.ts = now.all;
		made.before = now;
		bpf_map_update_elem(&in_databases, &tid, &made, BPF_ANY);
		emit_text(s, text, 0);
	} else if (in) {
		bpf_map_delete_elem(&in_databases, &tid);
		if (bpf_ringbuf_output(&ring, &s->event, sizeof(s->event), BPF_RB_NO_WAKEUP))
			count_lost(EVENT_STATEMENT);
	}
	return 0;
}

#endif
