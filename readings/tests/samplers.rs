//! The samplers over trees of known text: every number is known in advance.

use std::path::Path;

use iowhy_readings::sampler::process_io::ProcessIo;
use iowhy_readings::sampler::{Samplers, Scope};
use iowhy_readings::{Reading, Roots};
use iowhy_store::manifest::Sensor;
use iowhy_store::rows;

const TICK: i64 = 10_000_000; // 1/100 s on every architecture that Linux has

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) -> &Tree {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn at(&self, path: &str) -> String {
        self.0.path().join(path).display().to_string()
    }

    fn roots(&self) -> Roots {
        Roots {
            proc: self.0.path().join("proc"),
            sys: self.0.path().join("sys"),
        }
    }

    fn samplers(&self) -> Samplers {
        Samplers::new(&self.roots(), Scope::default())
    }
}

fn sample(samplers: &mut Samplers, now_ns: i64) -> Vec<Reading> {
    let mut all = Vec::new();
    samplers.sample(now_ns, &mut |reading| all.push(reading));
    all
}

fn cgroups(readings: Vec<Reading>) -> rows::CgroupSamples {
    let mut found = readings.into_iter().filter_map(|reading| match reading {
        Reading::Cgroup(row) => Some(row),
        _ => None,
    });
    found.next().expect("a reading of the cgroup")
}

const STAT: &str = "\
cpu  10 20 30 40 50 1 2 3 0 0
cpu0 10 20 30 40 50 1 2 3 0 0
intr 123 1 2 3
ctxt 77
processes 12
procs_running 4
procs_blocked 5
";

#[test]
fn the_machine_to_the_number() {
    let tree = Tree::new();
    tree.put("proc/stat", STAT)
        .put(
            "proc/vmstat",
            "pgpgin 3\npgpgout 4\npswpin 5\npgscan_direct 6\nworkingset_refault_file 7\n",
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
    let mut samplers = tree.samplers();
    let cpu = |cpu| {
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
    };
    let vm = Reading::Vm(rows::VmSamples {
        ts_ns: 1,
        procs_running: Some(4),
        procs_blocked: Some(5),
        context_switches: Some(77),
        forks: Some(12),
        page_in_bytes: Some(3072),
        page_out_bytes: Some(4096),
        swap_in_pages: Some(5),
        direct_scan_pages: Some(6),
        refault_file_pages: Some(7),
        ..Default::default()
    });
    let memory = Reading::Memory(rows::MemorySamples {
        ts_ns: 1,
        total_bytes: Some(102_400),
        dirty_bytes: Some(7168),
        ..Default::default()
    });
    let old_disk = rows::DiskSamples {
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
    };
    let disk = rows::DiskSamples {
        dev: 254 << 20,
        discards: Some(12),
        discarded_bytes: Some(14 * 512),
        flushes: Some(16),
        flush_ns: Some(17_000_000),
        ..old_disk.clone()
    };
    let idle_loop = rows::DiskSamples {
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
    };
    let pressure = |kind: &'static str, total_ns| {
        Reading::Pressure(rows::PressureSamples {
            ts_ns: 1,
            scope: "machine".into(),
            resource: "io".into(),
            kind: kind.into(),
            total_ns,
        })
    };
    let expected = vec![
        cpu(-1),
        cpu(0),
        vm,
        memory,
        Reading::Disk(disk),
        Reading::Disk(idle_loop),
        Reading::Disk(old_disk),
        pressure("some", 5_000),
        pressure("full", 6_000),
    ];
    assert_eq!(sample(&mut samplers, 1), expected);

    let sensors = samplers.sensors();
    assert_eq!(sensors[0], Sensor::ran("cpu_samples"));
    let why = sensors[5].why.as_deref().unwrap();
    assert!(why.starts_with(&tree.at("proc/self/mountinfo")), "{why}");

    // A source that turns bad is off from then on and says where; the others go on. The loop device that
    // was never used is not repeated.
    tree.put("proc/meminfo", "MemTotal:       100 kB\nMemFree: x kB\n");
    let second = sample(&mut samplers, 2);
    assert_eq!(second.len(), expected.len() - 2);
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
            sensor.why.unwrap().contains(&tree.at("proc/")),
            "{}",
            sensor.name
        );
    }
}

fn mountinfo(tree: &Tree, lines: &[(&str, &str, &str)]) {
    let text: String = lines
        .iter()
        .enumerate()
        .map(|(i, (root, point, rest))| {
            format!(
                "{} 1 0:{} {root} {} rw - {rest}\n",
                30 + i,
                30 + i,
                tree.at(point)
            )
        })
        .collect();
    tree.put("proc/self/mountinfo", text);
}

