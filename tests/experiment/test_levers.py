"""Levers on made-up machines: what they write, when they refuse; and the registry."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from iowhy.errors import Problem
from iowhy.experiment import cache, copies, device, groups
from iowhy.experiment.in_child import sync_filter_refusal
from iowhy.experiment.lever import levers, named, percent
from iowhy.experiment.levers.cpu_frequency import CpuFrequency
from iowhy.experiment.levers.io_throttle import factor_left, limit, transferred
from iowhy.experiment.setting import Profile, Setting
from iowhy.quantities import share
from iowhy.undo import Undo
from iowhy.undo.kinds import groups as group_kind
from iowhy.undo.kinds import knobs

NAMES = {
    "cache-cold",
    "cache-warm",
    "cpu-frequency",
    "cpu-pin",
    "cpu-quota",
    "fast-device",
    "io-contention",
    "io-throttle",
    "memory-limit",
    "mount-option",
    "preallocate",
    "sync-free",
}


@pytest.fixture
def undo(tmp_path, monkeypatch):
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    with Undo.session("test") as opened:
        yield opened


@pytest.fixture
def setting(tmp_path, undo):
    work = tmp_path / "work"
    work.mkdir()
    return Setting(["true"], work, undo, Profile(1.0, 0.5))


def test_every_lever_is_found_and_says_what_it_needs():
    assert set(levers()) == NAMES
    for name, lever in levers().items():
        assert lever.name == name and lever.resource and lever.bound and lever.needs


def test_levels_are_shares():
    lever, asked = named("cpu-quota=0.5,25%,1/3")
    assert [share(lever.name, text) for text in asked] == [0.5, 0.25, pytest.approx(1 / 3)]
    assert percent(0.5) == "50 %"


@pytest.mark.parametrize("text", ["0", "1", "2", "-0.5", "half", "", "nan", "1/0", "inf"])
def test_a_senseless_level_is_told(text):
    with pytest.raises(Problem, match="cpu-quota="):
        share("cpu-quota", text)


def test_a_misspelt_lever_is_told():
    with pytest.raises(Problem, match="did you mean cpu-quota"):
        named("cpu-qota")


def test_sync_free_never_runs_without_leave(setting):
    assert "--allow-unsafe" in levers()["sync-free"].refusal(setting)


def test_mount_option_leaves_other_filesystems_alone(setting):
    assert "not on a filesystem that iowhy lab made" in levers()["mount-option"].refusal(setting)


def test_memory_limit_and_cache_warm_need_a_cold_cache(setting):
    for name in ("memory-limit", "cache-warm"):
        told = levers()[name].refusal(setting)
        assert "--cache cold" in told or "no control-group" in told or "needs root" in told


def test_cpu_pin_squeezes_without_any_rights(setting):
    pin = levers()["cpu-pin"]
    assert pin.refusal(setting) is None
    assert [level.key for level in pin.levels(setting, ())] == ["shared"]
    with pin.apply(pin.levels(setting, ())[0], setting) as effect:
        assert len(effect.in_child) == 1


def cpufreq(root: Path) -> Path:
    policy = root / "policy0"
    policy.mkdir(parents=True)
    cpus = " ".join(str(cpu) for cpu in os.sched_getaffinity(0))
    for name, text in {
        "affected_cpus": cpus,
        "cpuinfo_min_freq": "800000",
        "scaling_max_freq": "4000000",
    }.items():
        (policy / name).write_text(text)
    return policy


def test_cpu_frequency_refuses_without_a_driver(tmp_path, setting):
    assert CpuFrequency(root=tmp_path).refusal(setting) == "no cpufreq driver here"


def test_cpu_frequency_knows_its_range(tmp_path, setting):
    cpufreq(tmp_path)
    lever = CpuFrequency(root=tmp_path)
    assert lever.refusal(setting) is None
    assert [level.factor for level in lever.levels(setting, ())] == [0.5]
    with pytest.raises(Problem, match=r"the lowest clock here is 0\.20"):
        lever.levels(setting, ("0.1",))


def v2(root: Path, controllers: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    (root / "cgroup.controllers").write_text(controllers)
    (root / "cgroup.procs").write_text("")
    (root / "cgroup.subtree_control").write_text("")


def test_groups_of_version_2_come_first(tmp_path):
    v2(tmp_path, "cpu io memory")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "cgroup.procs").write_text("")
    assert groups.find("memory", tmp_path).version == 2


def test_groups_of_version_1_where_that_has_the_controller(tmp_path):
    v2(tmp_path / "unified", "")
    for name in ("blkio", "memory"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").write_text("")
    assert groups.find("io", tmp_path) == groups.Hierarchy(1, tmp_path / "blkio")
    assert groups.find("cpu", tmp_path) == "no control-group controller `cpu` here"


def test_limits_are_written_in_the_form_of_the_version(tmp_path):
    disk = device.Device("vdb", 254, 16)
    limit(groups.Group(2, tmp_path), disk, 1000, 50)
    assert (tmp_path / "io.max").read_text() == "254:16 rbps=1000 wbps=1000 riops=50 wiops=50"
    limit(groups.Group(1, tmp_path), disk, 1000, 50)
    assert (tmp_path / "blkio.throttle.write_bps_device").read_text() == "254:16 1000"
    assert (tmp_path / "blkio.throttle.read_iops_device").read_text() == "254:16 50"


def test_cache_states_touch_no_content(tmp_path):
    for name in ("a", "b/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.urandom(9000))
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    before = {p: p.read_bytes() for p in cache.files_below(tmp_path)}
    assert {p.name for p in before} == {"a", "c"}
    for state in ("as-is", "cold", "warm"):
        cache.set_state(state, tmp_path)
    assert {p: p.read_bytes() for p in cache.files_below(tmp_path)} == before


def test_holes_count_nothing(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert cache.total_bytes([tmp_path / "sparse"]) < 1 << 20


def test_a_rewritten_file_keeps_what_it_holds(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(os.urandom(100_000))
    path.chmod(0o640)
    before = path.read_bytes(), path.stat().st_mode, path.stat().st_mtime
    copies.rewrite(path)
    assert (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime) == before
    assert [p.name for p in tmp_path.iterdir()] == ["data"]


def test_the_home_directory_is_not_copied(setting):
    setting.directory = Path.home()
    assert "--work-directory" in copies.refusal(setting, Path("/tmp"))


def test_the_mount_of_a_path_is_the_innermost():
    assert device.mount_of(Path("/proc/self")).kind == "proc"
    assert device.device_of(Path("/proc")) is None


def test_the_sync_filter_knows_this_machine():
    assert sync_filter_refusal() is None or os.uname().machine not in ("x86_64", "aarch64")


# A made-up machine with control groups of version 2. A directory stands for the kernel's: what it does by
# itself (files that come with a group, removal with the files in it) is done by the fixture.


class Unified:
    """A tree of groups: `add` makes one as the kernel would show it."""

    def __init__(self, root: Path):
        self.root = root
        self.add("", "cpu io memory", kind=None)

    def add(self, name, controllers, kind="domain", procs="", handed_down=""):
        path = self.root / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "cgroup.controllers").write_text(controllers + "\n")
        (path / "cgroup.procs").write_text(procs)
        (path / "cgroup.subtree_control").write_text(handed_down + "\n")
        if kind is not None:
            (path / "cgroup.type").write_text(kind + "\n")
        return path

    def log(self, name=""):
        """What was last written to a group's subtree_control."""
        return (self.root / name / "cgroup.subtree_control").read_text().split()


