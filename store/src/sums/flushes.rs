//! Flushes of devices' caches: whose they are, and the times in which there are any, as the relation device_flushes has them.

use std::collections::BTreeMap;

use super::groups::{add, Groups};
use super::spans::Spans;
use crate::rows::{BlockRequests, FlushSums as SumRow, FlushingSums};

/// Flushes by kernel threads of which it is not known yet whether the command waits for one; of older ones it is taken for
/// settled that it does not.
const UNSETTLED: usize = 65_536;
/// Devices, at most.
const MOST_DEVICES: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    dev: i64,
    owner_dev: Option<i64>,
    in_scope: Option<bool>,
    /// Asked for by a write without data; else a flush as the block layer makes them.
    asked: bool,
    waited: bool,
}

#[derive(Debug, Default)]
struct Sum {
    flushes: i64,
    time_ns: Option<i64>,
}

#[derive(Debug, Default)]
pub struct Flushes {
    groups: Groups<Key, Sum>,
    /// While each device has flushes of one kind (asked) at work.
    flushing: BTreeMap<(i64, bool), Spans>,
    /// While the command waits for a flush.
    waits: Spans,
    /// By the moment at which they were queued.
    unsettled: BTreeMap<(i64, u64), (Key, Option<i64>)>,
    number: u64,
    settled_ns: Option<i64>,
    given_up: bool,
}

impl Flushes {
    pub fn request(&mut self, row: &BlockRequests) {
        let asked = row.op == "write";
        if self.given_up || row.op != "flush" && !(asked && row.bytes == 0) {
            return;
        }
        if asked && !row.flags.iter().any(|flag| flag == "preflush") {
            return;
        }
        let begin = row.issue_ns.unwrap_or(row.queue_ns);
        if let Some(until) = row.complete_ns.filter(|until| *until > begin) {
            let place = (row.dev, asked);
            if self.flushing.len() >= MOST_DEVICES && !self.flushing.contains_key(&place) {
                return self.give_up();
            }
            self.flushing.entry(place).or_default().add(begin, until);
        }
        let key = Key {
            dev: row.dev,
            owner_dev: row.owner_dev,
            in_scope: row.in_scope,
            asked,
            waited: false,
        };
        let time_ns = row.complete_ns.map(|at| at - row.queue_ns);
        match (row.in_scope, self.waits.contains(row.queue_ns)) {
            (Some(_), _) => self.sum(key, time_ns),
            (None, Some(true)) => self.sum(
                Key {
                    waited: true,
                    ..key
                },
                time_ns,
            ),
            (None, Some(false)) => self.keep(row.queue_ns, key, time_ns),
            (None, None) => self.give_up(),
        }
    }

    /// The command waits for a flush, from `begin` to `until`.
    #[inline]
    pub fn waits(&mut self, begin: i64, until: i64) {
        if self.given_up || until < begin {
            return;
        }
        if self.settled_ns >= Some(begin) {
            return self.give_up();
        }
        self.waits.add(begin, until);
        while let Some((&place, _)) = self.unsettled.range((begin, 0)..=(until, u64::MAX)).next() {
            if let Some((key, time_ns)) = self.unsettled.remove(&place) {
                self.sum(
                    Key {
                        waited: true,
                        ..key
                    },
                    time_ns,
                );
            }
        }
    }

    pub fn give_up(&mut self) {
        *self = Flushes {
            given_up: true,
            ..Flushes::default()
        };
    }

    pub fn rows(mut self) -> (Vec<SumRow>, Vec<FlushingSums>) {
        for (key, time_ns) in std::mem::take(&mut self.unsettled).into_values() {
            self.sum(key, time_ns);
        }
        let busy = self.flushing.iter().map(|(&(dev, asked), spans)| {
            Some(FlushingSums {
                dev,
                asked,
                busy_ns: spans.covered_ns()?,
            })
        });
        let Some(busy) = busy.collect::<Option<Vec<_>>>() else {
            return Default::default();
        };
        let groups = self.groups.into_groups().into_iter();
        (groups.map(|(key, sum)| sum.row(key)).collect(), busy)
    }

    fn sum(&mut self, key: Key, time_ns: Option<i64>) {
        if let Some(sum) = self.groups.of(key) {
            sum.flushes += 1;
            add(&mut sum.time_ns, time_ns);
        }
    }

    fn keep(&mut self, queue_ns: i64, key: Key, time_ns: Option<i64>) {
        self.number += 1;
        self.unsettled
            .insert((queue_ns, self.number), (key, time_ns));
        if self.unsettled.len() > UNSETTLED {
            if let Some(((at, _), (key, time_ns))) = self.unsettled.pop_first() {
                self.settled_ns = self.settled_ns.max(Some(at));
                self.sum(key, time_ns);
            }
        }
    }
}

impl Sum {
    fn row(self, key: Key) -> SumRow {
        SumRow {
            dev: key.dev,
            owner_dev: key.owner_dev,
            in_scope: key.in_scope,
            asked: key.asked,
            waited: key.waited,
            flushes: self.flushes,
            time_ns: self.time_ns,
        }
    }
}
