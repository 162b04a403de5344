//! The command's control group: versions 1 and 2, limits up the tree, and a process that is moved.

use iowhy_readings::Reading;
use iowhy_store::rows;

use crate::tree::{sample, Tree};

fn cgroups(readings: Vec<Reading>) -> rows::CgroupSamples {
    let mut found = readings.into_iter().filter_map(|reading| match reading {
        Reading::Cgroup(row) => Some(row),
        _ => None,
    });
    found.next().expect("a reading of the cgroup")
}

fn io_limits(readings: Vec<Reading>) -> Vec<rows::IoLimits> {
    let limits = readings.into_iter().filter_map(|reading| match reading {
        Reading::IoLimits(row) => Some(row),
        _ => None,
    });
    limits.collect()
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

/// A group two levels down on four hierarchies of version 1.
fn version_1() -> Tree {
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
    tree
}

#[test]
fn version_1_takes_the_tightest_limit_and_the_counts_of_its_group() {
    let tree = version_1();
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
}

#[test]
fn limits_that_change_are_seen_within_a_second() {
    let tree = version_1();
    let mut samplers = tree.samplers();
    assert_eq!(cgroups(sample(&mut samplers, 5)).cpu_quota_cores, Some(0.5));
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
fn limits_are_those_of_each_device_when_they_change() {
    let tree = version_1();
    let mut samplers = tree.samplers();
    let limit = |ts_ns, dev, read_bytes_per_s| rows::IoLimits {
        ts_ns,
        path: "/a/b".into(),
        dev,
        read_bytes_per_s,
        ..Default::default()
    };
    let (disk, looped) = (254 << 20, 7 << 20);
    // The tightest up the tree, of the one as of the other.
    let first = io_limits(sample(&mut samplers, 5));
    let expected = [limit(5, looped, Some(4000)), limit(5, disk, Some(5000))];
    assert_eq!(first, expected);
    assert!(io_limits(sample(&mut samplers, 1_000_000_005)).is_empty());
    tree.put("cg/blkio/blkio.throttle.read_bps_device", "254:0 6000\n");
    let (later, expected) = (
        io_limits(sample(&mut samplers, 2_000_000_005)),
        [
            limit(2_000_000_005, disk, Some(6000)),
            limit(2_000_000_005, looped, None),
        ],
    );
    assert_eq!(later, expected);
}

/// In a container, which sees a part of the tree.
fn version_2() -> Tree {
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
    tree
}

#[test]
fn version_2_in_a_container_that_sees_a_part_of_the_tree() {
    let tree = version_2();
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
fn version_2_has_all_limits_of_a_device_in_one_line() {
    let tree = version_2();
    let mut samplers = tree.samplers();
    let limit = |dev, write_bytes_per_s, read_ops_per_s| rows::IoLimits {
        ts_ns: 5,
        path: "/docker/x/job".into(),
        dev,
        write_bytes_per_s,
        read_ops_per_s,
        ..Default::default()
    };
    let expected = [
        limit(7 << 20, None, Some(90)),
        limit(254 << 20, Some(1_048_576), Some(100)),
    ];
    assert_eq!(io_limits(sample(&mut samplers, 5)), expected);
}
