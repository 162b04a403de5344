"""Remedies name the group's own knob: docker's, podman's, systemd's, a pod's manifest, or the file of its version."""

from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.named import READ_BYTES, all_cpus, cpu_quota, memory_limit, no_io_limit
from tests.whys.made import MIB, Story

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
