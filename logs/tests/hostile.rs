//! What anybody may give to a parser: arbitrary bytes, and real logs that were damaged. None stops it, and what is in
//! memory stays bounded. Seeds are fixed, so that a failure is seen again; `IOWHY_FUZZ_SEED` and `IOWHY_FUZZ_ROUNDS`
//! (`make torture`) take others, and more. What fails is kept in `logs/tests/corpus`, which is tried first.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use iowhy_logs::Error;

/// Counts the bytes that are allocated, and the most of them.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        System.dealloc(pointer, layout);
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One at a time: the memory that is counted is that of all threads.
static ONE: Mutex<()> = Mutex::new(());

/// What a reader may take for a small log: buffers of columns and of lines, which are there from the start.
const MOST_BYTES: usize = 96 << 20;
const ROUNDS: u64 = 60;

/// The seeds of one test: the same in each run, unless others are asked for.
fn seeds(rounds_of_60: u64) -> std::ops::Range<u64> {
    let asked = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let first = asked("IOWHY_FUZZ_SEED").unwrap_or(0);
    first..first + (asked("IOWHY_FUZZ_ROUNDS").unwrap_or(ROUNDS) * rounds_of_60).div_ceil(60)
}

const FORMATS: [(&str, &[&str]); 5] = [
    (
        "strace",
        &[
            "strace-f-ttt-T-y.txt",
            "strace-stderr.txt",
            "strace-f-t.txt",
        ],
    ),
    (
        "perf",
        &[
            "perf-script.txt",
            "perf-script-stacks.txt",
            "perf-script-syscalls.txt",
        ],
    ),
    (
        "ftrace",
        &[
            "ftrace.txt",
            "trace-cmd-report.txt",
            "trace-cmd-report-l.txt",
        ],
    ),
    ("blkparse", &["blkparse.txt"]),
    ("perfetto", &[]),
];

/// Numbers that are the same in each run: splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Read a log in every way that its format has, and see that memory was bounded; keep it where it fails.
fn read(format: &str, log: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(|| read_or_panic(format, log, what)) {
        let mut hash = DefaultHasher::new();
        log.hash(&mut hash);
        let name = format!("{format}-{:016x}", hash.finish());
        fs::create_dir_all(corpus()).unwrap();
        fs::write(corpus().join(name), log).unwrap();
        resume_unwind(panic);
    }
}

#[test]
fn what_failed_once_fails_no_more() {
    let _one = ONE.lock();
    let mut tried = 0;
    for entry in fs::read_dir(corpus()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some((format, _)) = name.split_once('-') else {
            continue;
        };
        read_or_panic(format, &fs::read(&path).unwrap(), &name);
        tried += 1;
    }
    assert!(tried > 0, "the corpus is there");
}

/// What coverage-guided fuzzing begins with (`make fuzz`).
#[test]
fn what_fuzzing_begins_with_stops_no_reader() {
    let _one = ONE.lock();
    for (format, _) in FORMATS {
        let found = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz/corpus")
            .join(format);
        let mut tried = 0;
        for entry in fs::read_dir(found).unwrap() {
            let path = entry.unwrap().path();
            read_or_panic(
                format,
                &fs::read(&path).unwrap(),
                &path.display().to_string(),
            );
            tried += 1;
        }
        assert!(tried > 0, "{format} has a corpus");
    }
}

