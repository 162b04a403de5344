/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* What the programs share: constants set before loading, the ring buffer, losses, and a thread's storage. */
#ifndef IOWHY_STATE_H
#define IOWHY_STATE_H

#include "kernel.h"
#include "older.h"
#include "pids.h"
#include "event.h"

#define CALLS 512

#define TOTAL_KEYS 1024 /* a power of 2 */

/* Bits of call_shape.how. */
enum call_how {
	HOW_IOVEC = 1, /* bytes_arg is an array of iovec, the argument after it its length */
	HOW_OFFSET_POINTER = 2, /* the offset argument points to the offset; NULL means f_pos */
	HOW_FILE_POSITION = 4, /* the offset is the file position */
	HOW_OF_NAMES = 8, /* on names and inodes: nothing to sleep for but what answers them */
	HOW_CLOSES = 16, /* it closes files: what it sleeps for, its stack shows */
	HOW_USUAL = 32, /* a descriptor, a buffer, its length, and the offset or the file's position */
	HOW_SERVED = 64, /* who serves the file of its descriptor may have to answer: its stack shows that */
};

struct call_shape {
	__u8 kind;
	__s8 fd_arg;
	__s8 bytes_arg;
	__s8 offset_arg;
	__s8 written_arg; /* the descriptor that it writes to */
	__s8 flags_arg;
	__u8 how;
};

/* The table of system calls (src/calls.rs fills it in for the architecture). */
const volatile struct call_shape calls[CALLS] = {};
const volatile bool whole_machine = false;
const volatile __u32 recorder_tgid = 0;
/* A block of a program is recorded: its number, and the thread that runs it, which is aside until it begins (aside.h); 0: none is. */
const volatile __u64 block = 0;
const volatile __u32 block_tid = 0;
/* There is no tracepoint for look-ups in the page cache (kernels before 6.12): every buffered read is taken for one. */
const volatile bool estimate_lookups = false;
/* There is no tracepoint for the beginning of a request (kernels before 6.5). */
const volatile bool no_io_start = false;
const volatile __u32 direct_flag = 00040000; /* O_DIRECT of this architecture */

/* Set while recording. */
bool adopting = false;
/* Only the chosen processes are adopted, also where the whole machine is recorded (src/kernel/calibration.rs). */
bool only_targets = false;
/* Set at the end, when no other program runs any more. */
bool ended = false;
/* When the block began and ended; 0: not yet. Once it has ended, nothing is in scope and the clocks stand still. */
__u64 block_began = 0;
__u64 block_ended = 0;
__u32 half = 0; /* which of the two halves of a drained table is written */
__u64 lost[EVENT_KINDS] = {};
__u64 lost_counts = 0;
__u64 lost_totals = 0;
/* Entries that were made in the halves of the drained tables: one without any since it was drained is empty. */
__u64 new_totals[2] = {};
/* The keys of the last of them, in turns: to take a few entries by key costs less than to walk the buckets for them. */
struct total_key total_keys[2][TOTAL_KEYS] = {};
__u64 new_counts[2] = {};
__u64 lost_threads = 0;
/* Addresses of functions that show what a bio is (symbols.h finds them; 0: not in this kernel). */
__u64 iomap_dio_end = 0;
__u64 xfs_log_end = 0;
__u64 xfs_buffer_end = 0;
__s64 clock_offset = 0; /* CLOCK_MONOTONIC minus the scheduler's clock */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024 * 1024);
} ring SEC(".maps");

/* Values of thread.call. */
#define NO_CALL -1
#define NOT_SEEN -2 /* none was seen to begin: a new thread returns from the call that made it */

enum thread_state {
	ON_CPU_USER,
	ON_CPU_KERNEL,
	RUNNABLE,
	BLOCKED,
	SLEEPING,
};

/* Places of calls that a thread remembers (user_stack.h); a power of 2. */
#define KNOWN_PLACES 16

/* Bytes of parts that wait in a thread: some thirty calls. */
#define PARTS_BYTES 1024

/* Values of thread.aside: what iowhy does itself in a process is not that process's (aside.h). */
enum aside {
	IN_SCOPE,
	STEPPED_ASIDE, /* iowhy works in it, and will give it back */
	OUTSIDE, /* iowhy started it */
};

