//! The mechanical disk answers in the times of one: streams, seeks, turns, cached writes and flushes.

use std::collections::BTreeMap;

use iowhy_lab::disk::model::{Device, Done, Id, Kind, Request};
use iowhy_lab::disk::profile::Profile;
use iowhy_lab::disk::rotating::Rotating;

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
    let pairs = (0..100u64).flat_map(|at| [(Kind::Write, at * 4096, 4096), (Kind::Flush, 0, 0)]);
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
