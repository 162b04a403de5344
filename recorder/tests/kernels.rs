//! Which sensors run on which kernel: by the tracepoints that each kernel has, as tests/kernels/*.txt has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use iowhy_recorder::kernel::choice::{choose, Choice, Tracepoint, SYMBOLS};
use iowhy_tables::sensors::{FALLBACKS, SCHEDULER, SENSORS};

/// Linux versions whose tracepoints are in tests/kernels.
const KERNELS: [&str; 7] = ["5.10", "5.13", "6.1", "6.12", "6.16", "6.18", "7.3"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The tracepoints of a kernel with their parameters.
fn kernel(version: &str) -> BTreeMap<String, Vec<String>> {
    let file = folder("tests/kernels").join(format!("{version}.txt"));
    let text = std::fs::read_to_string(file).unwrap();
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut words = line.split(' ').map(str::to_owned);
            (words.next().unwrap(), words.collect())
        })
        .collect()
}

/// The programs in bpf/ and the tracepoint of each; None for the walk over the threads.
fn programs() -> BTreeMap<String, Option<String>> {
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder("bpf")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for section in text.split("\nSEC(\"").skip(1) {
            let (kind, rest) = section.split_once("\")\nint ").unwrap();
            let (name, tracepoint) = match kind.strip_prefix("tp_btf/") {
                Some(tracepoint) => (rest.strip_prefix("BPF_PROG(").unwrap(), Some(tracepoint)),
                None => (rest, None),
            };
            let name = name.split([',', ')', '(']).next().unwrap();
            found.insert(name.to_owned(), tracepoint.map(str::to_owned));
        }
    }
    found
}

fn choose_on(
    tracepoints: &BTreeMap<String, Vec<String>>,
    refused: &BTreeMap<String, String>,
) -> Choice {
    let programs = programs();
    choose(
        |program| programs[program].clone(),
        |name| {
            tracepoints
                .get(name)
                .map_or(Tracepoint::Missing, |p| Tracepoint::Has(Some(p.clone())))
        },
        refused,
    )
}

/// What is said of a sensor: None where it did not run.
fn why(choice: &Choice, name: &str) -> (bool, String) {
    let sensor = choice.sensors.iter().find(|s| s.name == name).unwrap();
    (sensor.ran, sensor.why.clone().unwrap_or_default())
}

/// The sensors that did not run, but for those of whose tracepoints no kernel's file here says anything.
fn missing(choice: &Choice) -> Vec<&str> {
    let listed: BTreeSet<String> = KERNELS.iter().flat_map(|v| kernel(v).into_keys()).collect();
    let programs = programs();
    let is_listed = |program: &&str| {
        programs[*program]
            .as_ref()
            .is_none_or(|t| listed.contains(t))
    };
    let judged = |name: &str| {
        let sensor = SENSORS.iter().find(|s| s.name == name).unwrap();
        sensor.programs.iter().all(&is_listed)
    };
    let sensors = choice.sensors.iter().filter(|s| !s.ran);
    sensors
        .map(|s| s.name.as_str())
        .filter(|name| judged(name))
        .collect()
}

fn in_part(choice: &Choice) -> Vec<&str> {
    let sensors = choice.sensors.iter().filter(|s| s.ran && s.why.is_some());
    sensors.map(|s| s.name.as_str()).collect()
}

#[test]
fn all_sensors_run_from_6_12_on_with_the_programs_for_its_tracepoints() {
    for (version, expected) in [
        ("6.12", ["on_throttle_numbers", "on_iomap_writepage"]),
        ("6.16", ["on_throttle", "on_iomap_writepage"]),
        ("6.18", ["on_throttle", "on_iomap_written"]),
        ("7.3", ["on_throttle", "on_iomap_written"]),
    ] {
        let choice = choose_on(&kernel(version), &BTreeMap::new());
        assert_eq!(missing(&choice), [""; 0], "{version}");
        assert_eq!(in_part(&choice), [""; 0], "{version}");
        let alternatives = [
            "on_throttle",
            "on_throttle_numbers",
            "on_iomap_written",
            "on_iomap_writepage",
            "on_rq_insert",
            "on_btrfs_writepage",
        ];
        let found: BTreeSet<_> = alternatives
            .into_iter()
            .filter(|p| choice.programs.contains(p))
            .collect();
        assert_eq!(found, BTreeSet::from(expected), "{version}");
    }
}

