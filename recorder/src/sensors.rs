//! The sensors that eBPF gives, the programs of each, and which of them this kernel can run.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_store::manifest::Sensor;

/// A sensor: its name, its programs (without which it does not run), and what else it tells where the kernel
/// has tracepoints for it.
pub struct Row {
    pub name: &'static str,
    pub needs: &'static [&'static str],
    pub parts: &'static [Part],
}

/// Something that a sensor tells only on some kernels.
pub struct Part {
    /// Programs that tell it, the best first: one of them runs.
    pub by: &'static [&'static str],
    /// What the sensor does not tell where none of them can run.
    pub lacking: &'static str,
    /// Only to be missed where this program can run (the part is about one filesystem).
    pub with: Option<&'static str>,
}

const fn row(name: &'static str, needs: &'static [&'static str], parts: &'static [Part]) -> Row {
    Row { name, needs, parts }
}

const fn part(by: &'static [&'static str], lacking: &'static str) -> Part {
    Part {
        by,
        lacking,
        with: None,
    }
}

const fn part_of(with: &'static str, by: &'static [&'static str], lacking: &'static str) -> Part {
    Part {
        by,
        lacking,
        with: Some(with),
    }
}

/// Threads, their clocks and what they wait for. Every sensor needs these: they tell what belongs to the command.
pub const SCHEDULER: &[&str] = &[
    "on_sched_switch",
    "on_sched_wakeup",
    "on_fork",
    "on_exec",
    "on_exit",
    "each_thread",
];
const CACHE: &[&str] = &["on_page_add", "on_page_delete", "on_page_dirty"];
const REQUESTS: &[&str] = &["on_rq_issue", "on_rq_complete"];

/// Every sensor of the programs, with the names of the programs in bpf/.
pub const TABLE: &[Row] = &[
    row("syscalls", &["on_sys_enter", "on_sys_exit"], &[]),
    row("files", &["on_sys_enter", "on_sys_exit"], &[]),
    row(
        "thread_time",
        &[],
        &[part(&["on_sched_wakeup_new"], "the threads of io_uring")],
    ),
    row("waits", &[], &[]),
    row("stacks", &[], &[]),
    row(
        "page_cache",
        CACHE,
        &[
            part(&["on_file_fault"], "faults of mapped files"),
            part(&["on_map_pages"], "pages that a fault maps around it"),
        ],
    ),
    row("lookups", &["on_get_pages"], &[]),
    row(
        "writeback",
        &["on_pass_end"],
        &[
            part(&["on_pass_start"], "when a pass began"),
            part(&["on_writeback_start"], "why a flusher works"),
            part_of(
                "on_ext4_allocate",
                &["on_ext4_written"],
                "what fsync itself writes on ext4",
            ),
            part_of(
                "on_log_force",
                &["on_iomap_written", "on_iomap_writepage"],
                "what fsync itself writes on XFS",
            ),
            part_of(
                "on_btrfs_extent",
                &["on_btrfs_written", "on_btrfs_writepage"],
                "what fsync itself writes on btrfs",
            ),
        ],
    ),
    row("dirty_throttle", &["on_throttle"], &[]),
    row(
        "journal_jbd2",
        &["on_commit_start", "on_commit_end"],
        &[
            part(&["on_commit_locking"], "the locking phase"),
            part(&["on_commit_flushing"], "the flushing phase"),
            part(&["on_commit_logging"], "the logging phase"),
            part(&["on_commit_stats"], "handles and blocks"),
        ],
    ),
    row("journal_xfs", &["on_log_force"], &[]),
    row("allocations_ext4", &["on_ext4_allocate"], &[]),
    row(
        "allocations_xfs",
        &["on_xfs_map"],
        &[part(&["on_xfs_alloc"], "blocks of direct writes")],
    ),
    row("allocations_btrfs", &["on_btrfs_extent"], &[]),
    row(
        "block_requests",
        REQUESTS,
        &[
            part(&["on_io_start", "on_rq_insert"], "when requests are queued"),
            part(&["on_rq_merge"], "that requests are merged"),
            part(&["on_rq_requeue"], "that requests are issued again"),
            part(
                &["on_bio_queue"],
                "disks that take no requests (zram, brd, dm)",
            ),
            part(
                &["on_bio_complete"],
                "disks that take no requests (zram, brd, dm)",
            ),
        ],
    ),
];

/// Programs for a tracepoint of another shape, tried where the kernel does not take the first: (program, for).
pub const OTHERWISE: &[(&str, &str)] = &[("on_throttle_numbers", "on_throttle")];

/// The parameters that programs read where tracepoints have changed between kernels, the kernel's own first one
/// left out: the name of the structure that it points to, or "-". More may follow.
const SHAPES: &[(&str, &str)] = &[
    ("on_sched_switch", "- task_struct task_struct -"),
    ("on_exit", "task_struct"),
    ("on_page_add", "folio"),
    ("on_page_delete", "folio"),
    ("on_page_dirty", "folio address_space"),
    ("on_get_pages", "address_space - -"),
    ("on_file_fault", "address_space -"),
    ("on_map_pages", "address_space - -"),
    ("on_pass_start", "inode writeback_control -"),
    ("on_pass_end", "inode writeback_control -"),
    (
        "on_throttle",
        "bdi_writeback dirty_throttle_control - - - - -",
    ),
    ("on_throttle_numbers", "bdi_writeback - - - - - - - - - - -"),
    ("on_ext4_written", "inode writeback_control - -"),
    ("on_iomap_written", "inode - -"),
    ("on_iomap_writepage", "inode - -"),
    ("on_btrfs_written", "folio inode"),
    ("on_btrfs_writepage", "page inode"),
    ("on_commit_start", "journal_s transaction_s"),
    ("on_commit_end", "journal_s transaction_s"),
    ("on_commit_stats", "- - transaction_run_stats_s"),
    ("on_log_force", "xfs_mount"),
    ("on_ext4_allocate", "ext4_allocation_request -"),
    ("on_xfs_map", "xfs_inode - - - xfs_bmbt_irec"),
    ("on_xfs_alloc", "xfs_inode - - - xfs_bmbt_irec"),
    ("on_btrfs_extent", "btrfs_inode btrfs_ordered_extent"),
    ("on_rq_insert", "request"),
    ("on_rq_issue", "request"),
    ("on_rq_merge", "request"),
    ("on_rq_requeue", "request"),
    ("on_rq_complete", "request - -"),
    ("on_bio_queue", "bio"),
    ("on_bio_complete", "request_queue bio"),
];

/// What the kernel says of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracepoint {
    Missing,
    /// It is there; its parameters as in [`SHAPES`], where they can be read.
    Has(Option<Vec<String>>),
}

