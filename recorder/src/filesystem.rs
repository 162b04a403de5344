//! Rows of writeback, dirty throttling, journals and allocations.

use std::borrow::Cow;
use std::sync::OnceLock;

use iowhy_store::{rows, Name};

use crate::event::{Allocation, Commit, Throttle, Writeback};

/// enum writeback_reason
const REASONS: [&str; 9] = [
    "background",
    "vmscan",
    "sync",
    "periodic",
    "laptop",
    "fs_free_space",
    "forker",
    "foreign_flush",
    "fsync",
];
const COMMIT_XFS: u8 = 1;
const COMMIT_STATISTICS: u8 = 2;

pub fn writeback(e: &Writeback) -> rows::Writeback {
    rows::Writeback {
        ts_ns: e.ts as i64,
        dur_ns: (e.dur != u64::MAX).then_some(e.dur as i64),
        tgid: Some(e.tgid.into()),
        tid: Some(e.header.tid.into()),
        dev: e.dev.into(),
        ino: e.ino as i64,
        reason: reason(e.header.flags),
        pages_written: e.pages as i64,
        dirtied_age_ns: (e.age_ticks != u64::MAX).then(|| ticks_ns(e.age_ticks)),
    }
}

fn reason(number: u8) -> Name {
    Cow::Borrowed(
        REASONS
            .get(usize::from(number))
            .copied()
            .unwrap_or("background"),
    )
}

pub fn throttle(e: &Throttle) -> rows::DirtyThrottle {
    rows::DirtyThrottle {
        ts_ns: e.ts as i64,
        tgid: e.tgid.into(),
        tid: e.header.tid.into(),
        pause_ns: ticks_ns(e.pause_ticks),
        dirty_pages: Some(e.dirty as i64),
        limit_pages: Some(e.limit as i64),
    }
}

pub fn commit(e: &Commit) -> rows::JournalCommits {
    let between = |from: u64, to: u64| (from != 0 && to >= from).then(|| (to - from) as i64);
    let told = e.header.flags & COMMIT_STATISTICS != 0;
    let is_xfs = e.header.flags & COMMIT_XFS != 0;
    rows::JournalCommits {
        ts_ns: e.ts as i64,
        dur_ns: between(e.ts, e.end),
        dev: e.dev.into(),
        kind: Cow::Borrowed(if is_xfs { "xfs-log-force" } else { "jbd2" }),
        transaction: (!is_xfs).then_some(e.transaction.into()),
        wait_ns: told.then(|| ticks_ns(e.wait_ticks)),
        locked_ns: between(e.locking, e.flushing),
        flushing_ns: between(e.flushing, e.logging),
        logging_ns: between(e.logging, e.end),
        handles: told.then_some(e.handles.into()),
        blocks: told.then_some(e.blocks.into()),
    }
}

pub fn allocation(e: &Allocation) -> rows::Allocations {
    rows::Allocations {
        ts_ns: e.ts as i64,
        tgid: Some(e.tgid.into()),
        tid: Some(e.header.tid.into()),
        dev: e.dev.into(),
        ino: e.ino as i64,
        logical_block: Some(e.logical as i64),
        physical_block: Some(e.physical as i64),
        blocks: e.blocks as i64,
    }
}

/// The kernel's ticks (jiffies) as nanoseconds.
fn ticks_ns(ticks: u64) -> i64 {
    (ticks as i64).saturating_mul(tick_ns())
}

/// Length of a tick (1/CONFIG_HZ): the resolution of the clock that only ticks advance.
fn tick_ns() -> i64 {
    static TICK: OnceLock<i64> = OnceLock::new();
    *TICK.get_or_init(|| {
        let coarse = nix::time::ClockId::from_raw(libc::CLOCK_MONOTONIC_COARSE);
        nix::time::clock_getres(coarse)
            .map_or(4_000_000, |r| r.tv_sec() * 1_000_000_000 + r.tv_nsec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Header;

    #[test]
    fn the_phases_of_a_commit_lie_between_its_events() {
        let header = Header {
            flags: COMMIT_STATISTICS,
            ..Header::default()
        };
        let e = Commit {
            header,
            ts: 100,
            locking: 110,
            flushing: 150,
            logging: 200,
            end: 1000,
            handles: 3,
            blocks: 8,
            transaction: 7,
            ..Commit::default()
        };
        let row = commit(&e);
        assert_eq!(
            (row.dur_ns, row.locked_ns, row.flushing_ns, row.logging_ns),
            (Some(900), Some(40), Some(50), Some(800))
        );
        assert_eq!(
            (row.transaction, row.handles, row.blocks, row.wait_ns),
            (Some(7), Some(3), Some(8), Some(0))
        );
    }

    #[test]
    fn what_xfs_does_not_tell_is_null() {
        let header = Header {
            flags: COMMIT_XFS,
            ..Header::default()
        };
        let row = commit(&Commit {
            header,
            ts: 100,
            ..Commit::default()
        });
        assert_eq!(row.kind, "xfs-log-force");
        assert_eq!(
            (row.dur_ns, row.transaction, row.wait_ns, row.blocks),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_tick_is_between_a_tenth_and_ten_milliseconds() {
        assert!((100_000..=10_000_000).contains(&tick_ns()));
    }
}
