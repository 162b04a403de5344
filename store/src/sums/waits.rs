//! Uninterruptible waits by thread, reason, call and filesystem.

use super::groups::Summed;
use crate::rows::{Name, WaitSums as SumRow, Waits};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    tid: i64,
    tgid: i64,
    dev: Option<i64>,
    io: bool,
    reason: Name,
    syscall: Option<Name>,
}

#[derive(Debug, Default)]
pub struct Sum {
    count: i64,
    total_ns: i64,
    max_ns: i64,
}

impl Summed for Sum {
    type Key = Key;
    type Of<'a> = &'a Waits;
    type Row = SumRow;

    fn key(row: &Waits) -> Key {
        Key {
            tid: row.tid,
            tgid: row.tgid,
            dev: row.dev,
            io: row.io,
            reason: row.reason.clone(),
            syscall: row.syscall.clone(),
        }
    }

    fn add(&mut self, row: &Waits) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(row.dur_ns);
        self.max_ns = self.max_ns.max(row.dur_ns);
    }

    fn row(self, key: Key) -> SumRow {
        SumRow {
            tgid: key.tgid,
            tid: key.tid,
            reason: key.reason,
            syscall: key.syscall,
            io: key.io,
            dev: key.dev,
            count: self.count,
            total_ns: self.total_ns,
            max_ns: self.max_ns,
        }
    }
}
