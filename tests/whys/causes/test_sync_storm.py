"""sync-storm: many syncs, few bytes."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads, links_of, sentence
from ..made import DISK, FILE, FS, KIB, MS, START, Story


def syncer(count: int, blocked: int, files: int = 1, name: str = "fsync") -> Story:
    return Story(2.0).caller(
        name, count, blocked=blocked, bytes_=None, reason="journal_commit",
        ino=[200 + n for n in range(files)],
    )  # fmt: skip


def test_many_small_files(judged: Judge) -> None:
    story = syncer(400, int(4.5 * MS), files=400)
    story.requests(800, op="write", bytes_=32 * KIB, service=MS).flushes(400, 3 * MS)
    story.commits(400, 4 * MS).passes_of_writeback(400, 400, 16, "fsync")
    found = leads(judged(story), "sync-storm", 0.85)
    text = chain(found)
    assert tells(text, "sda", "64 KiB")
    assert "400 cache flushes" in text
    assert tells(text, "400", "400", "1.0", "16.0")
    assert fixes_of(found).count("sync-storm.one-archive") == 1
    assert fixes_of(found)[0] == "sync-storm.sync-once"


def test_passes_of_a_worker_that_follow_each_other_are_one(judged: Judge) -> None:
    """Every 200 ms the worker goes over 40 inodes, 1 ms each."""
    story = syncer(400, int(4.5 * MS), files=400).requests(800, op="write", service=MS)
    for number in range(400):
        story.add(
            "writeback",
            ts_ns=START + number // 40 * 200 * MS + number % 40 * MS,
            dur_ns=MS // 2,
            tid=77,
            dev=FS,
            ino=200 + number,
            reason="background",
            pages_written=16,
        )
    text = chain(leads(judged(story), "sync-storm", 0.85))
    assert tells(text, "10", "400", "40.0", "16.0")


def test_transactions_where_the_journal_is_the_cost(judged: Judge) -> None:
    story = syncer(400, int(4.5 * MS), name="fdatasync")
    story.requests(800, op="write", bytes_=4 * KIB, service=2 * MS).flushes(400, MS)
    found = leads(judged(story), "sync-storm", 0.85)
    assert fixes_of(found)[0] == "shared.call-once"


def test_not_few_large_syncs(judged: Judge) -> None:
    story = syncer(40, 45 * MS)
    story.requests(800, op="write", bytes_=512 * KIB, service=2 * MS)
    absent(judged(story), "sync-storm")


def test_not_when_the_syncs_cost_nothing(judged: Judge) -> None:
    story = syncer(400, 20_000).requests(400, op="write", service=10_000)
    absent(judged(story), "sync-storm")


def test_not_when_the_syncs_compute(judged: Judge) -> None:
    story = Story(2.0).caller("fdatasync", 400, cpu=int(4.5 * MS), bytes_=None)
    story.requests(400, op="write", service=10_000)
    absent(judged(story), "sync-storm")


def test_not_one_sync_at_the_end(judged: Judge) -> None:
    story = syncer(1, 1900 * MS).requests(3000, op="write", bytes_=512 * KIB, service=MS // 2)
    absent(judged(story), "sync-storm")


def test_a_short_run_needs_fewer(judged: Judge) -> None:
    """Eleven in 0.2 s are a storm, in 2 s they are not."""
    story = Story(0.2).caller(
        "fdatasync", 11, blocked=15 * MS, bytes_=None, reason="journal_commit"
    )
    leads(judged(story.requests(22, op="write", service=7 * MS)), "sync-storm", 0.8)
    absent(judged(syncer(11, 15 * MS).requests(22, op="write", service=MS)), "sync-storm")


def test_not_one_transaction(judged: Judge) -> None:
    story = Story(0.2).caller("fdatasync", 4, blocked=40 * MS, bytes_=None, reason="journal_commit")
    absent(judged(story.requests(8, op="write", service=20 * MS)), "sync-storm")


def test_writeback_and_commits_of_other_filesystems_are_not_counted(judged: Judge) -> None:
    story = syncer(400, int(4.5 * MS), files=400)
    story.requests(800, op="write", bytes_=32 * KIB, service=MS)
    story.commits(400, 4 * MS).passes_of_writeback(400, 400, 16, "fsync")
    story.passes_of_writeback(5000, 5000, 1).commits(900, MS)
    for table in ("writeback", "journal_commits"):
        for row in story.tables[table][400:]:
            row["dev"] = 99
    # The command reads from there, its libraries say.
    story.add("syscalls", ts_ns=START, dur_ns=1, tgid=10, tid=10, name="read", dev=99, ino=1, ret=0)
    text = chain(leads(judged(story), "sync-storm", 0.85))
    assert "400 journal commits" in text and "over 400 inodes" in text


def test_what_is_written_to_mapped_memory_is_no_write_of_a_call(judged: Judge) -> None:
    """A journal in mapped memory: seven bytes that somebody writes by the way are not what msync makes durable."""
    story = Story(2.0).caller("msync", 180, blocked=10 * MS, bytes_=4 * KIB, gap_share=0.0)
    story.requests(180, op="write", bytes_=12 * KIB, jump=True).flushes(180, 4 * MS)
    parts = {"cpu_ns": 1_000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    story.call(START, "write", parts, tid=10, ino=FILE, offset=0, bytes_=7)
    verdict = judged(story)
    text = " ".join(link.statement for one in verdict.findings for link in one.chain)
    assert tells(text, "180", "sda")
    each = [links_of(one).get("sync-storm.each", "") for one in verdict.findings]
    assert any(each) and not any("made" in one for one in each)


def quick_disk(cpu: int, service: int = 500_000) -> Story:
    """A sync every 2 ms that waits 0.6 ms and computes `cpu`; the program itself computes a part of the rest."""
    story = Story(2.0, cpus=2).caller(
        "fdatasync", 1000, blocked=600_000, cpu=cpu, gap_share=0.5, bytes_=None, reason="journal_commit"
    )  # fmt: skip
    return story.requests(1000, op="write", bytes_=4 * KIB, service=service)


def test_what_the_calls_compute_goes_with_them(judged: Judge) -> None:
    verdict = judged(quick_disk(cpu=400_000))
    found = leads(verdict, "sync-storm", 0.49, 0.51)
    assert tells(chain(found), "20 %")
    assert fixes_of(found)[0] == "shared.call-once"
    # The program's own work is not theirs.
    assert finding(verdict, "cpu-serial").share == pytest.approx(0.25, abs=0.02)


def test_what_others_compute_in_the_kernel_does_not(judged: Judge) -> None:
    found = finding(judged(quick_disk(cpu=4_000).thread(12, kernel=0.2)), "sync-storm")
    assert found.share == pytest.approx(0.3, abs=0.02)


def test_where_they_compute_more_than_they_wait_the_cpu_is_said_first(judged: Judge) -> None:
    found = finding(judged(quick_disk(cpu=800_000)), "cpu-serial")
    assert sentence(links_of(found)["syncs-look-long"]).values["call"] == "fdatasync"
    assert fixes_of(found)[0] == "shared.call-once"


def test_what_they_compute_is_not_claimed_where_another_cause_has_their_waits(
    judged: Judge,
) -> None:
    """Each write waits in a queue that throttles: the syncs wait for that."""
    verdict = judged(quick_disk(cpu=400_000, service=100_000))
    assert finding(verdict, "io-throttled").share == pytest.approx(0.3, abs=0.02)
    absent(verdict, "sync-storm")


@pytest.mark.parametrize(("files", "told"), [(1, False), (40, True)])
def test_fewer_files_are_told_where_there_are_many(judged: Judge, files: int, told: bool) -> None:
    story = Story(4.0).caller(
        "fsync",
        400,
        blocked=9 * MS,
        bytes_=None,
        reason="journal_commit",
        ino=list(range(200, 200 + files)),
    )
    found = leads(
        judged(story.requests(400, op="write", bytes_=4 * KIB, service=8 * MS)), "sync-storm", 0.85
    )
    assert any("one archive" in one for one in found.remedies) is told


@pytest.mark.parametrize(("files", "told"), [(1, True), (200, False)])
def test_a_file_is_kept_open_where_it_is_opened_again(
    judged: Judge, files: int, told: bool
) -> None:
    """A journal that is made and removed for each transaction is another file each time."""
    inodes = list(range(200, 200 + files))
    story = Story(4.0).caller(
        "fsync", 400, blocked=9 * MS, bytes_=None, reason="journal_commit", ino=inodes
    )
    parts = {"cpu_ns": 1000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(300):
        story.call(
            START + number * 10 * MS,
            "openat",
            parts,
            tid=10,
            ino=inodes[number % files],
            offset=0,
            bytes_=None,
        )
    found = leads(
        judged(story.requests(400, op="write", bytes_=4 * KIB, service=8 * MS)), "sync-storm", 0.85
    )
    assert (fixes_of(found)[0] == "sync-storm.keep-open") is told


def ring(length: int, kind: str = "sync", **more: object) -> Story:
    """400 operations of a ring in 2 s, by workers of the kernel: no wait of the command, none of its requests shows them."""
    op = "fsync" if kind == "sync" else "pwrite"
    api = "io_uring" if kind == "sync" else "libaio"
    story = Story(2.0).ring(op, 400, length=length, kind=kind, api=api, **more)  # type: ignore[arg-type]
    return story.requests(400, op="write", bytes_=4 * KIB, service=4 * MS)


def test_syncs_submitted_to_a_ring_are_syncs(judged: Judge) -> None:
    found = leads(judged(ring(int(4.5 * MS))), "sync-storm", 0.8)
    text = chain(found)
    assert tells(text, "io_uring fsync", "400", "4.5 ms")
    # Most of it in flushes, it is those.
    leads(judged(ring(int(4.5 * MS)).flushes(400, 4 * MS)), "flush-cost", 0.8)


def test_durable_writes_submitted_to_a_context_are_syncs(judged: Judge) -> None:
    found = leads(
        judged(ring(int(4.5 * MS), "write", asleep_in="io_getevents", durable=True)),
        "sync-storm",
        0.8,
    )
    assert "O_DSYNC" in found.remedies[0]
    assert tells(chain(found), "400 writes", "durable")


@pytest.mark.parametrize("durable", [False, None])
def test_not_writes_submitted_to_a_context_that_are_not_durable(
    judged: Judge, durable: bool | None
) -> None:
    for story in (
        ring(int(4.5 * MS), "write", asleep_in="io_getevents", durable=durable),
        # Of a pipe: nothing is in flight to storage.
        ring(int(4.5 * MS), "write", durable=True, ino=300).add(
            "files", dev=FS, ino=300, path=None, kind="pipe"
        ),
    ):
        absent(judged(story), "sync-storm")


@pytest.mark.parametrize(("options", "led"), [("rw,wsync", True), ("rw", False)])
def test_names_that_the_mount_makes_durable_one_by_one(
    options: str, led: bool, judged: Judge
) -> None:
    story = Story(2.0).caller("openat", 150, blocked=12 * MS, reason="log_force", bytes_=None)
    story.add("filesystems", dev=FS, kind="xfs", mount="/data", options=options, disk_dev=8 << 20)
    story.requests(150, op="write", bytes_=4 * KIB).flushes(150, 4 * MS)
    verdict = judged(story)
    if led:
        assert "Mount /data without `wsync`" in leads(verdict, "sync-storm", 0.8).remedies[0]
    else:
        absent(verdict, "sync-storm")


def mounted(options: str) -> Story:
    """Files that are made and written, where both wait until they are durable: making them waits a little longer."""
    story = Story(4.0).caller(
        "pwrite64", 40, blocked=95 * MS, reason="journal_commit", gap_share=0.0
    )
    story.caller("mkdir", 40, blocked=98 * MS, reason="journal_commit", bytes_=None, tid=11)
    for row in story.tables["syscalls"]:
        row["durable"] = True if row["name"] == "pwrite64" else None
    story.requests(80, op="write", service=MS).flushes(80, 20 * MS)
    return story.add(
        "filesystems", dev=FS, kind="ext4", mount="/mnt/a b", options=options, disk_dev=DISK
    )


@pytest.mark.parametrize(("options", "typed"), [("rw,sync", True), ("rw,relatime", False)])
def test_a_mount_with_sync_is_named_though_names_wait_longer_than_writes(
    judged: Judge, options: str, typed: bool
) -> None:
    found = judged(mounted(options)).findings[0]
    assert found.cause in ("sync-storm", "flush-cost")
    assert ("mount -o remount,async '/mnt/a b'" in found.fixes[0].do) is typed
