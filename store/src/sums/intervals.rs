//! How much of each interval of a thread its waits take, by their kind.

use std::collections::{HashMap, VecDeque};

use crate::rows::{IntervalWaits, Name, ThreadTime, Waits};

/// Intervals and waits that are remembered, of all threads together (some 32 bytes each).
const MOST: usize = 1 << 20;
/// Intervals of a thread that are kept for a wait that is told late.
const LATE: usize = 16;

type Kind = (Name, Option<Name>, bool);

#[derive(Debug, Default)]
struct Thread {
    /// Waits that reach beyond the last interval.
    waits: Vec<(i64, i64, usize)>,
    /// The last intervals, back to one in which it did not wait all the time: what waits now began after that.
    intervals: VecDeque<(i64, i64)>,
    /// The end of the last interval that is not kept.
    forgotten_ns: Option<i64>,
}

/// Divides the waits among the intervals. Both come in nearly their order: a wait when it is over, an interval when it is
/// read; where something comes later than can be told, nothing is known.
#[derive(Debug, Default)]
pub struct Intervals {
    threads: HashMap<i64, Thread>,
    kinds: Vec<Kind>,
    remembered: usize,
    ready: Vec<IntervalWaits>,
    given_up: bool,
}

impl Intervals {
    pub fn wait(&mut self, row: &Waits) {
        if self.given_up {
            return;
        }
        let kind = self.kind(row);
        let (begin, until) = (row.ts_ns, row.ts_ns.saturating_add(row.dur_ns));
        let thread = self.threads.entry(row.tid).or_default();
        if thread.forgotten_ns > Some(begin) {
            return self.give_up();
        }
        let kinds = &self.kinds;
        for &(ts_ns, end_ns) in &thread.intervals {
            let ns = until.min(end_ns) - begin.max(ts_ns);
            if ns > 0 {
                self.ready.push(waited(kinds, row.tid, ts_ns, kind, ns));
            }
        }
        if thread.intervals.back().is_none_or(|last| until > last.1) {
            thread.waits.push((begin, until, kind));
            self.remembered += 1;
        }
        self.look_after();
    }

    pub fn interval(&mut self, row: &ThreadTime) {
        if self.given_up || row.interval_ns <= 0 {
            return;
        }
        let (ts_ns, end_ns) = (row.ts_ns, row.ts_ns.saturating_add(row.interval_ns));
        let thread = self.threads.entry(row.tid).or_default();
        if thread.intervals.back().is_some_and(|last| ts_ns < last.1) {
            return self.give_up();
        }
        let kinds = &self.kinds;
        let mut sums: Vec<(usize, i64)> = Vec::new();
        let before = thread.waits.len();
        thread.waits.retain(|&(begin, until, kind)| {
            let ns = until.min(end_ns) - begin.max(ts_ns);
            if ns > 0 {
                match sums.iter_mut().find(|(of, _)| *of == kind) {
                    Some((_, sum)) => *sum += ns,
                    None => sums.push((kind, ns)),
                }
            }
            until > end_ns
        });
        let of_kind = |&(kind, ns): &(usize, i64)| waited(kinds, row.tid, ts_ns, kind, ns);
        self.ready.extend(sums.iter().map(of_kind));
        self.remembered -= before - thread.waits.len();
        thread.intervals.push_back((ts_ns, end_ns));
        self.remembered += 1;
        if row.blocked_ns.is_some_and(|ns| ns < row.interval_ns) {
            while thread.intervals.len() > LATE {
                thread.forgotten_ns = thread.intervals.pop_front().map(|first| first.1);
                self.remembered -= 1;
            }
        }
        self.look_after();
    }

    /// The rows that are known by now: of one interval and kind there may be several.
    pub fn take(&mut self) -> Vec<IntervalWaits> {
        std::mem::take(&mut self.ready)
    }

    pub fn give_up(&mut self) {
        *self = Intervals {
            given_up: true,
            ..Intervals::default()
        };
    }

    pub fn has_given_up(&self) -> bool {
        self.given_up
    }

    fn kind(&mut self, row: &Waits) -> usize {
        let same = |kind: &Kind| kind.2 == row.io && kind.0 == row.reason && kind.1 == row.syscall;
        self.kinds.iter().position(same).unwrap_or_else(|| {
            let kind = (row.reason.clone(), row.syscall.clone(), row.io);
            self.kinds.push(kind);
            self.kinds.len() - 1
        })
    }

    /// Threads that have ended are forgotten; when too much is left, all is.
    fn look_after(&mut self) {
        if self.remembered <= MOST && self.threads.len() <= MOST / LATE {
            return;
        }
        let last = |thread: &Thread| thread.intervals.back().map(|last| last.1);
        let now = self.threads.values().filter_map(last).max();
        let long_ago = now.map(|now| now - LONG_NS);
        self.threads
            .retain(|_, thread| last(thread).is_none() || last(thread) > long_ago);
        let kept = self.threads.values();
        self.remembered = kept.map(|t| t.intervals.len() + t.waits.len()).sum();
        if self.remembered > MOST / 2 || self.threads.len() > MOST / LATE / 2 {
            self.give_up();
        }
    }
}

/// A thread without an interval for so long has ended: one that lives has one every second.
const LONG_NS: i64 = 30_000_000_000;

fn waited(kinds: &[Kind], tid: i64, ts_ns: i64, kind: usize, waited_ns: i64) -> IntervalWaits {
    let (reason, syscall, io) = kinds[kind].clone();
    IntervalWaits {
        tid,
        ts_ns,
        reason,
        syscall,
        io,
        waited_ns,
    }
}
