/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/*
 * The kernel's structures, reduced to the fields that the programs read.
 *
 * Every access is relocated against the running kernel's BTF (CO-RE), so that only names count here, not
 * offsets. A name after three underscores marks the shape of other kernel versions.
 *
 * long: one mirror of each of the kernel's structures, as it is now and as it was.
 */
#ifndef IOWHY_KERNEL_H
#define IOWHY_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

/* Of the running kernel: 4 KiB, or 16 or 64 KiB on arm64. Set before the programs are loaded. */
const volatile __u32 page_shift = 12;
#define PAGE_SIZE (1ULL << page_shift)

/* include/linux/sched.h: bits of task_struct.__state */
#define TASK_INTERRUPTIBLE 0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define TASK_DEAD 0x00000080
#define TASK_WAKING 0x00000200
#define TASK_NOLOAD 0x00000400
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD 0x00200000

/* include/linux/err.h */
#define MAX_ERRNO 4095

/* arch/x86/include/asm/thread_info.h, arch/arm64/include/asm/thread_info.h */
#define TS_COMPAT 0x0002
#define TIF_32BIT (1UL << 22)

/* include/uapi/asm-generic/fcntl.h: the same on x86 and arm64 */
#define O_ACCMODE 00000003
#define O_APPEND 00002000
#define AT_EMPTY_PATH 0x1000

/* include/uapi/linux/stat.h */
#define S_IFMT 00170000
#define S_IFREG 0100000
#define S_IFBLK 0060000

/* include/uapi/linux/magic.h, fs/btrfs */
#define BDEVFS_MAGIC 0x62646576
#define TMPFS_MAGIC 0x01021994
#define HUGETLBFS_MAGIC 0x958458f6
#define BTRFS_SUPER_MAGIC 0x9123683E
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#define FUSE_SUPER_MAGIC 0x65735546
#define BTRFS_BTREE_INODE 1

typedef __u64 sector_t;
typedef __u32 dev_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode;
struct seq_file;
struct bdi_writeback;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

#if defined(__TARGET_ARCH_x86)
struct thread_info {
	__u32 status;
};
struct pt_regs {
	unsigned long bp, r10, r9, r8, ax, dx, si, di, orig_ax, ip, cs, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_info {
	unsigned long flags;
};
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
};
#endif

