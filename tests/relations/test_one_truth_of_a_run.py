"""A run that writes, syncs and jumps: report, facts, comparison and the verdict's JSON give the same numbers."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pytest import approx

from iowhy.comparisons.layers import _measured
from iowhy.recordings import Recording
from iowhy.reports import run
from iowhy.whys.facts import Facts, facts_of
from iowhy.whys.verdict import verdict_of
from iowhy.whys.verdict_json import as_json
from tests.examples import costly
from tests.whys.made import DISK, FILE, FS, KIB, MS, START, Story

OTHER_FS = FS + 1


@st.composite
def runs(draw: st.DrawFn) -> Story:
    """Writes and syncs of one file, with what belongs to others or to nobody in between."""
    syncs = draw(st.integers(30, 120))
    story = Story(1.0).add("filesystems", dev=FS, kind="ext4", mount="/data", options="rw", disk_dev=DISK,
                           block_bytes=4 * KIB)  # fmt: skip
    story.caller("fdatasync", syncs, blocked=4 * MS, reason="device_flush", bytes_=None)
    story.requests(draw(st.integers(40, 200)), op="write", jump=draw(st.booleans()), service=MS)
    story.flushes(syncs, draw(st.integers(1, 4)) * MS)
    place = 0
    pieces = st.tuples(st.sampled_from([0, 0, 64]), st.sampled_from([0, 64, 4096]), st.booleans())
    logical = 0
    for hole, gap, placed in draw(st.lists(pieces, min_size=1, max_size=60)):
        logical += hole * KIB
        place += gap * KIB
        for phase in draw(st.sampled_from([("after",), ("before", "after")])):
            story.add(
                "extents", phase=phase, dev=FS, ino=FILE, logical_bytes=logical,
                physical_bytes=(1 << 30) + place if placed else None, bytes=64 * KIB, flags=[],
            )  # fmt: skip
        logical += 64 * KIB
        place += 64 * KIB
    for number in range(draw(st.integers(0, 5))):
        story.add("dirty_throttle", ts_ns=START + number, tgid=draw(st.sampled_from([10, 99])), tid=10,
                  pause_ns=draw(st.sampled_from([0, MS])), dirty_pages=90, limit_pages=100)  # fmt: skip
    for number in range(draw(st.integers(1, 20))):
        dev = draw(st.sampled_from([FS, OTHER_FS]))
        story.add("journal_commits", ts_ns=START + number * MS, dur_ns=draw(st.none() | st.just(MS)),
                  dev=dev, kind=draw(st.sampled_from(["jbd2", "xfs-log-force"])))  # fmt: skip
        story.add("writeback", ts_ns=START + number * MS, dev=dev, ino=FILE + number % 3, reason="background",
                  tid=50, pages_written=draw(st.integers(0, 3)))  # fmt: skip
    return story


@dataclass(frozen=True)
class Shown:
    """Where a number can be seen: the comparison, and the links of the JSON as (unit, report, value)."""

    compared: dict[str, float | None]
    links: list[tuple[str, str, float | None]]

    def link(self, unit: str, report: str) -> set[float | None]:
        return {value for one, name, value in self.links if (one, name) == (unit, report)}


def rows(rec: Recording, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = run(rec, name).to_pylist()
    return found


def total(found: list[dict[str, object]], column: str) -> float:
    return sum(value for row in found if isinstance(value := row[column], (int, float)))


# Without making a failing run smaller: an example takes seconds, and each assertion names its number.
@settings(
    costly(3),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(runs())
def test_one_number_everywhere(story: Story) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rec = story.write(Path(folder) / "made.iowhy")
        with facts_of(rec) as facts:
            findings = as_json(verdict_of(facts))["findings"]
            assert isinstance(findings, list)
            links = [(x["unit"], x["report"], x["value"]) for f in findings for x in f["chain"]]
            shown = Shown(_measured(facts.relations), links)
            requests_agree(rec, facts, shown)
            layout_agrees(rec, facts, shown)
            waiting_agrees(rec, facts, shown)


def requests_agree(rec: Recording, facts: Facts, shown: Shown) -> None:
    (device,) = rows(rec, "devices")
    (file,) = [row for row in rows(rec, "files") if row["ino"] == FILE]
    found = facts.requests
    assert found.flushes == device["flushes"] == shown.compared["device.flushes"] > 0
    assert shown.link("flushes", "devices") <= {found.flushes}
    assert found.busy_share == approx(device["utilisation"])
    assert found.jump_share == approx(file["jump_share"])
    assert found.jump_share == approx(shown.compared["device.jump_share"] or 0.0)
    assert found.count == file["requests"] == shown.compared["device.writes"]


def layout_agrees(rec: Recording, facts: Facts, shown: Shown) -> None:
    (after,) = [row for row in rows(rec, "layout") if row["phase"] == "after"]
    (file,) = [row for row in rows(rec, "files") if row["ino"] == FILE]
    assert after["extents"] == file["extents_after"]
    if not after["bytes"]:
        assert facts.layout.files == () and shown.compared["extents"] is None
        return
    (found,) = facts.layout.files
    assert found.extents == after["extents"] == shown.compared["extents"]
    assert found.bytes == after["bytes"] and found.sequentiality == after["sequentiality"]
    assert shown.link("extents", "layout") <= {found.extents}


def waiting_agrees(rec: Recording, facts: Facts, shown: Shown) -> None:
    syncs, compared = facts.calls.syncs, shown.compared
    assert syncs.calls == total(rows(rec, "sync"), "calls") == compared["sync_calls"]
    assert syncs.total_ns == total(rows(rec, "sync"), "total_ns")
    calls = {row["name"]: row["calls"] for row in rows(rec, "syscalls")}
    assert {name: group.calls for name, group in facts.calls.by_name.items()} == calls
    assert total(rows(rec, "syscalls-by-thread"), "calls") == sum(calls.values())
    pauses = rows(rec, "throttle")
    assert facts.writeback.pauses == total(pauses, "pauses")
    assert facts.writeback.pause_ns == total(pauses, "paused_ns")
    assert (compared["throttled_ns"] or 0.0) == approx(facts.writeback.pause_ns)
    own = [row for row in rows(rec, "writeback") if row["own"]]
    assert (facts.writeback.passes, facts.writeback.pages) == (
        total(own, "passes"),
        total(own, "pages"),
    )
    commits = [row for row in rows(rec, "journal") if row["own"]]
    assert facts.journal.commits == total(commits, "commits")
    jbd2 = [row for row in commits if row["kind"] == "jbd2"]
    assert compared["journal.commits"] == total(jbd2, "commits")
    assert all(row["busy_share"] is None for row in commits if row["mean_ns"] is None)
    assert compared["cpu_ns"] == approx(
        total(rows(rec, "threads"), "cpu_user_ns") + total(rows(rec, "threads"), "cpu_kernel_ns")
    )
