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
            "on_bio_queue",
            "on_bio_complete",
        ],
    ),
];

/// Programs that stand in for another on kernels that lack its tracepoint: (stand-in, for).
const STAND_INS: &[(&str, &str)] = &[("on_rq_insert", "on_io_start")];

/// What is loaded here, and what is not and why.
#[derive(Debug)]
pub struct Choice {
    pub programs: BTreeSet<&'static str>,
    pub sensors: Vec<Sensor>,
}

/// Chooses the programs whose tracepoints exist. `tracepoint_of` gives a program's tracepoint (None: it
/// needs none), `exists` asks the kernel.
pub fn choose(
    tracepoint_of: impl Fn(&str) -> Option<String>,
    exists: impl Fn(&str) -> bool,
) -> Choice {
    let missing = |program: &str| tracepoint_of(program).filter(|t| !exists(t));
    let mut programs = BTreeSet::new();
    let mut sensors = Vec::new();
    for row in TABLE {
        match row.needs.iter().find_map(|p| missing(p)) {
            Some(tracepoint) => sensors.push(Sensor::missing(
                row.name,
                format!("no tracepoint {tracepoint} in this kernel"),
            )),
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

    fn without(gone: &[&str]) -> Choice {
        choose(
            |p| (p != "each_thread").then(|| p.to_owned()),
            |t| !gone.contains(&t),
        )
    }

    #[test]
    fn a_kernel_that_has_all_runs_all() {
        let choice = without(&[]);
        assert!(choice.sensors.iter().all(|s| s.ran));
        assert!(choice.programs.contains("on_io_start"));
        assert!(!choice.programs.contains("on_rq_insert"));
    }

    #[test]
    fn an_older_kernel_runs_the_rest_and_says_what_is_missing() {
        let choice = without(&["on_io_start"]);
        assert!(choice.programs.contains("on_rq_insert"));
        assert!(choice.sensors.iter().all(|s| s.ran));
        let choice = without(&["on_rq_issue"]);
        let requests = choice
            .sensors
            .iter()
            .find(|s| s.name == "block_requests")
            .unwrap();
        assert!(!requests.ran && requests.why.as_deref().unwrap().contains("on_rq_issue"));
        assert!(!choice.programs.contains("on_rq_complete"));
    }
}