@pytest.fixture
def unified(tmp_path, monkeypatch):
    root = tmp_path / "cgroup"
    monkeypatch.setattr(groups, "ROOT", root)
    monkeypatch.setattr(group_kind, "CGROUPS", (str(tmp_path),))
    monkeypatch.setattr(knobs, "KNOWN", ((f"{tmp_path}/.*", ".*"),))
    monkeypatch.setattr(group_kind, "_rmdir", shutil.rmtree)
    monkeypatch.setattr(groups, "_own_groups", lambda: "0::/\n")
    return Unified(root)


DISK = device.Device("vdb", 254, 16)


@pytest.mark.parametrize(
    ("name", "level", "controller", "knobs"),
    [
        ("cpu-quota", "0.5", "cpu", {"cpu.max": "5000 10000"}),
        ("memory-limit", "0.5", "memory", {"memory.max": str(50 << 20)}),
        (
            "io-throttle",
            "0.25",
            "io",
            {"io.max": "254:16 rbps=25000000 wbps=25000000 riops=250 wiops=250"},
        ),
    ],
)
def test_version_2_is_applied_read_back_and_undone(
    unified, setting, monkeypatch, name, level, controller, knobs
):
    monkeypatch.setattr(Setting, "device", DISK)
    setting.profile = Profile(1.0, 0.9, 100 << 20, 0)
    setting.base_cache = "cold"
    setting._best = device.Best(100e6, 1000)
    lever = levers()[name]
    assert lever.refusal(setting) is None
    chosen = lever.levels(setting, (level,))[0]
    with lever.apply(chosen, setting) as effect:
        made = [path for path in unified.root.iterdir() if path.is_dir()]
        assert len(made) == 1 and made[0].name.startswith(f"iowhy-{os.getpid()}-")
        assert {knob: (made[0] / knob).read_text() for knob in knobs} == knobs
        # Handed down to groups below, as the kernel is asked to.
        assert unified.log() == [f"+{controller}"]
        (made[0] / "cgroup.procs").write_text("")
        effect.in_child[0]()
        assert (made[0] / "cgroup.procs").read_text() == "0"
        (made[0] / "cgroup.procs").write_text("")
        effect.after(1.0)
        (made[0] / next(iter(knobs))).write_text("max")
        with pytest.raises(Problem, match="was changed during the trial"):
            effect.after(1.0)
    assert not [path for path in unified.root.iterdir() if path.is_dir()]
    assert unified.log() == [f"-{controller}"]


