//! Uninterruptible waits by thread, reason, call and filesystem.

use super::groups::Summed;
use crate::rows::{Name, WaitSums, Waits};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    tid: i64,
    tgid: i64,
    dev: Option<i64>,
    io: bool,
    reason: Name,
    syscall: Option<Name>,
}

impl Summed for WaitSums {
    type Key = Key;
    type Of<'a> = &'a Waits;

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

    fn with_key(self, key: Key) -> WaitSums {
        WaitSums {
            tgid: key.tgid,
            tid: key.tid,
            reason: key.reason,
            syscall: key.syscall,
            io: key.io,
            dev: key.dev,
            ..self
        }
    }
}
