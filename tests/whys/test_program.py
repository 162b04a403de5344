"""What programs are told: each file says what is so of the house, and each remedy is told where it helps."""

from pathlib import Path

import pytest
from msgspec.structs import fields, replace

from iowhy.tables import calls
from iowhy.whys import program_pages
from iowhy.whys.applies import given
from iowhy.whys.causes import causes
from iowhy.whys.facts import Facts
from iowhy.whys.facts.synced import share_of_syncs
from iowhy.whys.program import at_work, heads, programs, remedies

from .conftest import Judge, fixes_of, leads
from .made import FS, KIB, MS, START, Story


def test_files_name_what_there_is() -> None:
    names, there = {one.name for one in causes()}, set(calls())
    syncing = {"sync-storm", "flush-cost", "journal-entangled"}
    assert len({one.name for one in programs()}) == len(programs())
    for one in programs():
        others = any(not rule.executable and not rule.code for rule in one.known_by)
        assert one.known_by and one.remedies and one.documentation.startswith("http"), one.name
        assert not one.clients or one.server, one.name
        for rule in one.known_by:
            assert any(getattr(rule, field.name) for field in fields(rule)), one.name
            # A library that is mapped may be another's, and never used.
            assert not rule.library or rule.files or rule.executable, one.name
        for remedy in one.remedies.values():
            named = remedy.syncs or remedy.spares or remedy.reads or remedy.files
            assert one.own or named or not others, (one.name, remedy.do)
            assert set(remedy.causes) <= names and remedy.causes, (one.name, remedy.causes)
            assert set(remedy.calls) <= there and remedy.syncs_by in ("", "writes", "calls"), (
                one.name,
                remedy.calls,
            )
            assert not remedy.partial or syncing & set(remedy.causes), (one.name, remedy.do)
            assert remedy.do and ", or " not in remedy.do, remedy.do
            assert remedy.risk not in ("", "none") and remedy.link.startswith("http"), one.name


def test_what_a_program_is_known_by_comes_before_its_remedies() -> None:
    """So far its file is read of each; the rest of those that were at work."""
    assert [replace(one, remedies={}) for one in programs()] == list(heads())
    assert all(one.remedies for one in programs())


def test_the_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs/programs.md"
    assert page.read_text() == program_pages.page(), "run python -m iowhy.whys.program_pages"


def test_its_setting_comes_before_the_general_remedy(judged: Judge) -> None:
    story = Story(4.0)
    story.caller("fsync", 200, blocked=15 * MS, reason="device_flush", bytes_=None, ino=[202, 203])
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 4 * MS)
    story.file(201, "/usr/lib/libsqlite3.so.0.8.6").file(202, "/srv/x.db-journal").file(
        203, "/srv/x.db"
    )
    verdict = judged(story)
    found = leads(verdict, "sync-storm", 0.7)
    remedies = found.remedies
    assert "BEGIN" in remedies[0] and "risk: " in remedies[0]
    assert "shared.call-once" in fixes_of(found)[1:]
    assert "BEGIN; … COMMIT;" in verdict.answer
    assert "https:" not in verdict.answer


def _unpacking(files: int, database: int) -> Story:
    """dpkg: so many calls sync a file that it unpacks, so many one of its own, all of one length."""
    story = Story(4.0).file(201, "/usr/bin/dpkg").file(202, "/srv/a.dpkg-new")
    story.file(203, "/var/lib/dpkg/status-new")
    inodes = [202] * files + [203] * database
    story.caller("fsync", 200, blocked=15 * MS, reason="device_flush", bytes_=None, ino=inodes)
    story.requests(200, op="write", bytes_=4 * KIB).flushes(200, 4 * MS)
    for thread in story.tables["threads"]:
        thread["comm"] = "dpkg"
    return story


def test_a_setting_that_ends_some_of_the_syncs_gains_their_share_and_stands_behind_one_that_ends_all(
    judged: Judge,
) -> None:
    first = judged(_unpacking(1, 3)).findings[0]
    every, some = first.remedies[:2]
    assert "eatmydata" in every and "of the time in syncs" not in every
    assert "--force-unsafe-io" in some and "(ends 25 % of the time in syncs); risk: " in some
    assert first.remedy_gains[0] == first.gain == pytest.approx(4 * first.remedy_gains[1])
    assert len(first.remedy_gains) == len(first.remedies)
    # Nobody who unpacks a package can put more of it into one transaction.
    assert not any("transaction" in one for one in first.remedies)


