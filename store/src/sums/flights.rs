//! Requests in flight on each device while the command ran, as the relation device_load has them.

use std::collections::{BTreeMap, VecDeque};

use super::spans::Spans;
use crate::rows::{BlockRequests, FlightSums as SumRow};

/// Requests that wait for the command's end to be known: those of a device that came last. The records of some 50 ms
/// come after it.
const WAITING: usize = 65_536;
/// Devices, at most: each takes up to 5 MiB.
const MOST_DEVICES: usize = 16;

/// Whose a request is, and of the command's, which way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Whose {
    Read,
    Write,
    Command,
    Shared,
    Others,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    queue_ns: i64,
    complete_ns: i64,
    whose: Whose,
}

#[derive(Debug, Default)]
struct Part {
    area_ns: i64,
    busy: Spans,
}

impl Part {
    fn add(&mut self, begin: i64, until: i64) {
        self.area_ns += until - begin;
        self.busy.add(begin, until);
    }
}

#[derive(Debug, Default)]
struct Device {
    waiting: VecDeque<Flight>,
    all: Part,
    command: Part,
    reads: Part,
    writes: Part,
    others: Part,
    ours: Part,
    /// The latest completion of those that are summed up.
    until_ns: Option<i64>,
    flights: u64,
}

#[derive(Debug, Default)]
pub struct FlightSums {
    devices: BTreeMap<i64, Device>,
    given_up: bool,
}

impl FlightSums {
    pub fn add(&mut self, row: &BlockRequests) {
        let Some(complete_ns) = row.complete_ns else {
            return;
        };
        // A write of nothing asks for a flush, which comes as a request of its own.
        if self.given_up || row.op == "write" && row.bytes == 0 {
            return;
        }
        if complete_ns < row.queue_ns || self.devices.len() > MOST_DEVICES {
            return self.give_up();
        }
        let whose = match (row.in_scope, row.op.as_ref()) {
            (None, _) => Whose::Shared,
            (Some(false), _) => Whose::Others,
            (_, "read") => Whose::Read,
            (_, "write") => Whose::Write,
            _ => Whose::Command,
        };
        self.devices
            .entry(row.dev)
            .or_default()
            .waiting
            .push_back(Flight {
                queue_ns: row.queue_ns,
                complete_ns,
                whose,
            });
    }

    pub fn give_up(&mut self) {
        self.devices.clear();
        self.given_up = true;
    }

    /// Sums up the oldest of what waits. What was queued before the command is left out, and is all there is before its
    /// start is known.
    pub fn settle(&mut self, start_ns: Option<i64>) {
        for device in self.devices.values_mut() {
            while device.waiting.len() > WAITING {
                device.take(start_ns.unwrap_or(i64::MAX), None);
            }
        }
    }

    /// Of each device with any request; none where these sums are not exact.
    pub fn rows(mut self, start_ns: i64, end_ns: i64) -> Vec<SumRow> {
        for device in self.devices.values_mut() {
            if device.until_ns.is_some_and(|until| until > end_ns) {
                return Vec::new();
            }
            while !device.waiting.is_empty() {
                device.take(start_ns, Some(end_ns));
            }
        }
        let devices = self.devices.iter().filter(|(_, device)| device.flights > 0);
        let rows: Option<Vec<SumRow>> = devices.map(|(dev, device)| device.row(*dev)).collect();
        rows.unwrap_or_default()
    }
}

impl Device {
    /// Sums up the one that waits longest.
    fn take(&mut self, start_ns: i64, end_ns: Option<i64>) {
        let Some(flight) = self.waiting.pop_front() else {
            return;
        };
        if flight.queue_ns < start_ns || end_ns.is_some_and(|end| flight.queue_ns > end) {
            return;
        }
        let begin = flight.queue_ns;
        let until = end_ns.map_or(flight.complete_ns, |end| flight.complete_ns.min(end));
        self.until_ns = self.until_ns.max(Some(until));
        self.flights += 1;
        self.all.add(begin, until);
        match flight.whose {
            Whose::Others => return self.others.add(begin, until),
            Whose::Shared => {}
            whose => {
                self.command.add(begin, until);
                match whose {
                    Whose::Read => self.reads.add(begin, until),
                    Whose::Write => self.writes.add(begin, until),
                    _ => {}
                }
            }
        }
        self.ours.add(begin, until);
    }

    fn row(&self, dev: i64) -> Option<SumRow> {
        Some(SumRow {
            dev,
            area_ns: self.all.area_ns,
            busy_ns: self.all.busy.covered_ns()?,
            command_area_ns: self.command.area_ns,
            command_busy_ns: self.command.busy.covered_ns()?,
            command_read_area_ns: self.reads.area_ns,
            command_read_busy_ns: self.reads.busy.covered_ns()?,
            command_write_area_ns: self.writes.area_ns,
            command_write_busy_ns: self.writes.busy.covered_ns()?,
            others_area_ns: self.others.area_ns,
            others_busy_ns: self.others.busy.covered_ns()?,
            ours_busy_ns: self.ours.busy.covered_ns()?,
        })
    }
}
