//! Recordings that end badly: the recorder is killed, the disk is full. What was closed stays readable.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{files, read, request, temporaries};
use iowhy_store::manifest::{Manifest, Source};
use iowhy_store::{rows, Limits, Recording};

const CHILD: &str = "IOWHY_TEST_CHILD";

/// Runs a test of this file again as a process of its own, since limits, mounts and kills are a process's.
/// It gets the directory to record in.
fn again(test: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

fn passes(child: Child) {
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&text)
    );
}

#[test]
fn killed_while_writing() {
    if let Some(dir) = child_dir() {
        let limits = Limits {
            rows_per_file: 500,
            // Four of them in a file, so that it is killed while a file is written anew as well.
            small_file_rows: 2_000,
            close_every_ns: 1,
            ..Limits::default()
        };
        let mut recording =
            Recording::create_with(&dir, Manifest::new(Source::Live), limits).unwrap();
        for i in 0..5_000_000 {
            recording.push(request(i)).unwrap();
            if i % 500 == 0 {
                recording.tick(i).unwrap();
            }
        }
    }
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("a.iowhy");
    let mut child = again("killed_while_writing", &dir);
    while files(&dir, "block_requests").len() < 20 {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let manifest = Manifest::read(&dir).unwrap();
    assert!(!manifest.complete);
    let rows = read(&dir, "block_requests");
    assert!(rows.len() as u64 >= manifest.tables["block_requests"].kept);
    for (i, row) in rows.iter().enumerate() {
        common::same(row, &request(i as i64));
    }
    for entry in std::fs::read_dir(dir.join("block_requests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name.ends_with(".parquet") || name.ends_with(".parquet.tmp"),
            "{name}"
        );
    }
}

/// Pushes what does not compress until the writer reports the failure.
fn until_full(recording: &mut Recording) -> String {
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
    (0..3_000)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            recording.push(request(0)).err()
        })
        .expect("an error")
        .to_string()
}

fn start(dir: &Path) -> Recording {
    let mut manifest = Manifest::new(Source::Live);
    manifest.command.start_ns = Some(0);
    let mut recording = Recording::create(dir, manifest).unwrap();
    recording.tick(0).unwrap();
    for i in 0..100 {
        recording.push(request(i)).unwrap();
    }
    recording.tick(4_000_000_000).unwrap();
    for _ in 0..3_000 {
        std::thread::sleep(Duration::from_millis(10));
        if Manifest::read(dir).unwrap().tables["block_requests"].kept == 100 {
            return recording;
        }
    }
    panic!("the first hundred rows were not written");
}

fn check(dir: &Path, recording: Recording, error: String) {
    assert!(
        error.starts_with(&format!("no space left in {}: ", dir.display())),
        "{error}"
    );
    assert!(
        error.ends_with("; the recording up to 4.0 s is readable"),
        "{error}"
    );
    // Written by the failure itself: nobody may get to finish.
    assert_eq!(Manifest::read(dir).unwrap().notes, [error.as_str()]);
    assert_eq!(recording.finish().unwrap_err().to_string(), error);
    let manifest = Manifest::read(dir).unwrap();
    assert!(!manifest.complete);
    assert_eq!(manifest.notes, [error]);
    assert_eq!(manifest.tables["block_requests"].kept, 100);
    assert!(manifest.tables["block_requests"].lost >= 100_000);
    assert_eq!(read(dir, "block_requests").len(), 100);
    assert_eq!(temporaries(dir), Vec::<PathBuf>::new());
}

/// A limit on the size of files, which anybody can set.
#[test]
fn a_file_that_may_not_grow() {
    let Some(dir) = child_dir() else {
        let temporary = tempfile::tempdir().unwrap();
        return passes(again(
            "a_file_that_may_not_grow",
            &temporary.path().join("a.iowhy"),
        ));
    };
    // SAFETY: plain system calls; SIGXFSZ would kill before write(2) could return EFBIG.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let limit = libc::rlimit {
            rlim_cur: 100_000,
            rlim_max: 100_000,
        };
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
    }
    let mut recording = start(&dir);
    let error = until_full(&mut recording);
    check(&dir, recording, error);
}

/// A filesystem without a free block, on which even the manifest must still be written. Needs a mount
/// namespace of its own, so root.
#[test]
fn a_full_disk() {
    let Some(dir) = child_dir() else {
        let temporary = tempfile::tempdir().unwrap();
        return passes(again("a_full_disk", temporary.path()));
    };
    let target = std::ffi::CString::new(dir.to_str().unwrap()).unwrap();
    // SAFETY: the strings end in 0 and outlive the calls.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"tmpfs".as_ptr(),
                target.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=4m".as_ptr().cast(),
            ) == 0
    };
    if !mounted {
        println!(
            "not tested here: mounting needs root ({})",
            std::io::Error::last_os_error()
        );
        return;
    }
    let recorded = dir.join("a.iowhy");
    let mut recording = start(&recorded);
    // The command itself fills the disk to the last block.
    let mut fill = std::fs::File::create(dir.join("fill")).unwrap();
    while std::io::Write::write_all(&mut fill, &[1; 512]).is_ok() {}
    let error = until_full(&mut recording);
    check(&recorded, recording, error);
}
