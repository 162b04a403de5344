//! What devices did while the command ran: requests by kind and second, and those of others by process and file, as the
//! relations device_seconds and others_requests have them.

use std::collections::VecDeque;

use super::groups::{add, pays, Groups};
use crate::rows::{BlockRequests, Name, OtherSums, SecondSums};

/// Requests that wait for the command's end to be known. The records of some 50 ms come after it.
const WAITING: usize = 65_536;
const SECOND_NS: i64 = 1_000_000_000;

/// Devices, kinds and whose they are: few, so that they are looked for one by one.
const MOST_KINDS: usize = 128;
/// Seconds of all kinds together, at most: some 8 MiB of them.
const MOST_SECONDS: usize = 65_536;

#[derive(Debug)]
struct Kind {
    dev: i64,
    in_scope: Option<bool>,
    unowned: bool,
    op: Name,
    /// As they came: one that is looked for is among the last.
    seconds: Vec<(Option<i64>, SecondSums)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Other {
    dev: i64,
    tgid: Option<i64>,
    owner_dev: Option<i64>,
    owner_ino: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    queue_ns: i64,
    complete_ns: Option<i64>,
    issue_ns: Option<i64>,
    over_by_ns: Option<i64>,
    bytes: i64,
    requeues: Option<i64>,
    failed: bool,
    /// Places in `kinds`, and of others' requests in `others`.
    kind: usize,
    other: Option<usize>,
}

#[derive(Debug, Default)]
pub struct RunSums {
    kinds: Vec<Kind>,
    seconds: usize,
    others: Groups<Other, OtherSums>,
    waiting: VecDeque<Waiting>,
    /// The latest moments of those that are summed up.
    queued_ns: Option<i64>,
    complete_ns: Option<i64>,
    requests: usize,
    others_requests: usize,
    given_up: bool,
}

impl RunSums {
    pub fn request(&mut self, row: &BlockRequests) {
        if !self.given_up && self.take_in(row).is_none() {
            self.give_up();
        }
    }

    pub fn give_up(&mut self) {
        *self = RunSums {
            given_up: true,
            ..RunSums::default()
        };
    }

    /// Sums up the oldest of what waits. What was queued before the command is left out, and is all there is before its
    /// start is known.
    pub fn settle(&mut self, start_ns: Option<i64>) {
        while self.waiting.len() > WAITING {
            self.sum_up(start_ns.unwrap_or(i64::MAX), None);
        }
    }

    /// None where these sums are not exact, or too many.
    pub fn rows(mut self, start_ns: i64, end_ns: i64) -> (Vec<SecondSums>, Vec<OtherSums>) {
        let late = |at: Option<i64>| at.is_some_and(|at| at > end_ns);
        if late(self.queued_ns) {
            return Default::default();
        }
        let others_end = !late(self.complete_ns);
        while !self.waiting.is_empty() {
            self.sum_up(start_ns, Some(end_ns));
        }
        let (requests, others_requests) = (self.requests, self.others_requests);
        let seconds = self.kinds.into_iter().flat_map(Kind::rows).collect();
        let others = self.others.into_groups().into_iter();
        let others = match others_end {
            true => others.map(|(key, sum)| sum.with_key(key)).collect(),
            false => Vec::new(),
        };
        (pays(seconds, requests), pays(others, others_requests))
    }

    /// None: there are too many groups.
    fn take_in(&mut self, row: &BlockRequests) -> Option<()> {
        let other = match row.in_scope {
            Some(false) => Some(self.other(row)?),
            _ => None,
        };
        // A write of nothing asks for a flush, which comes as a request of its own.
        if row.op == "write" && row.bytes == 0 {
            return Some(());
        }
        let kind = self.kind(row)?;
        self.waiting.push_back(Waiting {
            queue_ns: row.queue_ns,
            complete_ns: row.complete_ns,
            issue_ns: row.issue_ns,
            over_by_ns: row.over_by_ns,
            bytes: row.bytes,
            requeues: row.requeues,
            failed: row.error.is_some_and(|error| error != 0),
            kind,
            other,
        });
        Some(())
    }

