/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Operations of io_uring: what was asked is read from the ring's entry, what came of it from the completion. */
#ifndef IOWHY_URING_H
#define IOWHY_URING_H

#include "operation.h"

/* include/uapi/linux/io_uring.h */
#define IORING_SETUP_SQE128 (1U << 10)
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#define IORING_CQE_F_MORE (1U << 1)
#define IOSQE_FIXED_FILE (1U << 0)
#define IOSQE_IO_DRAIN (1U << 1)
#define IOSQE_IO_LINK (1U << 2)
#define IOSQE_IO_HARDLINK (1U << 3)
#define IOSQE_ASYNC (1U << 4)
#define IOSQE_BUFFER_SELECT (1U << 5)

struct user_sqe {
	__u8 opcode;
	__u8 flags;
	__u16 ioprio;
	__s32 fd;
	__u64 off;
	__u64 addr;
	__u32 len;
	__u32 op_flags;
	__u64 user_data;
	__u64 rest[3];
};

enum uring_op {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_FSYNC = 3,
	URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5,
	URING_POLL_ADD = 6,
	URING_SYNC_FILE_RANGE = 8,
	URING_SENDMSG = 9,
	URING_RECVMSG = 10,
	URING_TIMEOUT = 11,
	URING_ACCEPT = 13,
	URING_CONNECT = 16,
	URING_FALLOCATE = 17,
	URING_READ = 22,
	URING_WRITE = 23,
	URING_FADVISE = 24,
	URING_SEND = 26,
	URING_RECV = 27,
	URING_SPLICE = 30,
	URING_TEE = 33,
	URING_FSETXATTR = 41,
	URING_FGETXATTR = 43,
	URING_URING_CMD = 46,
	URING_SEND_ZC = 47,
	URING_SENDMSG_ZC = 48,
	URING_READ_MULTISHOT = 49,
	URING_FIXED_FD_INSTALL = 54,
	URING_FTRUNCATE = 55,
	URING_RECV_ZC = 58,
	URING_READV_FIXED = 60,
	URING_WRITEV_FIXED = 61,
};

#define OPS(op) (1ULL << URING_##op)
#define IN(op, set) ((op) < 64 && ((set) >> (op) & 1))
#define OPS_VECTORS (OPS(READV) | OPS(WRITEV) | OPS(READV_FIXED) | OPS(WRITEV_FIXED))
#define OPS_FIXED (OPS(READ_FIXED) | OPS(WRITE_FIXED) | OPS(READV_FIXED) | OPS(WRITEV_FIXED))
#define OPS_STORED (OPS_VECTORS | OPS_FIXED | OPS(READ) | OPS(WRITE))
#define OPS_MOVING                                                                                \
	(OPS_STORED | OPS(READ_MULTISHOT) | OPS(SEND) | OPS(RECV) | OPS(SENDMSG) | OPS(RECVMSG) | \
	 OPS(SPLICE) | OPS(TEE) | OPS(SEND_ZC) | OPS(SENDMSG_ZC) | OPS(RECV_ZC))
#define OPS_OF_FILES                                                                                       \
	(OPS_MOVING | OPS(FSYNC) | OPS(SYNC_FILE_RANGE) | OPS(FALLOCATE) | OPS(FADVISE) | OPS(FTRUNCATE) | \
	 OPS(FSETXATTR) | OPS(FGETXATTR) | OPS(FIXED_FD_INSTALL) | OPS(POLL_ADD) | OPS(ACCEPT) |           \
	 OPS(CONNECT) | OPS(URING_CMD))
/* They may complete more than once, and only the last completion names the request. */
#define OPS_MULTISHOT                                                                             \
	(OPS(POLL_ADD) | OPS(TIMEOUT) | OPS(ACCEPT) | OPS(RECV) | OPS(RECVMSG) | OPS(URING_CMD) | \
	 OPS(READ_MULTISHOT) | OPS(RECV_ZC))
/* Their second completion is of another request, which says that the buffer is free. */
#define OPS_NOTIFYING (OPS(SEND_ZC) | OPS(SENDMSG_ZC))

/* Since 5.19 the request tells what it completes with, and every completion of its own names it. */
#define NAMES_REQUESTS bpf_core_field_exists(struct io_kiocb, cqe)

static __always_inline __u64 user_data_of(__u64 request)
{
	if (NAMES_REQUESTS)
		return BPF_CORE_READ((struct io_kiocb *)request, cqe.user_data);
	return BPF_CORE_READ((struct io_kiocb___before_5_19 *)request, user_data);
}

