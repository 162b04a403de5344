//! Makes a recording of any number of rows through the recorder's own writer, sums included, in the memory of one batch:
//! `cargo run --release --example large FOLDER MILLIONS [cached]`. Threads make calls one after the other, some of which wait,
//! while others of the machine use the same device; the values are drawn at random. `cached`: reads and writes that wait for nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::path::Path;

use iowhy_store::manifest::{Clock, Manifest, Sensor, Source};
use iowhy_store::{rows, Recording, Result};
use iowhy_tables::sensors::SENSORS;

const THREADS: i64 = 8;
const FILES: i64 = 50;
const START_NS: i64 = 5_000_000_000_000;
const INTERVAL_NS: i64 = 100_000_000;
const DISK: i64 = 253 << 20;
const SYNCS: [&str; 2] = ["fsync", "fdatasync"];
const CALLS: [&str; 12] = [
    "read",
    "read",
    "pread64",
    "pread64",
    "pread64",
    "write",
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "openat",
    "io_getevents",
];
/// The first of them move data.
const DATA_CALLS: usize = 8;
const REASONS: [&str; 6] = [
    "page_read",
    "page_writeback",
    "inode_lock",
    "metadata_lock",
    "direct_io",
    "memory_reclaim",
];

/// Numbers as they come (Marsaglia's xorshift64*), each run the same.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as i64 % n
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}

/// A thread: when it makes its next call, and its times in the interval that is under way.
#[derive(Clone, Copy, Default)]
struct Thread {
    tid: i64,
    interval_ns: i64,
    cpu_ns: i64,
    blocked_ns: i64,
}

struct Maker {
    recording: Recording,
    draw: Draw,
    rows: u64,
    sector: i64,
    cached: bool,
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().collect();
    let (folder, millions, cached) = match given.as_slice() {
        [_, folder, millions] => (folder, millions, false),
        [_, folder, millions, how] if how == "cached" => (folder, millions, true),
        _ => return Err("usage: large FOLDER MILLIONS [cached]".into()),
    };
    let mut manifest = Manifest::new(Source::Live);
    manifest.host.cpus = Some(2);
    manifest.host.page_bytes = Some(4096);
    manifest.command.argv = vec!["generated".into()];
    manifest.command.start_ns = Some(START_NS);
    manifest.clock = Clock {
        monotonic_ns: Some(START_NS),
        wall_ns: Some(1_700_000_000_000_000_000),
    };
    manifest.sensors = SENSORS
        .iter()
        .map(|sensor| Sensor::ran(sensor.name))
        .collect();
    let mut maker = Maker {
        recording: Recording::create(Path::new(folder), manifest)?,
        draw: Draw(7),
        rows: 0,
        sector: 0,
        cached,
    };
    let end_ns = maker.run(millions.parse::<u64>()? * 1_000_000)?;
    maker.recording.manifest_mut().command.end_ns = Some(end_ns);
    Ok(maker.recording.finish()?)
}

impl Maker {
    /// Until there are so many rows; gives the end.
    fn run(&mut self, most: u64) -> Result<i64> {
        self.machine()?;
        let mut threads = [Thread::default(); THREADS as usize];
        let mut next: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
        for (number, thread) in threads.iter_mut().enumerate() {
            thread.tid = 1000 + number as i64;
            next.push(Reverse((START_NS + 1_000 * number as i64, number)));
        }
        let mut upto_ns = START_NS;
        while let Some(Reverse((now, number))) = next.pop() {
            while now >= upto_ns + INTERVAL_NS {
                for thread in &mut threads {
                    self.interval(thread, upto_ns)?;
                }
                upto_ns += INTERVAL_NS;
                self.pace()?;
                self.recording.tick(upto_ns)?;
                if self.rows >= most {
                    return Ok(upto_ns);
                }
            }
            let until = self.call(&mut threads[number], now)?;
            next.push(Reverse((until + 1_000 + self.draw.below(20_000), number)));
        }
        Ok(upto_ns)
    }

    /// Waits for the disk: what is made is quicker than what is written.
    fn pace(&self) -> Result<()> {
        while self.recording.queued_bytes() > 128 << 20 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Ok(())
    }

    fn call(&mut self, thread: &mut Thread, ts_ns: i64) -> Result<i64> {
        let calls = if self.cached {
            &CALLS[..DATA_CALLS]
        } else {
            &CALLS[..]
        };
        let name = calls[self.draw.below(calls.len() as i64) as usize];
        let syncs = SYNCS.contains(&name);
        let cpu_ns = 500 + self.draw.below(8_000);
        let blocks = !self.cached && (syncs || self.draw.chance(35));
        let blocked_ns = if blocks {
            10_000 + self.draw.below(200_000)
        } else {
            0
        };
        let sleeping_ns = if name == "io_getevents" {
            self.draw.below(50_000)
        } else {
            0
        };
        let (ino, bytes) = (1 + self.draw.below(FILES), 4096 * (1 + self.draw.below(16)));
        let moves = !syncs && name != "openat" && name != "io_getevents";
        if blocks {
            self.wait(thread, ts_ns + cpu_ns / 2, blocked_ns, name, ino)?;
            self.requests(thread, ts_ns + cpu_ns / 2, blocked_ns, name, ino, bytes)?;
        }
        let dur_ns = cpu_ns + blocked_ns + sleeping_ns;
        thread.cpu_ns += cpu_ns;
        thread.blocked_ns += blocked_ns;
        self.rows += 1;
        self.recording.push(rows::Syscalls {
            ts_ns,
            dur_ns,
            cpu_ns: Some(cpu_ns),
            runnable_ns: Some(0),
            blocked_ns: Some(blocked_ns),
            sleeping_ns: Some(sleeping_ns),
            tgid: 1000,
            tid: thread.tid,
            name: name.into(),
            fd: Some(3 + ino),
            dev: Some(DISK),
            ino: Some(ino),
            offset: moves.then(|| 4096 * self.draw.below(100_000)),
            bytes: moves.then_some(bytes),
            durable: moves.then(|| self.draw.chance(1)),
            ret: Some(if moves { bytes } else { 0 }),
            ..rows::Syscalls::default()
        })?;
        Ok(ts_ns + dur_ns)
    }

