"""spills: what does not fit into memory goes through temporary files."""

import pytest

from iowhy.whys.causes.spills import pattern
from iowhy.whys.facts.spilled import BYTES_MIN

from ..conftest import Judge, absent, finding, leads
from ..made import FS, KIB, MIB, MS, START, Story

SPILL = 301
PGSQL = "/srv/pg/base/pgsql_tmp/pgsql_tmp4711.0"


def sorter(
    *, written: int = 64 * MIB, read: int = 64 * MIB, path: str = "/tmp/join.17", deleted: bool = True
) -> Story:  # fmt: skip
    """Two threads of one program, half of whose time goes into writes and reads of one file."""
    story = Story(4.0)
    story.caller(
        "write",
        200,
        blocked=8 * MS,
        bytes_=written // 200,
        ino=SPILL,
        reason="page_writeback",
        tid=10,
    )
    story.caller("read", 200, blocked=8 * MS, bytes_=read // 200, ino=SPILL, tid=11)
    return story.add("files", dev=FS, ino=SPILL, path=path, kind="file", deleted=deleted)


def test_a_sort_that_spills_waits_for_its_temporary_file(judged: Judge) -> None:
    found = leads(judged(sorter()), "spills", 0.35, 0.5)
    values = {link.statement.id: link.value for link in found.chain}
    assert values["spills.written"] == 200 * (64 * MIB // 200)
    assert [fix.do.id for fix in found.fixes] == [
        "spills.give-more-memory",
        "spills.put-temporary-files",
    ]
    assert "/tmp/join.*" in str(found.chain)


@pytest.mark.parametrize(("path", "part"), [("/tmp/join.17", 0.5), (PGSQL, 1.0)])
def test_the_cpu_time_is_saved_by_no_device_and_by_half_where_it_may_be_handed_on(
    judged: Judge, path: str, part: float
) -> None:
    """What is temporary by its name would have stayed in memory."""
    story = Story(4.0)
    for tid, name in ((10, "write"), (11, "read")):
        story.caller(name, 200, tid=tid, cpu=9 * MS, bytes_=512 * KIB, ino=SPILL)
    for row in story.tables["thread_time"]:
        row["cpu_calls_ns"] = row["cpu_kernel_ns"]
    story.add("files", dev=FS, ino=SPILL, path=path, kind="file", deleted=True)
    found = finding(judged(story), "spills")
    assert found is not None and found.share == pytest.approx(0.45, abs=0.02)
    assert found.gain == pytest.approx(part * found.share, rel=0.05)
    assert [fix.do.id for fix in found.fixes] == ["spills.give-more-memory"]


def test_only_what_is_on_these_files_is_theirs(judged: Judge) -> None:
    story = sorter()
    story.caller("pread64", 200, blocked=8 * MS, bytes_=64 * KIB, tid=12)
    found = finding(judged(story), "spills")
    assert found is not None
    assert found.share == pytest.approx(2 / 3 * 0.4, abs=0.02)


@pytest.mark.parametrize(
    "other",
    [
        sorter(deleted=False),
        sorter(read=16 * MIB),
        sorter(written=BYTES_MIN // 2, read=BYTES_MIN // 2),
        # A database that a test makes and deletes is synced.
        sorter().add(
            "syscalls", ts_ns=START, dur_ns=MS, tgid=10, tid=10, name="fdatasync", dev=FS, ino=SPILL, ret=0
        ),
        sorter(read=0),
    ],
    ids=["kept", "hardly read", "small", "synced", "unread"],
)  # fmt: skip
def test_what_looks_like_it(other: Story, judged: Judge) -> None:
    absent(judged(other), "spills")


def test_a_file_of_another_process_is_no_spill_unless_its_name_says_so(judged: Judge) -> None:
    def handed_over(path: str) -> Story:
        story = sorter(path=path)
        for row in story.tables["syscalls"]:
            if row["name"] == "read":
                row["tgid"] = 11
        story.tables["threads"][-1] |= {"tgid": 11}
        for row in story.tables["thread_time"]:
            if row["tid"] == 11:
                row["tgid"] = 11
        return story

    absent(judged(handed_over("/tmp/cc12.s")), "spills")
    assert finding(judged(handed_over(PGSQL)), "spills") is not None


def test_a_database_s_file_spills_while_it_is_there(judged: Judge) -> None:
    leads(judged(sorter(path=PGSQL, deleted=False)), "spills", 0.35, 0.5)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (PGSQL, "/srv/pg/base/pgsql_tmp/pgsql_tmp*.*"),
        ("/tmp/sortAb12Cd", "/tmp/sort*"),
        ("/var/tmp/etilqs_0ab1", "/var/tmp/etilqs_*"),
    ],
)
def test_names_of_one_program_s_files_are_one_pattern(path: str, shown: str) -> None:
    assert pattern(path) == shown


def test_the_statement_that_spills_is_named_with_the_memory_that_it_has_and_needs(
    judged: Judge,
) -> None:
    story = sorter(path=PGSQL)
    story.add(
        "statements", statement_id="a", text="SELECT b FROM c ORDER BY d", server="PostgreSQL 15", memory_bytes=4 * MIB
    )  # fmt: skip
    story.add(
        "statement_calls", ts_ns=START, dur_ns=4000 * MS, tgid=10, tid=10, statement_id="a", begins=True,
        time_ns=4000 * MS, kernel_ns=0, runnable_ns=0, blocked_ns=1600 * MS, sleeping_ns=0,
    )  # fmt: skip
    found = leads(judged(story), "spills", 0.35, 0.5)
    values = {link.statement.id: link.value for link in found.chain}
    assert values["spills.statement"] == 200 * (64 * MIB // 200)
    assert found.fixes[0].do.id == "spills.for-statement"
    assert "SET work_mem = '128MB'" in str(found.fixes[0].do)
