//! Flushes of devices' caches: whose they are, and the times in which there are any, as the relation device_flushes has them.

use std::collections::BTreeMap;

use super::groups::{add, Groups};
use super::spans::Spans;
use crate::rows::{BlockRequests, FlushSums as SumRow, FlushingSums};

/// Flushes by kernel threads of which it is not known yet for which filesystems the command waits as they are queued; of
/// older ones it is taken for settled.
const UNSETTLED: usize = 65_536;
/// Devices, at most.
const MOST_DEVICES: usize = 16;

/// Filesystems that are waited for, as a set: the first bit is for waits of which the filesystem is not known (sync(2),
/// which is for all, too), the others are for `Flushes::filesystems` in their order.
type Filesystems = u32;
const ANY: Filesystems = 1;
const MOST_FILESYSTEMS: usize = Filesystems::BITS as usize - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    dev: i64,
    owner_dev: Option<i64>,
    in_scope: Option<bool>,
    /// Asked for by a write without data; else a flush as the block layer makes them.
    asked: bool,
    waited: Filesystems,
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
    /// While the command waits for a flush of any filesystem, then of each of `filesystems`.
    waits: Vec<Waits>,
    filesystems: Vec<i64>,
    /// By the moment at which they were queued.
    unsettled: BTreeMap<(i64, u64), (Key, Option<i64>)>,
    number: u64,
    settled_ns: Option<i64>,
    given_up: bool,
}

/// The command's waits for flushes of one filesystem.
#[derive(Debug, Default)]
struct Waits {
    spans: Spans,
    /// Up to here flushes are summed that none of these waits is known to be for.
    settled_ns: Option<i64>,
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
            waited: 0,
        };
        let time_ns = row.complete_ns.map(|at| at - row.queue_ns);
        if row.in_scope.is_some() {
            return self.sum(key, time_ns);
        }
        let Some(waited) = self.waited_at(row.queue_ns) else {
            return self.give_up();
        };
        self.keep(row.queue_ns, Key { waited, ..key }, time_ns);
    }

    /// The command waits for a flush of a filesystem (None: not known which, or all), from `begin` to `until`.
    #[inline]
    pub fn waits(&mut self, filesystem: Option<i64>, begin: i64, until: i64) {
        if self.given_up || until < begin {
            return;
        }
        let Some(place) = self.place(filesystem) else {
            return self.give_up();
        };
        if self.waits[place].settled_ns >= Some(begin) {
            return self.give_up();
        }
        self.waits[place].spans.add(begin, until);
        for (_, (key, _)) in self.unsettled.range_mut((begin, 0)..=(until, u64::MAX)) {
            key.waited |= 1 << place;
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
        let groups = std::mem::take(&mut self.groups).into_groups().into_iter();
        let rows = groups.map(|(key, sum)| sum.row(key, self.named(key.waited)));
        (rows.collect(), busy)
    }

    fn sum(&mut self, key: Key, time_ns: Option<i64>) {
        if let Some(sum) = self.groups.of(key) {
            sum.flushes += 1;
            add(&mut sum.time_ns, time_ns);
        }
    }

    /// Where waits for a filesystem are kept; None where there are too many.
    #[inline]
    fn place(&mut self, filesystem: Option<i64>) -> Option<usize> {
        if self.waits.is_empty() {
            self.waits.push(Waits::default());
        }
        let Some(dev) = filesystem else {
            return Some(0);
        };
        let known = self.filesystems.iter().position(|known| *known == dev);
        if known.is_none() {
            if self.filesystems.len() >= MOST_FILESYSTEMS {
                return None;
            }
            self.filesystems.push(dev);
            self.waits.push(Waits {
                spans: Spans::default(),
                settled_ns: self.settled_ns,
            });
        }
        Some(known.unwrap_or(self.filesystems.len() - 1) + 1)
    }

    /// For which filesystems the command waits at a moment, as far as they are known by now; None where that is forgotten.
    fn waited_at(&self, at: i64) -> Option<Filesystems> {
        let mut waited = 0;
        for (place, of_one) in self.waits.iter().enumerate() {
            waited |= Filesystems::from(of_one.spans.contains(at)?) << place;
        }
        Some(waited)
    }

    fn keep(&mut self, queue_ns: i64, key: Key, time_ns: Option<i64>) {
        self.number += 1;
        self.unsettled
            .insert((queue_ns, self.number), (key, time_ns));
        if self.unsettled.len() > UNSETTLED {
            if let Some(((at, _), (key, time_ns))) = self.unsettled.pop_first() {
                self.settle(at, key.waited);
                self.sum(key, time_ns);
            }
        }
    }

    /// A flush that was queued `at` a moment is summed, as waited for by these.
    fn settle(&mut self, at: i64, waited: Filesystems) {
        // A wait that may be for any says all that there is to say.
        if waited & ANY != 0 {
            return;
        }
        self.settled_ns = self.settled_ns.max(Some(at));
        for (place, of_one) in self.waits.iter_mut().enumerate() {
            if waited & 1 << place == 0 {
                of_one.settled_ns = of_one.settled_ns.max(Some(at));
            }
        }
    }

    /// The filesystems of a set; none where one of them is not known.
    fn named(&self, waited: Filesystems) -> Vec<i64> {
        if waited & ANY != 0 {
            return Vec::new();
        }
        let of = self.filesystems.iter().enumerate();
        of.filter(|(place, _)| waited & 2 << place != 0)
            .map(|(_, dev)| *dev)
            .collect()
    }
}

impl Sum {
    fn row(self, key: Key, waited_for: Vec<i64>) -> SumRow {
        SumRow {
            dev: key.dev,
            owner_dev: key.owner_dev,
            in_scope: key.in_scope,
            asked: key.asked,
            waited: key.waited != 0,
            waited_for,
            flushes: self.flushes,
            time_ns: self.time_ns,
        }
    }
}
