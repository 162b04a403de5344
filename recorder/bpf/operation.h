/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Asynchronous operations: of io_uring (uring.h) and of libaio (contexts.h), each from where it is submitted to where it
 * is done.
 */
#ifndef IOWHY_OPERATION_H
#define IOWHY_OPERATION_H

#include "rings.h"
#include "durable.h"
#include "iovec.h"

#define OPERATIONS_MOST 32768
/* From here on entries are taken out again, as those of requests are (block.h). */
#define OPERATIONS_KEPT 24576

/* Bits of event_operation.header.flags. */
enum operation_flag {
	OPERATION_FIXED_FILE = 1, /* of the ring's registered files */
	OPERATION_FIXED_BUFFER = 2, /* one of the ring's registered buffers */
	OPERATION_LINKED = 4, /* the next one begins when it is done */
	OPERATION_DRAIN = 8, /* it begins when all before it are done */
	OPERATION_ASYNC = 16, /* a worker was asked for */
	OPERATION_SELECTS = 32, /* the kernel chooses its buffer */
	OPERATION_MULTISHOT = 64, /* it completed more than once */
	OPERATION_DIRECT = 128, /* past the page cache */
};

/* Bits of event_operation.known. */
enum operation_known {
	OPERATION_HAS_FILE = 1,
	OPERATION_HAS_OFFSET = 2,
	OPERATION_HAS_BYTES = 4,
	OPERATION_DURABLE = 8, /* it writes, and is done once that is durable (durable.h) */
};

enum operation_api {
	API_URING,
	API_LIBAIO,
};

/* Who began it. */
enum operation_ran {
	RAN_INLINE, /* the thread that submitted it */
	RAN_POLL_THREAD, /* the thread of the kernel that polls the ring */
	RAN_WORKER, /* a worker of io_uring, as it would have waited */
};

struct event_operation {
	struct event_header header; /* nr: the operation's number; tid: who submitted it */
	__u64 submitted; /* 0: the entry holds none */
	__u64 completed; /* 0: not seen */
	__u64 ino;
	__u64 offset;
	__u64 asked;
	__u64 moved;
	__s64 result; /* the last */
	__u64 ring; /* address of its ring or context */
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 completions;
	__u8 api;
	__u8 ran;
	__u8 known;
	__u8 call_flags; /* RWF_DSYNC, RWF_SYNC */
	__u8 pad[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OPERATIONS_MOST);
	__type(key, struct operation_key);
	__type(value, struct event_operation);
} operations SEC(".maps");

/* All zero: in the stack of a program, which has little (512 bytes with all that it calls), it would not fit. */
static const struct event_operation no_operation;

__u64 operations_made = 0; /* entries that were ever put in */

/* The entry of an operation that is under way, or NULL. */
static __always_inline struct event_operation *under_way(const struct operation_key *key)
{
	struct event_operation *o = bpf_map_lookup_elem(&operations, key);

	return o && o->submitted ? o : NULL;
}

static __always_inline void emit_operation(struct event_operation *o)
{
	if (bpf_ringbuf_output(&ring, o, sizeof(*o), BPF_RB_NO_WAKEUP))
		count_lost(EVENT_OPERATION);
}

/* The entry for an operation of the current thread that begins, or NULL (counted). */
static __always_inline struct event_operation *begin_operation(const struct operation_key *key, __u8 api,
							       __u16 number)
{
	struct event_operation *o = bpf_map_lookup_elem(&operations, key);
	struct task_struct *task = current_task();

	if (!o) {
		bpf_map_update_elem(&operations, key, &no_operation, BPF_NOEXIST);
		o = bpf_map_lookup_elem(&operations, key);
		if (!o) {
			count_lost(EVENT_OPERATION);
			return NULL;
		}
		__sync_fetch_and_add(&operations_made, 1);
	} else if (o->submitted) {
		/* Its place is another's now, so it is done: its end was not seen. */
		emit_operation(o);
	}
	o->header.kind = EVENT_OPERATION;
	o->header.flags = 0;
	o->header.nr = number;
	o->header.tid = CURRENT_TID(task);
	o->tgid = CURRENT_TGID(task);
	o->api = api;
	o->ran = RAN_INLINE;
	o->known = 0;
	o->call_flags = 0;
	o->completed = 0;
	o->completions = 0;
	o->moved = 0;
	o->result = 0;
	o->submitted = bpf_ktime_get_ns();
	return o;
}

/* An entry stays for the next operation at its address. */
static __always_inline void end_operation(const struct operation_key *key, struct event_operation *o, bool keep)
{
	o->completed = bpf_ktime_get_ns();
	emit_operation(o);
	o->submitted = 0;
	if (!keep || operations_made > OPERATIONS_KEPT)
		bpf_map_delete_elem(&operations, key);
}

/* The file that it reads or writes; its call_flags are known by then. */
static __always_inline void set_operation_file(struct event_operation *o, struct file *file)
{
	struct inode *inode = file ? FIELD(struct file, file, f_inode) : NULL;
	struct file_id id;

	if (!inode)
		return;
	inode = data_inode(file, inode);
	id = identify(inode);
	o->ino = id.ino;
	o->dev = id.dev;
	o->generation = id.generation;
	o->known |= OPERATION_HAS_FILE;
	if (FIELD(struct file, file, f_flags) & direct_flag)
		o->header.flags |= OPERATION_DIRECT;
	if (is_durable(file, o->call_flags))
		o->known |= OPERATION_DURABLE;
	name_file(&id, file, 0);
}

/* The range that it asks for; `offset` is -1 for the file's position. */
static __always_inline void set_operation_range(struct event_operation *o, struct file *file, __u64 offset,
						long bytes)
{
	if (bytes >= 0) {
		o->asked = bytes;
		o->known |= OPERATION_HAS_BYTES;
	}
	if (offset == ~0ULL) {
		if (!file)
			return;
		offset = BPF_CORE_READ(file, f_pos);
	}
	o->offset = offset;
	o->known |= OPERATION_HAS_OFFSET;
}

#endif