#[test]
fn a_process_that_is_moved_to_another_group_is_followed() {
    let tree = Tree::new();
    mountinfo(&tree, &[("/", "cg/cpu", "cgroup cgroup rw,cpu")]);
    tree.put("proc/self/cgroup", "1:cpu:/\n")
        .put("cg/cpu/cpu.cfs_quota_us", "-1\n")
        .put("cg/cpu/limited/cpu.cfs_quota_us", "30000\n")
        .put("cg/cpu/limited/cpu.cfs_period_us", "100000\n");
    let mut samplers = tree.samplers();
    let before = cgroups(sample(&mut samplers, 5));
    assert_eq!((before.path.as_ref(), before.cpu_quota_cores), ("/", None));
    tree.put("proc/self/cgroup", "1:cpu:/limited\n");
    let after = cgroups(sample(&mut samplers, 6));
    assert_eq!(
        (after.path.as_ref(), after.cpu_quota_cores),
        ("/limited", Some(0.3))
    );
    // What can no longer be read (the process has ended) changes nothing.
    tree.put("proc/self/cgroup", "");
    assert_eq!(cgroups(sample(&mut samplers, 7)).cpu_quota_cores, Some(0.3));
}

#[test]
fn version_1_takes_the_tightest_limit_and_the_counts_of_its_group() {
    let tree = Tree::new();
    mountinfo(
        &tree,
        &[
            ("/", "cg/cpu", "cgroup cgroup rw,cpu"),
            ("/", "cg/cpuacct", "cgroup cgroup rw,cpuacct"),
            ("/", "cg/memory", "cgroup cgroup rw,memory"),
            ("/", "cg/blkio", "cgroup cgroup rw,blkio"),
        ],
    );
    tree.put("proc/self/cgroup", "4:memory:/a/b\n3:blkio:/a\n2:cpuacct:/a\n1:cpu:/a/b\n0::/\n")
        // The parent's half core is tighter than the own two cores.
        .put("cg/cpu/cpu.cfs_quota_us", "-1\n")
        .put("cg/cpu/cpu.cfs_period_us", "100000\n")
        .put("cg/cpu/a/cpu.cfs_quota_us", "25000\n")
        .put("cg/cpu/a/cpu.cfs_period_us", "50000\n")
        .put("cg/cpu/a/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 123456\n")
        .put("cg/cpu/a/b/cpu.cfs_quota_us", "200000\n")
        .put("cg/cpu/a/b/cpu.cfs_period_us", "100000\n")
        .put("cg/cpu/a/b/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 1\n")
        .put("cg/cpuacct/a/cpuacct.usage", "987654321\n")
        .put("cg/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .put("cg/memory/a/memory.limit_in_bytes", "1000000\n")
        .put("cg/memory/a/memory.failcnt", "31\n")
        .put("cg/memory/a/b/memory.limit_in_bytes", "2000000\n")
        .put("cg/memory/a/b/memory.failcnt", "2\n")
        .put("cg/memory/a/b/memory.usage_in_bytes", "500000\n")
        .put(
            "cg/memory/a/b/memory.stat",
            "cache 1\ntotal_cache 400000\ntotal_workingset_refault_file 9\nhierarchical_memory_limit 900000\n",
        )
        .put("cg/blkio/blkio.throttle.read_bps_device", "254:0 5000\n7:0 4000\n")
        .put("cg/blkio/a/blkio.throttle.read_bps_device", "254:0 7000\n")
        .put("cg/blkio/a/blkio.throttle.write_iops_device", "");
    let mut samplers = tree.samplers();
    let row = cgroups(sample(&mut samplers, 5));
    let expected = rows::CgroupSamples {
        ts_ns: 5,
        path: "/a/b".into(),
        cpu_usage_ns: Some(987_654_321),
        cpu_throttled_ns: Some(123_456),
        cpu_periods: Some(10),
        cpu_throttled_periods: Some(4),
        cpu_quota_cores: Some(0.5),
        memory_bytes: Some(500_000),
        // Tighter than what can be seen up the tree: set above the mounted part.
        memory_limit_bytes: Some(900_000),
        memory_limit_hits: Some(31),
        cached_bytes: Some(400_000),
        refault_file_pages: Some(9),
        io_limit_read_bytes_per_s: Some(4000),
        ..Default::default()
    };
    assert_eq!(row, expected);
    // Limits that change are seen within a second.
    tree.put("cg/cpu/a/cpu.cfs_quota_us", "-1\n");
    assert_eq!(
        cgroups(sample(&mut samplers, 10)).cpu_quota_cores,
        Some(0.5)
    );
    assert_eq!(
        cgroups(sample(&mut samplers, 1_000_000_005)).cpu_quota_cores,
        Some(2.0)
    );
}

#[test]
fn version_2_in_a_container_that_sees_a_part_of_the_tree() {
    let tree = Tree::new();
    mountinfo(&tree, &[("/docker/x", "cg", "cgroup2 cgroup2 rw")]);
    tree.put("proc/self/cgroup", "0::/docker/x/job\n")
        .put("proc/pressure/cpu", "some total=1\n")
        .put("cg/cpu.max", "max 100000\n")
        .put("cg/memory.max", "3000\n")
        .put("cg/memory.events", "low 0\nhigh 0\nmax 12\noom 0\n")
        .put(
            "cg/job/cpu.stat",
            "usage_usec 5\nnr_periods 6\nnr_throttled 7\nthrottled_usec 8\n",
        )
        .put("cg/job/cpu.max", "150000 100000\n")
        .put("cg/job/memory.current", "2500\n")
        .put("cg/job/memory.max", "max\n")
        .put("cg/job/memory.high", "4000\n")
        .put("cg/job/memory.events", "high 2\nmax 3\n")
        .put(
            "cg/job/memory.stat",
            "anon 1\nfile 2000\nworkingset_refault_file 11\n",
        )
        .put(
            "cg/job/io.max",
            "254:0 rbps=max wbps=1048576 riops=100 wiops=max\n7:0 riops=90\n",
        )
        .put("cg/job/io.pressure", "some avg10=0 total=4\n");
    let mut samplers = tree.samplers();
    let readings = sample(&mut samplers, 5);
    let pressure = Reading::Pressure(rows::PressureSamples {
        ts_ns: 5,
        scope: "/docker/x/job".into(),
        resource: "io".into(),
        kind: "some".into(),
        total_ns: 4_000,
    });
    assert!(readings.contains(&pressure), "{readings:?}");
    let expected = rows::CgroupSamples {
        ts_ns: 5,
        path: "/docker/x/job".into(),
        cpu_usage_ns: Some(5_000),
        cpu_throttled_ns: Some(8_000),
        cpu_periods: Some(6),
        cpu_throttled_periods: Some(7),
        cpu_quota_cores: Some(1.5),
        memory_bytes: Some(2500),
        memory_limit_bytes: Some(3000),
        memory_limit_hits: Some(12),
        cached_bytes: Some(2000),
        refault_file_pages: Some(11),
        io_limit_write_bytes_per_s: Some(1_048_576),
        io_limit_read_ops_per_s: Some(90),
        ..Default::default()
    };
    assert_eq!(cgroups(readings), expected);
}

#[test]
fn process_io_keeps_the_last_reading() {
    let tree = Tree::new();
    let io = |n: i64| {
        format!(
            "rchar: {n}\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n\
             cancelled_write_bytes: 7\n"
        )
    };
    tree.put("proc/self/io", io(0))
        .put("proc/10/io", io(1))
        .put("proc/11/io", "rchar: 9\n");
    let mut sampler = ProcessIo::new(&tree.roots()).unwrap();
    sampler.sample(100, [10, 11, 12]).unwrap();
    tree.put("proc/10/io", io(8));
    sampler.sample(200, [10]).unwrap();
    let row = sampler.take(10).unwrap();
    let expected = rows::ProcessIo {
        ts_ns: 200,
        tgid: 10,
        read_call_bytes: Some(8),
        write_call_bytes: Some(2),
        read_calls: Some(3),
        write_calls: Some(4),
        read_bytes: Some(5),
        written_bytes: Some(6),
        cancelled_bytes: Some(7),
    };
    assert_eq!(row, expected);
    assert_eq!(sampler.take(12), None);
    let rest = sampler.finish();
    assert_eq!(rest.len(), 1);
    assert_eq!(
        (rest[0].tgid, rest[0].read_call_bytes, rest[0].read_calls),
        (11, Some(9), None)
    );
    tree.put("proc/self/io", "rchar: -\n");
    let error = ProcessIo::new(&tree.roots()).unwrap_err().to_string();
    assert!(
        error.ends_with("proc/self/io:1: expected a count"),
        "{error}"
    );
    assert!(!Path::new(&tree.at("proc/12")).exists());
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
