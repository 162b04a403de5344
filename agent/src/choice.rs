//! Which of the programs this kernel can run, and what is not known without the others.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_recorder::kernel::choice::{fits, module_of, Choice, Tracepoint};
use iowhy_recorder::kernel::refusal::Refusal;
use iowhy_store::manifest::Sensor;

/// A program, what it hangs on, and of which shape that must be: the structures that its parameters point to, "-" for
/// anything else.
struct Program {
    name: &'static str,
    on: On,
    shape: &'static str,
}

/// What a program hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Tracepoint(&'static str),
    /// A function of the kernel, or of this module.
    Function(&'static str, &'static str),
}

const fn at(name: &'static str, tracepoint: &'static str, shape: &'static str) -> Program {
    Program {
        name,
        on: On::Tracepoint(tracepoint),
        shape,
    }
}

const fn of(name: &'static str, function: &'static str, module: &'static str) -> Program {
    Program {
        name,
        on: On::Function(function, module),
        shape: "file - - -",
    }
}

/// A sensor and its programs; of each list the first that this kernel takes.
struct Row {
    name: &'static str,
    programs: &'static [&'static [Program]],
    /// Only where it is asked for.
    calls: bool,
}

const fn row(name: &'static str, programs: &'static [&'static [Program]]) -> Row {
    Row {
        name,
        programs,
        calls: false,
    }
}

const ROWS: &[Row] = &[
    row(
        "agent_waits",
        &[
            &[
                at(
                    "switch_with_state",
                    "sched_switch",
                    "- task_struct task_struct -",
                ),
                at(
                    "switch_without_state",
                    "sched_switch",
                    "- task_struct task_struct",
                ),
            ],
            &[at("waking", "sched_waking", "task_struct")],
        ],
    ),
    row(
        "agent_requests",
        &[&[at("request_complete", "block_rq_complete", "request - -")]],
    ),
    row(
        "agent_cache",
        &[
            &[at(
                "page_added",
                "mm_filemap_add_to_page_cache",
                "folio|page",
            )],
            &[at(
                "page_removed",
                "mm_filemap_delete_from_page_cache",
                "folio|page",
            )],
        ],
    ),
    row(
        "agent_pauses",
        &[&[
            at(
                "throttled",
                "balance_dirty_pages",
                "bdi_writeback dirty_throttle_control - - - - -",
            ),
            at(
                "throttled_numbers",
                "balance_dirty_pages",
                "bdi_writeback - - - - - - - - - - -",
            ),
        ]],
    ),
    row(
        "agent_syncs_ext4",
        &[
            &[at("ext4_sync_began", "ext4_sync_file_enter", "file -")],
            &[at("ext4_sync_ended", "ext4_sync_file_exit", "inode -")],
        ],
    ),
    row(
        "agent_syncs_xfs",
        &[
            &[of("begin_xfs_file_fsync", "xfs_file_fsync", "xfs")],
            &[of("end_xfs_file_fsync", "xfs_file_fsync", "xfs")],
        ],
    ),
    row(
        "agent_syncs_btrfs",
        &[
            &[of("begin_btrfs_sync_file", "btrfs_sync_file", "btrfs")],
            &[of("end_btrfs_sync_file", "btrfs_sync_file", "btrfs")],
        ],
    ),
    Row {
        name: "agent_calls",
        programs: &[
            &[at("call_enter", "sys_enter", "pt_regs -")],
            &[at("call_exit", "sys_exit", "pt_regs -")],
        ],
        calls: true,
    },
];

/// Chooses the programs for which the kernel has what they hang on and that it has not refused. `ask` gives what the
/// kernel says of it, `refused` its words on programs that it did not take.
pub fn choose(
    calls: bool,
    ask: impl Fn(On) -> Tracepoint,
    refused: &BTreeMap<String, String>,
) -> Choice {
    let mut choice = Choice {
        programs: BTreeSet::new(),
        sensors: Vec::new(),
    };
    for row in ROWS {
        if row.calls && !calls {
            let why = "every call of the machine would pay for it; --calls asks for it";
            choice.sensors.push(Sensor::missing(row.name, why));
            continue;
        }
        let picked: Result<Vec<_>, String> = row
            .programs
            .iter()
            .map(|alternatives| pick(alternatives, &ask, refused))
            .collect();
        choice.sensors.push(match picked {
            Ok(programs) => {
                choice.programs.extend(programs);
                Sensor::ran(row.name)
            }
            Err(why) => Sensor::missing(row.name, why),
        });
    }
    choice
}

/// The first that can run; else why the first cannot.
fn pick(
    alternatives: &[Program],
    ask: &impl Fn(On) -> Tracepoint,
    refused: &BTreeMap<String, String>,
) -> Result<&'static str, String> {
    let why_not = |program: &Program| {
        if let Some(words) = refused.get(program.name) {
            return Some(Refusal::reason(program.name) + words);
        }
        match (ask(program.on), program.on) {
            (Tracepoint::Missing, On::Tracepoint(name)) => Some(match module_of(name) {
                Some(module) => {
                    format!("no tracepoint {name}: {module} is not loaded, or lacks it")
                }
                None => format!("no tracepoint {name} in this kernel"),
            }),
            (Tracepoint::Missing, On::Function(name, module)) => Some(format!(
                "no function {name}: {module} is not loaded, or lacks it"
            )),
            (Tracepoint::Has(Some(found)), _) if !fits(program.shape, &found) => Some(format!(
                "{} of this kernel has other parameters ({})",
                program.name,
                found.join(" ")
            )),
            _ => None,
        }
    };
    let mut first = None;
    for program in alternatives {
        match why_not(program) {
            None => return Ok(program.name),
            Some(why) => first = first.or(Some(why)),
        }
    }
    Err(first.unwrap_or_default())
}

