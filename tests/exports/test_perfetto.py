"""A trace is read by Perfetto's own classes; its slices nest, its flows are pairs, and its sums are those of the reports."""

import io
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from benchmarks.generated import generate
from iowhy.exports import wire
from iowhy.exports.lanes import Lanes
from iowhy.exports.perfetto import write_perfetto
from iowhy.recordings import Recording, open_recording
from iowhy.reports import run
from iowhy.whys.verdict import judge
from tests.command_line import invoke
from tests.problems import asks
from tests.whys.made import FS, KIB, MS, START, Story

BEGIN, END, INSTANT, COUNTER = (
    TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT, TrackEvent.TYPE_COUNTER,
)  # fmt: skip


@dataclass
class Event:
    at: int
    kind: int
    name: str
    notes: dict[str, object]
    flows: list[int]
    ending: list[int]


@dataclass
class Read:
    """A trace as its reader has it: tracks by number, the events of each in the order of the file."""

    tracks: dict[int, object] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    clocks: list[tuple[int, int]] = field(default_factory=list)

    def title(self, number: int) -> str:
        track = self.tracks[number]
        own = track.name or track.thread.thread_name or track.process.process_name  # type: ignore[attr-defined]
        above = track.parent_uuid  # type: ignore[attr-defined]
        return f"{self.title(above)}/{own}" if above else str(own)

    def slices(self, number: int) -> list[tuple[int, int, Event]]:
        """Begin, end and event. Asserts that each ends before the next one on its track begins."""
        found: list[tuple[int, int, Event]] = []
        open_: Event | None = None
        # As the trace processor sorts: by time, else as they come.
        for event in sorted(self.events[number], key=lambda one: one.at):
            if event.kind == BEGIN:
                assert open_ is None, "slices of one track overlap"
                open_ = event
            elif event.kind == END:
                assert open_ is not None
                found.append((open_.at, event.at, open_))
                open_ = None
        assert open_ is None
        return found


