/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Writeback: who wrote back which inode, why, and how much. */
#ifndef IOWHY_WRITEBACK_H
#define IOWHY_WRITEBACK_H

#include "chunks.h"

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

struct event_writeback {
	struct event_header header; /* flags: enum writeback_reason */
	__u64 ts;
	__u64 dur; /* ~0: not known */
	__u64 ino;
	__u64 pages;
	__u64 age_ticks; /* ~0: not known */
	__u32 dev;
	__u32 generation;
	__u32 tgid;
	__u32 pad;
};

struct pass {
	__u64 start;
	__u64 age_ticks;
};

/* Passes under way, by thread: a thread is in one at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct pass);
} passes SEC(".maps");

/* Why a flusher thread works at present. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} flushers SEC(".maps");

static __always_inline void emit_pass(__u8 reason, __u64 start, __u64 age, const struct file_id *file,
				      __u64 pages)
{
	struct event_writeback *e = RESERVE(struct event_writeback, EVENT_WRITEBACK);
	__u64 who, now;

	/* At once: a verifier before 6.2 forgets over a call that it was NULL. */
	if (!e)
		return;
	who = current_ids();
	now = bpf_ktime_get_ns();
	e->header.kind = EVENT_WRITEBACK;
	e->header.flags = reason;
	e->header.nr = 0xffff;
	e->header.tid = (__u32)who;
	e->ts = now;
	e->dur = start ? now - start : ~0ULL;
	e->ino = file->ino;
	e->pages = pages;
	e->age_ticks = age;
	e->dev = file->dev;
	e->generation = file->generation;
	e->tgid = who >> 32;
	e->pad = 0;
	SUBMIT(e);
}

SEC("tp_btf/writeback_start")
int BPF_PROG(on_writeback_start, struct bdi_writeback *wb, struct wb_writeback_work *work)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u32 reason = BPF_CORE_READ(work, reason);

	bpf_map_update_elem(&flushers, &tid, &reason, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_single_inode_start")
int BPF_PROG(on_pass_start, struct inode *inode, struct writeback_control *wbc, unsigned long pages)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 dirtied = inode->dirtied_when;
	struct pass pass = { .start = bpf_ktime_get_ns(), .age_ticks = ~0ULL };

	if (dirtied)
		pass.age_ticks = bpf_jiffies64() - dirtied;
	bpf_map_update_elem(&passes, &tid, &pass, BPF_ANY);
	return 0;
}

/*
 * `pages` is what the pass was allowed to write, and nr_to_write what it left of that.
 */
SEC("tp_btf/writeback_single_inode")
int BPF_PROG(on_pass_end, struct inode *inode, struct writeback_control *wbc, unsigned long pages)
{
	struct task_struct *task = current_task();
	__u32 tid = OF_CURRENT(task, pid);
	struct pass *pass = bpf_map_lookup_elem(&passes, &tid);
	__u64 start = 0, age = ~0ULL;
	__s64 left = wbc->nr_to_write;
	struct file_id file = identify_known(inode);
	__u32 *why;
	__u8 reason = REASON_FSYNC;

	if (pass) {
		start = pass->start;
		age = pass->age_ticks;
		bpf_map_delete_elem(&passes, &tid);
	}
	/* Other programs' files are written back too, and more of them than the command's. */
	if (!whole_machine && !is_touched(&file))
		return 0;
	if (OF_CURRENT(task, flags) & PF_KTHREAD) {
		why = bpf_map_lookup_elem(&flushers, &tid);
		if (BPF_CORE_READ_BITFIELD_PROBED(wbc, for_kupdate))
			reason = REASON_PERIODIC;
		else if (BPF_CORE_READ_BITFIELD_PROBED(wbc, for_background))
			reason = REASON_BACKGROUND;
		else if (why)
			reason = *why;
		else
			reason = REASON_SYNC;
	}
	emit_pass(reason, start, age, &file, (__s64)pages > left ? pages - left : 0);
	return 0;
}

/* What a caller's own fsync or msync writes passes by no flusher: ext4 traces each round of it. */
SEC("tp_btf/ext4_writepages_result")
int BPF_PROG(on_ext4_written, struct inode *inode, struct writeback_control *wbc, int ret, int pages)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct file_id file;

	if (!inode || pages <= 0 || !current_thread() || bpf_map_lookup_elem(&passes, &tid))
		return 0;
	file = identify(inode);
	emit_pass(REASON_FSYNC, 0, ~0ULL, &file, pages);
	return 0;
}

static __always_inline void add_written(struct thread *t, const struct inode *inode, __u64 pages)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	if (bpf_map_lookup_elem(&passes, &tid))
		return;
	if (t->written_inode != (__u64)inode) {
		t->written_inode = (__u64)inode;
		t->written_pages = 0;
		t->written_from = bpf_ktime_get_ns();
	}
	t->written_pages += pages;
}

static __always_inline int add_written_bytes(const struct inode *inode, __u64 length)
{
	struct thread *t = current_thread();

	if (t)
		add_written(t, inode, (length + PAGE_SIZE - 1) >> page_shift);
	return 0;
}

/* Others (XFS, btrfs) trace each folio: they are summed until the call returns. */
SEC("tp_btf/iomap_writeback_folio")
int BPF_PROG(on_iomap_written, struct inode *inode, __s64 position, __u64 length)
{
	return add_written_bytes(inode, length);
}

/* Its name before 6.17. */
SEC("tp_btf/iomap_writepage")
int BPF_PROG(on_iomap_writepage, struct inode *inode, __s64 position, __u64 length)
{
	return add_written_bytes(inode, length);
}

SEC("tp_btf/extent_writepage")
int BPF_PROG(on_btrfs_written, struct folio *folio, struct inode *inode)
{
	struct thread *t = current_thread();

	if (t && folio && inode)
		add_written(t, inode, folio_pages(folio));
	return 0;
}

/* Its name before 6.11, where btrfs had no folios larger than a page. */
SEC("tp_btf/__extent_writepage")
int BPF_PROG(on_btrfs_writepage, void *page, struct inode *inode)
{
	struct thread *t = current_thread();

	if (t && inode)
		add_written(t, inode, 1);
	return 0;
}

/* The end of a call: what it wrote back itself. */
static __always_inline void settle_written(struct thread *t)
{
	struct file_id file = identify((struct inode *)t->written_inode);

	t->written_inode = 0;
	emit_pass(REASON_FSYNC, t->written_from, ~0ULL, &file, t->written_pages);
}

#endif
