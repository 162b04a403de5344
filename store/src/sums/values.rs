//! How many of the command's requests have one length, and how many took as long: what medians and percentiles are found
//! among, to the byte and the nanosecond.

use super::counts::Counts;
use super::groups::{pays, Groups};
use crate::rows::{BlockRequests, Name, ServiceSums, SizeSums};

/// Sizes and times, at most: 4 MiB of each of them.
const MOST: usize = 262_144;
/// Filesystems on devices, and directions.
const MOST_WAYS: usize = 1 << 12;
/// A value that is not known: behind all that are.
const UNKNOWN: u64 = (1 << 48) - 1;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner {
    owner_ino: Option<i64>,
    owner_dev: Option<i64>,
    dev: i64,
    reads: bool,
}

#[derive(Debug, Default)]
pub struct ValueSums {
    /// Each with the place of its way.
    owners: Groups<Owner, usize>,
    /// Filesystem, device, and whether they are reads.
    ways: Vec<(Option<i64>, i64, bool)>,
    /// By the place of the owner (16 bits), and of the way.
    sizes: Counts<MOST>,
    times: Counts<MOST>,
    requests: usize,
    given_up: bool,
}

impl ValueSums {
    pub fn request(&mut self, row: &BlockRequests) {
        let reads = row.op == "read";
        let moves = row.bytes > 0 && (reads || row.op == "write");
        if self.given_up || !moves || row.in_scope != Some(true) {
            return;
        }
        if self.count(row, reads).is_none() {
            self.give_up();
        }
    }

    pub fn give_up(&mut self) {
        *self = ValueSums {
            given_up: true,
            ..ValueSums::default()
        };
    }

    pub fn rows(self) -> (Vec<SizeSums>, Vec<ServiceSums>) {
        let owners = self.owners.into_groups();
        let sizes = pays(self.sizes.into_counts(), self.requests).into_iter();
        let sizes = sizes.map(|(value, requests)| {
            let (owner, _) = &owners[place(value)];
            SizeSums {
                dev: owner.dev,
                op: direction(owner.reads),
                owner_dev: owner.owner_dev,
                owner_ino: owner.owner_ino,
                bytes: (value & UNKNOWN) as i64,
                requests: requests as i64,
            }
        });
        let times = pays(self.times.into_counts(), self.requests).into_iter();
        let times = times.map(|(value, requests)| {
            let (owner_dev, dev, reads) = self.ways[place(value)];
            ServiceSums {
                dev,
                op: direction(reads),
                owner_dev,
                service_ns: Some((value & UNKNOWN) as i64).filter(|ns| *ns != UNKNOWN as i64),
                requests: requests as i64,
            }
        });
        (sizes.collect(), times.collect())
    }

    /// None: there are too many owners, or a value that is none of a request's.
    fn count(&mut self, row: &BlockRequests, reads: bool) -> Option<()> {
        let owner = self.owners.place(Owner {
            owner_ino: row.owner_ino,
            owner_dev: row.owner_dev,
            dev: row.dev,
            reads,
        })?;
        if *self.owners.at(owner) == 0 {
            // Places of ways are kept from 1 on: 0 is that of a new owner.
            *self.owners.at(owner) = 1 + self.way((row.owner_dev, row.dev, reads))?;
        }
        let way = *self.owners.at(owner) - 1;
        let sent_ns = row.issue_ns.unwrap_or(row.queue_ns);
        let service_ns = row.complete_ns.map(|at| at - sent_ns);
        self.sizes.add(keyed(owner, Some(row.bytes))?);
        self.times.add(keyed(way, service_ns)?);
        self.requests += 1;
        Some(())
    }

    fn way(&mut self, way: (Option<i64>, i64, bool)) -> Option<usize> {
        let known = self.ways.iter().position(|other| *other == way);
        if known.is_none() && self.ways.len() < MOST_WAYS {
            self.ways.push(way);
            return Some(self.ways.len() - 1);
        }
        known
    }
}

/// A value behind its place, as one number; None where it does not fit 48 bits.
fn keyed(place: usize, value: Option<i64>) -> Option<u64> {
    let value = value.map_or(Some(UNKNOWN), |value| {
        u64::try_from(value).ok().filter(|v| *v < UNKNOWN)
    })?;
    Some((place as u64) << 48 | value)
}

fn place(value: u64) -> usize {
    (value >> 48) as usize
}

fn direction(reads: bool) -> Name {
    if reads { "read" } else { "write" }.into()
}
