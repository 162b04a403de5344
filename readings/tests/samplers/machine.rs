//! The machine's own numbers: CPUs, memory, disks, pressure.

use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{Reading, Roots};
use iowhy_store::manifest::Sensor;
use iowhy_store::rows;

use crate::tree::{sample, Tree};

const TICK: i64 = 10_000_000; // 1/100 s on every architecture that Linux has

const STAT: &str = "\
cpu  10 20 30 40 50 1 2 3 0 0
cpu0 10 20 30 40 50 1 2 3 0 0
intr 123 1 2 3
ctxt 77
processes 12
procs_running 4
procs_blocked 5
";

/// A machine with three disks, one partition, and no control groups.
fn machine() -> Tree {
    let tree = Tree::new();
    tree.put("proc/stat", STAT)
        .put(
            "proc/vmstat",
            "pgpgin 3\npgpgout 4\npswpin 5\nzswpin 8\nzswpout 9\nzswpwb 10\npgscan_direct 6\nworkingset_refault_file 7\n",
        )
        .put(
            "proc/meminfo",
            "MemTotal:       100 kB\nDirty:  7 kB\nHugePages_Total:  0\n",
        )
        .put(
            "proc/diskstats",
            " 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n\
             \x20254       1 vda1 9 9 9 9 9 9 9 9 9 9 9\n\
             \x20  7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
             \x20  8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n",
        )
        .put(
            "proc/pressure/io",
            "some avg10=0.27 avg60=0.34 avg300=0.24 total=5\nfull avg10=0.16 total=6\n",
        )
        .put("sys/block/vda/dev", "254:0\n")
        .put("sys/block/vda/vda1/dev", "254:1\n")
        .put("sys/block/vda/vda1/partition", "1\n")
        .put("sys/block/loop0/dev", "7:0\n")
        .put("sys/block/sda/dev", "8:0\n");
    tree
}

fn cpu(cpu: i64) -> Reading {
    Reading::Cpu(rows::CpuSamples {
        ts_ns: 1,
        cpu,
        user_ns: 30 * TICK,
        system_ns: 30 * TICK,
        idle_ns: 40 * TICK,
        iowait_ns: Some(50 * TICK),
        irq_ns: Some(3 * TICK),
        steal_ns: Some(3 * TICK),
    })
}

fn vm() -> Reading {
    Reading::Vm(rows::VmSamples {
        ts_ns: 1,
        procs_running: Some(4),
        procs_blocked: Some(5),
        context_switches: Some(77),
        forks: Some(12),
        page_in_bytes: Some(3072),
        page_out_bytes: Some(4096),
        swap_in_pages: Some(5),
        zswap_in_pages: Some(8),
        zswap_out_pages: Some(9),
        direct_scan_pages: Some(6),
        refault_file_pages: Some(7),
        ..Default::default()
    })
}

fn memory() -> Reading {
    Reading::Memory(rows::MemorySamples {
        ts_ns: 1,
        total_bytes: Some(102_400),
        dirty_bytes: Some(7168),
        ..Default::default()
    })
}

/// As kernels before 4.18 and 5.5 print it: without discards and flushes.
fn old_disk() -> rows::DiskSamples {
    rows::DiskSamples {
        ts_ns: 1,
        dev: 8 << 20,
        reads: 1,
        reads_merged: Some(2),
        read_bytes: 3 * 512,
        read_ns: Some(4_000_000),
        writes: 5,
        writes_merged: Some(6),
        written_bytes: 7 * 512,
        write_ns: Some(8_000_000),
        in_flight: Some(9),
        busy_ns: Some(10_000_000),
        queue_ns: Some(11_000_000),
        ..Default::default()
    }
}

fn disk() -> rows::DiskSamples {
    rows::DiskSamples {
        dev: 254 << 20,
        discards: Some(12),
        discarded_bytes: Some(14 * 512),
        flushes: Some(16),
        flush_ns: Some(17_000_000),
        ..old_disk()
    }
}

/// Zeros are what was counted, not what is unknown.
fn idle_loop() -> rows::DiskSamples {
    rows::DiskSamples {
        ts_ns: 1,
        dev: 7 << 20,
        reads_merged: Some(0),
        read_ns: Some(0),
        writes_merged: Some(0),
        write_ns: Some(0),
        in_flight: Some(0),
        busy_ns: Some(0),
        queue_ns: Some(0),
        discards: Some(0),
        discarded_bytes: Some(0),
        flushes: Some(0),
        flush_ns: Some(0),
        ..Default::default()
    }
}

fn pressure(kind: &'static str, total_ns: i64) -> Reading {
    Reading::Pressure(rows::PressureSamples {
        ts_ns: 1,
        scope: "machine".into(),
        resource: "io".into(),
        kind: kind.into(),
        total_ns,
    })
}

#[test]
fn every_number_of_a_machine() {
    let tree = machine();
    let mut samplers = tree.samplers();
    let expected = [
        cpu(-1),
        cpu(0),
        vm(),
        memory(),
        Reading::Disk(disk()),
        Reading::Disk(idle_loop()),
        Reading::Disk(old_disk()),
        pressure("some", 5_000),
        pressure("full", 6_000),
    ];
    assert_eq!(sample(&mut samplers, 1), expected);
}

#[test]
fn a_source_that_is_not_there_or_turns_bad_is_off_and_says_why() {
    let tree = machine();
    let mut samplers = tree.samplers();
    let first = sample(&mut samplers, 1);
    let sensors = samplers.sensors();
    assert_eq!(sensors[0], Sensor::ran("cpu_samples"));
    let why = sensors[5].why.as_deref().unwrap();
    assert!(why.starts_with(&tree.at("proc/self/mountinfo")), "{why}");

    // The others go on; the loop device that was never used is not repeated.
    tree.put("proc/meminfo", "MemTotal:       100 kB\nMemFree: x kB\n");
    let second = sample(&mut samplers, 2);
    assert_eq!(second.len(), first.len() - 2);
    let sensor = &samplers.sensors()[2];
    assert!(sensor.ran);
    assert_eq!(
        sensor.why.clone().unwrap(),
        format!(
            "not to the end: {}:2: expected a size in kB",
            tree.at("proc/meminfo")
        )
    );
}

#[test]
fn nothing_to_read_is_said_by_name() {
    let tree = Tree::new();
    let mut samplers = tree.samplers();
    assert_eq!(sample(&mut samplers, 1), []);
    for sensor in samplers.sensors() {
        assert!(!sensor.ran);
        assert!(
            sensor.why.unwrap().contains(&tree.at("")),
            "{}",
            sensor.name
        );
    }
}

/// The real trees of whatever machine this is: what runs gives rows.
#[test]
fn this_machine() {
    let mut samplers = Samplers::new(&Roots::default(), Scope::default());
    let readings = sample(&mut samplers, 1);
    assert!(readings
        .iter()
        .any(|r| matches!(r, Reading::Cpu(row) if row.cpu == -1)));
    assert!(readings
        .iter()
        .any(|r| matches!(r, Reading::Vm(row) if row.context_switches > Some(0))));
    assert!(readings
        .iter()
        .any(|r| matches!(r, Reading::Memory(row) if row.free_bytes.is_some())));
    for sensor in samplers.sensors() {
        assert_eq!(sensor.ran, sensor.why.is_none());
    }
}
