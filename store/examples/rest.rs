//! What the writer of a recording takes on a machine at rest: the rows of so many minutes, a reading in two seconds, as fast as they
//! can be written: `cargo run --release --example rest FOLDER MINUTES`. By the minute: CPU time of the thread that writes, files,
//! and bytes of them. Time in the rows is made up, so an hour takes seconds.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use iowhy_store::manifest::{Clock, Manifest, Source};
use iowhy_store::{rows, Recording, Result};

const START_NS: i64 = 5_000_000_000_000;
const READING_NS: i64 = 2_000_000_000;
const READINGS_A_MINUTE: i64 = 30;
const DISK: i64 = 253 << 20;
/// Of a small virtual machine; threads are those that have run since the last reading.
const CPUS: i64 = 2;
const DISKS: i64 = 7;
const THREADS: i64 = 16;
const CALLS: i64 = 10;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().collect();
    let [_, folder, minutes] = given.as_slice() else {
        return Err("usage: rest FOLDER MINUTES".into());
    };
    let folder = Path::new(folder);
    let mut manifest = Manifest::new(Source::Live);
    manifest.command.start_ns = Some(START_NS);
    manifest.clock = Clock {
        monotonic_ns: Some(START_NS),
        wall_ns: Some(1_700_000_000_000_000_000),
    };
    let mut recording = Recording::create(folder, manifest)?;
    let mut before = 0;
    for minute in 0..minutes.parse()? {
        for reading in 0..READINGS_A_MINUTE {
            read(&mut recording, minute * READINGS_A_MINUTE + reading)?;
        }
        let cpu_ns = writer_cpu_ns()?;
        let (files, bytes) = (parquets(folder)?, recording.written_bytes());
        println!(
            "minute {:4}: {:7.3} ms, {files} files, {bytes} bytes",
            minute + 1,
            (cpu_ns - before) as f64 / 1e6
        );
        before = cpu_ns;
    }
    Ok(recording.finish()?)
}

/// What one reading makes, and the end of its interval; all of it is written before the next.
fn read(recording: &mut Recording, number: i64) -> Result<()> {
    let at = START_NS + number * READING_NS + number * 7919 % 100_000;
    samples(recording, number, at)?;
    for thread in 0..THREADS {
        recording.push(rows::ThreadTime {
            ts_ns: at - READING_NS,
            interval_ns: READING_NS,
            tgid: 100 + thread % 5,
            tid: 100 + thread,
            cpu_user_ns: Some(number * 104_729 % 30_000),
            cpu_kernel_ns: Some(number * 1_299_709 % 20_000),
            sleeping_ns: Some(READING_NS - number * 15_485_863 % 50_000),
            ..Default::default()
        })?;
    }
    for call in 0..CALLS {
        let ts_ns = at - (CALLS - call) * 40_000_000 + number * 7919 % 30_000;
        recording.push(rows::Syscalls {
            ts_ns,
            dur_ns: 1_000 + number * 611_953 % 9_000,
            tgid: 100 + call % 5,
            tid: 100 + call,
            name: ["read", "write", "openat"][call as usize % 3].into(),
            fd: Some(call),
            ..Default::default()
        })?;
    }
    recording.push(rows::BlockRequests {
        queue_ns: at - 90_000,
        issue_ns: Some(at - 80_000),
        complete_ns: Some(at - number * 7919 % 70_000),
        dev: DISK,
        sector: Some(number * 8_191 % 100_000_000),
        bytes: 4096,
        op: "write".into(),
        ..Default::default()
    })?;
    recording.tick(at)?;
    while recording.queued_bytes() > 0 {
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// The rows of every sampler.
fn samples(recording: &mut Recording, number: i64, ts_ns: i64) -> Result<()> {
    for cpu in -1..CPUS {
        recording.push(rows::CpuSamples {
            ts_ns,
            cpu,
            user_ns: number / 9 * 10_000_000,
            system_ns: number / 7 * 10_000_000,
            idle_ns: number * 490_000_000,
            ..Default::default()
        })?;
    }
    recording.push(rows::VmSamples {
        ts_ns,
        context_switches: Some(number * 300),
        page_out_bytes: Some(number / 3 * 4096),
        ..Default::default()
    })?;
    recording.push(rows::MemorySamples {
        ts_ns,
        free_bytes: Some((1 << 33) - number * 7919 % 1_000_000 * 4096),
        cached_bytes: Some((1 << 32) + number * 4096),
        ..Default::default()
    })?;
    for disk in 0..DISKS {
        recording.push(rows::DiskSamples {
            ts_ns,
            dev: DISK + disk,
            writes: if disk == 0 { number } else { 0 },
            written_bytes: if disk == 0 { number * 4096 } else { 0 },
            ..Default::default()
        })?;
    }
    for resource in ["cpu", "io", "memory"] {
        for kind in ["some", "full"] {
            recording.push(rows::PressureSamples {
                ts_ns,
                scope: "machine".into(),
                resource: resource.into(),
                kind: kind.into(),
                total_ns: number / 5 * 1_000,
            })?;
        }
    }
    recording.push(rows::CgroupSamples {
        ts_ns,
        path: "/".into(),
        cpu_usage_ns: Some(number * 3_000_000),
        ..Default::default()
    })
}

/// CPU time of the thread that writes.
fn writer_cpu_ns() -> std::result::Result<u64, Box<dyn Error>> {
    for task in std::fs::read_dir("/proc/self/task")?.flatten() {
        if std::fs::read_to_string(task.path().join("comm"))?.trim() == "iowhy-write" {
            let stat = std::fs::read_to_string(task.path().join("schedstat"))?;
            return Ok(stat.split(' ').next().unwrap_or("0").parse()?);
        }
    }
    Err("no thread writes".into())
}

fn parquets(folder: &Path) -> std::io::Result<usize> {
    let mut files = 0;
    for table in std::fs::read_dir(folder)?.flatten() {
        if table.path().is_dir() {
            files += std::fs::read_dir(table.path())?.count();
        }
    }
    Ok(files)
}