static __always_inline struct operation_key key_of(__u64 ring, __u64 request, __u8 op, __u64 user_data)
{
	struct operation_key key = { .address = request };

	if (!NAMES_REQUESTS || !request || IN(op, OPS_MULTISHOT)) {
		key.address = user_data;
		key.of = ring;
	}
	return key;
}

/* The entry of the ring that the request was just made of; false where it is not found. */
static __always_inline bool read_sqe(struct io_ring_ctx *ctx, __u8 op, __u64 user_data, struct user_sqe *sqe)
{
	__u32 flags = BPF_CORE_READ(ctx, flags);
	__u32 entries = BPF_CORE_READ(ctx, sq_entries);
	__u32 at = (BPF_CORE_READ(ctx, cached_sq_head) - 1) & (entries - 1);
	__u64 sqes = (__u64)BPF_CORE_READ(ctx, sq_sqes);
	__u64 places = (__u64)BPF_CORE_READ(ctx, sq_array);

	if (!(flags & IORING_SETUP_NO_SQARRAY) &&
	    bpf_probe_read_kernel(&at, sizeof(at), (void *)(places + at * sizeof(at))))
		return false;
	if (at >= entries)
		return false;
	if (flags & IORING_SETUP_SQE128)
		at <<= 1;
	if (bpf_probe_read_kernel(sqe, sizeof(*sqe), (void *)(sqes + (__u64)at * sizeof(*sqe))))
		return false;
	return sqe->opcode == op && sqe->user_data == user_data;
}

static __always_inline __u8 sqe_flags(__u8 flags)
{
	return !!(flags & IOSQE_FIXED_FILE) * OPERATION_FIXED_FILE |
	       !!(flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK)) * OPERATION_LINKED |
	       !!(flags & IOSQE_IO_DRAIN) * OPERATION_DRAIN | !!(flags & IOSQE_ASYNC) * OPERATION_ASYNC |
	       !!(flags & IOSQE_BUFFER_SELECT) * OPERATION_SELECTS;
}

/* io_uring/io_uring.c before Linux 5.14: registered files lie in tables of tables; from 5.13 on low bits of each tell what it can do. */
#define FILES_SHIFT 9
#define FILE_BITS 7UL

/* A registered file where the tracepoint does not name its request; NULL where such a kernel keeps them otherwise. */
static __always_inline struct file *registered_file(struct io_ring_ctx *ctx, __u32 at)
{
	struct io_ring_ctx___5_13 *ring = (struct io_ring_ctx___5_13 *)ctx;
	struct fixed_file_data *data = NULL;
	struct io_fixed_file *table;
	unsigned long file;
	__u64 tables;

	if (at >= BPF_CORE_READ(ring, nr_user_files))
		return NULL;
	if (bpf_core_field_exists(ring->file_table.files))
		tables = (__u64)BPF_CORE_READ(ring, file_table.files);
	else if (bpf_core_field_exists(data->table))
		tables = (__u64)BPF_CORE_READ((struct io_ring_ctx___5_11 *)ctx, file_data, table);
	else
		return NULL;
	if (bpf_probe_read_kernel(&table, sizeof(table),
				  (void *)(tables + (at >> FILES_SHIFT) * sizeof(table))) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &table[at & ((1 << FILES_SHIFT) - 1)]))
		return NULL;
	return (struct file *)(file & ~FILE_BITS);
}

static __always_inline void describe_operation(struct event_operation *o, struct task_struct *task,
					       struct io_ring_ctx *ctx, __u64 request,
					       const struct user_sqe *sqe)
{
	struct file *file = NULL;
	long bytes = -1;

	o->header.flags |= sqe_flags(sqe->flags) | IN(sqe->opcode, OPS_FIXED) * OPERATION_FIXED_BUFFER;
	if (!IN(sqe->opcode, OPS_OF_FILES))
		return;
	if (IN(sqe->opcode, OPS_STORED))
		o->call_flags = sqe->op_flags;
	if (!NAMES_REQUESTS && request)
		file = BPF_CORE_READ((struct io_kiocb *)request, file);
	else if (!(sqe->flags & IOSQE_FIXED_FILE))
		file = file_of(task, sqe->fd);
	else if (!NAMES_REQUESTS)
		file = registered_file(ctx, sqe->fd);
	set_operation_file(o, file);
	if (!IN(sqe->opcode, OPS_STORED))
		return;
	if (IN(sqe->opcode, OPS_VECTORS))
		bytes = iovec_bytes(sqe->addr, sqe->len);
	else if (sqe->len || !(sqe->flags & IOSQE_BUFFER_SELECT))
		bytes = sqe->len;
	set_operation_range(o, file, sqe->off, bytes);
}

