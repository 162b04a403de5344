/* SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0) */
/* Journals: jbd2's commits with their phases, XFS's log forces. */
#ifndef IOWHY_JOURNAL_H
#define IOWHY_JOURNAL_H

#include "thread.h"

/* Bits of event_commit.header.flags. */
enum commit_flag {
	COMMIT_XFS = 1, /* a log force */
	COMMIT_STATISTICS = 2, /* the statistics of the run are known */
};

struct event_commit {
	struct event_header header;
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

/* Commits under way, by the thread that makes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct event_commit);
} commits SEC(".maps");

SEC("tp_btf/jbd2_start_commit")
int BPF_PROG(on_commit_start, struct journal_s *journal, struct transaction_s *transaction)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct event_commit e = {};

	if (!journal || !transaction)
		return 0;
	e.header.kind = EVENT_COMMIT;
	e.header.nr = 0xffff;
	e.header.tid = (__u32)current_ids();
	e.ts = bpf_ktime_get_ns();
	e.dev = BPF_CORE_READ(journal, j_fs_dev, bd_dev);
	e.transaction = transaction->t_tid;
	if (bpf_map_update_elem(&commits, &tid, &e, BPF_ANY))
		count_lost(EVENT_COMMIT);
	return 0;
}

static __always_inline struct event_commit *current_commit(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&commits, &tid);
}

SEC("tp_btf/jbd2_commit_locking")
int BPF_PROG(on_commit_locking)
{
	struct event_commit *e = current_commit();

	if (e)
		e->locking = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/jbd2_commit_flushing")
int BPF_PROG(on_commit_flushing)
{
	struct event_commit *e = current_commit();

	if (e)
		e->flushing = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/jbd2_commit_logging")
int BPF_PROG(on_commit_logging)
{
	struct event_commit *e = current_commit();

	if (e)
		e->logging = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/jbd2_run_stats")
int BPF_PROG(on_commit_stats, unsigned int dev, unsigned int transaction, struct transaction_run_stats_s *stats)
{
	struct event_commit *e = current_commit();

	if (!e || !stats)
		return 0;
	e->header.flags |= COMMIT_STATISTICS;
	e->wait_ticks = stats->rs_request_delay;
	e->handles = stats->rs_handle_count;
	e->blocks = stats->rs_blocks_logged;
	return 0;
}

SEC("tp_btf/jbd2_end_commit")
int BPF_PROG(on_commit_end, struct journal_s *journal, struct transaction_s *transaction)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct event_commit *e = current_commit();

	if (!e)
		return 0;
	e->end = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&ring, e, sizeof(*e), BPF_RB_NO_WAKEUP))
		count_lost(EVENT_COMMIT);
	bpf_map_delete_elem(&commits, &tid);
	return 0;
}

static __always_inline void emit_force(__u64 start, __u64 end, __u32 dev)
{
	struct event_commit *e = RESERVE(struct event_commit, EVENT_COMMIT);

	if (!e)
		return;
	__builtin_memset(e, 0, sizeof(*e));
	e->header.kind = EVENT_COMMIT;
	e->header.flags = COMMIT_XFS;
	e->header.nr = 0xffff;
	e->header.tid = (__u32)current_ids();
	e->ts = start;
	e->end = end;
	e->dev = dev;
	SUBMIT(e);
}

/*
 * XFS traces when a force begins. One inside a call of the command that syncs, or that writes (O_SYNC), ends, as
 * far as is known, with the call, in which it is the last step.
 */
SEC("tp_btf/xfs_log_force")
int BPF_PROG(on_log_force, struct xfs_mount *mp)
{
	struct thread *t = current_thread();
	__u64 now = bpf_ktime_get_ns();
	__u32 dev;

	if (!mp)
		return 0;
	dev = BPF_CORE_READ(mp, m_super, s_dev);
	if (t && t->call >= 0 && !t->force_start &&
	    (t->call_kind == CALL_SYNC || t->call_kind == CALL_MEMORY || t->call_kind == CALL_WRITE)) {
		t->force_start = now;
		t->force_dev = dev;
		return 0;
	}
	emit_force(now, 0, dev);
	return 0;
}

static __always_inline void settle_force(struct thread *t, __u64 now)
{
	emit_force(t->force_start, now, t->force_dev);
	t->force_start = 0;
}

#endif