#[test]
fn linux_6_1_has_all_but_lookups_and_faults() {
    let choice = choose_on(&kernel("6.1"), &BTreeMap::new());
    assert_eq!(missing(&choice), ["lookups"]);
    assert_eq!(in_part(&choice), ["page_cache"]);
    assert!(why(&choice, "page_cache").1.contains("mm_filemap_fault"));
    for program in [
        "on_rq_insert",
        "on_throttle_numbers",
        "on_iomap_writepage",
        "on_btrfs_writepage",
        "on_uring_submit_sqe",
        "on_uring_complete_of",
    ] {
        assert!(choice.programs.contains(program), "{program}");
    }
}

#[test]
fn io_uring_of_5_11_and_5_13_has_programs_of_its_own() {
    let on_5_13 = choose_on(&kernel("5.13"), &BTreeMap::new());
    assert!(on_5_13.programs.contains("on_uring_submit_data"));
    assert!(!on_5_13.programs.contains("on_uring_submit_of"));
    assert!(on_5_13.programs.contains("on_uring_complete_data"));
    let on_5_11 = choose_on(&kernel("5.11"), &BTreeMap::new());
    assert_eq!(missing(&on_5_11), ["lookups"]);
    assert_eq!(in_part(&on_5_11), ["page_cache"]);
    assert!(on_5_11.programs.contains("on_uring_submit_data"));
    assert!(on_5_11.programs.contains("on_uring_complete_once"));
    assert!(!on_5_11.programs.contains("on_uring_complete_data"));
}

#[test]
fn linux_5_10_to_5_17_have_programs_of_their_own() {
    let on_5_10 = kernel("5.10");
    let mut on_5_15 = on_5_10.clone();
    on_5_15.insert("block_bio_queue".into(), vec!["bio".into()]);
    for (tracepoints, queued) in [(on_5_10, "on_bio_queue_of"), (on_5_15, "on_bio_queue")] {
        let choice = choose_on(&tracepoints, &BTreeMap::new());
        // The filesystems of the kernel that was written down are modules, whose types it does not show.
        assert_eq!(
            missing(&choice),
            [
                "lookups",
                "journal_jbd2",
                "journal_xfs",
                "allocations_ext4",
                "allocations_xfs",
                "allocations_btrfs"
            ]
        );
        assert_eq!(in_part(&choice), ["page_cache"]);
        for program in [
            "on_sched_switch_alone",
            "on_page_add",
            "on_page_delete",
            "on_one_page_dirty",
            "on_uring_submit_of",
            "on_uring_complete_data",
            "on_uring_punt_of",
            queued,
        ] {
            assert!(choice.programs.contains(program), "{program}");
        }
        for program in ["on_sched_switch", "on_page_dirty", "on_io_start"] {
            assert!(!choice.programs.contains(program), "{program}");
        }
    }
    // The one for 5.13 would take the request for a number.
    let refused = BTreeMap::from([("on_uring_submit_of".to_owned(), "R6 prohibited".to_owned())]);
    let without = choose_on(&kernel("5.10"), &refused);
    assert!(!without.programs.contains("on_uring_submit_data"));
    assert!(why(&without, "async_operations")
        .1
        .contains("without those of io_uring"));
    for version in ["6.1", "6.12", "6.16", "6.18", "7.3"] {
        let choice = choose_on(&kernel(version), &BTreeMap::new());
        assert!(choice.programs.contains("on_sched_switch"), "{version}");
        for program in [
            "on_sched_switch_alone",
            "on_one_page_dirty",
            "on_bio_queue_of",
        ] {
            assert!(!choice.programs.contains(program), "{version} {program}");
        }
    }
}