    fn wait(
        &mut self,
        thread: &Thread,
        ts_ns: i64,
        dur_ns: i64,
        call: &'static str,
        ino: i64,
    ) -> Result<()> {
        let reason = match (SYNCS.contains(&call), self.draw.chance(50)) {
            (true, true) => "journal_commit",
            (true, false) => "device_flush",
            // Few write with O_SYNC, and few wait for a block's lock.
            (false, _) => match REASONS[self.draw.below(REASONS.len() as i64) as usize] {
                "page_writeback" | "metadata_lock" if self.draw.chance(95) => "page_read",
                other => other,
            },
        };
        self.rows += 1;
        self.recording.push(rows::Waits {
            ts_ns,
            dur_ns,
            tgid: 1000,
            tid: thread.tid,
            reason: reason.into(),
            io: reason != "inode_lock",
            stack_id: None,
            syscall: Some(call.into()),
            dev: Some(DISK),
            ino: Some(ino),
        })
    }

    /// What the device does for a call that waits, and now and then for others.
    fn requests(
        &mut self,
        thread: &Thread,
        at: i64,
        dur_ns: i64,
        call: &str,
        ino: i64,
        bytes: i64,
    ) -> Result<()> {
        let syncs = SYNCS.contains(&call);
        let op = if call.contains("write") || syncs {
            "write"
        } else {
            "read"
        };
        let data = self.request(thread, at, dur_ns / 2, op, bytes);
        self.push(rows::BlockRequests {
            owner_dev: Some(DISK),
            owner_ino: Some(ino),
            owner_kind: "data".into(),
            in_scope: Some(true),
            ..data
        })?;
        if syncs {
            let flush = self.request(thread, at + dur_ns / 2, dur_ns / 3, "flush", 0);
            let shared = self.draw.chance(50);
            self.push(rows::BlockRequests {
                in_scope: (!shared).then_some(true),
                owner_kind: "flush".into(),
                ..flush
            })?;
        }
        if self.draw.chance(5) {
            let other = self.request(thread, at, 90_000, "write", 65_536);
            self.push(rows::BlockRequests {
                tgid: Some(77),
                in_scope: Some(false),
                owner_kind: "metadata".into(),
                ..other
            })?;
        }
        Ok(())
    }

    fn request(
        &mut self,
        thread: &Thread,
        queue_ns: i64,
        dur_ns: i64,
        op: &'static str,
        bytes: i64,
    ) -> rows::BlockRequests {
        if self.draw.chance(50) {
            self.sector = 8 * self.draw.below(1 << 24);
        }
        let sector = self.sector;
        self.sector += bytes / 512;
        rows::BlockRequests {
            queue_ns,
            issue_ns: Some(queue_ns + 1_000 + self.draw.below(2_000)),
            complete_ns: Some(queue_ns + 5_000 + dur_ns.min(400_000)),
            dev: DISK,
            sector: (op != "flush").then_some(sector),
            bytes,
            op: op.into(),
            tgid: Some(1000),
            tid: Some(thread.tid),
            error: Some(0),
            ..rows::BlockRequests::default()
        }
    }

    fn push(&mut self, row: rows::BlockRequests) -> Result<()> {
        self.rows += 1;
        self.recording.push(row)
    }

    fn interval(&mut self, thread: &mut Thread, ts_ns: i64) -> Result<()> {
        let cpu_ns = thread.cpu_ns.min(INTERVAL_NS);
        let blocked_ns = thread.blocked_ns.min(INTERVAL_NS - cpu_ns);
        (thread.cpu_ns, thread.blocked_ns) =
            (thread.cpu_ns - cpu_ns, thread.blocked_ns - blocked_ns);
        thread.interval_ns += INTERVAL_NS;
        self.rows += 1;
        self.recording.push(rows::ThreadTime {
            ts_ns,
            interval_ns: INTERVAL_NS,
            tgid: 1000,
            tid: thread.tid,
            cpu_user_ns: Some(cpu_ns / 2),
            cpu_kernel_ns: Some(cpu_ns - cpu_ns / 2),
            runnable_ns: Some(0),
            blocked_ns: Some(blocked_ns),
            sleeping_ns: Some(INTERVAL_NS - cpu_ns - blocked_ns),
            ..rows::ThreadTime::default()
        })
    }

    /// The files, the filesystem and the device, and the threads.
    fn machine(&mut self) -> Result<()> {
        for ino in 1..=FILES {
            self.recording.push(rows::Files {
                dev: DISK,
                ino,
                path: Some(format!("/data/{ino}").into()),
                kind: "file".into(),
                ..rows::Files::default()
            })?;
        }
        self.recording.push(rows::Filesystems {
            dev: DISK,
            mount: "/data".into(),
            kind: "ext4".into(),
            disk_dev: Some(DISK),
            ..rows::Filesystems::default()
        })?;
        self.recording.push(rows::Devices {
            dev: DISK,
            name: "vda".into(),
            ..rows::Devices::default()
        })?;
        (0..THREADS).try_for_each(|number| {
            self.recording.push(rows::Threads {
                tid: 1000 + number,
                tgid: 1000,
                comm: "generated".into(),
                start_ns: START_NS,
                ..rows::Threads::default()
            })
        })
    }
}
