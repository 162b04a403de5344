//! The sensors that eBPF gives, the programs of each, and which of them this kernel can run.

use std::collections::BTreeSet;

use iowhy_store::manifest::Sensor;

/// A sensor: its name, its programs (without which it does not run), and further ones that it uses where the
/// kernel has their tracepoints.
pub struct Row {
    pub name: &'static str,
    pub needs: &'static [&'static str],
    pub uses: &'static [&'static str],
}

const fn row(
    name: &'static str,
    needs: &'static [&'static str],
    uses: &'static [&'static str],
) -> Row {
    Row { name, needs, uses }
}

const SCHEDULER: &[&str] = &[
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
    row("thread_time", SCHEDULER, &["on_sched_wakeup_new"]),
    row("waits", SCHEDULER, &[]),
    row("stacks", SCHEDULER, &[]),
    row("page_cache", CACHE, &["on_file_fault", "on_map_pages"]),
    row("lookups", &["on_get_pages"], &[]),
    row(
        "writeback",
        &["on_pass_end"],
        &[
            "on_pass_start",
            "on_writeback_start",
            "on_ext4_written",
            "on_iomap_written",
            "on_btrfs_written",
        ],
    ),
    row("dirty_throttle", &["on_throttle"], &[]),
    row(
        "journal_jbd2",
        &["on_commit_start", "on_commit_end"],
        &[
            "on_commit_locking",
            "on_commit_flushing",
            "on_commit_logging",
            "on_commit_stats",
        ],
    ),
    row("journal_xfs", &["on_log_force"], &[]),
    row("allocations_ext4", &["on_ext4_allocate"], &[]),
    row("allocations_xfs", &["on_xfs_map"], &["on_xfs_alloc"]),
    row("allocations_btrfs", &["on_btrfs_extent"], &[]),
    row(
        "block_requests",
        REQUESTS,
        &[
            "on_io_start",
            "on_rq_insert",
            "on_rq_merge",
            "on_rq_requeue",
            "on_bio_queue",
            "on_bio_complete",
        ],
    ),
];

/// Programs that stand in for another on kernels that lack its tracepoint: (stand-in, for).
const STAND_INS: &[(&str, &str)] = &[("on_rq_insert", "on_io_start")];

/// What to try, one after the other, when the kernel refuses programs: all, then those that the first answers
/// need.
pub const LAYERS: &[&[&str]] = &[
    &[],
    &[
        "syscalls",
        "files",
        "thread_time",
        "waits",
        "stacks",
        "block_requests",
        "journal_jbd2",
    ],
];

/// Parameters of the tracepoints whose shape has changed between kernels, as the programs know them, the
/// kernel's own first one included.
const SHAPES: &[(&str, usize)] = &[
    ("sched_switch", 5),
    ("sched_process_exit", 3),
    ("mm_filemap_get_pages", 4),
    ("mm_filemap_map_pages", 4),
    ("writeback_dirty_folio", 3),
    ("writeback_single_inode", 4),
    ("writeback_single_inode_start", 4),
    ("balance_dirty_pages", 9),
    ("iomap_writeback_folio", 4),
    ("extent_writepage", 4),
    ("jbd2_run_stats", 4),
    ("ext4_writepages_result", 5),
    ("ext4_allocate_blocks", 3),
    ("xfs_map_blocks_alloc", 6),
    ("xfs_iomap_alloc", 6),
    ("btrfs_ordered_extent_add", 3),
    ("block_rq_insert", 2),
    ("block_rq_issue", 2),
    ("block_rq_merge", 2),
    ("block_rq_requeue", 2),
    ("block_rq_complete", 4),
    ("block_bio_queue", 2),
    ("block_bio_complete", 3),
];

/// What the kernel says of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracepoint {
    Missing,
    /// It is there; its parameters, where they can be counted.
    Has(Option<usize>),
}

/// What is loaded here, and what is not and why.
#[derive(Debug)]
pub struct Choice {
    pub programs: BTreeSet<&'static str>,
    pub sensors: Vec<Sensor>,
}

