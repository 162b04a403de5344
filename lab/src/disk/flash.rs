//! The timing of a flash disk: channels that work at the same time behind one bus.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::model::{Device, Done, Id, Kind, Mechanics, Request};

/// What kind of flash disk.
#[derive(Clone, Copy, Debug)]
pub struct Chips {
    /// Accesses that can be under way at once.
    pub channels: usize,
    /// Time of a channel for one access.
    pub access_ns: u64,
    /// Share of it that an access takes more or less, at most.
    pub spread: f64,
    /// Rate of the bus that all channels share.
    pub bytes_per_s: u64,
    /// Time of a flush; nothing else is served meanwhile.
    pub flush_ns: u64,
}

/// A number of each request, from -1 to 1.
fn unlike(id: Id) -> f64 {
    (super::faults::mixed(id) as f64 / u64::MAX as f64) * 2.0 - 1.0
}

/// A flash disk at work.
pub struct Flash {
    chips: Chips,
    channel_free_ns: Vec<u64>,
    bus_free_ns: u64,
    answers: BinaryHeap<Reverse<(u64, Id)>>,
    mechanics: Mechanics,
}

impl Flash {
    /// A disk at rest.
    pub fn new(chips: Chips) -> Self {
        Self {
            chips,
            channel_free_ns: vec![0; chips.channels.max(1)],
            bus_free_ns: 0,
            answers: BinaryHeap::new(),
            mechanics: Mechanics::default(),
        }
    }

    fn flush_end(&mut self, now_ns: u64) -> u64 {
        let quiet = self
            .channel_free_ns
            .iter()
            .copied()
            .fold(self.bus_free_ns.max(now_ns), u64::max);
        let end = quiet + self.chips.flush_ns;
        self.channel_free_ns.fill(end);
        self.bus_free_ns = end;
        end
    }

    fn transfer_end(&mut self, now_ns: u64, id: Id, bytes: u64) -> u64 {
        let channel = self
            .channel_free_ns
            .iter_mut()
            .min()
            .expect("a disk has at least one channel");
        let access = self.chips.access_ns as f64 * (1.0 + self.chips.spread * unlike(id));
        let found = (*channel).max(now_ns) + access as u64;
        let moved = (u128::from(bytes) * 1_000_000_000 / u128::from(self.chips.bytes_per_s)) as u64;
        let end = found.max(self.bus_free_ns) + moved;
        *channel = end;
        self.bus_free_ns = end;
        self.mechanics.accesses += 1;
        self.mechanics.busy_ns += moved;
        end
    }
}

impl Device for Flash {
    fn submit(&mut self, now_ns: u64, request: Request) {
        let end = match request.kind {
            Kind::Flush => self.flush_end(now_ns),
            Kind::Read | Kind::Write => self.transfer_end(now_ns, request.id, request.bytes),
        };
        self.answers.push(Reverse((end, request.id)));
    }

    fn next_ns(&self) -> Option<u64> {
        self.answers.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<Done>) {
        while let Some(&Reverse((at_ns, id))) = self.answers.peek() {
            if at_ns > now_ns {
                break;
            }
            self.answers.pop();
            done.push(Done { id, at_ns });
        }
    }

    fn mechanics(&self) -> Mechanics {
        self.mechanics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHIPS: Chips = Chips {
        channels: 4,
        access_ns: 80_000,
        spread: 0.0,
        bytes_per_s: 500_000_000,
        flush_ns: 1_000_000,
    };

    fn last(requests: &[Request]) -> u64 {
        last_of(CHIPS, requests)
    }

    fn last_of(chips: Chips, requests: &[Request]) -> u64 {
        let mut disk = Flash::new(chips);
        for request in requests {
            disk.submit(0, *request);
        }
        let mut done = Vec::new();
        disk.advance(u64::MAX, &mut done);
        assert_eq!(done.len(), requests.len());
        done.last().expect("requests were given").at_ns
    }

    fn read(id: Id, bytes: u64) -> Request {
        Request {
            id,
            kind: Kind::Read,
            offset: id * 4096,
            bytes,
        }
    }

    #[test]
    fn channels_work_at_the_same_time_and_share_the_bus() {
        assert_eq!(last(&[read(1, 5000)]), 90_000);
        let four: Vec<_> = (0..4).map(|id| read(id, 5000)).collect();
        assert_eq!(last(&four), 80_000 + 4 * 10_000);
        let large: Vec<_> = (0..100).map(|id| read(id, 1_000_000)).collect();
        assert!((200_000_000..230_000_000).contains(&last(&large)));
    }

    #[test]
    fn accesses_differ_by_the_spread_and_by_no_more() {
        let chips = Chips {
            spread: 0.5,
            ..CHIPS
        };
        let took: Vec<_> = (1..9).map(|id| last_of(chips, &[read(id, 0)])).collect();
        assert!(took.iter().all(|ns| (40_000..=120_000).contains(ns)));
        assert_ne!(took.first(), took.last());
    }

    #[test]
    fn a_flush_waits_and_holds_up_what_follows() {
        let flush = Request {
            id: 9,
            kind: Kind::Flush,
            offset: 0,
            bytes: 0,
        };
        assert_eq!(last(&[read(1, 5000), flush]), 1_090_000);
        assert_eq!(last(&[flush, read(1, 5000)]), 1_090_000);
    }
}