    fn kind(&mut self, row: &BlockRequests) -> Option<usize> {
        let unowned = row.owner_kind == "unknown";
        let known = self.kinds.iter().position(|kind| {
            kind.dev == row.dev
                && kind.in_scope == row.in_scope
                && kind.unowned == unowned
                && kind.op == row.op
        });
        if known.is_none() && self.kinds.len() < MOST_KINDS {
            self.kinds.push(Kind {
                dev: row.dev,
                in_scope: row.in_scope,
                unowned,
                op: row.op.clone(),
                seconds: Vec::new(),
            });
            return Some(self.kinds.len() - 1);
        }
        known
    }

    fn other(&mut self, row: &BlockRequests) -> Option<usize> {
        let place = self.others.place(Other {
            dev: row.dev,
            tgid: row.tgid,
            owner_dev: row.owner_dev,
            owner_ino: row.owner_ino,
        })?;
        self.others_requests += 1;
        let time_ns = row.complete_ns.map(|at| at - row.queue_ns);
        add(&mut self.others.at(place).all_time_ns, time_ns);
        Some(place)
    }

    /// The one that waits longest.
    fn sum_up(&mut self, start_ns: i64, end_ns: Option<i64>) {
        let Some(one) = self.waiting.pop_front() else {
            return;
        };
        if one.queue_ns < start_ns || end_ns.is_some_and(|end| one.queue_ns > end) {
            return;
        }
        self.queued_ns = self.queued_ns.max(Some(one.queue_ns));
        let over_ns = one.complete_ns.or(one.over_by_ns);
        let second = over_ns.map(|at| (at - start_ns).div_euclid(SECOND_NS));
        let kind = &mut self.kinds[one.kind];
        let place = match kind.seconds.iter().rposition(|(other, _)| *other == second) {
            Some(place) => place,
            None => {
                kind.seconds.push((second, SecondSums::default()));
                self.seconds += 1;
                kind.seconds.len() - 1
            }
        };
        kind.seconds[place].1.add(&one);
        if self.seconds > MOST_SECONDS {
            return self.give_up();
        }
        self.requests += 1;
        if let Some(other) = one.other {
            self.complete_ns = self.complete_ns.max(one.complete_ns);
            let until = |at: i64| end_ns.map_or(at, |end| at.min(end));
            let sum = self.others.at(other);
            sum.requests += 1;
            let time_ns = one.complete_ns.map(|at| until(at) - one.queue_ns);
            add(&mut sum.time_ns, time_ns);
        }
    }
}

impl Kind {
    fn rows(mut self) -> impl Iterator<Item = SecondSums> {
        let seconds = std::mem::take(&mut self.seconds).into_iter();
        seconds.map(move |(second, sum)| sum.of(&self, second))
    }
}

impl SecondSums {
    fn add(&mut self, one: &Waiting) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(one.bytes);
        self.seen += i64::from(one.complete_ns.is_some());
        add(
            &mut self.time_ns,
            one.complete_ns.map(|at| at - one.queue_ns),
        );
        let service_ns = one.complete_ns.zip(one.issue_ns);
        let service_ns = service_ns.map(|(complete, issue)| complete - issue);
        self.served += i64::from(service_ns.is_some());
        add(&mut self.service_ns, service_ns);
        self.failed += i64::from(one.failed);
        add(&mut self.requeues, one.requeues);
    }

    fn of(self, kind: &Kind, second: Option<i64>) -> SecondSums {
        SecondSums {
            dev: kind.dev,
            op: kind.op.clone(),
            in_scope: kind.in_scope,
            unowned: kind.unowned,
            second,
            ..self
        }
    }
}

impl OtherSums {
    fn with_key(self, key: Other) -> OtherSums {
        OtherSums {
            dev: key.dev,
            tgid: key.tgid,
            owner_dev: key.owner_dev,
            owner_ino: key.owner_ino,
            ..self
        }
    }
}
