"""Levers on made-up machines: what they write, when they refuse; and the registry."""

import ctypes
import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from iowhy.experiments import cache, copies, device
from iowhy.experiments import levers as found
from iowhy.experiments.in_child import sync_filter_refusal
from iowhy.experiments.lever import percent
from iowhy.experiments.levers import levers, named
from iowhy.experiments.levers.cpu_frequency import CpuFrequency
from iowhy.experiments.setting import Profile
from iowhy.quantities import share
from iowhy.recordings.allocated import allocated_bytes
from iowhy.undo.kinds import knobs
from tests.problems import wrong


def test_every_lever_is_found_and_says_what_it_needs():
    folder = Path(found.__file__).parent
    assert set(levers()) == {one.stem.replace("_", "-") for one in folder.glob("[a-z]*.py")}
    for name, lever in levers().items():
        assert lever.name == name and lever.resource and lever.bound and lever.needs


def test_levels_are_shares():
    lever, asked = named("cpu-quota=0.5,25%,1/3")
    assert [share(lever.name, text) for text in asked] == [0.5, 0.25, pytest.approx(1 / 3)]
    assert percent(0.5) == "50 %"


@pytest.mark.parametrize("text", ["0", "1", "2", "-0.5", "half", "", "nan", "1/0", "inf"])
def test_a_senseless_level_is_told(text):
    with wrong("not-a-share", name="cpu-quota", text=text):
        share("cpu-quota", text)


def test_a_misspelt_lever_is_told():
    with wrong("lever-unknown", name="cpu-qota", hint="; did you mean cpu-quota?"):
        named("cpu-qota")


def test_sync_free_never_runs_without_leave(setting):
    assert "--allow-unsafe" in levers()["sync-free"].refusal(setting)


def test_mount_option_leaves_other_filesystems_alone(setting):
    assert "not on a filesystem that iowhy lab made" in levers()["mount-option"].refusal(setting)


def test_memory_limit_and_cache_warm_need_a_cold_cache(setting):
    for name in ("memory-limit", "cache-warm"):
        why = levers()[name].refusal(setting)
        assert "--cache cold" in why or "no control-group" in why or "needs root" in why


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
    with wrong("clock-too-low", value=0.1, least=0.2):
        lever.levels(setting, ("0.1",))


def test_cache_states_touch_no_content(tmp_path):
    for name in ("a", "b/c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(os.urandom(9000))
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "fifo")
    before = {p: p.read_bytes() for p in cache.files_below(tmp_path)}
    assert {p.name for p in before} == {"a", "c"}
    for state in ("as-is", "cold", "warm"):
        cache.set_state(state, cache.files_below(tmp_path))
    assert {p: p.read_bytes() for p in cache.files_below(tmp_path)} == before


def test_files_are_dropped_that_are_dirty_without_a_flush_for_each(tmp_path, monkeypatch):
    path = tmp_path / "dirty"
    path.write_bytes(os.urandom(1 << 20))
    if device.device_of(tmp_path) is None:
        pytest.skip("a filesystem in memory drops nothing")
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("flushes the disk"))
    cache.set_state("cold", [path])
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert not resident(mapped)


def resident(mapped: mmap.mmap) -> int:
    """Its pages in memory (mincore(2))."""
    pages = len(mapped) // mmap.PAGESIZE
    found = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None)
    view = np.frombuffer(mapped, np.uint8)
    assert libc.mincore(ctypes.c_void_p(view.ctypes.data), ctypes.c_size_t(len(mapped)), found) == 0
    del view
    return sum(one & 1 for one in found)


def test_files_that_a_recording_names_are_warmed_and_dropped_wherever_they_lie(
    tmp_path, setting, monkeypatch
):
    inside, outside = setting.directory / "in", tmp_path / "out"
    for path in (inside, outside):
        path.write_bytes(b"x" * 9000)
    (tmp_path / "link").symlink_to(inside)
    setting.files = (outside, inside, tmp_path / "gone", tmp_path / "link", Path("/proc/stat"))
    assert cache.files_of(setting) == [inside, outside]
    assert cache.files_of(setting, tmp_path / "work") == [inside]  # of a copy only what is in it
    # Of a home directory nothing is touched that the command does not use.
    monkeypatch.setattr("pathlib.Path.home", lambda: setting.directory)
    (setting.directory / "private").write_bytes(b"x" * 9000)
    assert cache.files_of(setting) == [outside, inside]
    setting.files = ()
    assert len(cache.files_of(setting)) == 2


def test_holes_count_nothing(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    assert allocated_bytes([tmp_path / "sparse"]) < 1 << 20


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
    # Not --work-directory, which is where the command runs as well.
    assert "--data-directory" in copies.refusal(setting, Path("/tmp"))


def test_the_mount_of_a_path_is_the_innermost():
    assert device.mount_of(Path("/proc/self")).kind == "proc"
    assert device.device_of(Path("/proc")) is None


def test_the_sync_filter_knows_this_machine():
    assert sync_filter_refusal() is None or os.uname().machine not in ("x86_64", "aarch64")


# A made-up machine with control groups of version 2. A directory stands for the kernel's: what it does by
# itself (files that come with a group, removal with the files in it) is done by the fixture.


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
    with wrong("clock-too-low", least=1.0):
        CpuFrequency(root=tmp_path).levels(setting, ())


def test_memory_is_limited_to_a_size_too(setting):
    lever = levers()["memory-limit"]
    setting.profile = Profile(1.0, 1.0, peak_memory_bytes=1 << 30, peak_heap_bytes=1 << 20)
    assert [level.factor for level in lever.levels(setting, ("256MiB", "0.5"))] == [0.5, 0.25]
    with wrong("memory-limit-too-high", text="2GiB", peak_bytes=1 << 30):
        lever.levels(setting, ("2GiB",))