def test_a_setting_that_ends_none_of_the_syncs_is_not_offered_and_one_that_ends_all_is_whole(
    judged: Judge,
) -> None:
    none, every = (judged(_unpacking(*calls)).findings[0] for calls in ((0, 1), (1, 0)))
    assert not any("--force-unsafe-io" in one for one in none.remedies)
    assert "--force-unsafe-io" in every.remedies[0] and all(
        gain == pytest.approx(every.gain, rel=0.01) for gain in every.remedy_gains
    )


@pytest.mark.parametrize(
    ("files", "spared", "by", "share"),
    [
        ((), (), "", 1.0),
        (("*/wal/*",), (), "", 0.4),  # one whose path is not known may be one of them
        (("*/wal/*", "/data/base"), (), "", 0.8),
        ((), ("*/wal/*",), "", 0.8),
        (("/data/*",), ("*/wal/*",), "", 0.6),
        ((), (), "writes", 0.0),
        (("*/wal/*",), (), "calls", 0.4),
    ],
)
def test_the_time_of_syncs_by_file_and_call(
    files: tuple[str, ...],
    spared: tuple[str, ...],
    by: str,
    share: float,
    tmp_path: Path,
) -> None:
    story = Story(1.0).file(201, "/data/wal/1").file(202, "/data/base")
    inodes = [201, 202, 202, 203, None]
    story.caller("fsync", 50, blocked=5 * MS, reason="journal_commit", bytes_=None, ino=inodes)
    with Facts(story.made(tmp_path / "x")) as facts:
        found = share_of_syncs(facts.relations, files, spared, by)
    assert found == pytest.approx(share)


def test_what_syncs_beside_the_others_takes_nothing_from_their_share(tmp_path: Path) -> None:
    story = Story(1.0).file(201, "/data/wal/1").file(202, "/data/base")
    for tid, ino, length in ((10, 201, 8 * MS), (11, 202, 16 * MS)):
        story.caller(
            "fsync", 50, tid=tid, blocked=length, reason="journal_commit", bytes_=None, ino=ino
        )
    with Facts(story.made(tmp_path / "x")) as facts:
        wal = share_of_syncs(facts.relations, ("*/wal/*",), (), "")
        base = share_of_syncs(facts.relations, ("*/base",), (), "")
    assert wal == pytest.approx(0.5, abs=0.01) and base == 1.0


@pytest.mark.parametrize(
    ("calls", "told"), [((200,), False), ((200, 200), True), ((200, 4), False), ((200, 5), True)]
)
def test_a_shared_sync_is_told_to_sessions_that_commit_beside_others(
    judged: Judge, calls: tuple[int, ...], told: bool
) -> None:
    """A session that commits alone only waits longer; so it does beside the log writer's few syncs."""
    story = Story(4.0).file(201, "/data/pg_wal/1")
    for at, count in enumerate(calls):
        story.caller(
            "fdatasync",
            count,
            tid=10 + at,
            blocked=15 * MS,
            reason="device_flush",
            bytes_=None,
            ino=201,
        )
    story.requests(sum(calls), op="write", bytes_=4 * KIB).flushes(sum(calls), 4 * MS)
    first = judged(_at_work("postgres", "/usr/lib/postgresql/15/bin/postgres", story)).findings[0]
    assert "synchronous_commit" in first.remedies[0]
    assert any("commit_delay" in one for one in first.remedies) is told


def _at_work(name: str, path: str, story: Story) -> Story:
    """The story's thread 10 is this program."""
    story.add("files", dev=FS, ino=900, path=path, kind="file")
    story.tables["threads"][0]["comm"] = name
    return story


def _remedies(folder: Path, story: Story, cause: str) -> str:
    with Facts(story.made(folder)) as facts:
        found = remedies(facts, at_work(facts), cause, of_syncs=False, of_cpu=True)
    return " ".join(one.named for one in found)