struct thread {
	__u64 start;
	__u64 since;
	__u64 states[STATES];
	__u64 arrived; /* when it was last seen to get the CPU */
	__u32 state;
	__u32 tgid;
	__u32 tid;
	__s32 call; /* number of the call it is in, or NO_CALL or NOT_SEEN */
	/* the kernel's own accounting when it came into scope, and its CPU time that it spent to free memory */
	__u64 first_user;
	__u64 first_kernel;
	__u64 first_faults;
	__u64 reclaim;
	__u64 reclaim_in_calls;
	__u64 reclaim_from; /* its CPU time when it began to free memory, and 1; 0: it does not */
	/* who waits for whom (waiting.h) */
	__u64 position; /* where on the stack it wakes another */
	__u64 chain;
	__u64 mark;
	__u64 mark_runnable;
	__u64 mark_blocked;
	__u64 waits;
	__u64 waited;
	__u64 waited_runnable;
	__u64 waited_blocked;
	/* what the recorder costs (cost.h) */
	struct own_cost own;
	__u64 entry_ns; /* of the call, where it is timed */
	__u32 until_timed; /* calls until one is timed, with that; 0: it is this one */
	__u16 call_appends; /* the call writes where the file ends */
	__u16 call_is_served; /* it copies from or to a file that a process serves (FUSE) */
	/* the call */
	__u64 call_entry;
	__u64 call_position; /* of its first tracepoint on the kernel's stack */
	__u64 call_runnable;
	__u64 call_blocked;
	__u64 call_sleeping;
	__u64 call_bytes;
	__u64 call_offset;
	__u64 ring; /* of the call, or of what a thread of io_uring does (rings.h) */
	__s32 call_fd;
	__u8 call_flags;
	__u8 call_kind;
	__u8 kernel_thread;
	__u8 wait_flags; /* enum wait_flag */
	/* the call's file; kept from call to call to save look-ups */
	__u64 inode;
	struct file_id file;
	__u64 wait_since; /* 0: in no uninterruptible wait */
	__s32 wait_stack;
	__s32 wait_call; /* number of the call that it waits in; negative: in none */
	/* page faults and page-cache adds outside a read call */
	__u32 fault_major;
	__u64 fault_number;
	__u64 fault_mapping;
	__u64 fault_index;
	__u64 fault_named; /* the fault that has the file */
	struct file_id fault_file;
	__u64 pending_inode;
	__u64 pending_from;
	__u64 pending_to;
	__u64 asked_inode;
	__u64 asked_to;
	/* pages that the call wrote back itself, and the log force that it waits for */
	__u64 written_inode;
	__u64 written_pages;
	__u64 written_from;
	__u64 force_start;
	__u32 force_dev;
	__u32 aside; /* enum aside */
	/* the bitmap that was last found to hold nothing of readahead, and when */
	__u64 none_ahead;
	struct file_id none_file;
	__u64 none_chunk;
	/* what stacks stand for (user_stack.h) */
	__u64 sampled_cpu; /* of its time on a CPU, what stacks stand for or is left to other threads' */
	__u64 known_places[KNOWN_PLACES];
	__u32 wait_taken; /* the stack of the wait was taken, one in so many */
	__u32 ran_exec; /* its call did, and returns at the start of a program */
	/* calls that returned and were not emitted yet (calls.h) */
	__u64 calls_ts; /* of the last of them */
	struct file_id calls_file; /* that the last of them named */
	__u64 calls_busy; /* one is being added */
	struct event_calls calls;
	char parts[PARTS_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* The same where tasks have no storage: by the address of the task. Else it is not made. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct thread);
} threads_by_address SEC(".maps");

/* All zero: too large for the stack of a program. */
static const struct thread no_thread;

/* Files that the command opened, read or wrote (key), and the generation whose name was emitted (value). */
struct file_key {
	__u64 ino;
	__u32 dev;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, struct file_key);
	__type(value, __u64);
} touched SEC(".maps");

/* Processes to adopt when the iterator next walks the tasks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

static __always_inline bool is_same_file(const struct file_id *a, const struct file_id *b)
{
	return a->ino == b->ino && a->generation == b->generation && a->dev == b->dev;
}

static __always_inline void count_lost(__u32 kind)
{
	if (kind < EVENT_KINDS)
		__sync_fetch_and_add(&lost[kind], 1);
}

/* Space for a record in the ring, or NULL (counted). */
#define RESERVE(type, event_kind)                                            \
	({                                                                   \
		type *_record = bpf_ringbuf_reserve(&ring, sizeof(type), 0); \
		if (!_record)                                                \
			count_lost(event_kind);                              \
		_record;                                                     \
	})

/* User space polls: waking it for each record would cost the command more than the record. */
#define SUBMIT(record) bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP)

/* The task's storage, in scope or aside. */
static __always_inline struct thread *any_thread_of(struct task_struct *task)
{
	__u64 address = (__u64)task;

	if (HAS_TASKS)
		return bpf_task_storage_get(&threads, task, 0, 0);
	return bpf_map_lookup_elem(&threads_by_address, &address);
}

/* A thread in scope, or NULL. */
static __always_inline struct thread *thread_of(struct task_struct *task)
{
	struct thread *t = any_thread_of(task);

	return t && !t->aside && !block_ended ? t : NULL;
}

/* The task's storage, made where there is none; NULL when there is no room. */
static __always_inline struct thread *make_thread(struct task_struct *task)
{
	__u64 address = (__u64)task;
	struct thread *t;

	if (HAS_TASKS)
		return bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	t = bpf_map_lookup_elem(&threads_by_address, &address);
	/* One whose end was not seen, and whose place in memory is another's now, is forgotten. */
	if (t && t->tid == tid_of(task))
		return t;
	bpf_map_update_elem(&threads_by_address, &address, &no_thread, BPF_ANY);
	return bpf_map_lookup_elem(&threads_by_address, &address);
}

/* Task storage goes with its task. */
static __always_inline void forget_thread(struct task_struct *task)
{
	__u64 address = (__u64)task;

	if (!HAS_TASKS)
		bpf_map_delete_elem(&threads_by_address, &address);
}

static __always_inline struct thread *current_thread(void)
{
	return thread_of(current_task());
}

#endif
