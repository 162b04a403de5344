//! Whether the machine that is recorded rests, so that its clocks and samplers need not be read ten times a second.

use std::time::Duration;

/// Between two readings of every clock and sampler.
pub const INTERVAL_NS: i64 = 100_000_000;
/// The same while the machine rests, at most: to read them is most of what a recording of it costs (docs/benchmarks.md).
pub const REST_NS: i64 = 2_000_000_000;
/// Between two looks at the ring and at who runs while it rests. To wake up for one costs more than the look.
pub const LOOK: Duration = Duration::from_millis(200);
/// It rests while all of its threads together are awake for no more than this part of the time,
const AWAKE: i64 = 20;
/// and write no more bytes of records in [`INTERVAL_NS`]: a dozen requests.
const BYTES: usize = 4096;
/// The same between two looks.
const BYTES_OF_A_LOOK: usize = BYTES * LOOK.as_nanos() as usize / INTERVAL_NS as usize;

/// What happened since the last reading.
#[derive(Debug)]
pub struct Rest {
    rests: bool,
    bytes: usize,
    since_ns: i64,
    /// Between two readings while it rests.
    every_ns: i64,
}

impl Rest {
    /// `read_along`: how often the files are closed for somebody who reads along, who wants something new each time.
    pub fn new(read_along: Option<Duration>) -> Rest {
        let along_ns = read_along.map_or(REST_NS, |every| {
            i64::try_from(every.as_nanos()).unwrap_or(REST_NS)
        });
        Rest {
            rests: false,
            bytes: 0,
            since_ns: 0,
            every_ns: along_ns.clamp(INTERVAL_NS, REST_NS),
        }
    }

    /// While it rests, how long after a reading the next one is.
    pub fn every_ns(&self) -> Option<i64> {
        self.rests.then_some(self.every_ns)
    }

    /// A look, which comes at least every [`LOOK`]: so many bytes of records were taken. True where that ends a rest, or
    /// that others run does: who computes makes no records.
    pub fn looks(&mut self, bytes: usize, others_run: impl FnOnce() -> bool) -> bool {
        self.bytes += bytes;
        self.rests && (bytes > BYTES_OF_A_LOOK || others_run())
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

    fn new() -> Rest {
        Rest::new(None)
    }

    /// After a reading at the time 0 and bytes taken since, another one.
    fn after(taken: &[usize], at_ms: i64, awake_ms: u64) -> Rest {
        let mut rest = new();
        rest.read(0, 0);
        for bytes in taken {
            rest.looks(*bytes, || false);
        }
        rest.read(at_ms * MS, awake_ms * MS as u64);
        rest
    }

    #[test]
    fn it_rests_where_threads_sleep_and_write_little() {
        let rests = |rest: Rest| rest.every_ns().is_some();
        assert!(rests(after(&[BYTES], 100, 5)));
        assert!(!rests(after(&[BYTES], 100, 6)));
        assert!(!rests(after(&[BYTES, 1], 100, 5)));
        assert!(rests(after(&[BYTES, BYTES, BYTES, BYTES, BYTES], 500, 25)));
        assert!(!rests(after(&[], 500, 26)));
    }

    #[test]
    fn what_is_written_at_once_ends_a_rest_and_no_other_time() {
        let mut resting = after(&[], 100, 0);
        assert!(!resting.looks(BYTES_OF_A_LOOK, || false));
        assert!(!resting.looks(BYTES_OF_A_LOOK, || false));
        assert!(resting.looks(BYTES_OF_A_LOOK + 1, || false));
        assert!(!after(&[], 100, 100).looks(1 << 20, || false));
    }

    #[test]
    fn who_runs_ends_a_rest_and_is_not_asked_for_at_other_times() {
        assert!(after(&[], 100, 0).looks(0, || true));
        assert!(!after(&[], 100, 100).looks(0, || unreachable!("it is awake")));
    }

    #[test]
    fn who_reads_along_gets_something_new_each_time() {
        let along = |ms| {
            let mut rest = Rest::new(Some(Duration::from_millis(ms)));
            rest.read(0, 0);
            rest.every_ns()
        };
        assert_eq!(along(1_000), Some(1_000 * MS));
        assert_eq!(along(10), Some(INTERVAL_NS));
        assert_eq!(along(60_000), Some(REST_NS));
        let mut alone = new();
        alone.read(0, 0);
        assert_eq!(alone.every_ns(), Some(REST_NS));
    }
}
