//! What is written is read back by another reader of Parquet (the crate's row API), to the value.

use std::path::{Path, PathBuf};

use iowhy_store::manifest::{Kept, Manifest, Sensor, Source};
use iowhy_store::{rows, Limits, Name, Recording};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

fn files(dir: &Path, table: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir.join(table))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .collect();
    paths.sort();
    paths
}

fn read(dir: &Path, table: &str) -> Vec<Row> {
    let mut all = Vec::new();
    for path in files(dir, table) {
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        all.extend(reader.get_row_iter(None).unwrap().map(Result::unwrap));
    }
    all
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(n, _)| *n == name).unwrap().1
}

fn temporaries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(temporaries(&path));
        } else if path.extension().is_some_and(|e| e == "tmp") {
            found.push(path);
        }
    }
    found
}

fn request(i: i64) -> rows::BlockRequests {
    rows::BlockRequests {
        queue_ns: 1_000 * i,
        issue_ns: (i % 3 != 0).then_some(1_000 * i + 7),
        dev: 254 << 20,
        sector: (i % 5 != 0).then_some(i64::MAX - i),
        bytes: 4096,
        op: if i % 2 == 0 {
            "read".into()
        } else {
            Name::Owned(format!("op {i}"))
        },
        flags: (0..i % 4)
            .map(|f| ["sync", "fua", "preflush"][f as usize].into())
            .collect(),
        in_scope: (i % 7 != 0).then_some(i % 2 == 0),
        ..Default::default()
    }
}

fn same(row: &Row, expected: &rows::BlockRequests) {
    let int = |name: &str| match field(row, name) {
        Field::Long(value) => Some(*value),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(int("queue_ns"), Some(expected.queue_ns));
    assert_eq!(int("issue_ns"), expected.issue_ns);
    assert_eq!(int("complete_ns"), None);
    assert_eq!(int("dev"), Some(expected.dev));
    assert_eq!(int("sector"), expected.sector);
    assert_eq!(*field(row, "op"), Field::Str(expected.op.to_string()));
    let Field::ListInternal(flags) = field(row, "flags") else {
        panic!("flags")
    };
    let expected_flags: Vec<Field> = expected
        .flags
        .iter()
        .map(|f| Field::Str(f.to_string()))
        .collect();
    assert_eq!(flags.elements(), expected_flags);
    let scope = expected.in_scope.map_or(Field::Null, Field::Bool);
    assert_eq!(*field(row, "in_scope"), scope);
}

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

/// The size limit of a process stands in for a full disk where no small filesystem can be mounted: the
/// writer takes both for the same thing. In a child, since the limit is the process's.
#[test]
fn a_full_disk_leaves_what_was_closed_and_says_so() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    if std::env::var_os("IOWHY_TEST_FULL_DISK").is_none() {
        let test = "a_full_disk_leaves_what_was_closed_and_says_so";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env("IOWHY_TEST_FULL_DISK", "1")
            .output()
            .unwrap();
        assert!(
            child.status.success(),
            "{}",
            String::from_utf8_lossy(&child.stderr)
        );
        return;
    }
    // SAFETY: plain system calls; SIGXFSZ would kill before write(2) could return EFBIG.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let limit = libc::rlimit {
            rlim_cur: 100_000,
            rlim_max: 100_000,
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    let mut manifest = Manifest::new(Source::Live);
    manifest.command.start_ns = Some(0);
    let mut recording = Recording::create(&dir, manifest).unwrap();
    recording.tick(0).unwrap();
    for i in 0..100 {
        recording.push(request(i)).unwrap();
    }
    recording.tick(4_000_000_000).unwrap();
    // Values that do not compress.
    let mut x = 1u64;
    let mut noise = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (x ^ (x >> 29)) as i64
    };
    for _ in 0..100_000 {
        let row = rows::BlockRequests {
            queue_ns: noise(),
            dev: noise(),
            ..Default::default()
        };
        recording.push(row).unwrap();
    }
    recording.tick(8_000_000_000).unwrap();
    let error = (0..1_000)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            recording.push(request(0)).err()
        })
        .expect("an error")
        .to_string();
    assert!(
        error.starts_with(&format!("no space left in {}: ", dir.display())),
        "{error}"
    );
    assert!(
        error.ends_with("; the recording up to 4.0 s is readable"),
        "{error}"
    );
    assert_eq!(recording.finish().unwrap_err().to_string(), error);
    let manifest = Manifest::read(&dir).unwrap();
    assert!(!manifest.complete);
    assert_eq!(manifest.notes, [error]);
    assert_eq!(manifest.tables["block_requests"].kept, 100);
    assert!(manifest.tables["block_requests"].lost >= 100_000);
    assert_eq!(read(&dir, "block_requests").len(), 100);
    assert_eq!(temporaries(&dir), Vec::<PathBuf>::new());
}
