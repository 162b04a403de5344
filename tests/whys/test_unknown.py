"""What is not there is unknown: no verdict fails for it, whatever tables and values are missing."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from iowhy.recordings.schema import tables
from iowhy.whys.facts import Facts
from iowhy.whys.verdict import judge
from iowhy.whys.verdict_json import as_json
from tests.examples import costly

from .made import KIB, MS, START, Row, S, Story, disk, pasted, samples


def everything() -> Story:
    """A story with rows in nearly every table."""
    story = Story(1.2)
    story.caller("fsync", 60, blocked=6 * MS, bytes_=None, reason="journal_commit")
    story.caller("pread64", 60, tid=11, blocked=6 * MS, jump=True)
    story.caller("io_getevents", 20, tid=12, sleeping=9 * MS, bytes_=None, ino=None, gap="idle")
    story.requests(100, op="write", service=3 * MS).requests(100, service=3 * MS, jump=True)
    story.requests(50, own=False, tgid=70, service=MS).flushes(60, 4 * MS)
    story.cache(lookups=8000, misses=4000, readahead=4000, refaults=3000)
    story.commits(60, 5 * MS, flushing_ns=MS, logging_ns=MS, handles=3, blocks=4)
    story.passes_of_writeback(100, 60, 5).extents(500, 4 * KIB).allocations(100, 3)
    story.idle_call("futex", 0.2)
    story.add("dirty_throttle", ts_ns=START, tgid=10, tid=10, pause_ns=MS, dirty_pages=4)
    story.add("process_io", ts_ns=START + S, tgid=10, read_bytes=3000, written_bytes=1000)
    story.group(
        cpu_quota_cores=0.5, cpu_periods=10, cpu_throttled_periods=9, cpu_throttled_ns=S,
        memory_limit_bytes=1 << 24, io_limit_read_bytes_per_s=1 << 20,
    )  # fmt: skip
    for number in range(3):
        at = START + number * S // 2
        story.add("vm_samples", ts_ns=at, procs_running=1, procs_blocked=2, swap_in_pages=number)
        story.add("memory_samples", ts_ns=at, total_bytes=1 << 33, free_bytes=1 << 20)
        story.add(
            "pressure_samples", ts_ns=at, scope="machine", resource="io", kind="some", total_ns=at
        )
        story.add(
            "disk_samples", ts_ns=at, dev=8 << 20, reads=number * 9, read_bytes=number << 20,
            writes=number, written_bytes=number << 20, busy_ns=number * MS, queue_ns=number * MS,
        )  # fmt: skip
    return story.machine()


NULLABLE = sorted(
    (table.name, column.name)
    for table in tables().values()
    for column in table.columns
    if column.null is not None
)
TABLES = sorted(everything().tables)


@given(
    st.sets(st.sampled_from(TABLES), max_size=12),
    st.sets(st.sampled_from(NULLABLE), max_size=40),
    st.booleans(),
)
@costly(5)
def test_any_part_may_be_missing(
    dropped: set[str], unknown: set[tuple[str, str]], said: bool
) -> None:
    story = everything()
    for name in dropped:
        del story.tables[name]
        story.missing.add(name)
    for table, column in unknown:
        for row in story.tables.get(table, []):
            row[column] = None
    if not said:
        story.missing |= {"waits", "syscalls", "block_requests"}
    with tempfile.TemporaryDirectory() as folder:
        verdict = judge(story.made(Path(folder) / "x"))
    assert verdict.answer
    assert all(0 <= finding.share <= 1 for finding in verdict.findings)
    assert sum(f.share for f in verdict.findings) <= 1 + 1e-6
    as_json(verdict)


def test_what_a_tool_does_not_print_is_neither_all_nor_nothing(tmp_path: Path) -> None:
    tables: dict[str, list[Row]] = {
        "disk_samples": disk(reads=100, read_bytes=1e6, wait_ns=MS, busy=0.5, depth=1),
        "cpu_samples": samples(user=0.3, system=0.1, idle=0.6),
    }
    for row in tables["disk_samples"]:
        row["busy_ns"] = row["queue_ns"] = None
    for row in tables["cpu_samples"]:
        row["iowait_ns"] = None
    with Facts(pasted(tmp_path / "x", tables, cpus=1)) as facts:
        assert facts.devices.top is not None and facts.devices.top.busy_share is None
        assert facts.relations.rows("SELECT busy_share FROM traffic_direction") == [(None,)]
        assert (facts.machine.iowait, facts.machine.steal) == (None, None)
        assert facts.machine.busy == approx(0.4)