def read(data: bytes) -> Read:
    """Takes a trace apart with Perfetto's classes, with what packets refer to put in its place."""
    found, names, notes, texts = Read(), {}, {}, {}
    outer = Trace.FromString(data)
    for packed in outer.packet:
        for packet in Trace.FromString(zlib.decompress(packed.compressed_packets)).packet:
            names |= {one.iid: one.name for one in packet.interned_data.event_names}
            notes |= {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
            told = packet.interned_data.debug_annotation_string_values
            texts |= {one.iid: one.str.decode() for one in told}
            found.clocks += [(one.clock_id, one.timestamp) for one in packet.clock_snapshot.clocks]
            if packet.HasField("track_descriptor"):
                found.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            assert event.track_uuid in found.tracks, "a track is described before it is used"
            beside = {
                notes[one.name_iid]: texts[one.string_value_iid]
                if one.HasField("string_value_iid")
                else one.int_value
                for one in event.debug_annotations
            }
            if event.type == COUNTER:
                beside = {"value": event.double_counter_value}
            found.events[event.track_uuid].append(
                Event(
                    packet.timestamp,
                    event.type,
                    names[event.name_iid] if event.name_iid else "",
                    beside,
                    list(event.flow_ids),
                    list(event.terminating_flow_ids),
                )
            )
    return found


def traced(recording: Recording) -> Read:
    out = io.BytesIO()
    write_perfetto(recording, judge(recording).findings, out)
    return read(out.getvalue())


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("trace") / "generated.iowhy"
    generate(path, 3_000)
    return open_recording(path)


@pytest.fixture(scope="module")
def trace(generated: Recording) -> Read:
    return traced(generated)


def sums(trace: Read, part: str) -> Counter[str]:
    """Time in slices by the title of their track, of those whose title holds this."""
    found: Counter[str] = Counter()
    for number in trace.tracks:
        if part in trace.title(number):
            found[trace.title(number)] += sum(end - at for at, end, _ in trace.slices(number))
    return found


def test_slices_of_a_track_follow_one_another(trace: Read) -> None:
    assert sum(len(trace.slices(number)) for number in trace.tracks) > 3_000


def test_sums_of_devices_are_those_of_the_report(trace: Read, generated: Recording) -> None:
    expected: Counter[str] = Counter()
    unseen = 0
    for row in run(generated, "request-latency").to_pylist():
        if row["op"] != "any":  # those are of another tool
            expected[f"device {row['device']}/requests"] += row["total_ns"] or 0
            unseen += row["requests"] if row["low_ns"] is None else 0
    written = Counter[str]()
    instants = 0
    for number in trace.tracks:
        if trace.title(number).endswith("/requests"):
            for at, end, event in trace.slices(number):
                # A write of nothing has its flush beside it, and no line in the report.
                if event.name != "write" or event.notes["bytes"]:
                    written[trace.title(number)] += end - at
            instants += sum(
                one.kind == INSTANT and one.name.startswith("a request")
                for one in trace.events[number]
            )
    assert written == expected and instants >= unseen > 0


def test_sums_of_threads_are_those_of_the_tables(trace: Read, generated: Recording) -> None:
    with generated.connected() as connection:
        for table, part in (("syscalls", ""), ("waits", "waits")):
            rows = connection.execute(
                f"SELECT tgid, tid, sum(dur_ns), count(*) FROM {table} GROUP BY ALL"
            ).fetchall()
            found: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
            for number, track in trace.tracks.items():
                own = (
                    track.thread if not part else trace.tracks.get(track.parent_uuid, track).thread
                )  # type: ignore[attr-defined]
                if own.tid and (track.name == part):  # type: ignore[attr-defined]
                    slices = trace.slices(number)
                    found[own.pid, own.tid][0] += sum(end - at for at, end, _ in slices)
                    found[own.pid, own.tid][1] += len(slices)
            got = {key: tuple(value) for key, value in found.items() if value[1]}
            if table == "syscalls":  # overlapping ones, which a true recording has not, lie below
                assert sum(n for _, n in got.values()) <= sum(row[3] for row in rows)
                assert set(got) == {(row[0], row[1]) for row in rows}
            else:
                assert got.keys() == {(row[0], row[1]) for row in rows}
        lengths = "SELECT sum(complete_ns - submit_ns) FROM async_operations"
        operations = connection.execute(lengths).fetchall()[0][0]
    assert sum(sums(trace, "/operations").values()) == operations > 0
    every = run(generated, "syscall-latency").to_pylist()
    total = sum(row["total_ns"] for row in every if " " not in row["name"])
    calls = sum(
        end - at
        for number, track in trace.tracks.items()
        if (track.HasField("thread") or track.name == "calls")  # type: ignore[attr-defined]
        for at, end, _ in trace.slices(number)
    )
    assert calls == total


def test_a_flow_is_one_pair_and_never_forks(trace: Read) -> None:
    begun, passed, ended = Counter[int](), Counter[int](), Counter[int]()
    for number, events in trace.events.items():
        on_device = trace.title(number).endswith("/requests")
        for event in events:
            (passed if on_device else begun).update(event.flows)
            ended.update(event.ending)
    assert begun and set(begun.values()) == {1} and set(ended.values()) == {1}
    assert set(passed.values()) <= {1}
    assert set(begun) == set(ended) and set(passed) <= set(begun)


def test_a_story_told_whole(tmp_path: Path) -> None:
    """One synced write: its call, its wait, its request, and what else there is to see."""
    name = "=cmd()\n\x1b[2J<script>\u202e"
    story = Story(seconds=1.0).file(77, name)
    story.thread(blocked=0.01)
    parts = {"cpu_ns": MS, "blocked_ns": 9 * MS, "runnable_ns": 0, "sleeping_ns": 0}
    story.call(START, "fsync", parts, tid=10, ino=77, offset=0, bytes_=None)
    story.wait(START + MS, 9 * MS, "device_flush", "fsync", tid=10, ino=77, io=True)
    story.requests(1, op="write", bytes_=4 * KIB)
    row = story.tables["block_requests"][0]
    row |= {
        "queue_ns": START + 2 * MS,
        "issue_ns": START + 3 * MS,
        "complete_ns": START + 8 * MS,
        "tgid": 2,
        "tid": 2,
        "owner_dev": FS,
        "owner_ino": 77,
    }
    story.add(
        "journal_commits", ts_ns=START + MS, dur_ns=2 * MS, dev=FS, kind="jbd2", transaction=5
    )
    story.add(
        "writeback",
        ts_ns=START + 4 * MS,
        dur_ns=3 * MS,
        dev=FS,
        ino=77,
        reason="fsync",
        pages_written=1,
    )
    found = traced(story.write(tmp_path / "a.iowhy"))
    titles = {found.title(number): number for number in found.tracks}
    ((at, end, call),) = found.slices(titles["worker10"])
    assert (at, end, call.name) == (START, START + 10 * MS, "fsync")
    assert call.notes["path"] == name and call.notes["blocked_ns"] == 9 * MS
    assert "ret" in call.notes and "sleeping_ns" in call.notes
    ((at, end, wait),) = found.slices(titles["worker10/waits"])
    assert (at, end, wait.name) == (START + MS, START + 10 * MS, "device_flush")
    ((at, end, request),) = found.slices(titles["device sda/requests"])
    assert (at, end, request.name) == (START + 2 * MS, START + 8 * MS, "write")
    assert request.notes["bytes"] == 4 * KIB and request.notes["device_ns"] == 5 * MS
    submit, complete = (
        one for one in found.events[titles["worker10"]] if one.name in ("submit", "complete")
    )
    # By the file: what wrote it back was another thread.
    assert submit.flows == request.flows == complete.ending
    assert (submit.at, complete.at) == (START + 2 * MS, START + 8 * MS)
    ((at, end, commit),) = found.slices(
        next(n for title, n in titles.items() if title.startswith("journal of"))
    )
    assert (at, end, commit.notes["transaction_id"]) == (START + MS, START + 3 * MS, 5)
    ((at, end, passed),) = found.slices(
        next(n for title, n in titles.items() if title.startswith("writeback of"))
    )
    assert (at, end, passed.notes["pages_written"]) == (START + MS, START + 4 * MS, 1)
    assert passed.notes["path"] == name and "dirtied_age_ns" not in passed.notes
    assert any("findings of iowhy/" in title for title in titles)
    assert any(title == "sda queue" for title in titles)


def test_what_is_damaged_is_no_traceback(tmp_path: Path) -> None:
    """Times before the clock's begin, lengths below zero, numbers beyond a process id, nothing at all."""
    story = Story(seconds=0.2).thread(tid=2**40, tgid=-5)
    for at in (-50, 2**62, 10):
        story.add("syscalls", ts_ns=at, dur_ns=-70, tgid=-5, tid=2**40, name="read")
    found = traced(story.write(tmp_path / "a.iowhy"))
    assert all(found.slices(number) is not None for number in found.tracks)
    Story(seconds=0.1, missing={"syscalls", "block_requests"}).write(tmp_path / "b.iowhy")
    assert traced(open_recording(tmp_path / "b.iowhy")).tracks


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.data())
def test_numbers_are_encoded_as_protobuf_has_them(values: list[int], data: st.DataObject) -> None:
    there = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    event = wire.Messages(len(values))
    event.varint(11, np.array(values, np.uint64), np.array(there))
    event.fixed64(47, np.array(values, np.uint64))
    packet = wire.Messages(len(values))
    packet.message(11, event)
    whole = wire.Messages(len(values))
    whole.message(1, packet)
    events = [one.track_event for one in Trace.FromString(whole.encoded()).packet]
    assert [one.track_uuid for one in events] == [
        v if t else 0 for v, t in zip(values, there, strict=True)
    ]
    assert [list(one.flow_ids) for one in events] == [[value] for value in values]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 50), st.integers(0, 20)),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 7),
)
def test_lanes_hold_what_does_not_overlap_and_no_more_than_needed(
    spans: list[tuple[int, int, int]], batch: int
) -> None:
    spans = sorted(spans, key=lambda one: (one[0], one[1], -one[2]))
    keys, begins, lengths = (np.array(part, np.int64) for part in zip(*spans, strict=True))
    ends = begins + lengths
    lanes, found = Lanes(), []
    for at in range(0, len(spans), batch):
        part = slice(at, at + batch)
        found += lanes.assign(keys[part], begins[part], ends[part]).tolist()
    for key in set(keys.tolist()):
        own = [
            (b, e, lane)
            for k, b, e, lane in zip(keys, begins, ends, found, strict=True)
            if k == key
        ]
        for lane in {one[2] for one in own}:
            laid = [one for one in own if one[2] == lane]
            assert all(a[1] <= b[0] for a, b in pairwise(laid))
        depth = max(sum(b <= at < e or b == at == e for b, e, _ in own) for at, _, _ in own)
        assert len({one[2] for one in own}) <= max(depth, 1)


def test_the_command_writes_a_file_and_never_over_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Story(seconds=0.2).thread(user=0.5).write(Path("a.iowhy"))
    done = invoke(["export", "a.iowhy"])
    assert done.exception is None and done.stdout.startswith("a.pftrace: ")
    assert read(Path("a.pftrace").read_bytes()).tracks
    asks(invoke(["export", "a.iowhy"]).exception, "file-exists", path="a.pftrace")
    asks(invoke(["export", "a.iowhy", "--to", "x"]).exception, "not-a-choice", given="x")