@pytest.mark.parametrize(("user", "kernel", "told"), [(0.7, 0.2, True), (0.05, 0.85, False)])
def test_work_in_parallel_is_told_to_what_computes(
    user: float, kernel: float, told: bool, tmp_path: Path
) -> None:
    """A local clone makes links and files: no delta is looked for."""
    story = _at_work("git", "/usr/bin/git", Story(2.0).thread(10, user=user, kernel=kernel))
    assert ("pack.threads" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize(("size", "told"), [(512, True), (65536, False), (None, True)])
def test_larger_blocks_are_told_to_what_moves_small_ones(
    size: int | None, told: bool, tmp_path: Path
) -> None:
    """However it was typed (bs=64k, ibs= and obs=, in a script)."""
    story = Story(2.0).thread(10, user=0.1, kernel=0.8)
    for number in range(50):
        at = START + number * 9 * MS
        parts = {"cpu_ns": MS, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
        story.call(at, "write", parts, tid=10, ino=900, offset=0, bytes_=size)
    story = _at_work("dd", "/usr/bin/dd", story)
    assert ("bs=1M" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize(("cpu_ns", "told"), [(2 * MS, True), (MS // 20, False)])
def test_one_sync_for_many_is_told_where_syncs_compute(
    cpu_ns: int, told: bool, tmp_path: Path
) -> None:
    """VACUUM syncs now and then, and waits there for a CPU; a transaction around it changes nothing."""
    story = Story(2.0).thread(10, user=0.5, kernel=0.4)
    parts = {"cpu_ns": cpu_ns, "runnable_ns": 2 * MS, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(200):
        story.call(
            START + number * 9 * MS, "fdatasync", parts, tid=10, ino=900, offset=0, bytes_=None
        )
    story = _at_work("sqlite3", "/usr/bin/sqlite3", story)
    assert ("BEGIN" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize(("kind", "told"), [("xfs", True), ("ext4", False)])
def test_a_filesystem_is_asked_for_what_it_can(kind: str, told: bool, tmp_path: Path) -> None:
    """ext4 has no reflinks."""
    story = Story(2.0).caller("copy_file_range", 200, blocked=8 * MS)
    story.add("filesystems", dev=FS, kind=kind, mount="/data", options="rw")
    story = _at_work("cp", "/usr/bin/cp", story)
    assert ("--reflink" in _remedies(tmp_path / "x", story, "cache-cold")) == told


def test_what_was_typed_is_known_of_the_program_itself_and_in_a_script() -> None:
    assert given(("tar", "xf", "a.tar"), ["tar"]) == ["xf", "a.tar"]
    assert given(("/bin/tar", "xf"), ["tar", "gtar"]) == ["xf"]
    assert given(("sh", "-c", "cd x && make -j4 all; rm a"), ["make"]) == ["-j4", "all"]
    assert given(("sh", "-c", "make a\nmake 'b c'"), ["make"]) == ["a", "b c"]
    assert given(("sh", "-c", "echo \"it's"), ["echo"]) is not None
    assert given(("./build.sh",), ["make"]) is None
    assert given(("make",), ["make"]) == []


def _moving(read: int, written: int) -> Story:
    """It reads the data of so many files, and writes so many others; most of its time is its own."""
    story = Story(2.0)
    for name, first, count in (("read", 1000, read), ("write", 5000, written)):
        if count:
            inodes = list(range(first, first + count))
            story.caller(name, count, blocked=MS, ino=inodes, tid=10 if name == "read" else 11)
    return story


@pytest.mark.parametrize(
    ("read", "written", "told"), [(20, 1, True), (19, 1, False), (20, 5, True), (20, 6, False)]
)
def test_an_order_of_files_is_told_to_who_makes_an_archive_of_many(
    read: int, written: int, told: bool, tmp_path: Path
) -> None:
    """tar x reads one file and writes many."""
    story = _at_work("tar", "/usr/bin/tar", _moving(read, written))
    assert ("--sort=inode" in _remedies(tmp_path / "x", story, "cache-cold")) == told


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("make", "all"), True),
        (("make", "-j8"), False),
        (("make", "-s", "-j1"), True),
        (("make", "-j16"), False),
        (("make", "-j"), False),
        (("sh", "-c", "make -kj 4 all"), False),
        (("./build.sh",), True),  # how it was typed there is not known
    ],
)
def test_a_setting_is_not_told_to_who_has_typed_it(
    argv: tuple[str, ...], told: bool, tmp_path: Path
) -> None:
    story = _at_work("make", "/usr/bin/make", Story(2.0, argv=argv).thread(10, user=0.9))
    assert ("make -j" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize(("second", "told"), [(False, True), (True, False)])
def test_threads_are_told_to_who_has_one(second: bool, told: bool, tmp_path: Path) -> None:
    story = Story(2.0, argv=("git", "gc")).thread(10, user=0.8)
    if second:
        story.thread(11, user=0.1)
    story = _at_work("git", "/usr/bin/git", story)
    assert ("pack.threads" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize("name", ["gzip", "xz", "zstd"])
@pytest.mark.parametrize(
    ("read", "written", "told"), [(64, 16, True), (64, 64, True), (62, 64, False), (0, 0, True)]
)
def test_many_cpus_are_told_to_what_compresses_and_not_to_what_takes_apart(
    name: str, read: int, written: int, told: bool, tmp_path: Path
) -> None:
    """zcat, unxz and zstdcat are the same programs, typed by other names, and by a script here."""
    story = Story(2.0, argv=("sh", "-c", "./rotate")).thread(10, user=0.8)
    parts = {"cpu_ns": MS // 9, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for at, (call, size) in enumerate((("read", read), ("write", written))):
        for number in range(50 if size else 0):
            began = START + (2 * number + at) * 9 * MS
            story.call(began, call, parts, tid=10, ino=900, offset=0, bytes_=size * KIB)
    story = _at_work(name, f"/usr/bin/{name}", story)
    said = _remedies(tmp_path / "x", story, "cpu-serial")
    assert ("on all CPUs" in said) is told


@pytest.mark.parametrize("typed", ["tar", "gzip"])
def test_a_setting_of_what_was_typed_comes_before_those_of_what_that_started(
    typed: str, tmp_path: Path
) -> None:
    """Both could end the same computing; whoever typed tar has no gzip to replace."""
    story = Story(2.0, argv=(typed, "a")).thread(10, user=0.4).thread(20, user=0.5, tgid=20)
    for ino, name in enumerate(("tar", "gzip"), 900):
        story.file(ino, f"/usr/bin/{name}")
        story.tables["threads"][ino - 900]["comm"] = name
    said = _remedies(tmp_path / "x", story, "cpu-serial")
    assert ("zstd -T0" in said and "pigz" in said) and (
        (said.index("zstd -T0") < said.index("pigz")) is (typed == "tar")
    )


@pytest.mark.parametrize(("name", "told"), [("rustc", True), ("mine", False)])
def test_a_compiler_is_sped_up_where_it_works(name: str, told: bool, tmp_path: Path) -> None:
    """cargo run is mostly the program that it runs."""
    story = _at_work("cargo", "/usr/bin/cargo", Story(2.0).thread(10, user=0.1))
    story.thread(20, user=0.85, tgid=20)
    story.file(901, f"/usr/bin/{name}")
    story.tables["threads"][-1].update(comm=name, ppid=10)
    assert ("codegen-units" in _remedies(tmp_path / "x", story, "cpu-serial")) == told


@pytest.mark.parametrize(
    ("names", "rollback"),
    # A database that becomes one with a WAL has had a journal for it.
    [(("x.db-journal",), True), (("x.db-wal",), False), (("x.db-journal", "x.db-wal"), False)],
)
def test_a_journal_that_is_not_there_is_not_replaced(
    names: tuple[str, ...], rollback: bool, tmp_path: Path
) -> None:
    story = Story(2.0).caller("unlink", 200, blocked=5 * MS, bytes_=None)
    for ino, name in enumerate(names, 901):
        story.file(ino, f"/srv/{name}")
    story = _at_work("sqlite3", "/usr/bin/sqlite3", story)
    said = _remedies(tmp_path / "x", story, "sync-storm")
    assert ("journal_mode=WAL" in said) is rollback and ("in WAL mode" in said) is not rollback


@pytest.mark.parametrize(("name", "again"), [("rsync", False), ("cp", True)])
def test_what_is_done_once_is_not_tried_a_second_time(
    judged: Judge, name: str, again: bool
) -> None:
    story = Story(4.0).caller("read", 400, blocked=8 * MS).cache(lookups=800, misses=800)
    story.requests(400, bytes_=4 * KIB, service=2 * MS)
    found = judged(_at_work(name, f"/usr/bin/{name}", story))
    (cold,) = (one for one in found.findings if one.cause == "cache-cold")
    assert "shared.warm-cache" in fixes_of(cold)
    # Nor in a trial: rsync would find all of it there.
    assert (cold.experiment is not None) is again
    assert "cache-cold.index" not in fixes_of(cold)


@pytest.mark.parametrize(
    ("own", "data", "told"),
    [(300, 100, "ends 75 %"), (400, 0, ""), (15, 385, None), (0, 400, None)],
)
def test_an_archive_of_classes_is_told_to_who_waits_for_classes(
    judged: Judge, own: int, data: int, told: str | None
) -> None:
    """Java's own files in memory, what it waits for are data: no archive of classes has them."""
    story = Story(4.0).caller("read", 400, blocked=8 * MS).cache(lookups=800, misses=800)
    story.file(901, "/usr/lib/jvm/java-17/lib/modules").file(902, "/srv/tree/a.txt")
    for count, ino in ((own, 901), (data, 902)):
        if count:
            story.requests(count, bytes_=4 * KIB, service=8 * MS, ino=ino)
    found = judged(_at_work("java", "/usr/lib/jvm/java-17/bin/java", story))
    (cold,) = (one for one in found.findings if one.cause == "cache-cold")
    sharing = [one for one in cold.remedies if "class data sharing" in one]
    assert len(sharing) == (told is not None)
    assert all("in reads)" in one for one in sharing) or not told
    assert all(told in one for one in sharing) if told is not None else True
    if told == "ends 75 %":
        at = cold.remedies.index(sharing[0])
        assert cold.remedy_gains[at] == pytest.approx(0.75 * max(cold.remedy_gains), rel=0.01)
