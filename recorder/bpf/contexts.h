/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * Operations of libaio, from io_submit to the io_getevents that takes their result: the kernel has no tracepoint for
 * when they are done, and what a program takes from the context's memory without a call is not seen.
 */
#ifndef IOWHY_CONTEXTS_H
#define IOWHY_CONTEXTS_H

#include "operation.h"

/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h */
#if defined(__TARGET_ARCH_x86)
#define NR_IO_GETEVENTS 208
#define NR_IO_SUBMIT 209
#define NR_IO_PGETEVENTS 333
#elif defined(__TARGET_ARCH_arm64)
#define NR_IO_GETEVENTS 4
#define NR_IO_SUBMIT 2
#define NR_IO_PGETEVENTS 292
#endif

/* Of one call. */
#define IOCB_FLAG_RESFD 1
#define IOCBS_MOST 1024
#define IOCBS_MOST_BEFORE_5_17 128

/* include/uapi/linux/aio_abi.h */
struct user_iocb {
	__u64 data;
	__u64 key_and_flags;
	__u16 opcode;
	__s16 priority;
	__u32 fd;
	__u64 buffer;
	__u64 bytes;
	__s64 offset;
	__u64 rest;
	__u32 flags;
	__u32 eventfd;
};

struct user_io_event {
	__u64 data;
	__u64 iocb;
	__s64 result;
	__s64 result2;
};

enum iocb_op {
	IOCB_PREAD = 0,
	IOCB_PWRITE = 1,
	IOCB_FSYNC = 2,
	IOCB_PREADV = 7,
	IOCB_PWRITEV = 8,
};

static __always_inline struct operation_key key_of_iocb(__u64 iocb)
{
	struct operation_key key = { .address = iocb, .of = current_ids() >> 32 };

	return key;
}

/* One of the iocbs of io_submit; functions of their own (not static), so that the verifier looks at each once. */
__noinline int submit_iocb(__u64 context, __u64 place)
{
	struct task_struct *task = current_task();
	struct event_operation *o;
	struct operation_key key;
	struct user_iocb iocb;
	struct file *file;
	__u64 address;
	long bytes;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)place) ||
	    bpf_probe_read_user(&iocb, sizeof(iocb), (void *)address))
		return 1;
	key = key_of_iocb(address);
	o = begin_operation(&key, API_LIBAIO, iocb.opcode);
	if (!o)
		return 0;
	o->ring = context;
	if (iocb.flags & IOCB_FLAG_RESFD)
		note_eventfd(private_of(file_of(task, iocb.eventfd)), context);
	o->call_flags = iocb.key_and_flags >> 32;
	file = file_of(task, iocb.fd);
	set_operation_file(o, file);
	if (iocb.opcode == IOCB_PREADV || iocb.opcode == IOCB_PWRITEV)
		bytes = iovec_bytes(iocb.buffer, iocb.bytes);
	else if (iocb.opcode == IOCB_PREAD || iocb.opcode == IOCB_PWRITE)
		bytes = iocb.bytes;
	else
		return 0;
	set_operation_range(o, file, iocb.offset, bytes);
	return 0;
}

/* An iocb that the kernel did not take. */
__noinline int refuse_iocb(__u64 place)
{
	struct operation_key key;
	__u64 address;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)place))
		return 1;
	key = key_of_iocb(address);
	bpf_map_delete_elem(&operations, &key);
	return 0;
}

/* A result that io_getevents gave. */
__noinline int reap_event(__u64 place)
{
	struct event_operation *o;
	struct operation_key key;
	struct user_io_event event;

	if (bpf_probe_read_user(&event, sizeof(event), (void *)place))
		return 1;
	key = key_of_iocb(event.iocb);
	o = under_way(&key);
	if (!o)
		return 0;
	o->result = event.result;
	o->completions = 1;
	if (event.result > 0)
		o->moved = event.result;
	end_operation(&key, o, true);
	return 0;
}

struct iocb_walk {
	__u64 context;
	__u64 places;
	__u64 from;
	__u64 to;
};

static __noinline long submit_step(__u32 i, struct iocb_walk *w)
{
	return i >= w->to || submit_iocb(w->context, w->places + i * 8);
}

static __noinline long refuse_step(__u32 i, struct iocb_walk *w)
{
	return w->from + i >= w->to || refuse_iocb(w->places + (w->from + i) * 8);
}

static __noinline long reap_step(__u32 i, struct iocb_walk *w)
{
	return i >= w->to || reap_event(w->places + i * sizeof(struct user_io_event));
}

static __always_inline void submit_iocbs(__u64 context, __u64 count, __u64 places)
{
	struct iocb_walk w = { .context = context, .places = places, .to = count };

	REPEAT(IOCBS_MOST, IOCBS_MOST_BEFORE_5_17, submit_step, &w);
}

/* A call on a context returns: what it did not submit, and what it reaped. */
static __always_inline void end_context(struct pt_regs *regs, __s32 nr, long ret)
{
	struct iocb_walk w = {};

	if (nr == NR_IO_SUBMIT) {
		w.from = ret > 0 ? ret : 0;
		w.to = ARG1(regs);
		w.places = ARG2(regs);
		if (w.from < w.to)
			REPEAT(IOCBS_MOST, IOCBS_MOST_BEFORE_5_17, refuse_step, &w);
	} else if ((nr == NR_IO_GETEVENTS || nr == NR_IO_PGETEVENTS) && ret > 0) {
		w.to = ret;
		w.places = ARG3(regs);
		REPEAT(IOCBS_MOST, IOCBS_MOST_BEFORE_5_17, reap_step, &w);
	}
}

#endif
