"""Control groups of both versions, on made-up machines: where they are made, what is written, what is put back."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

import pytest

from iowhy.experiments import device, groups
from iowhy.experiments.condition import LevelFailed
from iowhy.experiments.levers import levers
from iowhy.experiments.levers.io_throttle import factor_left, limit, transferred
from iowhy.experiments.setting import Profile, Setting
from iowhy.undo.kinds import groups as group_kind
from iowhy.undo.kinds import knobs
from tests.problems import wrong


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
        with wrong("setting-changed-by-another"):
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
    ("top", "message"),
    [
        ({"controllers": "cpu", "procs": "5\n"}, "holds processes itself"),
        ({"controllers": "cpu", "kind": "threaded"}, "is `threaded`"),
        ({"controllers": "cpu", "kind": "domain threaded"}, "is `domain threaded`"),
        ({"controllers": "cpu", "kind": "domain invalid"}, "is `domain invalid`"),
    ],
)
def test_what_cannot_hold_a_group_of_version_2_is_told(unified, top, message):
    # The root of a container: it has a type, unlike the root of the machine.
    unified.add("", **top) if "kind" in top else unified.add("", kind="domain", **top)
    assert message in groups.find("cpu", unified.root, "0::/\n")


def test_a_controller_that_is_not_handed_down_is_told(unified):
    unified.add("", "cpu", kind="domain", procs="1\n")
    unified.add("a", "", procs="5\n")
    message = groups.find("cpu", unified.root, "0::/a\n")
    assert "a has no controller `cpu`" in message and "holds processes itself" in message


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
    said = wrong("controller-refused", controller="cpu", error="Device or resource busy")
    with said, undo.scope():
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


def test_a_small_share_of_a_cpu_is_not_rounded_up(unified, setting):
    # 1 ms is the least quota that the kernel takes: 2 % of a CPU is 1 ms of each 50.
    lever = levers()["cpu-quota"]
    with lever.apply(lever.levels(setting, ("0.02",))[0], setting):
        made = next(path for path in unified.root.iterdir() if path.is_dir())
        assert (made / "cpu.max").read_text() == "1000 50000"


@contextlib.contextmanager
def outside(unified, lever, setting):
    """The command is in a group of its own at the top, which is gone afterwards."""
    before = set(unified.root.iterdir())
    with lever.apply(lever.levels(setting, ())[0], setting) as effect:
        (made,) = set(unified.root.iterdir()) - before
        (made / "cgroup.procs").write_text("")
        effect.in_child[0]()
        assert (made / "cgroup.procs").read_text() == "0"
        yield made, effect
    assert set(unified.root.iterdir()) == before


@pytest.mark.parametrize(
    ("limits", "acts"),
    [
        ({"user.slice": "254:16 rbps=1000 wbps=max riops=max wiops=max\n"}, True),
        ({"user.slice/shell.scope": "8:0 rbps=1\n254:16 wiops=9\n"}, True),
        ({"user.slice": "254:16 rbps=max wbps=max riops=max wiops=max\n"}, False),
        ({"user.slice": "8:0 rbps=1000\n"}, False),
        ({"other.slice": "254:16 rbps=1000\n"}, False),
        ({}, False),
    ],
)
def test_a_limit_around_us_is_left(unified, setting, monkeypatch, limits, acts):
    monkeypatch.setattr(Setting, "device", DISK)
    monkeypatch.setattr(groups, "_own_groups", lambda: "0::/user.slice/shell.scope\n")
    for name in ("user.slice", "user.slice/shell.scope", "other.slice"):
        unified.add(name, "io", procs="77\n")
    for name, text in limits.items():
        (unified.root / name / "io.max").write_text(text)
    lever = levers()["io-unlimited"]
    why = lever.refusal(setting)
    assert (why is None) is acts
    if not acts:
        assert "limits I/O on vdb" in why
        return
    with outside(unified, lever, setting):
        pass


@pytest.mark.parametrize(
    ("limits", "cache", "said"),
    [
        ({"user.slice/shell.scope": "104857600\n"}, "cold", None),
        ({"user.slice": "104857600\n", "user.slice/shell.scope": "max\n"}, "cold-machine", None),
        ({"user.slice/shell.scope": "104857600\n"}, "as-is", "--cache cold"),
        ({"user.slice/shell.scope": "max\n"}, "cold", "limits memory"),
        ({"other.slice": "104857600\n"}, "cold", "limits memory"),
        # A container's own top has a limit, which cannot be left.
        ({"": "104857600\n"}, "cold", "limits memory"),
        ({}, "cold", "limits memory"),
    ],
)
def test_a_memory_limit_around_us_is_left(unified, setting, monkeypatch, limits, cache, said):
    monkeypatch.setattr(groups, "_own_groups", lambda: "0::/user.slice/shell.scope\n")
    for name in ("user.slice", "user.slice/shell.scope", "other.slice"):
        unified.add(name, "memory", procs="77\n")
    for name, text in limits.items():
        (unified.root / name / "memory.max").write_text(text)
    setting.base_cache = cache
    lever = levers()["memory-unlimited"]
    why = lever.refusal(setting)
    assert (why is None) is (said is None)
    if said is not None:
        assert said in why
        return
    with outside(unified, lever, setting) as (made, effect):
        (made / "memory.peak").write_text("209715200\n")
        assert effect.after(1.0) == {}
        # In a group of its own the command never was where the lever put it.
        (made / "memory.peak").write_text("1048576\n")
        with pytest.raises(LevelFailed, match="control group"):
            effect.after(1.0)


def test_a_limit_of_version_1_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    monkeypatch.setattr(groups, "_own_groups", lambda: "7:blkio:/a/b\n0::/\n")
    (tmp_path / "blkio/a/b").mkdir(parents=True)
    (tmp_path / "blkio/cgroup.procs").write_text("")
    (tmp_path / "blkio/a/limit").write_text("254:16 1000\n")
    (tmp_path / "blkio/limit").write_text("254:16 2000\n")
    assert groups.around("io", ("limit",)) == ["254:16 1000\n", "254:16 2000\n"]
    assert groups.around("io", ("limit",), top=False) == ["254:16 1000\n"]
    assert groups.find_top("io") == groups.Hierarchy(1, tmp_path / "blkio")