/// The sensor that a program belongs to.
pub fn sensor_of(program: &str) -> &'static str {
    row_with(|one| one.name == program).map_or("", |row| row.name)
}

/// Whether a program hangs on a function, not on a tracepoint.
pub fn is_on_function(program: &str) -> bool {
    row_with(|one| one.name == program && matches!(one.on, On::Function(..))).is_some()
}

fn row_with(is_it: impl Fn(&Program) -> bool) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.programs.iter().any(|list| list.iter().any(&is_it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(on: On) -> Tracepoint {
        let shape = match on {
            On::Tracepoint("sched_switch") => "- task_struct task_struct",
            On::Tracepoint("balance_dirty_pages") => "bdi_writeback - - - - - - - - - - -",
            On::Tracepoint("sched_waking") => "task_struct",
            On::Tracepoint("sys_enter" | "sys_exit") => "pt_regs -",
            On::Tracepoint("block_rq_complete") => "request - -",
            On::Tracepoint("ext4_sync_file_enter") => "file -",
            On::Tracepoint("ext4_sync_file_exit") => "inode -",
            On::Tracepoint(_) => "page",
            On::Function("xfs_file_fsync", _) => return Tracepoint::Missing,
            On::Function("btrfs_sync_file", _) => "inode - - -",
            On::Function(..) => "file - - -",
        };
        Tracepoint::Has(Some(shape.split(' ').map(str::to_owned).collect()))
    }

    fn why(choice: &Choice, name: &str) -> Option<String> {
        let sensor = choice.sensors.iter().find(|s| s.name == name).unwrap();
        assert_eq!(sensor.ran, sensor.why.is_none());
        sensor.why.clone()
    }

    #[test]
    fn each_kernel_gets_the_programs_of_its_shapes() {
        let choice = choose(false, kernel, &BTreeMap::new());
        assert!(choice.programs.contains("switch_without_state"));
        assert!(!choice.programs.contains("switch_with_state"));
        assert!(choice.programs.contains("throttled_numbers"));
        assert_eq!(why(&choice, "agent_syncs_ext4"), None);
        assert!(why(&choice, "agent_syncs_xfs")
            .unwrap()
            .contains("xfs is not loaded"));
        assert!(why(&choice, "agent_syncs_btrfs").unwrap().contains("inode"));
        assert!(!choice.programs.contains("begin_btrfs_sync_file"));
    }

    #[test]
    fn calls_are_traced_only_where_asked_for_and_a_refused_program_leaves_its_sensor_out() {
        assert!(why(&choose(false, kernel, &BTreeMap::new()), "agent_calls").is_some());
        let refused = BTreeMap::from([("page_removed".to_owned(), "R1 is bad".to_owned())]);
        let choice = choose(true, kernel, &refused);
        assert_eq!(sensor_of("end_btrfs_sync_file"), "agent_syncs_btrfs");
        assert!(is_on_function("end_btrfs_sync_file"));
        // ext4 tells of syncs by tracepoints, also where no function may be traced.
        assert!(!is_on_function("ext4_sync_ended"));
        assert_eq!(sensor_of("waking"), "agent_waits");
        assert!(choice.programs.contains("call_enter"));
        assert!(why(&choice, "agent_cache").unwrap().contains("R1 is bad"));
        assert!(!choice.programs.contains("page_added"));
    }
}
