/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * What the programs tell user space: records of fixed layout in one ring buffer, decoded by src/event.rs,
 * which mirrors this file field by field (a test compares the sizes).
 */
#ifndef IOWHY_EVENT_H
#define IOWHY_EVENT_H

enum event_kind {
	EVENT_CALL = 1,
	EVENT_WAIT,
	EVENT_REQUEST,
	EVENT_FILE,
	EVENT_THREAD,
	EVENT_EXIT,
	EVENT_WRITEBACK,
	EVENT_THROTTLE,
	EVENT_COMMIT,
	EVENT_ALLOCATION,
	EVENT_KINDS,
};

/* Bits of call.flags */
#define CALL_HAS_FILE 1
#define CALL_HAS_OFFSET 2
#define CALL_HAS_BYTES 4
#define CALL_UNRETURNED 16 /* the thread ended inside the call */
#define CALL_DIRTIED 32 /* it made clean pages dirty */
#define CALL_APPENDS 64 /* it writes where the file ends */
#define CALL_LOOKED_UP 8 /* the page cache was asked for the range that was read */

/* Set in the number of a call that a 32-bit program makes. */
#define CALL_COMPAT 0x4000

struct event_header {
	__u8 kind;
	__u8 flags;
	__u16 nr; /* number of the system call, or 0xffff */
	__u32 tid;
};

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
	__u32 pad;
};

struct event_wait {
	struct event_header header; /* flags bit 0: in_iowait; bit 1: has a file */
	__u64 ts;
	__u64 dur;
	__u32 tgid;
	__s32 stack;
	__u64 ino;
	__u32 dev;
	__u32 pad;
};

enum owner_kind {
	OWNER_UNKNOWN,
	OWNER_DATA,
	OWNER_JOURNAL,
	OWNER_METADATA,
	OWNER_FLUSH,
	OWNER_SWAP,
	OWNER_DEVICE,
};

enum request_op {
	OP_READ,
	OP_WRITE,
	OP_FLUSH,
	OP_DISCARD,
	OP_ZONE,
	OP_OTHER,
};

/* Bits of request.flags */
#define REQUEST_SYNC 1
#define REQUEST_METADATA 2
#define REQUEST_FUA 4
#define REQUEST_PREFLUSH 8
#define REQUEST_READAHEAD 16
#define REQUEST_BACKGROUND 32
#define REQUEST_SWAP 64
#define REQUEST_PRIORITY 128

enum request_scope {
	SCOPE_OTHER,
	SCOPE_COMMAND,
	SCOPE_SHARED,
};

struct event_request {
	struct event_header header; /* tid: the submitter */
	__u64 queued;
	__u64 issued; /* 0: not seen */
	__u64 completed; /* 0: not seen */
	__u64 sector;
	__u64 owner_ino;
	__u64 owner_page; /* ~0: not known */
	__u32 bytes;
	__u32 dev;
	__u32 owner_dev;
	__u32 tgid;
	__u8 op;
	__u8 owner;
	__u8 scope;
	__u8 flags;
	__s32 error;
};

/* One path component after another, innermost first, each with a zero byte at its end. */
struct event_file {
	struct event_header header;
	__u64 ino;
	__u64 size;
	__u32 dev;
	__u32 mode;
	__u32 generation;
	__u32 length; /* bytes of names that follow */
	__u32 cut; /* the path was longer than what fits */
	__u32 nlink;
};

struct event_thread {
	struct event_header header; /* flags bit 0: it ran exec */
	__u64 ts;
	__u32 tgid;
	__u32 ppid;
	char comm[16];
};

/* One thread's clock: states[] sum to now - start. */
#define STATES 5
struct thread_clock {
	__u64 start;
	__u64 now;
	__u64 states[STATES];
	__u32 tgid;
	__u32 tid;
	__u32 ppid;
	__u32 exit_code;
	char comm[16];
};

struct event_exit {
	struct event_header header; /* flags bit 0: last word, the thread is off the CPU for good */
	struct thread_clock clock;
};

/* Output of the iterator: a thread's clock and the call that it is in. */
struct thread_sample {
	struct thread_clock clock;
	struct event_call call; /* header.kind 0: in no I/O call */
};

struct event_writeback {
	struct event_header header; /* flags: enum writeback_reason */
	__u64 ts;
	__u64 dur; /* ~0: not known */
	__u64 ino;
	__u64 pages;
	__u64 age_ticks; /* ~0: not known */
	__u32 dev;
	__u32 tgid;
};

enum writeback_reason {
	REASON_BACKGROUND,
	REASON_VMSCAN,
	REASON_SYNC,
	REASON_PERIODIC,
	REASON_LAPTOP,
	REASON_FREE_SPACE,
	REASON_FORKER,
	REASON_FOREIGN_FLUSH,
	REASON_FSYNC,
};

struct event_throttle {
	struct event_header header;
	__u64 ts;
	__u64 pause_ticks;
	__u64 dirty;
	__u64 limit;
	__u32 tgid;
	__u32 pad;
};

struct event_commit {
	struct event_header header; /* flags bit 0: XFS log force; bit 1: has run statistics */
	__u64 ts;
	__u64 locking;
	__u64 flushing;
	__u64 logging;
	__u64 end; /* 0: not seen */
	__u64 wait_ticks;
	__u32 dev;
	__u32 transaction;
	__u32 handles;
	__u32 blocks;
};

struct event_allocation {
	struct event_header header;
	__u64 ts;
	__u64 ino;
	__u64 logical;
	__u64 physical;
	__u64 blocks;
	__u32 dev;
	__u32 tgid;
};

/* Counters that user space drains ten times a second. */
struct cache_key {
	__u64 ino;
	__u32 dev;
	__u32 tgid;
};

struct cache_counts {
	__u64 lookups;
	__u64 demand;
	__u64 readahead;
	__u64 prefetched;
	__u64 dirtied;
	__u64 evicted;
	__u64 refault;
	__u64 major;
	__u64 faults;
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

#endif