def test_a_controller_that_is_handed_down_already_stays(unified, undo):
    unified.add("", "cpu", kind=None, handed_down="cpu")
    with undo.scope():
        group = groups.make("cpu", "t", undo, unified.root)
        assert group.path.parent == unified.root
    assert unified.log() == ["cpu"]


def test_the_nearest_group_that_can_hold_ours_is_taken(unified):
    # As systemd arranges them: the shell's own group holds processes, the slice around it does not.
    unified.add("", "cpu io memory", kind=None, procs="1\n", handed_down="cpu memory")
    unified.add("user.slice", "cpu memory", handed_down="memory")
    unified.add("user.slice/shell.scope", "memory", procs="77\n")
    own = "0::/user.slice/shell.scope\n"
    for controller in ("cpu", "memory"):
        found = groups.find(controller, unified.root, own)
        assert found == groups.Hierarchy(2, unified.root / "user.slice"), controller
    # Nothing nearer has it: the root of all, which alone may hold processes beside groups.
    assert groups.find("io", unified.root, own) == groups.Hierarchy(2, unified.root)


@pytest.mark.parametrize(
    ("top", "told"),
    [
        ({"controllers": "cpu", "procs": "5\n"}, "holds processes itself"),
        ({"controllers": "cpu", "kind": "threaded"}, "is `threaded`"),
        ({"controllers": "cpu", "kind": "domain threaded"}, "is `domain threaded`"),
        ({"controllers": "cpu", "kind": "domain invalid"}, "is `domain invalid`"),
    ],
)
def test_what_cannot_hold_a_group_of_version_2_is_told(unified, top, told):
    # The root of a container: it has a type, unlike the root of the machine.
    unified.add("", **top) if "kind" in top else unified.add("", kind="domain", **top)
    assert told in groups.find("cpu", unified.root, "0::/\n")


def test_a_controller_that_is_not_handed_down_is_told(unified):
    unified.add("", "cpu", kind="domain", procs="1\n")
    unified.add("a", "", procs="5\n")
    told = groups.find("cpu", unified.root, "0::/a\n")
    assert "a has no controller `cpu`" in told and "holds processes itself" in told


def test_a_group_that_is_not_ours_to_write_is_told(unified, monkeypatch):
    monkeypatch.setattr(groups.os, "access", lambda path, _mode: "subtree" not in str(path))
    assert "needs root, or one that is delegated" in groups.find("cpu", unified.root, "0::/\n")


@pytest.mark.parametrize("own", ["0::/../other\n", "0::/gone\n", "", "5:cpu:/x\n"])
def test_an_own_group_that_cannot_be_seen_is_the_root(unified, own):
    assert groups.find("cpu", unified.root, own) == groups.Hierarchy(2, unified.root)


def test_a_kernel_that_refuses_is_told_and_leaves_nothing(unified, undo, monkeypatch):
    write = Path.write_text

    def refused(path, text, *more):
        if text == "+cpu":
            raise OSError(errno.EBUSY, "Device or resource busy")
        return write(path, text, *more)

    monkeypatch.setattr(Path, "write_text", refused)
    with (
        pytest.raises(Problem, match=r"subtree_control: \+cpu: Device or resource busy"),
        undo.scope(),
    ):
        groups.make("cpu", "t", undo, unified.root)
    assert not [path for path in unified.root.iterdir() if path.is_dir()]


