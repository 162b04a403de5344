"""What does not add up is noticed, said, and believed less by what hangs on it, and by nothing else."""

import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.recordings import Manifest, Recording, open_recording
from iowhy.recordings.schema import tables
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import Verdict, judge
from tests.in_memory import in_memory
from tests.torture.thinnings import KEPT, SURE, remove, thin_table
from tests.whys.test_unseen import without

from .made import DISK, MS, START, Story

#: Table → a kept recording in which another one counts it.
WITNESSED = {
    "syscalls": "one-row",
    "syscall_totals": "one-row",
    "call_sums": "one-row",
    "waits": "small-files",
    "interval_waits": "small-files",
    "thread_time": "noisy",
    "threads": "noisy",
    "block_requests": "one-row",
    "request_sums": "one-row",
    "flush_sums": "one-row",
    "flushing_sums": "batched",
    "jump_sums": "written-twice",
    "size_sums": "written-twice",
    "devices": "small-files",
    "files": "one-row",
    "filesystems": "one-row",
    "page_cache": "passes",
    "writeback": "file-to-file",
    "extents": "scattered",
    "journal_commits": "one-row",
    "dirty_throttle": "throttled-writer",
    "async_operations": "rings",
    "cgroup_samples": "quota",
    "cpu_samples": "pinned",
    "disk_samples": "held",
    "stacks": "one-file",
    "user_stacks": "rings",
    "flight_sums": "alone",
    "memory_samples": "alone",
    "pressure_samples": "alone",
    "vm_samples": "alone",
}

