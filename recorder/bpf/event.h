/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * What the programs and user space share: records of fixed layout in one ring buffer, and the values of tables. A header
 * that emits a record of its own defines it; build/layout.rs gives Rust the layout that the compiler made.
 */
#ifndef IOWHY_EVENT_H
#define IOWHY_EVENT_H

#include "generated.h"

/* Bits of event_call.header.flags. */
enum call_flag {
	CALL_HAS_FILE = 1,
	CALL_HAS_OFFSET = 2,
	CALL_HAS_BYTES = 4,
	CALL_UNRETURNED = 16, /* the thread ended inside the call */
	CALL_DIRTIED = 32, /* it made clean pages dirty */
	CALL_DURABLE = 64, /* it writes, and returns once that is durable (durable.h) */
	CALL_LOOKED_UP = 8, /* the page cache was asked for the range that was read */
	CALL_HAS_RING = 128, /* the offset is the address of its ring or context (rings.h) */
};

/* Set in the number of a call that a 32-bit program makes (int 0x80), and of one of the x32 interface. */
enum call_number {
	CALL_COMPAT = 0x4000,
	CALL_X32 = 0x2000,
};

/* Bits of event_wait.header.flags. */
enum wait_flag {
	WAIT_IN_IOWAIT = 1,
	WAIT_HAS_FILE = 2,
	WAIT_OF_ANY_KIND = 4, /* a signal may end it: its stack shows whether it is one */
};

struct event_header {
	__u8 kind;
	__u8 flags;
	__u16 nr; /* number of the system call, or 0xffff */
	__u32 tid;
};

/*
 * One file as long as it lives: a filesystem gives the number of a deleted file's inode to the next one, with another
 * generation.
 */
struct file_id {
	__u64 ino;
	__u32 dev;
	__u32 generation;
};

/* A call alone: one that a thread is in (event_sample), and what user space makes of the parts above. */
struct event_call {
	struct event_header header;
	__u64 ts;
	__u64 dur;
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
	__u32 tgid;
	__s32 fd;
	__u64 ino;
	__u64 offset;
	__u64 bytes;
	__s64 ret;
	__u32 dev;
	__u32 generation;
};

/*
 * Calls of one thread that returned one after another, as parts: each begins with its enum call_part. A call is a
 * call_return, after what it does not share with the call before: a call_file where it has another file, a call_waits
 * where it was not on a CPU all the time, a call_wide where a number does not fit.
 */
struct event_calls {
	struct event_header header; /* nr: how many */
	__u64 ts; /* of the first */
	__u32 tgid;
	__u32 length; /* bytes of parts that follow */
};

enum call_part {
	PART_FILE = 1,
	PART_WAITS,
	PART_WIDE,
	PART_RETURN,
};

struct call_file {
	__u8 part;
	__u8 pad[7];
	struct file_id file;
};

struct call_waits {
	__u8 part;
	__u8 pad[7];
	__u64 runnable;
	__u64 blocked;
	__u64 sleeping;
};

/* Stands for the fields of the same names in the call_return that follows. */
struct call_wide {
	__u8 part;
	__u8 pad[7];
	__u64 ts;
	__u64 dur;
	__u64 bytes;
	__s64 ret;
};

struct call_return {
	__u8 part;
	__u8 flags;
	__u16 nr;
	__s32 fd;
	__u32 after; /* entry of the call, from that of the call before */
	__u32 dur;
	__u32 bytes;
	__s32 ret;
	__u64 offset;
};

struct event_wait {
	struct event_header header; /* flags: enum wait_flag */
	__u64 ts;
	__u64 dur;
	__u32 tgid;
	__s32 stack;
	__u64 ino;
	__u32 dev;
	__u32 generation;
};

/* One path component after another, innermost first, each with a zero byte at its end. */
struct event_file {
	struct event_header header;
	__u64 ino;
	__u64 size;
	/* What stat(2) tells of a file on an overlay, in the place of `ino` and `dev`; 0: it is on none. */
	__u64 overlay_ino;
	__u32 dev;
	__u32 mode;
	__u32 generation;
	__u32 length; /* bytes of names that follow */
	__u32 cut; /* the path was longer than what fits */
	__u32 nlink;
	__u32 overlay_dev;
	__u32 pad;
};

/* Bits of event_thread.header.flags; none: it came into scope. */
enum thread_flag {
	THREAD_RAN_EXEC = 1,
	THREAD_MOVED = 2, /* to another control group */
};

struct event_thread {
	struct event_header header;
	__u64 ts;
	__u64 cgroup; /* number of its control group (cgroup.h) */
	__u32 tgid;
	__u32 ppid;
	__u32 mnt_ns; /* number of its mount namespace */
	__u32 pad;
	char comm[16];
};

/*
 * One thread's clock: states[] sum to now - start. The others are parts of these: see struct thread; the kernel's
 * own accounting (task_struct.utime and .stime) is by what ran at its ticks.
 */
#define STATES 5

/*
 * What tells the recorder's own part of a thread's time. Some calls are timed (cost.h): how long the programs at their
 * entry and their end took, from the reading of the clock that gives the call's length on.
 */
struct own_cost {
	__u64 calls; /* that returned */
	__u64 lookups; /* of these, asked the page cache for what they read */
	__u64 timed; /* of these, how many were timed */
	__u64 entry_ns; /* of the timed ones */
	__u64 end_ns;
	__u64 stacks_ns; /* of taking stacks at the ends of calls (user_stack.h) */
};

struct event_clock {
	__u64 start;
	__u64 now;
	__u64 states[STATES];
	__u64 ticks_user;
	__u64 ticks_kernel;
	__u64 faults;
	__u64 reclaim;
	__u64 reclaim_in_calls;
	__u64 waits;
	__u64 waited;
	__u64 waited_runnable;
	__u64 waited_blocked;
	struct own_cost own;
	__u32 tgid;
	__u32 tid;
	__u32 ppid;
	__u32 exit_code;
	__u64 allowed_mask; /* the first 64 of the CPUs that it may run on */
	__u32 allowed_cpus; /* how many these are; 0: not known */
	__u32 pad;
	char comm[16];
};

/* Values of event_exit.header.flags; 0: it begins to end. */
enum exit_flag {
	EXIT_LAST = 1, /* it is off the CPU for good */
	EXIT_ASIDE = 2, /* it leaves the scope, and comes back with a clock that begins anew (aside.h) */
};

struct event_exit {
	struct event_header header;
	struct event_clock clock;
};

/* Output of the iterator: a thread's clock and the call that it is in. */
struct event_sample {
	struct event_clock clock;
	struct event_call call; /* header.kind 0: in no I/O call */
};

/* Counters that user space drains ten times a second. */
struct cache_key {
	struct file_id file; /* ino 0: what a process outside the command made dirty on this filesystem */
	__u32 tgid;
	__u32 pad;
};

struct cache_counts {
	__u64 lookups;
	__u64 demand;
	__u64 readahead;
	__u64 prefetched;
	__u64 dirtied;
	__u64 evicted;
	__u64 reclaimed; /* of evicted, for want of memory */
	__u64 refault;
	__u64 major;
	__u64 faults;
	char comm[16]; /* of a process outside the command, else empty */
};

struct total_key {
	__u32 tid;
	__u32 nr;
};

struct total {
	__u64 calls;
	__u64 errors;
	__u64 total;
	__u64 max;
	__u64 cpu;
	__u32 tgid;
	__u32 pad;
};

/* Of an operation (operation.h): a request of the kernel, or an iocb of a process; where kernels name neither, what user space knows it by. */
struct operation_key {
	__u64 address;
	__u64 of;
};

#endif
