//! System calls by thread, name and file.

use super::groups::{add, Summed};
use crate::rows::{CallSums, Name, Syscalls};

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

impl Summed for CallSums {
    type Key = Key;
    /// Whether it is a durable write (the relation durable_writes).
    type Of<'a> = (&'a Syscalls, bool);

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
        self.max_ns = self.max_ns.max(row.dur_ns);
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

    fn with_key(self, key: Key) -> CallSums {
        CallSums {
            tgid: key.tgid,
            tid: key.tid,
            name: key.name,
            dev: key.dev,
            ino: key.ino,
            tiny: key.tiny,
            durable: Some(key.durable),
            ..self
        }
    }
}
