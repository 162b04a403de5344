//! What is written is read back by another reader of Parquet (the crate's row API), to the value.

mod common;

use std::path::PathBuf;

use common::{field, files, read, request, same, temporaries};
use iowhy_store::manifest::{Kept, Manifest, Sensor, Source};
use iowhy_store::{rows, Limits, Recording};
use parquet::record::Field;

#[test]
fn rows_come_back_as_they_went_in() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let mut recording = Recording::create(&dir, Manifest::new(Source::Live)).unwrap();
    let first = Manifest::read(&dir).unwrap();
    assert!(!first.complete);
    for i in 0..5_000 {
        recording.push(request(i)).unwrap();
    }
    recording
        .push(rows::Measurements {
            ts_ns: None,
            tool: "fio".into(),
            subject: "a b".into(),
            metric: "mean_ns".into(),
            value: 0.5,
        })
        .unwrap();
    recording.lost("waits", 3);
    recording.manifest_mut().sensors.push(Sensor::ran("waits"));
    recording.finish().unwrap();

    let back = read(&dir, "block_requests");
    assert_eq!(back.len(), 5_000);
    for (i, row) in back.iter().enumerate() {
        same(row, &request(i as i64));
    }
    let measured = read(&dir, "measurements");
    assert_eq!(*field(&measured[0], "value"), Field::Double(0.5));
    let manifest = Manifest::read(&dir).unwrap();
    assert!(manifest.complete);
    assert_eq!(
        manifest.tables["block_requests"],
        Kept {
            kept: 5_000,
            lost: 0
        }
    );
    assert_eq!(manifest.tables["waits"], Kept { kept: 0, lost: 3 });
    assert_eq!(manifest.sensors, [Sensor::ran("waits")]);
    assert_eq!(temporaries(&dir), Vec::<PathBuf>::new());
}

#[test]
fn files_close_by_rows_and_by_time_and_are_readable_before_the_end() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let limits = Limits {
        rows_per_file: 100,
        small_file_rows: 0,
        ..Limits::default()
    };
    let manifest = Manifest::new(Source::Live);
    let mut recording = Recording::create_with(&dir, manifest, limits).unwrap();
    recording.tick(0).unwrap();
    for i in 0..250 {
        recording.push(request(i)).unwrap();
    }
    recording.tick(2_999_999_999).unwrap(); // not yet
    recording.tick(3_000_000_000).unwrap();
    recording.push(request(250)).unwrap();
    // Forgotten instead of finished, as after kill -9: the last row is not there, the others are.
    let shared_dir = dir.clone();
    std::mem::forget(recording);
    let manifest = (0..1_000)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Manifest::read(&shared_dir)
                .ok()
                .filter(|m| m.tables["block_requests"].kept == 250)
        })
        .expect("the manifest of the tick");
    assert!(!manifest.complete);
    assert_eq!(files(&dir, "block_requests").len(), 3);
    assert_eq!(read(&dir, "block_requests").len(), 250);
}

#[test]
fn another_recording_is_never_overwritten() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    Recording::create(&dir, Manifest::new(Source::Proc))
        .unwrap()
        .finish()
        .unwrap();
    let error = Recording::create(&dir, Manifest::new(Source::Proc))
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("a.iowhy exists and is not empty: choose another name with -o"));
    let file = temporary.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let error = Recording::create(&file, Manifest::new(Source::Proc))
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("file exists and is not a directory: choose another name with -o"));
}

#[test]
fn a_queue_that_is_full_counts_what_it_loses() {
    let temporary = tempfile::tempdir().unwrap();
    let limits = Limits {
        rows_per_file: 10,
        queue_bytes: 0,
        ..Limits::default()
    };
    let manifest = Manifest::new(Source::Live);
    let mut recording = Recording::create_with(temporary.path(), manifest, limits).unwrap();
    for i in 0..25 {
        recording.push(request(i)).unwrap();
    }
    recording.finish().unwrap();
    let manifest = Manifest::read(temporary.path()).unwrap();
    assert_eq!(
        manifest.tables["block_requests"],
        Kept { kept: 0, lost: 25 }
    );
}

#[test]
fn small_files_grow_together_and_are_whole_at_any_time() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let limits = Limits {
        close_every_ns: 1,
        close_at_most_ns: 1,
        close_few_at_most_ns: 1,
        small_file_rows: 1_000,
        ..Limits::default()
    };
    let manifest = Manifest::new(Source::Live);
    let mut recording = Recording::create_with(&dir, manifest, limits).unwrap();
    recording.tick(0).unwrap();
    for closing in 1..=50 {
        for i in 0..70 {
            recording.push(request((closing - 1) * 70 + i)).unwrap();
        }
        recording.tick(closing * 10).unwrap();
        // As another process finds it: what the manifest counts is there, in order.
        let kept = Manifest::read(&dir).unwrap().tables["block_requests"].kept;
        let rows = read(&dir, "block_requests");
        assert!(rows.len() as u64 >= kept);
        for (i, row) in rows.iter().enumerate() {
            same(row, &request(i as i64));
        }
    }
    // A batch that is large by itself is a file of its own, and the next small ones begin another.
    for i in 3_500..6_000 {
        recording.push(request(i)).unwrap();
    }
    recording.tick(600).unwrap();
    recording.push(request(6_000)).unwrap();
    recording.tick(700).unwrap();
    while Manifest::read(&dir).unwrap().tables["block_requests"].kept < 6_001 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let closed = recording.written_bytes();
    recording.finish().unwrap();
    let found = files(&dir, "block_requests");
    assert_eq!(found.len(), 4 + 2); // of 980 rows or less; the large one; the last
    let bytes: u64 = found.iter().map(|f| f.metadata().unwrap().len()).sum();
    assert_eq!(closed, bytes);
    let rows = read(&dir, "block_requests");
    assert_eq!(rows.len(), 6_001);
    for (i, row) in rows.iter().enumerate() {
        same(row, &request(i as i64));
    }
}
