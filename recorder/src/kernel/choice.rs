//! Which programs and sensors this kernel can run.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_store::manifest::Sensor;
use iowhy_tables::sensors::{self, Backend, FALLBACKS, PARAMETERS, SCHEDULER};
use libbpf_rs::OpenObject;

use super::refusal;

/// What the kernel says of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracepoint {
    Missing,
    /// It is there; its parameters as in [`PARAMETERS`], where they can be read.
    Has(Option<Vec<String>>),
}

/// What a call passes, and what follows the thread that makes it.
pub const PASSED_BY_CALLS: [&str; 5] = [
    "each_thread",
    "on_sys_enter",
    "on_sys_exit",
    "on_get_pages",
    "on_sched_switch",
];

/// Programs that name and find functions, and the helper of each. No sensor misses them: /proc/kallsyms says the same,
/// but takes a tenth of a second.
pub const SYMBOLS: [(&str, &str); 2] = [
    ("name_function", "snprintf"),
    ("find_functions", "kallsyms_lookup_name"),
];

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
            return Some(refusal::Refusal::reason(program) + words);
        }
        tracepoint_of(program).and_then(|name| why_not(program, &name, ask(&name)))
    };
    // The program itself, or the one that stands in for it; else why neither can run.
    let pick = |program: &'static str| match why_not(program) {
        None => Ok(program),
        Some(why) => FALLBACKS
            .iter()
            .find(|(first, fallback)| *first == program && why_not(fallback).is_none())
            .map(|(_, fallback)| *fallback)
            .ok_or(why),
    };
    let mut programs = BTreeSet::new();
    let mut sensors = Vec::new();
    for row in of_programs() {
        let needs: Result<Vec<_>, _> = SCHEDULER
            .iter()
            .chain(row.programs)
            .map(|p| pick(p))
            .collect();
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
            let found: Vec<_> = part.programs.iter().map(|p| pick(p)).collect();
            match found.iter().find_map(|f| f.as_ref().ok()) {
                Some(program) => {
                    programs.insert(*program);
                }
                None if part.required_by.is_none_or(|p| pick(p).is_ok()) => {
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
    let shape = PARAMETERS
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

/// Whether a tracepoint's parameters begin with those that a program reads, or are those where the shape ends with ".".
pub fn fits(shape: &str, found: &[String]) -> bool {
    let (shape, whole) = match shape.strip_suffix(" .") {
        Some(shape) => (shape, true),
        None => (shape, false),
    };
    let wanted: Vec<_> = shape.split(' ').collect();
    (found.len() == wanted.len() || !whole && found.len() > wanted.len())
        && wanted
            .iter()
            .zip(found)
            .all(|(w, f)| w.split('|').any(|w| w == f))
}

/// Filesystems whose tracepoints and types are a module's where they are not built in.
pub const MODULES: [&str; 5] = ["ext4", "jbd2", "xfs", "btrfs", "overlay"];

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

/// What runs only where devices lie on others.
const LAYERS: [&str; 4] = [
    "on_bio_remap",
    "on_bio_remap_of",
    "on_rq_remap",
    "on_rq_remap_of",
];

/// The sensor of user stacks, and its program that runs at the ticks of a clock.
pub const USER_STACKS: &str = "user_stacks";
pub const CLOCK: &str = "on_cpu_clock";

/// The sensor of databases' functions.
pub const STATEMENTS: &str = "statement_calls";

/// Whether a program takes user stacks, or what they need, beside what else it does.
pub fn takes_stacks(program: &str) -> bool {
    const PROGRAMS: [&str; 7] = [
        "on_sys_exit",
        "on_sched_switch",
        "on_sched_switch_alone",
        "on_sched_wakeup",
        "on_sched_wakeup_new",
        "on_fork",
        "on_exec",
    ];
    PROGRAMS.contains(&program)
}

/// Whether user stacks are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserStacks {
    Taken,
    /// Nobody asked for them.
    Unwanted,
    /// Why this kernel does not take what takes them.
    Refused(String),
}

impl Choice {
    /// Has an object's programs loaded that were chosen.
    pub fn apply(&self, object: &mut OpenObject) {
        for mut program in object.progs_mut() {
            let name = program.name().to_str();
            program.set_autoload(name.is_some_and(|name| self.programs.contains(name)));
            // Not 0, with which libbpf loads a refused program again and again, until each step that the verifier took is
            // written down: minutes where it gave up after a million.
            program.set_log_level(refusal::VERIFIER_STATISTICS);
        }
    }

    /// Why nothing can run; None: something can.
    pub fn nothing(&self) -> Option<String> {
        let why = || self.sensors.iter().find_map(|s| s.why.clone());
        self.programs.is_empty().then(|| why().unwrap_or_default())
    }

    /// Leaves out what follows requests from device to device where no device lies on another.
    pub fn set_layers(&mut self, any: bool) {
        if !any {
            self.programs.retain(|program| !LAYERS.contains(program));
        }
    }

    /// Leaves functions of databases out unless they were asked for; what was not wanted is not missing.
    pub fn set_statements(&mut self, wanted: bool) {
        if !wanted {
            let of_statements = sensors::SENSORS.iter().find(|s| s.name == STATEMENTS);
            let programs = of_statements.map_or(&[][..], |sensor| sensor.programs);
            self.programs.retain(|program| !programs.contains(program));
            self.sensors.retain(|sensor| sensor.name != STATEMENTS);
        }
    }

    /// Leaves user stacks out where they are not taken; what nobody wants does not lack.
    pub fn set_stacks(&mut self, stacks: &UserStacks) {
        if *stacks == UserStacks::Taken {
            return;
        }
        self.programs.remove(CLOCK);
        self.sensors.retain(|sensor| sensor.name != USER_STACKS);
        if let UserStacks::Refused(why) = stacks {
            self.sensors
                .push(Sensor::missing(USER_STACKS, why.as_str()));
        }
    }
}

/// Says of user stacks that the clock of the CPUs cannot be had.
pub fn without_clock(sensors: &mut [Sensor], error: &std::io::Error) {
    let of_stacks = sensors
        .iter_mut()
        .filter(|s| s.name == USER_STACKS && s.ran);
    for sensor in of_stacks {
        sensor.why = Some(format!(
            "without whose code runs on the CPUs (perf_event_open: {error})"
        ));
    }
}

/// What /proc alone gives of the programs' sensors; `why` the programs do not run, `stacks`: user stacks were asked for.
pub fn from_proc(why: &str, stacks: bool) -> Vec<Sensor> {
    of_programs()
        .filter(|row| row.name != STATEMENTS && (stacks || row.name != USER_STACKS))
        .map(|row| match row.from_proc {
            true => Sensor::ran(row.name),
            false => Sensor::missing(row.name, why),
        })
        .collect()
}

/// Every sensor of the programs as missing, for one reason.
pub fn none(why: &str) -> Vec<Sensor> {
    of_programs()
        .map(|row| Sensor::missing(row.name, why))
        .collect()
}

/// The sensors that programs give.
fn of_programs() -> impl Iterator<Item = &'static sensors::Sensor> {
    sensors::SENSORS
        .iter()
        .filter(|sensor| sensor.backend == Backend::Programs)
}
