//! Where things lie on a mechanical disk, and how long the arm and the platter take to reach them.
//!
//! The shape follows the usual disk model (C. Ruemmler, J. Wilkes: An introduction to disk drive
//! modeling, IEEE Computer 27(3), 1994): a seek costs a part that grows with the square root of the distance and a
//! part that grows with the distance; then the platter has to turn until the sector comes by; then
//! bytes pass at the rate of their zone. Because the platter's angle is a function of the time, a
//! sector that follows directly costs no wait, one a little further costs the time to pass over the gap, and a
//! sector that has just gone by costs a whole turn; over random places the wait is half a turn on average.

/// Zones of equal size, fastest outside (at offset 0), as zoned recording has it.
const ZONES: u64 = 16;

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

    /// Time in which bytes from there on pass under the head.
    pub(super) fn transfer_ns(&self, offset: u64, bytes: u64) -> u64 {
        ratio(bytes, self.turn_ns, self.track_bytes(offset))
    }

    /// Time of an answer that needs no medium.
    pub(super) fn bus_ns(&self, bytes: u64) -> u64 {
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
    pub(super) fn access_ns(&self, now_ns: u64, from: u64, to: u64, bytes: u64) -> u64 {
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
