//! The timing of a mechanical disk: one arm, one spinning stack of platters, a volatile write cache and a
//! read-ahead buffer.
//!
//! The shape follows the usual disk model (C. Ruemmler, J. Wilkes: An introduction to disk drive
//! modeling, IEEE Computer 27(3), 1994): a seek costs a part that grows with the square root of the distance and a
//! part that grows with the distance; then the platter has to turn until the sector comes by; then
//! bytes pass at the rate of their zone. Because the platter's angle is a function of the time, a
//! sector that follows directly costs no wait, one a little further costs the time to pass over the gap, and a
//! sector that has just gone by costs a whole turn; over random places the wait is half a turn on average.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::cache::WriteCache;
use super::model::{Device, Done, Id, Kind, Mechanics, Request};

/// Zones of equal size, fastest outside (at offset 0), as zoned recording has it.
const ZONES: u64 = 16;

/// Longest piece written from the cache in one go, so that a read gets its turn in between.
const DRAIN_PIECE_BYTES: u64 = 1 << 20;

/// A sector that passed by less than this ago counts as just arriving: integer rounding of angles must
/// not cost a whole turn.
const ANGLE_TOLERANCE_NS: u64 = 20_000;

/// What kind of mechanical disk.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Capacity.
    pub size_bytes: u64,
    /// Seek to a neighbouring track.
    pub seek_min_ns: u64,
    /// Seek across the whole disk.
    pub seek_max_ns: u64,
    /// One whole turn.
    pub turn_ns: u64,
    /// Rate at the last byte.
    pub slowest_bytes_per_s: u64,
    /// Rate at byte 0.
    pub fastest_bytes_per_s: u64,
    /// Volatile write cache; 0 writes through.
    pub cache_bytes: u64,
    /// How far it reads on by itself after a read.
    pub readahead_bytes: u64,
    /// Cost of any request that needs no medium.
    pub overhead_ns: u64,
    /// Rate between host and cache.
    pub bus_bytes_per_s: u64,
    /// Cost of a flush on top of draining the cache.
    pub flush_ns: u64,
}

impl Geometry {
    fn track_bytes(&self, offset: u64) -> u64 {
        let zone = self.zone(offset);
        let spread = self.fastest_bytes_per_s - self.slowest_bytes_per_s;
        let rate = self.fastest_bytes_per_s - spread * zone / (ZONES - 1);
        ratio(rate, self.turn_ns, 1_000_000_000).max(1)
    }

    fn zone(&self, offset: u64) -> u64 {
        ratio(offset, ZONES, self.size_bytes.max(1)).min(ZONES - 1)
    }

    /// Time after the start of a turn at which the byte comes under the head.
    fn angle_ns(&self, offset: u64) -> u64 {
        let zone_start = self.zone(offset) * (self.size_bytes / ZONES);
        let track = self.track_bytes(offset);
        ratio(
            (offset - zone_start.min(offset)) % track,
            self.turn_ns,
            track,
        )
    }

    fn transfer_ns(&self, offset: u64, bytes: u64) -> u64 {
        ratio(bytes, self.turn_ns, self.track_bytes(offset))
    }

    fn bus_ns(&self, bytes: u64) -> u64 {
        self.overhead_ns + ratio(bytes, 1_000_000_000, self.bus_bytes_per_s)
    }

    /// Time of the arm from one byte to another: nothing on the same track.
    fn seek_ns(&self, from: u64, to: u64) -> u64 {
        let distance = from.abs_diff(to);
        if distance < self.track_bytes(to) {
            return 0;
        }
        let far = distance as f64 / self.size_bytes.max(1) as f64;
        let span = (self.seek_max_ns - self.seek_min_ns) as f64;
        self.seek_min_ns + (span * (0.7 * far.sqrt() + 0.3 * far)) as u64
    }

