//! Bytes per row and time per row of the big tables, printed (`--nocapture`), on rows shaped as the
//! recorder makes them. Only that they stay in bounds that no machine should exceed is asserted.

use std::time::Instant;

use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Recording, Row};

struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64) % n
    }

    /// Skewed as latencies are: mostly near `low`, sometimes much more.
    fn latency(&mut self, low: i64) -> i64 {
        let tail = 1 << self.below(8);
        low + self.below(low / 4)
            + if self.below(50) == 0 {
                self.below(low * tail)
            } else {
                0
            }
    }
}

fn measure<R: Row>(n: usize, mut row: impl FnMut() -> R) -> f64 {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let mut recording = Recording::create(&dir, Manifest::new(Source::Live)).unwrap();
    let rows: Vec<R> = (0..n).map(|_| row()).collect();
    let start = Instant::now();
    for row in rows {
        recording.push(row).unwrap();
    }
    let pushed = start.elapsed();
    recording.finish().unwrap();
    let all = start.elapsed();
    let bytes: u64 = std::fs::read_dir(dir.join(R::TABLE))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    let per_row = bytes as f64 / n as f64;
    println!(
        "{}: {n} rows, {per_row:.2} bytes/row, pushed in {pushed:?}, all written in {all:?}",
        R::TABLE
    );
    per_row
}

#[test]
fn big_tables_stay_small() {
    let mut random = Random(1);
    let mut now = 1_000_000_000_000;
    let syscalls = measure(100_000, || {
        let dur_ns = random.latency(900);
        now += dur_ns + random.latency(200);
        rows::Syscalls {
            ts_ns: now,
            dur_ns,
            cpu_ns: Some(dur_ns),
            runnable_ns: Some(0),
            blocked_ns: Some(0),
            sleeping_ns: Some(0),
            tgid: 4321,
            tid: 4321 + random.below(4),
            name: "pread64".into(),
            fd: Some(3),
            dev: Some(254 << 20),
            ino: Some(123_456),
            offset: Some(random.below(1 << 18) * 4096),
            bytes: Some(4096),
            ring: None,
            durable: None,
            ret: Some(4096),
        }
    });
    let requests = measure(100_000, || {
        now += random.latency(5_000);
        let write = random.below(3) > 0;
        rows::BlockRequests {
            queue_ns: now,
            issue_ns: Some(now + random.latency(2_000)),
            complete_ns: Some(now + 2_000 + random.latency(80_000)),
            over_by_ns: None,
            ring: None,
            dev: 254 << 20,
            sector: Some(random.below(1 << 18) * 8),
            bytes: 4096 * (1 + random.below(2)),
            op: if write { "write" } else { "read" }.into(),
            flags: if write { vec!["sync".into()] } else { vec![] },
            tgid: Some(77),
            tid: Some(77 + random.below(8)),
            owner_dev: Some(254 << 20),
            owner_ino: Some(123_456),
            owner_page: Some(random.below(1 << 18)),
            owner_kind: "data".into(),
            in_scope: Some(true),
            error: Some(0),
            requeues: Some(0),
        }
    });
    assert!(syscalls < 24.0 && requests < 40.0);
}
