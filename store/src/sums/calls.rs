//! System calls by thread, name and file.

use super::groups::{add, Summed};
use crate::rows::{CallSums as SumRow, Name, Syscalls};

/// Up to here a call that moves data counts as tiny (the relation call_totals).
const TINY_BYTES: i64 = 1024;

/// Numbers first: they tell most keys apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    tid: i64,
    ino: Option<i64>,
    dev: Option<i64>,
    tgid: i64,
    tiny: bool,
    durable: bool,
    name: Name,
}

#[derive(Debug, Default)]
pub struct Sum {
    calls: i64,
    errors: i64,
    unfinished: i64,
    total_ns: i64,
    max_ns: Option<i64>,
    cpu_ns: Option<i64>,
    cpu_of_ns: Option<i64>,
    runnable_ns: Option<i64>,
    blocked_ns: Option<i64>,
    sleeping_ns: Option<i64>,
    asked_bytes: Option<i64>,
    done_bytes: Option<i64>,
    moving: i64,
    synced_bytes: Option<i64>,
    syncing: i64,
}

impl Summed for Sum {
    type Key = Key;
    /// Whether it is a durable write (the relation durable_writes).
    type Of<'a> = (&'a Syscalls, bool);
    type Row = SumRow;

    #[inline]
    fn key((row, durable): (&Syscalls, bool)) -> Key {
        Key {
            tid: row.tid,
            ino: row.ino,
            dev: row.dev,
            tgid: row.tgid,
            tiny: row.bytes.is_some_and(|n| n <= TINY_BYTES) && row.ret.is_some_and(|n| n > 0),
            durable,
            name: row.name.clone(),
        }
    }

    #[inline]
    fn add(&mut self, (row, _): (&Syscalls, bool)) {
        self.calls += 1;
        self.total_ns = self.total_ns.saturating_add(row.dur_ns);
        self.max_ns = self.max_ns.max(Some(row.dur_ns));
        add(&mut self.cpu_ns, row.cpu_ns);
        add(&mut self.cpu_of_ns, row.cpu_ns.map(|_| row.dur_ns));
        add(&mut self.runnable_ns, row.runnable_ns);
        add(&mut self.blocked_ns, row.blocked_ns);
        add(&mut self.sleeping_ns, row.sleeping_ns);
        add(&mut self.asked_bytes, row.bytes);
        match row.ret {
            None => self.unfinished += 1,
            Some(ret) if ret < 0 => self.errors += 1,
            Some(0) => {
                add(&mut self.synced_bytes, row.bytes);
                self.syncing += i64::from(row.bytes.is_some());
            }
            Some(ret) => {
                add(&mut self.done_bytes, Some(ret));
                self.moving += 1;
            }
        }
    }

    fn row(self, key: Key) -> SumRow {
        SumRow {
            tgid: key.tgid,
            tid: key.tid,
            name: key.name,
            dev: key.dev,
            ino: key.ino,
            tiny: key.tiny,
            durable: Some(key.durable),
            calls: self.calls,
            errors: self.errors,
            unfinished: self.unfinished,
            total_ns: self.total_ns,
            max_ns: self.max_ns.unwrap_or(0),
            cpu_ns: self.cpu_ns,
            cpu_of_ns: self.cpu_of_ns,
            runnable_ns: self.runnable_ns,
            blocked_ns: self.blocked_ns,
            sleeping_ns: self.sleeping_ns,
            asked_bytes: self.asked_bytes,
            done_bytes: self.done_bytes,
            moving: self.moving,
            synced_bytes: self.synced_bytes,
            syncing: self.syncing,
        }
    }
}