    /// Time from `now_ns`, head at `from`, until `[to, to + bytes)` has passed under the head.
    fn access_ns(&self, now_ns: u64, from: u64, to: u64, bytes: u64) -> u64 {
        let seek = self.seek_ns(from, to);
        let turn = self.turn_ns;
        let wait = (self.angle_ns(to) + turn - (now_ns + seek) % turn) % turn;
        let wait = if turn - wait <= ANGLE_TOLERANCE_NS {
            0
        } else {
            wait
        };
        seek + wait + self.transfer_ns(to, bytes)
    }
}

/// `value * numerator / denominator` without overflow on the way.
fn ratio(value: u64, numerator: u64, denominator: u64) -> u64 {
    (u128::from(value) * u128::from(numerator) / u128::from(denominator)) as u64
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::profile::Profile;

    const MS: u64 = 1_000_000;
    const MIB: u64 = 1 << 20;

    fn disk() -> Rotating {
        Rotating::new(
            Profile::Hdd
                .geometry(8 << 30)
                .expect("a mechanical profile"),
        )
    }

    fn ask(kind: Kind, id: Id, offset: u64, bytes: u64) -> Request {
        Request {
            id,
            kind,
            offset,
            bytes,
        }
    }

    /// Runs until nothing is under way; returns the times by id.
    fn settle(disk: &mut Rotating) -> BTreeMap<Id, u64> {
        let mut done = Vec::new();
        while let Some(at) = disk.next_ns() {
            disk.advance(at, &mut done);
        }
        assert!(done.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns));
        done.into_iter().map(|one| (one.id, one.at_ns)).collect()
    }

    /// One request at a time, each submitted when the one before is done; returns the time of the last.
    fn one_by_one(disk: &mut Rotating, requests: impl Iterator<Item = (Kind, u64, u64)>) -> u64 {
        let mut now = 0;
        let mut done = Vec::new();
        for (id, (kind, offset, bytes)) in requests.enumerate() {
            disk.submit(now, ask(kind, id as Id, offset, bytes));
            done.clear();
            while done.iter().all(|one: &Done| one.id != id as Id) {
                let at = disk.next_ns().expect("the request is under way");
                disk.advance(at, &mut done);
                now = at;
            }
        }
        now
    }

    /// Deterministic scattered places.
    fn scattered(count: u64, span: u64) -> impl Iterator<Item = u64> {
        (1..=count).map(move |at| (at * 2_654_435_761 * 4096) % span / 4096 * 4096)
    }

    #[test]
    fn sequential_reads_run_at_the_rate_of_the_zone() {
        let mut disk = disk();
        let reads = (0..800).map(|at| (Kind::Read, at * 128 * 1024, 128 * 1024));
        let seconds = one_by_one(&mut disk, reads) as f64 / 1e9;
        let rate = 100.0 * MIB as f64 / seconds / 1e6;
        assert!((130.0..=151.0).contains(&rate), "{rate} MB/s");
        assert_eq!(disk.mechanics().seeks, 0);
    }

    #[test]
    fn scattered_reads_cost_a_seek_and_half_a_turn() {
        let mut disk = disk();
        let reads = scattered(400, 8 << 30).map(|offset| (Kind::Read, offset, 4096));
        let mean_ms = one_by_one(&mut disk, reads) as f64 / 400.0 / MS as f64;
        // 1 ms + about half of 11 ms by distance + 4.2 ms of turning.
        assert!((8.0..=13.0).contains(&mean_ms), "{mean_ms} ms");
        assert!(disk.mechanics().seeks >= 399);
    }

    #[test]
    fn a_deep_queue_is_served_in_order_of_place() {
        let mut disk = disk();
        for (id, offset) in scattered(64, 8 << 30).enumerate() {
            disk.submit(0, ask(Kind::Read, id as Id, offset, 4096));
        }
        let last = *settle(&mut disk).values().max().expect("64 answers");
        assert!(last < 64 * 8 * MS, "{} ms each", last / 64 / MS);
    }

    #[test]
    fn a_cached_write_is_fast_and_its_flush_is_not() {
        let mut disk = disk();
        disk.submit(0, ask(Kind::Write, 1, 3 << 30, 4096));
        disk.submit(1, ask(Kind::Flush, 2, 0, 0));
        let times = settle(&mut disk);
        assert!(times[&1] < MS / 5, "{}", times[&1]);
        assert!(times[&2] > MS, "{}", times[&2]);
        assert_eq!(disk.mechanics().accesses, 1);
    }

    #[test]
    fn a_flush_waits_for_what_came_before_it_only() {
        let mut disk = disk();
        disk.submit(0, ask(Kind::Write, 1, 0, 4096));
        disk.submit(0, ask(Kind::Flush, 2, 0, 0));
        for id in 0..200 {
            disk.submit(
                0,
                ask(Kind::Write, 10 + id, (4 << 30) + id * 10 * MIB, 4096),
            );
        }
        let times = settle(&mut disk);
        assert!(times[&2] < 40 * MS, "{}", times[&2]);
    }

    #[test]
    fn a_flush_of_an_empty_cache_costs_next_to_nothing() {
        let mut disk = disk();
        disk.submit(0, ask(Kind::Flush, 1, 0, 0));
        assert!(settle(&mut disk)[&1] < MS);
    }

    #[test]
    fn streamed_writes_run_at_the_rate_of_the_medium_once_the_cache_is_full() {
        let mut disk = disk();
        for id in 0..512 {
            disk.submit(0, ask(Kind::Write, id, id * 512 * 1024, 512 * 1024));
        }
        disk.submit(0, ask(Kind::Flush, 999, 0, 0));
        let seconds = settle(&mut disk)[&999].max(1) as f64 / 1e9;
        // The flush came after writes that were not yet let in; the last write ends the stream.
        assert!(seconds < 2.2, "{seconds}");
        assert_eq!(disk.mechanics().seeks, 0);
        let rate = 256.0 * MIB as f64 / (disk.mechanics().busy_ns as f64 / 1e9) / 1e6;
        assert!((120.0..=151.0).contains(&rate), "{rate} MB/s");
    }

    #[test]
    fn a_comb_of_pages_is_passed_over_not_sought() {
        let mut disk = disk();
        for id in 0..1024 {
            disk.submit(0, ask(Kind::Write, id, id * 8192, 4096));
        }
        disk.submit(0, ask(Kind::Flush, 9999, 0, 0));
        let ms = settle(&mut disk)[&9999] / MS;
        // 8 MiB of track pass by once: about 60 ms, and never a turn for each page (8.5 s).
        assert!((50..=90).contains(&ms), "{ms} ms");
        assert_eq!(disk.mechanics().seeks, 1023);
    }

    #[test]
    fn appending_with_a_flush_each_costs_about_a_turn() {
        let mut disk = disk();
        let pairs =
            (0..100u64).flat_map(|at| [(Kind::Write, at * 4096, 4096), (Kind::Flush, 0, 0)]);
        let mean_ms = one_by_one(&mut disk, pairs) as f64 / 100.0 / MS as f64;
        assert!((7.0..=9.5).contains(&mean_ms), "{mean_ms} ms");
    }

    #[test]
    fn without_a_cache_every_write_waits_for_the_medium() {
        let mut geometry = Profile::Hdd
            .geometry(1 << 30)
            .expect("a mechanical profile");
        geometry.cache_bytes = 0;
        let mut disk = Rotating::new(geometry);
        disk.submit(0, ask(Kind::Write, 1, 512 << 20, 4096));
        assert!(settle(&mut disk)[&1] > MS);
    }

    #[test]
    fn a_read_of_what_the_cache_holds_needs_no_medium() {
        let mut disk = disk();
        // The first write occupies the head; the second stays in the cache.
        disk.submit(0, ask(Kind::Write, 1, 0, 4096));
        disk.submit(0, ask(Kind::Write, 2, 5 << 30, 8192));
        disk.submit(0, ask(Kind::Read, 3, (5 << 30) + 4096, 4096));
        assert!(settle(&mut disk)[&3] < MS);
    }
}
