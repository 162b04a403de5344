//! A mechanical disk at work: one arm, one spinning stack of platters ([`super::geometry`] has their times), a
//! volatile write cache and a read-ahead buffer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::cache::WriteCache;
use super::geometry::Geometry;
use super::model::{Device, Done, Id, Kind, Mechanics, Request};

/// Longest piece written from the cache in one go, so that a read gets its turn in between.
const DRAIN_PIECE_BYTES: u64 = 1 << 20;

#[derive(Clone, Copy, Debug)]
enum Access {
    Request(Id),
    Drain,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    /// Where it is, or will be when the access under way ends.
    position: u64,
    under_way: Option<(u64, Access)>,
    /// Since when the platter has passed on from `position` after a read; it fills the buffer.
    reading_on_since_ns: Option<u64>,
}

/// A mechanical disk at work.
pub struct Rotating {
    geometry: Geometry,
    head: Head,
    cache: WriteCache,
    /// Requests that need the medium, in its order.
    waiting: BTreeMap<(u64, Id), Request>,
    /// Writes for which the cache has no room.
    blocked_writes: VecDeque<Request>,
    flushes: Vec<(Id, u64)>,
    /// Answers of the electronics, which need no medium.
    answers: BinaryHeap<Reverse<(u64, Id)>>,
    bus_free_ns: u64,
    generation: u64,
    reads_go_first: bool,
    mechanics: Mechanics,
}

impl Rotating {
    /// A disk at rest, head at byte 0.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            head: Head {
                position: 0,
                under_way: None,
                reading_on_since_ns: None,
            },
            cache: WriteCache::default(),
            waiting: BTreeMap::new(),
            blocked_writes: VecDeque::new(),
            flushes: Vec::new(),
            answers: BinaryHeap::new(),
            bus_free_ns: 0,
            generation: 0,
            reads_go_first: true,
            mechanics: Mechanics::default(),
        }
    }

    fn answer_by_bus(&mut self, now_ns: u64, id: Id, bytes: u64) {
        self.bus_free_ns = self.bus_free_ns.max(now_ns) + self.geometry.bus_ns(bytes);
        self.answers.push(Reverse((self.bus_free_ns, id)));
    }

    fn accept_write(&mut self, now_ns: u64, request: Request) {
        self.cache.insert(
            request.offset,
            request.offset + request.bytes,
            self.generation,
        );
        self.answer_by_bus(now_ns, request.id, request.bytes);
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.cache.used_bytes() + bytes <= self.geometry.cache_bytes
    }

    fn admit_blocked_writes(&mut self, now_ns: u64) {
        while let Some(&first) = self.blocked_writes.front() {
            if !self.has_room(first.bytes) {
                break;
            }
            self.blocked_writes.pop_front();
            self.accept_write(now_ns, first);
        }
    }

    fn settle_flushes(&mut self, now_ns: u64) {
        let cache = &self.cache;
        // The piece under way has left the cache but is not on the medium before it ends; this is called
        // only between accesses.
        let (open, settled): (Vec<_>, Vec<_>) = self
            .flushes
            .drain(..)
            .partition(|&(_, generation)| cache.holds_generation(generation));
        self.flushes = open;
        for (id, _) in settled {
            let at = now_ns + self.geometry.overhead_ns + self.geometry.flush_ns;
            self.answers.push(Reverse((at, id)));
        }
    }

    /// Gives the idle head its next work.
    fn start(&mut self, now_ns: u64) {
        debug_assert!(self.head.under_way.is_none());
        self.admit_blocked_writes(now_ns);
        self.settle_flushes(now_ns);
        let pressed = !self.flushes.is_empty() || !self.blocked_writes.is_empty();
        let drain = !self.cache.is_empty()
            && (self.waiting.is_empty() || (pressed && !self.reads_go_first));
        if drain {
            self.reads_go_first = true;
            let (start, end) = self
                .cache
                .take_next(self.head.position, DRAIN_PIECE_BYTES)
                .expect("a cache that is not empty has an extent");
            self.access(now_ns, start, end - start, Access::Drain, false);
        } else if let Some(request) = self.take_waiting() {
            self.reads_go_first = false;
            let read = request.kind == Kind::Read;
            self.access(
                now_ns,
                request.offset,
                request.bytes,
                Access::Request(request.id),
                read,
            );
        }
    }

    fn take_waiting(&mut self) -> Option<Request> {
        let (&key, &request) = self
            .waiting
            .range((self.head.position, 0)..)
            .next()
            .or_else(|| self.waiting.iter().next())?;
        self.waiting.remove(&key);
        Some(request)
    }

    fn access(&mut self, now_ns: u64, offset: u64, bytes: u64, access: Access, read: bool) {
        let geometry = &self.geometry;
        self.mechanics.accesses += 1;
        let end = offset + bytes;
        let in_stream = self.head.reading_on_since_ns.filter(|_| {
            read && offset >= self.head.position
                && end <= self.head.position + geometry.readahead_bytes
        });
        let until = match in_stream {
            // The platter has passed on, and the disk with it: what came by is in the buffer.
            Some(since) => {
                let passed =
                    since + geometry.transfer_ns(self.head.position, end - self.head.position);
                self.mechanics.buffer_hits += u64::from(passed <= now_ns);
                passed.max(now_ns + geometry.bus_ns(bytes))
            }
            None => now_ns + geometry.access_ns(now_ns, self.head.position, offset, bytes),
        };
        self.mechanics.seeks += u64::from(offset != self.head.position);
        self.mechanics.busy_ns += until - now_ns;
        // While it reads on in one stream, the angle still counts from where the stream began.
        self.head.reading_on_since_ns = read.then(|| match in_stream {
            Some(since) => since + geometry.transfer_ns(offset, end - self.head.position),
            None => until,
        });
        self.head.position = end;
        self.head.under_way = Some((until, access));
    }
}

impl Device for Rotating {
    fn submit(&mut self, now_ns: u64, request: Request) {
        match request.kind {
            Kind::Read
                if self
                    .cache
                    .covers(request.offset, request.offset + request.bytes) =>
            {
                self.mechanics.buffer_hits += 1;
                self.answer_by_bus(now_ns, request.id, request.bytes);
            }
            Kind::Read => {
                self.waiting.insert((request.offset, request.id), request);
            }
            Kind::Write if request.bytes > self.geometry.cache_bytes => {
                self.waiting.insert((request.offset, request.id), request);
            }
            Kind::Write if self.blocked_writes.is_empty() && self.has_room(request.bytes) => {
                self.accept_write(now_ns, request);
            }
            Kind::Write => self.blocked_writes.push_back(request),
            Kind::Flush => {
                self.flushes.push((request.id, self.generation));
                self.generation += 1;
            }
        }
        if self.head.under_way.is_none() {
            self.start(now_ns);
        }
    }

    fn next_ns(&self) -> Option<u64> {
        let head = self.head.under_way.map(|(until, _)| until);
        let answer = self.answers.peek().map(|Reverse((at, _))| *at);
        head.into_iter().chain(answer).min()
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<Done>) {
        while let Some(at_ns) = self.next_ns().filter(|&at| at <= now_ns) {
            if let Some(&Reverse((at, id))) = self.answers.peek() {
                if at == at_ns {
                    self.answers.pop();
                    done.push(Done { id, at_ns });
                    continue;
                }
            }
            if let Some((_, access)) = self.head.under_way.take() {
                if let Access::Request(id) = access {
                    done.push(Done { id, at_ns });
                }
                self.start(at_ns);
            }
        }
    }

    fn mechanics(&self) -> Mechanics {
        self.mechanics
    }
}
