"""Remedies name the group's own knob: docker's, podman's, systemd's, a pod's manifest, or the file of its version."""

from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.named import (
    READ_BYTES,
    all_cpus,
    cpu_quota,
    file,
    in_short,
    memory_limit,
    no_io_limit,
    read_into_memory,
)
from tests.whys.made import KIB, MIB, MS, START, Story

LOOP = 7 << 20


def story(path: str, argv: tuple[str, ...], **container: str) -> Story:
    made = (
        Story(1.0, argv=argv)
        .thread(user=0.5)
        .group(cpu_quota_cores=0.5, memory_limit_bytes=64 * MIB)
    )
    for row in made.tables["cgroup_samples"]:
        row["path"] = path
    if container:
        made.add("containers", id="1f", name="web", cgroup=path, **container)
    return made


@pytest.mark.parametrize(
    ("path", "container", "argv", "cpus", "memory", "io"),
    [
        ("/d/1f", {"runtime": "docker"}, (), "`docker update --cpus 2 web`",
         "`docker update --memory 200m --memory-swap 400m web`", "echo '7:0 rbps=max' > /sys/fs/cgroup/d/1f/io.max"),
        ("/p", {"runtime": "containerd", "pod": "api", "pod_namespace": "prod"}, (), "`limits.cpu: 2` for web",
         "`limits.memory: 200Mi` for web", "/sys/fs/cgroup/p/io.max"),
        ("/system.slice/pg.service", {"runtime": "systemd"}, (), "`systemctl set-property pg.service CPUQuota=200%`",
         "`systemctl set-property pg.service MemoryMax=200M`", "IOReadBandwidthMax='/dev/loop0 infinity'"),
        ("/job", {}, (), "`echo '200000 100000' > /sys/fs/cgroup/job/cpu.max`",
         "`echo 200M > /sys/fs/cgroup/job/memory.max`", "/sys/fs/cgroup/job/io.max"),
        ("/", {}, ("sh", "/sys/fs/cgroup/cpu/a/cgroup.procs"), "`echo 200000 > /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us`",
         "(memory.max)", "(io.max)"),
    ],
)  # fmt: skip
def test_the_knob_of_a_group(
    path: str,
    container: dict[str, str],
    argv: tuple[str, ...],
    cpus: str,
    memory: str,
    io: str,
    tmp_path: Path,
) -> None:
    with facts_of(story(path, argv, **container).made(tmp_path)) as facts:
        assert cpus in cpu_quota(facts, 2)
        assert memory in memory_limit(facts, 200 * MIB)
        assert io in no_io_limit(facts, READ_BYTES, LOOP, "loop0")


def test_a_group_of_version_1_has_its_files(tmp_path: Path) -> None:
    made = story("/job", ())
    for number, (mount, kind) in enumerate(
        [("memory", "cgroup"), ("cpu,cpuacct", "cgroup"), ("unified", "cgroup2")]
    ):
        made.add(
            "filesystems", dev=50 + number, kind=kind, mount=f"/sys/fs/cgroup/{mount}", options="rw"
        )
    with facts_of(made.made(tmp_path)) as facts:
        assert "200M > /sys/fs/cgroup/memory/job/memory.limit_in_bytes" in memory_limit(
            facts, 200 * MIB
        )
        assert "200000 > /sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us" in cpu_quota(facts, 2)
        assert "/sys/fs/cgroup/job/io.max" in no_io_limit(facts, READ_BYTES, LOOP, "loop0")


