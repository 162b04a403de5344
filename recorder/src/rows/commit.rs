//! Rows of commits of journals.

use std::borrow::Cow;

use iowhy_store::rows;

use super::ticks_ns;
use crate::event::layout::{Commit, COMMIT_STATISTICS, COMMIT_XFS};

/// The row of one commit, or of one force of the log.
pub fn row(e: &Commit) -> rows::JournalCommits {
    let between = |from: u64, to: u64| (from != 0 && to >= from).then(|| (to - from) as i64);
    let has_statistics = e.header.flags & COMMIT_STATISTICS != 0;
    let is_xfs = e.header.flags & COMMIT_XFS != 0;
    rows::JournalCommits {
        ts_ns: e.ts as i64,
        dur_ns: between(e.ts, e.end),
        dev: e.dev.into(),
        kind: Cow::Borrowed(if is_xfs { "xfs-log-force" } else { "jbd2" }),
        transaction: (!is_xfs).then_some(e.transaction.into()),
        wait_ns: has_statistics.then(|| ticks_ns(e.wait_ticks)),
        locked_ns: between(e.locking, e.flushing),
        flushing_ns: between(e.flushing, e.logging),
        logging_ns: between(e.logging, e.end),
        handles: has_statistics.then_some(e.handles.into()),
        blocks: has_statistics.then_some(e.blocks.into()),
    }
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
        let row = row(&e);
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
    fn what_xfs_does_not_measure_is_null() {
        let header = Header {
            flags: COMMIT_XFS,
            ..Header::default()
        };
        let row = row(&Commit {
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
}