#[test]
fn nothing_runs_where_threads_cannot_be_followed() {
    let mut tracepoints = kernel("5.10");
    tracepoints.remove("sched_switch");
    let choice = choose_on(&tracepoints, &BTreeMap::new());
    assert!(choice.programs.is_empty());
    assert!(choice.sensors.iter().all(|s| !s.ran));
    assert!(why(&choice, "syscalls").1.contains("sched_switch"));
    for program in SCHEDULER {
        // With it the one that stands in for it, if there is one.
        let instead = FALLBACKS.iter().find(|(first, _)| first == program);
        let all = std::iter::once(program).chain(instead.map(|(_, fallback)| fallback));
        let refused = all.map(|p| ((*p).to_owned(), "too new".to_owned()));
        assert!(choose_on(&kernel("6.18"), &refused.collect())
            .programs
            .is_empty());
    }
}

#[test]
fn a_program_that_the_kernel_refuses_takes_only_its_sensors_with_it() {
    let refused = BTreeMap::from([("on_commit_start".to_owned(), "R6 prohibited".to_owned())]);
    let choice = choose_on(&kernel("6.18"), &refused);
    assert_eq!(missing(&choice), ["journal_jbd2"]);
    assert_eq!(
        why(&choice, "journal_jbd2").1,
        "this kernel refuses on_commit_start: R6 prohibited"
    );
    assert!(!choice.programs.contains("on_commit_end"));
    // What only adds to a sensor is left out of it, and a program for an older kernel is not used instead.
    let refused = BTreeMap::from([("on_ext4_written".to_owned(), "R6 prohibited".to_owned())]);
    let choice = choose_on(&kernel("6.18"), &refused);
    assert_eq!(
        why(&choice, "writeback"),
        (
            true,
            "without what fsync itself writes on ext4 (this kernel refuses on_ext4_written: R6 prohibited)"
                .into()
        )
    );
}

#[test]
fn a_filesystem_that_is_not_loaded_is_not_missed_elsewhere() {
    let mut tracepoints = kernel("6.18");
    tracepoints.retain(|name, _| !name.starts_with("xfs_") && !name.starts_with("iomap_"));
    let choice = choose_on(&tracepoints, &BTreeMap::new());
    assert_eq!(missing(&choice), ["journal_xfs", "allocations_xfs"]);
    assert_eq!(in_part(&choice), [""; 0]);
    assert!(why(&choice, "journal_xfs").1.contains("xfs is not loaded"));
    // Where it is loaded, what is missing is said.
    let mut tracepoints = kernel("6.18");
    tracepoints.retain(|name, _| !name.starts_with("iomap_"));
    let choice = choose_on(&tracepoints, &BTreeMap::new());
    assert_eq!(in_part(&choice), ["writeback"]);
    assert!(why(&choice, "writeback").1.contains("on XFS"));
}

#[test]
fn a_tracepoint_of_another_shape_is_not_used() {
    let mut tracepoints = kernel("6.18");
    tracepoints.insert(
        "block_rq_issue".into(),
        vec!["request_queue".into(), "request".into()],
    );
    let choice = choose_on(&tracepoints, &BTreeMap::new());
    assert_eq!(missing(&choice), ["block_requests"]);
    assert!(why(&choice, "block_requests")
        .1
        .contains("request_queue request"));
    // More parameters behind those that are read do no harm.
    let mut tracepoints = kernel("6.18");
    tracepoints
        .get_mut("sched_process_exit")
        .unwrap()
        .push("-".into());
    assert_eq!(missing(&choose_on(&tracepoints, &BTreeMap::new())), [""; 0]);
}

#[test]
fn every_program_belongs_to_a_sensor_and_every_one_that_is_named_is_there() {
    let mut named: BTreeSet<_> = SCHEDULER.iter().map(|p| (*p).to_owned()).collect();
    for sensor in SENSORS {
        let parts = sensor.parts.iter().flat_map(|p| p.programs);
        named.extend(sensor.programs.iter().chain(parts).map(|p| (*p).to_owned()));
    }
    named.extend(SYMBOLS.iter().map(|(program, _)| (*program).to_owned()));
    named.extend(FALLBACKS.iter().map(|(_, fallback)| (*fallback).to_owned()));
    assert_eq!(named, programs().into_keys().collect());
}
