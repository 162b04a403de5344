"""The JSON trace has what the Perfetto trace has: the same slices, nested, with flows that are pairs."""

import io
import json
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generated import generate
from iowhy.exports.perfetto import write_chrome
from iowhy.recordings import Recording, open_recording
from iowhy.reports.engine import query
from iowhy.whys.verdict import judge
from tests.whys.made import MS, START, Story


def traced(recording: Recording) -> list[dict[str, Any]]:
    out = io.BytesIO()
    write_chrome(recording, judge(recording).findings, out)
    whole = json.loads(out.getvalue(), parse_float=Decimal)
    assert whole["otherData"]["clock"] == "CLOCK_MONOTONIC"
    return list(whole["traceEvents"])


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("chrome") / "generated.iowhy"
    generate(path, 3_000)
    return open_recording(path)


@pytest.fixture(scope="module")
def events(generated: Recording) -> list[dict[str, Any]]:
    return traced(generated)


def test_slices_of_a_row_follow_one_another_and_every_row_is_named(
    events: list[dict[str, Any]],
) -> None:
    rows = defaultdict(list)
    for one in events:
        if one["ph"] == "X":
            rows[one["pid"], one["tid"]].append((one["ts"], one["ts"] + one["dur"]))
    assert sum(map(len, rows.values())) > 3_000
    for slices in rows.values():
        slices.sort()
        assert all(end <= begin for (_, end), (begin, _) in pairwise(slices))
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert set(rows) <= named


def test_sums_are_those_of_the_calls_to_the_nanosecond(
    events: list[dict[str, Any]], generated: Recording
) -> None:
    rows = query(generated, "SELECT name, sum(dur_ns) AS ns FROM syscalls GROUP BY name")
    calls = {row["name"]: row["ns"] for row in rows.to_pylist()}
    found: Counter[str] = Counter()
    waits = {
        (one["pid"], one["tid"])
        for one in events
        if one["ph"] == "M" and one["args"]["name"] != "calls" and one["tid"] >= 1 << 22
    }
    for one in events:
        if one["ph"] == "X" and (one["pid"], one["tid"]) not in waits and one["name"] in calls:
            found[one["name"]] += int(one["dur"] * 1000)
    assert found == calls


def test_a_flow_is_one_line_from_a_call_to_its_request_and_back(
    events: list[dict[str, Any]],
) -> None:
    flows = defaultdict(list)
    for one in events:
        if one["ph"] in "stf":
            flows[one["id"]].append(one["ph"])
    assert flows
    assert {"".join(sorted(kinds, key="stf".index)) for kinds in flows.values()} <= {"sf", "stf"}


def test_names_of_anybody_stay_names(tmp_path: Path) -> None:
    name = '=cmd()\n\x1b[2J</script>"\u202e\\'
    story = Story(seconds=1.0).file(77, name)
    story.thread(blocked=0.01)
    parts = {"cpu_ns": MS, "blocked_ns": 9 * MS, "runnable_ns": 0, "sleeping_ns": 0}
    story.call(START, "fsync", parts, tid=10, ino=77, offset=0, bytes_=None)
    out = io.BytesIO()
    write_chrome(story.write(tmp_path / "a.iowhy"), (), out)
    assert b"\x1b" not in out.getvalue() and "\u202e" not in out.getvalue().decode()
    (call,) = [one for one in json.loads(out.getvalue())["traceEvents"] if one["name"] == "fsync"]
    assert call["args"]["path"].endswith(name) and call["ts"] == START / 1000