fn read_or_panic(format: &str, log: &[u8], what: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    fs::write(&path, log).unwrap();
    let mut arguments: Vec<String> = vec![
        format.into(),
        path.to_str().unwrap().into(),
        directory.path().to_str().unwrap().into(),
    ];
    loop {
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        match iowhy_logs::run(&arguments, std::io::sink()) {
            Ok(()) => {}
            Err(Error::Damaged(_)) if format == "perfetto" => {}
            Err(error) => panic!("{what}: {error}"),
        }
        let most = MOST.load(Ordering::Relaxed) - before;
        assert!(most < MOST_BYTES, "{what}: {} MiB", most >> 20);
        if arguments.len() > 3 || !matches!(format, "perf" | "ftrace") {
            return;
        }
        arguments.push("--sort".into());
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/sources/fixtures/traces");
    fs::read(place.join(name)).unwrap()
}

/// The first half of a real log with a few dozen things wrong: bits, digits, lines and pieces of lines.
fn damaged(mut log: Vec<u8>, random: &mut Random) -> Vec<u8> {
    log.truncate(24 << 10);
    for _ in 0..40 {
        let at = random.below(log.len());
        let end = (at + random.below(30)).min(log.len());
        match random.below(7) {
            0 => log[at] = random.byte(),
            1 => drop(log.drain(at..end)),
            2 => drop(log.splice(at..at, vec![b'9'; 25])),
            3 => log[at..end].fill(0),
            4 => log[at..end].reverse(),
            5 => {
                let piece = log[at..end].to_vec();
                let to = random.below(log.len());
                drop(log.splice(to..to, piece));
            }
            _ => drop(log.splice(at..at, *b"\n<... read resumed> ) = (\"{[<:")),
        }
    }
    log
}

#[test]
fn damaged_logs_stop_no_reader() {
    let _one = ONE.lock();
    for (format, names) in FORMATS {
        for name in names {
            for seed in seeds(60 / names.len() as u64) {
                let log = damaged(fixture(name), &mut Random(seed));
                read(format, &log, &format!("{name}, seed {seed}"));
            }
        }
    }
}

#[test]
fn arbitrary_bytes_stop_no_reader() {
    let _one = ONE.lock();
    for seed in seeds(60) {
        let mut random = Random(seed);
        let mut log = vec![0; random.below(4096)];
        log.fill_with(|| random.byte());
        if seed % 2 == 0 {
            // Of the letters that logs are made of there are more.
            const LETTERS: &[u8] = b"0123456789 .:,=()[]<>{}\"\\\n?-+/_abcdesync";
            for byte in &mut log {
                *byte = LETTERS[usize::from(*byte) % LETTERS.len()];
            }
        }
        for (format, _) in FORMATS {
            read(format, &log, &format!("{format}, seed {seed}"));
        }
    }
}

/// A field of a message.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    varint(&mut field, content.len() as u64);
    field.extend(content);
    field
}

fn varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A trace of Perfetto: bundles of packed switches and wakings, and of events.
fn perfetto(random: &mut Random) -> Vec<u8> {
    let mut trace = Vec::new();
    for cpu in 0..8u8 {
        let (mut times, mut small) = (Vec::new(), Vec::new());
        varint(&mut times, 1_000_000_000 + random.next() % 1_000_000);
        small.push(0);
        for _ in 0..20 {
            varint(&mut times, random.next() % 10_000);
            small.push(random.byte() % 8);
        }
        let mut sched = field(1, &times);
        for number in [2, 3, 6, 8, 11] {
            sched.extend(field(number, &small));
        }
        sched.extend(field(7, &times));
        for name in ["swapper", "db", "app", "x", "y", "z", "v", "w"] {
            sched.extend(field(5, name.as_bytes()));
        }
        let mut bundle = vec![0x08, cpu % 4];
        bundle.extend(field(4, &sched));
        for kind in [4u8, 17, 20, 45, 97, 114, 117, 119, 125, 126, 127] {
            let mut event = vec![0x08];
            varint(&mut event, 1_000_000_000 + random.next() % 1_000_000);
            event.extend([0x10, 7]);
            // Tags of fields above 15 take two bytes.
            varint(&mut event, u64::from(kind) << 3 | 2);
            let body = [&[0x08, 1, 0x10, 64, 0x18, 8, 0x20, 2][..], &field(5, b"WS")].concat();
            varint(&mut event, body.len() as u64);
            event.extend(body);
            bundle.extend(field(2, &event));
        }
        trace.extend(field(1, &field(1, &bundle)));
    }
    trace
}

#[test]
fn damaged_perfetto_traces_stop_no_reader() {
    let _one = ONE.lock();
    for seed in seeds(240) {
        let mut random = Random(seed);
        let mut trace = perfetto(&mut random);
        read("perfetto", &trace, &format!("whole, seed {seed}"));
        for _ in 0..1 + seed % 8 {
            let at = random.below(trace.len());
            trace[at] = random.byte();
        }
        read("perfetto", &trace, &format!("seed {seed}"));
    }
}

#[test]
fn lengths_that_are_lies_cost_no_memory() {
    let _one = ONE.lock();
    // A packet, and an array in it, that say they are longer than the file.
    for log in [
        &[0x0a, 0xff, 0xff, 0xff, 0x1f][..],
        &[0x0a, 6, 0x0a, 0xff, 0xff, 0xff, 0x1f, 1],
    ] {
        read("perfetto", log, "lies");
    }
    // A line without an end, and one of nothing but openings.
    for (format, _) in FORMATS {
        read(format, &vec![b'('; 9 << 20], format);
        read(format, &b"1 1.5 read(<".repeat(1 << 16), format);
    }
}