def test_what_a_group_moved_is_read_in_both_versions(tmp_path):
    (tmp_path / "io.stat").write_text(
        "8:0 rbytes=1 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n"
        "254:16 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=5 dios=1\n"
    )
    assert transferred(groups.Group(2, tmp_path), DISK) == (12288, 3)
    (tmp_path / "io.stat").write_text("")
    assert transferred(groups.Group(2, tmp_path), DISK) == (0, 0)
    assert transferred(groups.Group(1, tmp_path), DISK) is None
    for knob, values in (("io_service_bytes", (4096, 8192)), ("io_serviced", (1, 2))):
        text = "".join(
            f"254:16 {op} {n}\n" for op, n in zip(("Read", "Write"), values, strict=True)
        )
        (tmp_path / f"blkio.throttle.{knob}").write_text(
            f"8:0 Read 7\n{text}254:16 Sync 9\nTotal 9\n"
        )
    assert transferred(groups.Group(1, tmp_path), DISK) == (12288, 3)


@pytest.mark.parametrize(
    ("megabytes", "requests", "wall_s", "left"),
    [
        (1000, 1000, 20.0, 0.504),  # 20 s at half the rate: a burst of 0.15 s hardly counts
        (20, 20, 0.3, 0.8),  # 0.2 s at best, 0.4 s at half the rate, of which 0.15 s were a burst
        (5, 5, 0.05, 1.0),  # all of it a burst
        (5, 5, 5.0, 0.5),  # needs the device for 1 % of its time: not bound by it either way
        (1, 2000, 4.0, 0.519),  # by its number of requests
    ],
)
def test_a_burst_is_not_counted_as_squeezed(megabytes, requests, wall_s, left):
    best = device.Best(100e6, 1000)
    found = factor_left((megabytes * 1_000_000, requests), wall_s, best, 0.5)
    assert found == pytest.approx(left, abs=0.002)


def test_cpu_frequency_is_applied_and_put_back(tmp_path, setting, monkeypatch):
    monkeypatch.setattr(knobs, "KNOWN", ((f"{tmp_path}/.*", ".*"),))
    policy = cpufreq(tmp_path / "freq")
    knob = policy / "scaling_max_freq"
    lever = CpuFrequency(root=tmp_path / "freq")
    with lever.apply(lever.levels(setting, ("0.5",))[0], setting) as effect:
        assert knob.read_text() == "2000000"
        assert effect.after(1.0) == {"factor": 0.5}
        # A driver may choose the nearest clock that it has, or somebody another one.
        knob.write_text("2400000")
        assert effect.after(1.0) == {"factor": 0.6}
    assert knob.read_text() == "4000000"


def test_cpu_frequency_takes_a_policy_whose_cpus_we_may_use(tmp_path, setting):
    other = cpufreq(tmp_path)
    (other / "affected_cpus").write_text("100000")
    assert CpuFrequency(root=tmp_path).refusal(setting) == "no cpufreq driver here"
    (other / "affected_cpus").write_text(str(min(os.sched_getaffinity(0))))
    (other / "cpuinfo_min_freq").write_text("4000000")
    with pytest.raises(Problem, match=r"the lowest clock here is 1\.00"):
        CpuFrequency(root=tmp_path).levels(setting, ())


def test_a_small_share_of_a_cpu_is_not_rounded_up(unified, setting):
    # 1 ms is the least quota that the kernel takes: 2 % of a CPU is 1 ms of each 50.
    lever = levers()["cpu-quota"]
    with lever.apply(lever.levels(setting, ("0.02",))[0], setting):
        made = next(path for path in unified.root.iterdir() if path.is_dir())
        assert (made / "cpu.max").read_text() == "1000 50000"


def test_memory_is_limited_to_a_size_too(setting):
    lever = levers()["memory-limit"]
    setting.profile = Profile(1.0, 1.0, peak_memory_bytes=1 << 30, peak_heap_bytes=1 << 20)
    assert [level.factor for level in lever.levels(setting, ("256MiB", "0.5"))] == [0.5, 0.25]
    with pytest.raises(Problem, match="memory-limit=2GiB: the command holds 1 GiB at most"):
        lever.levels(setting, ("2GiB",))