@pytest.mark.parametrize(
    ("other", "typed"), [("/srv/b", "cat /srv/* "), ("/srv/deep/b", "find /srv -type f")]
)
def test_files_in_several_directories_are_found(other: str, typed: str, tmp_path: Path) -> None:
    made = Story(2.0).thread(blocked=0.9).file(301, "/srv/a").file(302, other).file(303, "/srv/c")
    for ino in (301, 302, 303):
        made.requests(50, ino=ino)
    with facts_of(made.made(tmp_path)) as facts:
        assert (read_into_memory(facts) or "").startswith(typed)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("taskset", "-c", "0", "dd"), "without `taskset -c 0`"),
        (("numactl", "--physcpubind=0", "dd"), "without `numactl --physcpubind=0`"),
        (("dd", "if=x"), "`taskset -c 0-3 dd if=x`"),
    ],
)
def test_what_binds_it_to_cpus(argv: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with facts_of(story("/", argv).made(tmp_path)) as facts:
        assert said in all_cpus(facts)


def test_the_file_is_that_of_the_version_which_holds_the_controller(tmp_path: Path) -> None:
    made = story("/job", ())
    for at in ("memory", "cpu,cpuacct"):
        made.add("filesystems", dev=30, kind="cgroup", mount=f"/sys/fs/cgroup/{at}", options="rw")
    with facts_of(made.made(tmp_path)) as facts:
        knob = "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us"
        assert knob in cpu_quota(facts, 2)
        assert "/sys/fs/cgroup/memory/job/memory.limit_in_bytes" in memory_limit(facts, 200 * MIB)
        assert "/sys/fs/cgroup/job/io.max" in no_io_limit(facts, READ_BYTES, LOOP, "loop0")


def test_a_group_that_a_script_moves_itself_to_is_named(tmp_path: Path) -> None:
    argv = ("sh", "-c", "echo $$ >/sys/fs/cgroup/blkio/b/cgroup.procs; exec dd if=x")
    with facts_of(story("/outer", argv).made(tmp_path)) as facts:
        knob = "/sys/fs/cgroup/blkio/b/blkio.throttle.read_bps_device"
        assert knob in no_io_limit(facts, READ_BYTES, LOOP, "loop0")


@pytest.mark.parametrize(("listed", "typed"), [("/srv", "/srv"), ("/srv/updates", "/srv")])
def test_what_is_read_outside_of_what_is_listed_is_read_too(
    listed: str, typed: str, tmp_path: Path
) -> None:
    made = Story(2.0).caller("read", 100, blocked=9 * MS, bytes_=64 * KIB, ino=[301, 302, 303])
    made.file(300, listed).file(301, "/srv/info/a").file(302, "/srv/info/b").file(303, "/srv/c")
    for ino in (301, 302, 303):
        made.requests(50, ino=ino)
    made.call(START, "getdents64", {"cpu_ns": 2000}, tid=10, offset=0, ino=300, bytes_=None)
    with facts_of(made.made(tmp_path)) as facts:
        assert f"find {typed} -type f" in (read_into_memory(facts) or "")


@pytest.mark.parametrize(("faults", "read"), [(180, "/srv/model"), (0, "/srv/code.pyc")])
def test_what_page_faults_wait_for_is_not_the_file_that_calls_read(
    faults: int, read: str, tmp_path: Path
) -> None:
    made = Story(2.0).file(301, "/srv/code.pyc").file(302, "/srv/model")
    made.caller("read", 100, blocked=MS, bytes_=64 * KIB, ino=301)
    made.thread(11, blocked=0.9 if faults else 0.0)
    for number in range(faults):
        made.wait(START + number * 10 * MS, 9 * MS, "page_read", None, tid=11)
    made.requests(10, ino=301).requests(180, ino=302)
    with facts_of(made.made(tmp_path)) as facts:
        assert f"cat {read} " in (read_into_memory(facts) or "")


@pytest.mark.parametrize(
    ("inodes", "typed"),
    [([301, 302], "cat /srv/a /srv/b >"), ([301] * 19 + [302], "cat /srv/a >"), ([301, 302, 303, 304, 305, 306], "cat /srv/* >")],
)  # fmt: skip
def test_a_few_files_with_nearly_all_of_the_time_are_read_together(
    inodes: list[int], typed: str, tmp_path: Path
) -> None:
    made = Story(2.0).caller("read", 120, blocked=10 * MS, ino=list(inodes))
    for ino in set(inodes):
        made.file(ino, f"/srv/{chr(97 + ino - 301)}", 10 * MIB).requests(20, ino=ino)
    with facts_of(made.made(tmp_path)) as facts:
        assert (read_into_memory(facts) or "").startswith(typed)


def test_a_disk_that_is_read_itself_is_no_file(tmp_path: Path) -> None:
    """It reads a library first, in next to no time."""
    made = (
        Story(2.0)
        .caller("read", 100, blocked=15 * MS, ino=400)
        .file(400, "/dev/sda", kind="device")
    )
    made.caller("read", 2, tid=11, blocked=MS, ino=401, gap="idle").file(401, "/usr/lib/libc.so.6")
    made.requests(100, ino=None).requests(1, ino=401)
    with facts_of(made.made(tmp_path)) as facts:
        assert file(facts) is None


@pytest.mark.parametrize(("names", "typed"), [(False, "find /srv -type f"), (True, "ls -lR /srv")])
def test_small_files_are_read_where_it_is_data_that_is_cold(
    names: bool, typed: str, tmp_path: Path
) -> None:
    """A shell lists the names, and a program reads files of 100 bytes."""
    inodes = list(range(301, 401))
    made = Story(2.0).caller("read", 100, blocked=15 * MS, bytes_=100, ino=list(inodes))
    made.caller("getdents64", 4, tid=11, bytes_=None, ino=500).file(500, "/srv", kind="directory")
    for ino in inodes:
        made.file(ino, f"/srv/{ino}.json", 100)
    with facts_of(made.made(tmp_path)) as facts:
        assert (read_into_memory(facts, names=names) or "").startswith(typed)


def test_of_a_long_command_the_program_is_named(tmp_path: Path) -> None:
    argv = ("sysbench", *map(str, range(9)))
    with facts_of(story("/", argv).made(tmp_path)) as facts:
        assert in_short(facts) == "sysbench …"