/* Of all that call it, one is loaded. */
static __always_inline int uring_submitted(struct io_ring_ctx *ctx, __u64 request, __u8 op, __u64 user_data)
{
	struct task_struct *task = current_task();
	struct thread *t = thread_of(task);
	struct event_operation *o;
	struct operation_key key;
	struct user_sqe sqe;
	bool in_kernel;

	if (!t)
		return 0;
	/* A thread that polls may do so for several rings; all others say which in their call. */
	in_kernel = OF_CURRENT(task, flags) & PF_IO_WORKER;
	if (in_kernel) {
		t->ring = (__u64)ctx;
		note_ring((__u64)ctx);
	}
	key = key_of((__u64)ctx, request, op, user_data);
	o = begin_operation(&key, API_URING, op);
	if (!o)
		return 0;
	o->ring = (__u64)ctx;
	if (in_kernel)
		o->ran = RAN_POLL_THREAD;
	if (read_sqe(ctx, op, user_data, &sqe))
		describe_operation(o, task, ctx, request, &sqe);
	return 0;
}

static __always_inline int uring_completed(__u64 ring, __u64 request, __u64 user_data, __s64 result,
					   __u64 flags)
{
	__u8 op = request && NAMES_REQUESTS ? BPF_CORE_READ((struct io_kiocb *)request, opcode) : 0;
	struct operation_key key = key_of(ring, request, op, user_data);
	struct event_operation *o = under_way(&key);

	if (!o)
		return 0;
	op = o->header.nr;
	o->result = result;
	o->completions++;
	if (result > 0 && IN(op, OPS_MOVING))
		o->moved += result;
	/* The request has its file only from where it begins: one of the registered ones, too. */
	if (!(o->known & OPERATION_HAS_FILE) && request && NAMES_REQUESTS && IN(op, OPS_OF_FILES))
		set_operation_file(o, BPF_CORE_READ((struct io_kiocb *)request, file));
	if ((flags & IORING_CQE_F_MORE) && !IN(op, OPS_NOTIFYING)) {
		o->header.flags |= OPERATION_MULTISHOT;
		o->completed = bpf_ktime_get_ns();
		return 0;
	}
	end_operation(&key, o, !key.of);
	return 0;
}

/* Of a chain of linked requests: those behind them are not followed. */
#define LINKED_MOST 16

/* A request that would have made its submitter wait: a worker does it, and those that are linked to it. */
static __always_inline int uring_punted(__u64 request)
{
	for (int i = 0; i < LINKED_MOST && request; i++) {
		struct io_kiocb *r = (struct io_kiocb *)request;
		struct operation_key key = key_of((__u64)BPF_CORE_READ(r, ctx), request,
						  BPF_CORE_READ(r, opcode), user_data_of(request));
		struct event_operation *o = under_way(&key);

		if (o)
			o->ran = RAN_WORKER;
		request = (__u64)BPF_CORE_READ(r, link);
	}
	return 0;
}

static __always_inline int uring_request_submitted(struct io_kiocb *request)
{
	return uring_submitted(BPF_CORE_READ(request, ctx), (__u64)request, BPF_CORE_READ(request, opcode),
			       user_data_of((__u64)request));
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *request)
{
	return uring_request_submitted(request);
}

/* Its name before 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_sqe, struct io_kiocb *request)
{
	return uring_request_submitted(request);
}

/* Its shape before 5.19. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_of, void *ring, void *request)
{
	return uring_request_submitted(request);
}

/* Before 5.14 it does not name its request. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_data, void *ring, __u8 op, __u64 user_data)
{
	return uring_submitted(ring, 0, op, user_data);
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete, struct io_ring_ctx *ring, void *request, struct io_uring_cqe *cqe)
{
	return uring_completed((__u64)ring, (__u64)request, BPF_CORE_READ(cqe, user_data),
			       BPF_CORE_READ(cqe, res), BPF_CORE_READ(cqe, flags));
}

/* Its shape before 6.17. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete_of, void *ring, void *request, __u64 user_data, int result, unsigned int flags)
{
	return uring_completed((__u64)ring, (__u64)request, user_data, result, flags);
}

/* Before 5.17 a completion does not name its request. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete_data, void *ring, __u64 user_data, int result, unsigned int flags)
{
	return uring_completed((__u64)ring, 0, user_data, result, flags);
}

/* Before 5.13, which brought operations that complete more than once. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete_once, void *ring, __u64 user_data, long result)
{
	return uring_completed((__u64)ring, 0, user_data, result, 0);
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(on_uring_punt, struct io_kiocb *request)
{
	return uring_punted((__u64)request);
}

/* Its shape before 5.17. */
SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(on_uring_punt_of, void *ring, int hashed, void *request)
{
	return uring_punted((__u64)request);
}

#endif
