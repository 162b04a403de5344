//! Sums of the I/O calls of an interval, by thread and number.

use std::collections::HashMap;

use crate::event::{Call, Total, TotalKey};
use crate::rows::call;

type Key = (u32, u16);

/// The I/O calls that returned in this interval.
#[derive(Default)]
pub struct Totals {
    totals: HashMap<Key, Total>,
    /// Calls come in rows of the same: only the last of such a row is looked up among the totals.
    latest: (Key, Total),
}

impl Totals {
    pub fn add(&mut self, e: &Call) {
        let key = (e.header.tid, e.header.nr);
        if self.latest.0 != key {
            self.settle();
            self.latest.0 = key;
        }
        let total = &mut self.latest.1;
        total.calls += 1;
        total.errors += u64::from(call::is_error(e.ret));
        total.total += e.dur;
        total.max = total.max.max(e.dur);
        total.cpu += call::cpu_ns(e);
        total.tgid = e.tgid;
    }

    /// All of the interval; a new one begins.
    pub fn take(&mut self) -> impl Iterator<Item = (TotalKey, Total)> {
        self.settle();
        let totals = std::mem::take(&mut self.totals).into_iter();
        totals.map(|((tid, nr), total)| (TotalKey { tid, nr: nr.into() }, total))
    }

    fn settle(&mut self) {
        let (key, latest) = std::mem::take(&mut self.latest);
        if latest.calls == 0 {
            return;
        }
        let total = self.totals.entry(key).or_default();
        total.calls += latest.calls;
        total.errors += latest.errors;
        total.total += latest.total;
        total.max = total.max.max(latest.max);
        total.cpu += latest.cpu;
        total.tgid = latest.tgid;
    }
}
