//! The time in which sync calls are under way.

use super::spans::Spans;
use crate::rows::SyncSums;

#[derive(Debug, Default)]
pub struct Syncs {
    spans: Spans,
    calls: i64,
    unknown: bool,
    /// There are calls, of whatever kind.
    any: bool,
}

impl Syncs {
    #[inline]
    pub fn call(&mut self) {
        self.any = true;
    }

    /// A sync call or operation, fsync and the like or a durable write.
    pub fn sync(&mut self, begin: i64, until: i64) {
        self.calls += 1;
        if until > begin {
            self.spans.add(begin, until);
        }
    }

    pub fn give_up(&mut self) {
        self.unknown = true;
    }

    /// One row, none where it is not known.
    pub fn rows(self) -> Vec<SyncSums> {
        let wall_ns = self
            .spans
            .covered_ns()
            .filter(|_| self.any && !self.unknown);
        let row = wall_ns.map(|wall_ns| SyncSums {
            calls: self.calls,
            wall_ns,
        });
        row.into_iter().collect()
    }
}
