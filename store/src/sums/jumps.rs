//! The command's requests by device, direction and file, and which of them jump, as the relation command_requests has it.

use std::collections::{BTreeMap, VecDeque};

use super::groups::{add, Groups};
use crate::rows::{BlockRequests, JumpSums};

/// Requests of one device and direction that wait for those that were queued before them and are done later (1 MiB).
const WAITING: usize = 32_768;
/// Devices and directions, at most.
const MOST_SEQUENCES: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    owner_ino: Option<i64>,
    owner_dev: Option<i64>,
    dev: i64,
    reads: bool,
}

/// One request, by when it was queued and where it begins: `NOWHERE` where that is not told, which is behind all places.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: (i64, i64),
    bytes: i64,
    group: usize,
}

const NOWHERE: i64 = i64::MAX;

/// The requests of one device and direction, in the order in which they were queued: a scheduler sorts what it sends.
#[derive(Debug, Default)]
struct Sequence {
    waiting: VecDeque<Step>,
    /// The last of those that are summed.
    before: Option<Step>,
}

/// A request comes when it is done. One that was queued before others of which it is told already whether they jump leaves
/// nothing to be told.
#[derive(Debug, Default)]
pub struct Jumps {
    groups: Groups<Key, JumpSums>,
    sequences: BTreeMap<(i64, bool), Sequence>,
    given_up: bool,
}

impl Jumps {
    pub fn request(&mut self, row: &BlockRequests) {
        let reads = row.op == "read";
        let moves = row.bytes > 0 && (reads || row.op == "write");
        if self.given_up || !moves || row.in_scope != Some(true) {
            return;
        }
        if self.sum(row, reads).is_none() {
            self.give_up();
        }
    }

    pub fn give_up(&mut self) {
        *self = Jumps {
            given_up: true,
            ..Jumps::default()
        };
    }

    pub fn rows(mut self) -> Vec<JumpSums> {
        for sequence in self.sequences.values_mut() {
            while let Some((group, jumps)) = sequence.take() {
                self.groups.at(group).count(jumps);
            }
        }
        let groups = self.groups.into_groups().into_iter();
        groups.map(|(key, sum)| sum.with_key(key)).collect()
    }

    /// None: it cannot be told.
    fn sum(&mut self, row: &BlockRequests, reads: bool) -> Option<()> {
        let group = self.groups.place(Key {
            owner_ino: row.owner_ino,
            owner_dev: row.owner_dev,
            dev: row.dev,
            reads,
        })?;
        self.groups.at(group).add(row);
        let place = (row.dev, reads);
        if self.sequences.len() >= MOST_SEQUENCES && !self.sequences.contains_key(&place) {
            return None;
        }
        let sequence = self.sequences.entry(place).or_default();
        sequence.add(Step {
            at: (row.queue_ns, row.sector.unwrap_or(NOWHERE)),
            bytes: row.bytes,
            group,
        })?;
        if sequence.waiting.len() > WAITING {
            let (group, jumps) = sequence.take()?;
            self.groups.at(group).count(jumps);
        }
        Some(())
    }
}

impl Sequence {
    /// Takes a request in; None where others behind it are summed, or its order among them is anybody's.
    fn add(&mut self, step: Step) -> Option<()> {
        let behind = |other: &Step| other.at <= step.at;
        let place = self.waiting.iter().rposition(behind);
        let last = place.map_or(self.before, |place| Some(self.waiting[place]));
        if last.is_some_and(|last| last.at >= step.at) {
            return None;
        }
        self.waiting
            .insert(place.map_or(0, |place| place + 1), step);
        Some(())
    }

    /// The first of those that wait: its group, and whether it jumps, as far as that is known.
    fn take(&mut self) -> Option<(usize, Option<bool>)> {
        let step = self.waiting.pop_front()?;
        let before = self.before.replace(step);
        let ended = before.filter(|before| before.at.1 != NOWHERE);
        let begins = (step.at.1 != NOWHERE).then(|| step.at.1.saturating_mul(512));
        let jumps = ended.zip(begins).map(|(before, begins)| {
            before.at.1.saturating_mul(512).saturating_add(before.bytes) != begins
        });
        Some((step.group, jumps))
    }
}

impl JumpSums {
    fn add(&mut self, row: &BlockRequests) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(row.bytes);
        let time_ns = row.complete_ns.map(|at| at - row.queue_ns);
        add(&mut self.time_ns, time_ns);
        if row.owner_page.is_none() {
            self.direct_bytes = self.direct_bytes.saturating_add(row.bytes);
        }
    }

    fn count(&mut self, jumps: Option<bool>) {
        self.steps += i64::from(jumps.is_some());
        self.jumps += i64::from(jumps == Some(true));
    }

    fn with_key(self, key: Key) -> JumpSums {
        JumpSums {
            dev: key.dev,
            op: if key.reads { "read" } else { "write" }.into(),
            owner_dev: key.owner_dev,
            owner_ino: key.owner_ino,
            ..self
        }
    }
}
