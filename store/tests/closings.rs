//! When files are closed: what is readable of a recording that is killed, by its age and by how much happens.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{read, request};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{Limits, Recording};

const SECOND: i64 = 1_000_000_000;

/// A recording whose time is made up, second by second.
struct Made<'a> {
    dir: &'a Path,
    recording: Recording,
    rows: i64,
    second: i64,
}

impl Made<'_> {
    fn begin(dir: &Path, limits: Limits) -> Made<'_> {
        let manifest = Manifest::new(Source::Live);
        let mut recording = Recording::create_with(dir, manifest, limits).unwrap();
        recording.tick(0).unwrap();
        Made {
            dir,
            recording,
            rows: 0,
            second: 0,
        }
    }

    /// One second with so many rows; how many of all rows can be read then.
    fn second(&mut self, rows: usize) -> usize {
        for _ in 0..rows {
            self.recording.push(request(self.rows)).unwrap();
            self.rows += 1;
        }
        self.second += 1;
        self.recording.tick(self.second * SECOND).unwrap();
        while self.recording.queued_bytes() > 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
        read(self.dir, "block_requests").len()
    }
}

/// The seconds in which files are closed, at so many rows a second.
fn closings(limits: Limits, seconds: i64, rows: usize) -> Vec<i64> {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let mut made = Made::begin(&dir, limits);
    let mut readable = 0;
    let mut closed = Vec::new();
    for second in 1..=seconds {
        let now = made.second(rows);
        if now > readable {
            assert_eq!(now, second as usize * rows);
            closed.push(second);
            readable = now;
        }
    }
    closed
}

#[test]
fn where_little_happens_files_are_closed_when_it_is_as_old_again_and_each_two_minutes() {
    let found = closings(Limits::default(), 560, 1);
    assert_eq!(found, [3, 6, 12, 24, 48, 96, 192, 312, 432, 552]);
}

#[test]
fn where_more_happens_they_are_closed_every_three_seconds_and_after_a_twentieth() {
    let limits = Limits {
        few_rows: 6,
        ..Limits::default()
    };
    let found = closings(limits, 100, 2);
    let (early, late) = found.split_at(20);
    assert!(early.iter().zip(1..).all(|(second, n)| *second == 3 * n));
    assert_eq!(late[..4], [64, 68, 72, 76]);
    // One row less in three seconds would be little.
    let limits = Limits {
        few_rows: 7,
        ..limits
    };
    assert_eq!(closings(limits, 20, 2)[..4], [3, 6, 10, 14]);
}

#[test]
fn what_happens_after_a_quiet_time_is_closed_at_once_with_it() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let few = Limits::default().few_rows;
    let mut made = Made::begin(&dir, Limits::default());
    let readable: Vec<usize> = (0..30).map(|_| made.second(1)).collect();
    assert_eq!(readable.last(), Some(&24));
    // With those of six seconds, one row less than is more than little.
    assert_eq!(made.second(few - 7), 24);
    assert_eq!(made.second(1), 30 + few - 7 + 1);
}

#[test]
fn who_reads_along_waits_for_no_rows() {
    let found = closings(Limits::read_along(SECOND), 40, 1);
    assert!(found.iter().zip(1..).all(|(second, n)| *second == n));
    assert_eq!(found.len(), 40);
}
