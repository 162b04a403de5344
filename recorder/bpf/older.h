/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * What older kernels lack, and what stands in for it there. The kernel's own types say what it has, never its version:
 * each question is settled when the programs are loaded, and the branch that is not taken is cut out of them.
 */
#ifndef IOWHY_OLDER_H
#define IOWHY_OLDER_H

#include "field.h"

/* Whether the kernel knows a helper of programs. */
#define HAS_HELPER(name) bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_##name)

/* Before 5.11 the current task is a mere address to the verifier; storage of its own programs like these give it from 5.13 on, as this helper. */
#define HAS_TASKS HAS_HELPER(for_each_map_elem)

/* Atomic operations that give the old value: 5.12, as this helper is. */
#define HAS_ATOMICS HAS_HELPER(check_mtu)

static __always_inline struct task_struct *current_task(void)
{
	if (HAS_TASKS)
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* A field of the current task. */
#define OF_CURRENT(task, field) (HAS_TASKS ? (task)->field : BPF_CORE_READ(task, field))

/* `step(i, context)` for i from 0 until it gives 1. */
#define REPEAT(times, times_before_5_17, step, context)                    \
	do {                                                               \
		if (HAS_HELPER(loop)) {                                    \
			bpf_loop(times, step, context, 0);                 \
		} else {                                                   \
			for (__u32 _i = 0; _i < (times_before_5_17); _i++) \
				if (step(_i, context))                     \
					break;                             \
		}                                                          \
	} while (0)

/* An operation whose number moves between kernels. */
#define REQUEST_OP(name)                                                                       \
	(bpf_core_type_exists(enum req_op) ? bpf_core_enum_value(enum req_op, REQ_OP_##name) : \
					     bpf_core_enum_value(enum req_opf, REQ_OP_##name##___before_6_1))

/* The state of a task (enum bits of TASK_*). */
static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

static __always_inline struct gendisk *disk_of_request(struct request *rq)
{
	if (bpf_core_field_exists(rq->q->disk))
		return READ_ONLY(struct request, rq)->q->disk;
	return ((struct request___before_5_17 *)rq)->rq_disk;
}

static __always_inline struct gendisk *disk_of_bio(struct bio *bio)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return READ_ONLY(struct bio, bio)->bi_bdev->bd_disk;
	return ((struct bio___before_5_12 *)bio)->bi_disk;
}

/* Who has the device that a page of it is written to: NULL when nobody has mounted or joined it. */
static __always_inline void *holder_of(struct bio *bio, struct inode *device)
{
	if (bpf_core_field_exists(bio->bi_bdev))
		return READ_ONLY(struct bio, bio)->bi_bdev->bd_holder;
	if (!device)
		return bio; /* pages of a filesystem's own inode */
	device = (void *)device - bpf_core_field_offset(struct bdev_inode, vfs_inode);
	return BPF_CORE_READ((struct bdev_inode *)device, bdev.bd_holder);
}

static __always_inline struct address_space *page_mapping(__u64 page)
{
	if (bpf_core_type_exists(struct folio))
		return BPF_CORE_READ((struct folio *)page, mapping);
	return BPF_CORE_READ((struct page___before_5_16 *)page, mapping);
}

static __always_inline __u64 page_index(__u64 page)
{
	if (bpf_core_type_exists(struct folio))
		return BPF_CORE_READ((struct folio *)page, index);
	return BPF_CORE_READ((struct page___before_5_16 *)page, index);
}

#endif