/// Chooses the programs of `layers` (all, when it is empty) whose tracepoints are there. `tracepoint_of` gives
/// a program's tracepoint (None: it needs none), `ask` what the kernel says of it.
pub fn choose(
    layers: &[&str],
    tracepoint_of: impl Fn(&str) -> Option<String>,
    ask: impl Fn(&str) -> Tracepoint,
) -> Choice {
    let missing =
        |program: &str| tracepoint_of(program).and_then(|name| why_not(&name, ask(&name)));
    let mut programs = BTreeSet::new();
    let mut sensors = Vec::new();
    for row in TABLE {
        if !layers.is_empty() && !layers.contains(&row.name) {
            sensors.push(Sensor::missing(row.name, REFUSED));
            continue;
        }
        match row.needs.iter().find_map(|p| missing(p)) {
            Some(why) => sensors.push(Sensor::missing(row.name, why)),
            None => {
                programs.extend(row.needs);
                programs.extend(row.uses.iter().filter(|p| missing(p).is_none()));
                sensors.push(Sensor::ran(row.name));
            }
        }
    }
    for (stand_in, other) in STAND_INS {
        if programs.contains(other) {
            programs.remove(stand_in);
        }
    }
    Choice { programs, sensors }
}

/// Stands for the kernel's own words until these are known.
const REFUSED: &str = "refused";

/// Tells, of the sensors that were left out, why.
pub fn explain(sensors: &mut [Sensor], why: &str) {
    for sensor in sensors
        .iter_mut()
        .filter(|s| s.why.as_deref() == Some(REFUSED))
    {
        sensor.why = Some(why.to_owned());
    }
}

fn why_not(name: &str, found: Tracepoint) -> Option<String> {
    let expected = SHAPES
        .iter()
        .find(|(n, _)| *n == name)
        .map(|(_, count)| *count);
    match (found, expected) {
        (Tracepoint::Missing, _) => Some(format!("no tracepoint {name} in this kernel")),
        (Tracepoint::Has(Some(count)), Some(expected)) if count != expected => Some(format!(
            "the tracepoint {name} of this kernel has {count} parameters, not {expected}"
        )),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn with(layers: &[&str], gone: &[&str]) -> Choice {
        choose(
            layers,
            |p| (p != "each_thread").then(|| p.to_owned()),
            |t| {
                if gone.contains(&t) {
                    Tracepoint::Missing
                } else {
                    Tracepoint::Has(None)
                }
            },
        )
    }

    fn sensor<'a>(choice: &'a Choice, name: &str) -> &'a Sensor {
        choice.sensors.iter().find(|s| s.name == name).unwrap()
    }

    #[test]
    fn a_kernel_that_has_all_runs_all() {
        let choice = with(&[], &[]);
        assert!(choice.sensors.iter().all(|s| s.ran));
        assert!(choice.programs.contains("on_io_start"));
        assert!(!choice.programs.contains("on_rq_insert"));
    }

    #[test]
    fn an_older_kernel_runs_the_rest_and_says_what_is_missing() {
        let choice = with(&[], &["on_io_start"]);
        assert!(choice.programs.contains("on_rq_insert"));
        assert!(choice.sensors.iter().all(|s| s.ran));
        let choice = with(&[], &["on_rq_issue"]);
        let requests = sensor(&choice, "block_requests");
        assert!(!requests.ran && requests.why.as_deref().unwrap().contains("on_rq_issue"));
        assert!(!choice.programs.contains("on_rq_complete"));
    }

    #[test]
    fn a_tracepoint_of_another_shape_is_not_used() {
        assert_eq!(why_not("block_rq_issue", Tracepoint::Has(Some(2))), None);
        assert!(why_not("block_rq_issue", Tracepoint::Has(Some(3)))
            .unwrap()
            .contains("3 parameters"));
        assert_eq!(why_not("block_rq_issue", Tracepoint::Has(None)), None);
        assert_eq!(why_not("sys_enter", Tracepoint::Has(Some(9))), None);
    }

    #[test]
    fn what_a_kernel_refuses_is_left_out_and_explained() {
        let mut choice = with(LAYERS[1], &[]);
        assert!(sensor(&choice, "syscalls").ran && !sensor(&choice, "page_cache").ran);
        assert!(!choice.programs.contains("on_page_add"));
        explain(&mut choice.sensors, "too complex");
        assert_eq!(
            sensor(&choice, "page_cache").why.as_deref(),
            Some("too complex")
        );
    }

    #[test]
    fn every_layer_is_a_sensor() {
        for name in LAYERS.concat() {
            assert!(TABLE.iter().any(|row| row.name == name), "{name}");
        }
    }
}