#: What no other table counts, and why another cause does not come of it.
WITHOUT = {
    "its rows are summed up by what has witnesses": ("wait_sums", "sync_sums"),
    "small sums of requests; a part of them changes amounts, not which cause there is": (
        "second_sums", "other_sums", "service_sums",
    ),
    "whose or where others' rows are; without it they have no name": (
        "neighbours", "containers", "modules", "lock_waits", "device_layers", "database_files", "statements",
    ),
    "in whose code time went, sampled; no cause hangs on it alone": ("stack_samples",),
    "finds a cause, or is a link of its chain; without it no other one got sure (tests.torture thinnings)": (
        "allocations", "connections", "dirtied_by_others", "io_limits", "kernel_log", "process_io",
        "remote_samples", "statement_calls", "statement_readings", "volume_limits",
    ),
    "said next to what is found; no cause comes of it": ("gpu_samples",),
    "of other tools' texts, or the agent's counts, which are not judged": (
        "histograms", "measurements", "agent_buckets", "agent_counts", "agent_latencies",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    more = {
        "served",
        "copied-up",
        "one-journal",
        "stalled",
        "cold-file",
        "idle",
        "far",
        "written-in-part",
        "quota",
        "compressed",
        "small-blocks",
        "one-thread",
        "short-of-space",
    }
    for name in {*WITNESSED.values(), *more}:
        with zipfile.ZipFile(KEPT / f"{name}.iowhy.zip") as packed:
            packed.extractall(folder)
    return folder


Copied = Callable[[str], Path]


@pytest.fixture
def copy(unpacked: Path, tmp_path: Path) -> Copied:
    def copied(name: str) -> Path:
        to = tmp_path / f"{len(list(tmp_path.iterdir()))}-{name}.iowhy"
        return Path(shutil.copytree(unpacked / f"{name}.iowhy", to, copy_function=os.link))

    return copied


def lacking(
    path: Path,
    table: str,
    share: float,
    kind: str,
    *,
    sums: bool = True,
    where: str = "even",
    seed: int = 1,
) -> Recording:
    """The recording without some rows of a table; without `sums` these are gone, too."""
    manifest = json.loads((path / "manifest.json").read_text())
    thin_table(path, table, share, where, kind, manifest, random.Random(seed))
    if not sums:
        remove(path, table, manifest, itself=False)
    (path / "manifest.json").unlink()
    (path / "manifest.json").write_text(json.dumps(manifest))
    return open_recording(path)


def short(recording: Recording) -> dict[str, float]:
    with facts_of(recording) as facts:
        return {one.table: one.share for one in facts.shorts}


def first(verdict: Verdict) -> tuple[str | None, float]:
    found = next(iter(verdict.findings), None)
    return (None, 0.0) if found is None else (found.cause, found.confidence)


def test_whole_ones_add_up(unpacked: Path) -> None:
    assert {
        one.name: found for one in unpacked.iterdir() if (found := short(open_recording(one)))
    } == {}


def test_each_table_is_known() -> None:
    without = [name for names in WITHOUT.values() for name in names]
    assert sorted([*WITNESSED, *without]) == sorted(tables())


@pytest.mark.parametrize("table", WITNESSED)
def test_each_table_has_a_witness(table: str, copy: Copied) -> None:
    # Sums that are all gone are made of the rows.
    share = 1.0 if tables()[table].sums is None else 0.6
    found = short(lacking(copy(WITNESSED[table]), table, share, "silent", sums=False))
    assert table in found, found


@pytest.mark.parametrize(
    ("name", "table", "share"),
    [
        ("noisy", "thread_time", 0.6), ("file-to-file", "writeback", 1.0), ("compressed", "filesystems", 1.0),
        # Of these, what the cause that was there is seen by.
        ("served", "files", 1.0), ("held", "disk_samples", 1.0), ("one-journal", "journal_commits", 1.0),
        ("copied-up", "stacks", 1.0), ("batched", "flushing_sums", 0.4),
        # What it could have is more of the time than what the other one explains.
        ("rings", "cpu_samples", 0.93),
    ],
)  # fmt: skip
def test_another_cause_is_not_said_to_be_sure(
    name: str, table: str, share: float, copy: Copied
) -> None:
    judged = judge(lacking(copy(name), table, share, "silent"))
    assert first(judged)[1] < SURE
    assert any(table in note for note in judged.notes)
    # What is missing is said, and what brings it.
    assert judged.doubt is not None and table in judged.doubt.lacks
    assert "iowhy run" in judged.doubt.decided_by


@pytest.mark.parametrize("where", ["first", "last"])
def test_commits_of_one_end_show_in_the_waits_for_them(where: str, copy: Copied) -> None:
    """Those that are left have numbers in a row."""
    judged = judge(lacking(copy("one-journal"), "journal_commits", 0.8, "silent", where=where))
    assert first(judged)[1] < SURE and judged.doubt is not None
    assert "journal_commits" in judged.doubt.lacks


def test_no_thread_at_all_shows_in_the_calls(copy: Copied) -> None:
    """Each of the two tables is the other's witness."""
    path = copy("short-of-space")
    lacking(path, "threads", 1.0, "silent")
    judged = judge(lacking(path, "thread_time", 1.0, "silent"))
    assert first(judged)[1] < SURE and judged.doubt is not None
    assert "thread_time" in judged.doubt.lacks


def test_few_requests_that_took_most_of_the_time_are_missed_in_the_time_of_the_disk(
    copy: Copied,
) -> None:
    lost = lacking(
        copy("stalled"), "block_requests", 0.06, "silent", sums=False, where="burst", seed=32
    )
    assert short(lost)["block_requests"] > 0.25
    assert first(judge(lost))[1] < SURE


def test_a_quarter_of_what_alone_shows_another_cause_is_too_much_to_be_sure(copy: Copied) -> None:
    lost = lacking(copy("held"), "disk_samples", 0.26, "announced", seed=0)
    assert first(judge(lost)) == ("random-access", 0.5)


@pytest.mark.parametrize("name", ["small-files"])
def test_calls_that_went_with_their_totals_show_in_the_waits(name: str, copy: Copied) -> None:
    path = copy(name)
    lacking(path, "syscall_totals", 1.0, "silent")
    assert first(judge(lacking(path, "syscalls", 1.0, "silent", sums=False)))[1] < SURE


@pytest.mark.parametrize(
    ("name", "sensor"),
    [
        ("small-blocks", "syscalls"),
        ("pinned", "cpu_samples"),
        ("short-of-memory", "thread_time"),
        ("copied-up", "stacks"),
        ("held", "disk_samples"),
        ("one-journal", "journal_jbd2"),
        ("rings", "cpu_samples"),
    ],
)
def test_nor_is_one_without_what_a_rival_needs(name: str, sensor: str, tmp_path: Path) -> None:
    judged = judge(without(KEPT / f"{name}.iowhy.zip", sensor, tmp_path))
    assert first(judged)[1] < SURE
    assert judged.doubt is not None
    assert (judged.doubt.lacks, judged.doubt.decided_by) == ((sensor,), "`iowhy doctor`")


@pytest.mark.parametrize(
    ("name", "table", "whole"),
    [
        ("one-row", "cpu_samples", ("flush-cost", 0.9)),
        ("copied-up", "neighbours", ("overlay-copy-up", 0.95)),
        ("quota", "flight_sums", ("cpu-throttled", 0.9)),
        # Names of threads, and calls that are not kept one by one, tell of time in which it does nothing.
        ("small-blocks", "threads", ("small-requests", 0.9)),
        ("one-row", "syscall_totals", ("flush-cost", 0.9)),
        ("one-row", "threads", ("flush-cost", 0.9)),
        # Nothing is written for others, and what CPUs do is less of the time.
        ("one-row", "journal_commits", ("flush-cost", 0.9)),
        # Nobody serves a file of it: which calls it sleeps in is not known, but not for whom.
        ("idle", "syscall_totals", ("not-io", 0.75)),
        # Nothing of it is on an overlay.
        ("cold-file", "stacks", ("cache-cold", 0.85)),
    ],
)
def test_what_it_does_not_hang_on_lowers_nothing(
    name: str, table: str, whole: tuple[str, float], copy: Copied
) -> None:
    assert first(judge(lacking(copy(name), table, 1.0, "announced"))) == whole


def reader_of(path: str, kind: str, dev: int, *, mounted: bool) -> Story:
    """All of the time in reads of one file; its filesystem has a row, or has not."""
    story = Story(2.0).caller("read", 100, sleeping=15 * MS, ino=400)
    for row in story.tables["syscalls"]:
        row["dev"] = dev
    story.add("files", dev=dev, ino=400, path=path, kind=kind)
    if mounted:
        story.add("filesystems", dev=dev, kind="ext4", mount="/srv", options="rw")
    return story


@pytest.mark.parametrize(
    ("path", "kind", "mounted", "missed"),
    [
        ("pipe:[1]", "pipe", False, False),
        ("socket:[1]", "socket", False, False),
        ("anon_inode:[eventfd]", "anonymous", False, False),
        # A file without a name of its own, as memfd_create makes.
        ("memfd:x (deleted)", "file", False, False),
        ("/srv/a", "file", False, True),
        ("/srv", "directory", False, True),
        ("/srv/a", "file", True, False),
    ],
)
def test_only_what_has_a_path_is_on_a_filesystem(
    path: str, kind: str, mounted: bool, missed: bool, tmp_path: Path
) -> None:
    """Pipes, sockets and the kernel's own files are on none that is mounted."""
    story = reader_of(path, kind, 99, mounted=mounted)
    manifest = story._manifest()
    made = in_memory(tmp_path / "a.iowhy", live(manifest), story.tables)
    assert ("filesystems" in short(made)) is missed


def test_a_ring_s_worker_makes_no_calls(tmp_path: Path) -> None:
    """It waits within the call that its maker was in when it was made."""
    story = Story(2.0).caller("io_uring_enter", 100, cpu=MS, bytes_=None, ino=None)
    story.thread(11, 10, blocked=0.5).idle_call("io_uring_enter", 0.1)
    for number in range(100):
        story.wait(START + number * 10 * MS, 9 * MS, "device_flush", "io_uring_enter", tid=11)
    made = in_memory(tmp_path / "a.iowhy", live(story._manifest()), story.tables)
    assert "syscalls" not in short(made)
    for row in story.tables["waits"]:
        row["syscall"] = "fsync"
    made = in_memory(tmp_path / "b.iowhy", live(story._manifest()), story.tables)
    assert short(made)["syscalls"] == 1.0


def live(manifest: Manifest) -> Manifest:
    """As the recorder writes it, to its end."""
    return replace(manifest, recorder=replace(manifest.recorder, version="1"))


@pytest.mark.parametrize(
    ("name", "table"), [("throttled-writer", "threads"), ("one-thread", "syscall_totals")]
)
def test_it_does_where_that_time_could_be_its_own(name: str, table: str, copy: Copied) -> None:
    """Who is paused, by the command's threads; what the kernel computes, by the calls that are not kept one by one."""
    whole = first(judge(open_recording(copy(name))))
    lost = first(judge(lacking(copy(name), table, 1.0, "announced")))
    assert whole[0] == lost[0] and lost[1] < SURE <= whole[1]


def test_an_exit_does_not_return(tmp_path: Path) -> None:
    """What a process waits for while it ends, it waits for in a call that has no end."""
    story = Story(2.0).thread(blocked=0.5).idle_call("wait4", 0.1)
    for number in range(100):
        story.wait(START + number * 10 * MS, 9 * MS, "memory_map_lock", "exit_group")
    assert "syscalls" not in short(
        in_memory(tmp_path / "a.iowhy", live(story._manifest()), story.tables)
    )


def test_a_request_before_the_command_is_in_no_sum_of_flights(tmp_path: Path) -> None:
    """A discard of another disk, say: request_sums has it, flight_sums those that were queued while the command ran."""
    story = Story(2.0).caller("read", 20, blocked=10 * MS).requests(20, service=9 * MS)
    sums = {
        "area_ns": 1,
        "busy_ns": 1,
        "command_area_ns": 1,
        "command_busy_ns": 1,
        "command_read_area_ns": 1,
    }
    sums |= {"command_read_busy_ns": 1, "command_write_area_ns": 0, "command_write_busy_ns": 0}
    story.add("flight_sums", dev=DISK, others_area_ns=0, others_busy_ns=0, ours_busy_ns=1, **sums)
    story.device(9 << 20, "sdb").requests(1, dev=9 << 20, op="discard", own=False, ino=None)
    before = story.tables["block_requests"][-1]
    before["queue_ns"] = START - MS
    made = in_memory(tmp_path / "a.iowhy", live(story._manifest()), story.tables)
    assert "flight_sums" not in short(made)
    before["queue_ns"] = START
    made = in_memory(tmp_path / "b.iowhy", live(story._manifest()), story.tables)
    assert "flight_sums" in short(made)