/// What is loaded here, and what is not and why.
#[derive(Debug)]
pub struct Choice {
    pub programs: BTreeSet<&'static str>,
    pub sensors: Vec<Sensor>,
}

/// Chooses the programs whose tracepoints are there and that the kernel has not refused. `tracepoint_of` gives a
/// program's tracepoint (None: it needs none), `ask` what the kernel says of it, `refused` the kernel's words on
/// programs that it did not take.
pub fn choose(
    tracepoint_of: impl Fn(&str) -> Option<String>,
    ask: impl Fn(&str) -> Tracepoint,
    refused: &BTreeMap<String, String>,
) -> Choice {
    let why_not = |program: &str| {
        if let Some(words) = refused.get(program) {
            return Some(format!("this kernel refuses {program}: {words}"));
        }
        tracepoint_of(program).and_then(|name| why_not(program, &name, ask(&name)))
    };
    // The program itself, or the one that stands in for it; else why neither can run.
    let pick = |program: &'static str| match why_not(program) {
        None => Ok(program),
        Some(why) => OTHERWISE
            .iter()
            .find(|(other, first)| *first == program && why_not(other).is_none())
            .map(|(other, _)| *other)
            .ok_or(why),
    };
    let mut programs = BTreeSet::new();
    let mut sensors = Vec::new();
    for row in TABLE {
        let needs: Result<Vec<_>, _> = SCHEDULER.iter().chain(row.needs).map(|p| pick(p)).collect();
        let needs = match needs {
            Ok(needs) => needs,
            Err(why) => {
                sensors.push(Sensor::missing(row.name, why));
                continue;
            }
        };
        programs.extend(needs);
        let mut lacking = Vec::new();
        for part in row.parts {
            let found: Vec<_> = part.by.iter().map(|p| pick(p)).collect();
            match found.iter().find_map(|f| f.as_ref().ok()) {
                Some(program) => {
                    programs.insert(*program);
                }
                None if part.with.is_none_or(|p| pick(p).is_ok()) => {
                    let why = found.into_iter().find_map(Result::err).unwrap_or_default();
                    lacking.push(format!("without {} ({why})", part.lacking));
                }
                None => {}
            }
        }
        sensors.push(Sensor {
            why: (!lacking.is_empty()).then(|| lacking.join("; ")),
            ..Sensor::ran(row.name)
        });
    }
    Choice { programs, sensors }
}

fn why_not(program: &str, name: &str, found: Tracepoint) -> Option<String> {
    let shape = SHAPES
        .iter()
        .find(|(p, _)| *p == program)
        .map(|(_, shape)| *shape);
    match (found, shape) {
        (Tracepoint::Missing, _) => Some(match module_of(name) {
            Some(module) => format!("no tracepoint {name}: {module} is not loaded, or lacks it"),
            None => format!("no tracepoint {name} in this kernel"),
        }),
        (Tracepoint::Has(Some(found)), Some(shape)) if !fits(shape, &found) => Some(format!(
            "the tracepoint {name} of this kernel has other parameters ({}) than from Linux 6.1 on",
            found.join(" ")
        )),
        _ => None,
    }
}

/// Whether a tracepoint's parameters begin with those that a program reads.
fn fits(shape: &str, found: &[String]) -> bool {
    let wanted: Vec<_> = shape.split(' ').collect();
    found.len() >= wanted.len() && wanted.iter().zip(found).all(|(w, f)| w == f)
}

/// The module whose tracepoint this is; filesystems can be built in or not, or loaded later.
pub fn module_of(tracepoint: &str) -> Option<&'static str> {
    const NAMES: &[(&str, &str)] = &[
        ("ext4_", "ext4"),
        ("jbd2_", "jbd2"),
        ("xfs_", "xfs"),
        ("btrfs_", "btrfs"),
        ("extent_writepage", "btrfs"),
        ("__extent_writepage", "btrfs"),
    ];
    NAMES
        .iter()
        .find(|(start, _)| tracepoint.starts_with(start))
        .map(|(_, module)| *module)
}

/// What /proc alone gives of them: the threads' times; `why` the programs do not run.
pub fn by_proc(why: &str) -> Vec<Sensor> {
    let mut sensors = none(why);
    for sensor in sensors.iter_mut().filter(|s| s.name == "thread_time") {
        *sensor = Sensor::ran("thread_time");
    }
    sensors
}

/// Every sensor of the programs as missing, for one reason.
pub fn none(why: &str) -> Vec<Sensor> {
    TABLE
        .iter()
        .map(|row| Sensor::missing(row.name, why))
        .collect()
}
