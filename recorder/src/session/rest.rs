//! Whether the machine that is recorded rests, so that its clocks and samplers need not be read ten times a second.

/// Between two readings of every clock and sampler.
pub const INTERVAL_NS: i64 = 100_000_000;
/// The same while the machine rests: to read them costs an eighth of what a recording of it does (docs/benchmarks.md).
pub const REST_NS: i64 = 500_000_000;
/// It rests while all of its threads together are awake for no more than this part of the time,
const AWAKE: i64 = 20;
/// and write no more bytes of records in [`INTERVAL_NS`]: a dozen requests.
const BYTES: usize = 4096;

/// What happened since the last reading.
#[derive(Debug, Default)]
pub struct Rest {
    rests: bool,
    bytes: usize,
    since_ns: i64,
}

impl Rest {
    pub fn rests(&self) -> bool {
        self.rests
    }

    /// So many bytes of records were taken, in a look that comes at least every [`INTERVAL_NS`]; true where they end a rest.
    pub fn takes(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.rests && bytes > BYTES
    }

    /// Everything was read at `now_ns`; threads were awake for so long since the last time, taken together.
    pub fn read(&mut self, now_ns: i64, awake_ns: u64) {
        let length = now_ns - std::mem::replace(&mut self.since_ns, now_ns);
        let bytes = std::mem::take(&mut self.bytes) as i64;
        let awake_ns = i64::try_from(awake_ns).unwrap_or(i64::MAX);
        self.rests = awake_ns <= length / AWAKE && bytes * INTERVAL_NS <= length * BYTES as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// After a reading at the time 0 and bytes taken since, another one.
    fn after(taken: &[usize], at_ms: i64, awake_ms: u64) -> Rest {
        let mut rest = Rest::default();
        rest.read(0, 0);
        for bytes in taken {
            rest.takes(*bytes);
        }
        rest.read(at_ms * MS, awake_ms * MS as u64);
        rest
    }

    #[test]
    fn it_rests_where_threads_sleep_and_write_little() {
        assert!(after(&[BYTES], 100, 5).rests());
        assert!(!after(&[BYTES], 100, 6).rests());
        assert!(!after(&[BYTES, 1], 100, 5).rests());
        assert!(after(&[BYTES, BYTES, BYTES, BYTES, BYTES], 500, 25).rests());
        assert!(!after(&[], 500, 26).rests());
    }

    #[test]
    fn what_is_written_at_once_ends_a_rest_and_no_other_time() {
        let mut resting = after(&[], 100, 0);
        assert!(!resting.takes(BYTES));
        assert!(!resting.takes(BYTES));
        assert!(resting.takes(BYTES + 1));
        assert!(!after(&[], 100, 100).takes(1 << 20));
    }
}