struct cpumask {
	unsigned long bits[1];
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	void *stack;
	unsigned int flags;
	int on_cpu;
	struct sched_info sched_info;
	int nr_cpus_allowed;
	struct cpumask cpus_mask;
	int exit_code;
	unsigned in_iowait : 1;
	int pid;
	int tgid;
	__u64 utime;
	__u64 stime;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
	struct files_struct *files;
	struct mm_struct *mm;
	struct io_uring_task *io_uring;
	void *worker_private;
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct nsproxy *nsproxy;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct mm_struct {
	struct file *exe_file;
	unsigned long start_code;
	unsigned long start_stack;
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union {
		struct hlist_node d_alias;
	} d_u;
};

struct super_block {
	dev_t s_dev;
	unsigned char s_blocksize_bits;
	unsigned long s_flags;
	unsigned long s_magic;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct xarray {
	void *xa_head;
};

struct xa_node {
	unsigned char shift;
	void *slots[64];
};

struct address_space {
	struct inode *host;
	struct xarray i_pages;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_flags;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino;
	unsigned int i_nlink;
	__s64 i_size;
	__u32 i_generation;
	unsigned long dirtied_when;
	union {
		struct hlist_head i_dentry;
	};
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	unsigned int f_flags;
	__s64 f_pos;
	void *private_data;
};

/* Since 6.7; before, the name of a file below was the overlay's. */
struct backing_file {
	struct file file;
	struct path user_path;
};

struct ovl_path {
	struct dentry *dentry;
};

struct ovl_entry {
	unsigned int __numlower;
	struct ovl_path __lowerstack[1];
};

struct ovl_inode {
	unsigned long flags;
	struct inode vfs_inode;
	struct dentry *__upperdentry;
	struct ovl_entry *oe;
};

struct ovl_inode___before_6_5 {
	struct ovl_path lowerpath;
};

struct ovl_inode___before_6_0 {
	struct inode *lower;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct page {
	unsigned long flags;
	unsigned long compound_head;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
};

struct page___since_7_0 {
	unsigned long compound_info;
};

struct page___before_6_3 {
	unsigned char compound_order;
};

struct folio___before_6_6 {
	unsigned char _folio_order;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
};

struct blk_mq_ops;
struct request_queue {
	const struct blk_mq_ops *mq_ops;
	struct gendisk *disk;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct block_device {
	struct gendisk *bd_disk;
	dev_t bd_dev;
	void *bd_holder;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned char bi_status;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	struct blkcg_gq *bi_blkg;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	sector_t __sector;
	struct bio *bio;
	struct block_device *part;
	__u64 start_time_ns;
};

struct kiocb {
	struct file *ki_filp;
	__s64 ki_pos;
};

struct iomap_dio {
	struct kiocb *iocb;
};

struct writeback_control {
	long nr_to_write;
	unsigned for_kupdate : 1;
	unsigned for_background : 1;
	unsigned for_sync : 1;
};

enum wb_reason {
	WB_REASON_BACKGROUND = 0,
};

struct wb_writeback_work {
	enum wb_reason reason;
};

struct dirty_throttle_control {
	unsigned long dirty;
	unsigned long thresh;
	unsigned long limit;
};

struct journal_s {
	struct block_device *j_fs_dev;
};

struct transaction_s {
	unsigned int t_tid;
};

struct transaction_run_stats_s {
	unsigned long rs_wait;
	unsigned long rs_request_delay;
	unsigned long rs_locked;
	unsigned long rs_flushing;
	unsigned long rs_logging;
	__u32 rs_handle_count;
	__u32 rs_blocks;
	__u32 rs_blocks_logged;
};

struct ext4_allocation_request {
	struct inode *inode;
	unsigned int len;
	__u32 logical;
	unsigned int flags;
};

struct xfs_sb {
	__u8 sb_agblklog;
};

struct xfs_mount {
	struct xfs_sb m_sb;
	struct super_block *m_super;
};

struct xfs_inode {
	struct xfs_mount *i_mount;
	struct inode i_vnode;
};

struct xfs_iext_cursor {
	void *leaf;
	int pos;
};

struct btrfs_inode {
	struct inode vfs_inode;
};

struct btrfs_ordered_extent {
	__u64 file_offset;
	__u64 num_bytes;
	__u64 disk_bytenr;
	unsigned long flags;
};

struct io_uring_task {
	struct file *registered_rings[16];
};

struct io_wq_work {
	unsigned int flags;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_uring_sqe;

struct list_head {
	struct list_head *next;
};

struct wait_queue_head {
	struct list_head head;
};

struct wait_queue_entry {
	struct list_head entry;
};

struct eventfd_ctx {
	struct wait_queue_head wqh;
};

struct io_ev_fd {
	struct eventfd_ctx *cq_ev_fd;
};

struct eventpoll;

struct epitem {
	struct eventpoll *ep;
};

struct eppoll_entry {
	struct epitem *base;
	struct wait_queue_entry wait;
	struct wait_queue_head *whead;
};

struct io_ring_ctx {
	unsigned int flags;
	__u32 *sq_array;
	struct io_uring_sqe *sq_sqes;
	unsigned int cached_sq_head;
	unsigned int sq_entries;
	struct io_ev_fd *io_ev_fd;
	struct wait_queue_head cq_wait;
	struct wait_queue_head poll_wq;
};

struct io_ring_ctx___before_5_18 {
	struct eventfd_ctx *cq_ev_fd;
};

/* Linux 5.13. */
struct io_fixed_file {
	unsigned long file_ptr;
};

struct io_file_table {
	struct io_fixed_file **files;
};

struct io_ring_ctx___5_13 {
	struct io_file_table file_table;
	unsigned int nr_user_files;
};

struct fixed_file_data {
	void *table;
};

struct io_ring_ctx___5_11 {
	struct fixed_file_data *file_data;
};

struct io_cqe {
	__u64 user_data;
};

struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
	__u32 flags;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_kiocb *link;
	struct io_wq_work work;
};

struct io_kiocb___before_5_19 {
	__u64 user_data;
};

struct task_struct___before_5_14 {
	volatile long state;
};

struct request___before_5_17 {
	struct gendisk *rq_disk;
};

struct bio___before_5_12 {
	struct gendisk *bi_disk;
};

struct bdev_inode {
	struct block_device bdev;
	struct inode vfs_inode;
};

/* Before folios (5.16). */
struct page___before_5_16 {
	struct address_space *mapping;
	unsigned long index;
};

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

/* Before maple trees (6.1). */
struct mm_struct___before_6_1 {
	struct rb_root mm_rb;
};

struct vm_area_struct___before_6_1 {
	struct rb_node vm_rb;
};

#pragma clang attribute pop

/* fs/overlayfs/overlayfs.h: a bit of ovl_inode.flags */
#define OVL_UPPERDATA 3

/* Operations and flags of requests: their values move between kernels, so they are asked for by name. */
enum req_op {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_SECURE_ERASE = 5,
	REQ_OP_ZONE_APPEND = 7,
	REQ_OP_WRITE_ZEROES = 9,
	REQ_OP_DRV_IN = 34,
	REQ_OP_DRV_OUT = 35,
};

/* The name of the same before 6.1. */
enum req_opf {
	REQ_OP_SECURE_ERASE___before_6_1 = 5,
	REQ_OP_WRITE_ZEROES___before_6_1 = 9,
	REQ_OP_DRV_IN___before_6_1 = 34,
	REQ_OP_DRV_OUT___before_6_1 = 35,
};

enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_PRIO = 13,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_BACKGROUND = 20,
	__REQ_SWAP = 24,
};

enum pageflags {
	PG_head = 6,
	PG_swapbacked = 18,
};

#if defined(__TARGET_ARCH_x86)
#define ARG0(regs) ((regs)->di)
#define ARG1(regs) ((regs)->si)
#define ARG2(regs) ((regs)->dx)
#define ARG3(regs) ((regs)->r10)
#define ARG4(regs) ((regs)->r8)
#define ARG5(regs) ((regs)->r9)
#define CALL_NUMBER_FIELD orig_ax
#define ARG0_FIELD di
#define USER_IP_FIELD ip
#elif defined(__TARGET_ARCH_arm64)
#define ARG0(regs) ((regs)->orig_x0)
#define ARG1(regs) ((regs)->regs[1])
#define ARG2(regs) ((regs)->regs[2])
#define ARG3(regs) ((regs)->regs[3])
#define ARG4(regs) ((regs)->regs[4])
#define ARG5(regs) ((regs)->regs[5])
#define CALL_NUMBER_FIELD syscallno
#define ARG0_FIELD orig_x0
#define USER_IP_FIELD pc
#endif

#endif
