"""What stands under the pointer, in every chart of a page, is what its SQL gave: no chart reads, sums or rounds its rows wrongly.

That those rows are the reports' own is held beside the charts' sums (test_recording_page.py, and the last two tests here).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generated import generate
from iowhy import units
from iowhy.charts import NARROWED, Drawn, charts
from iowhy.recordings import Recording, open_recording
from iowhy.relations import Relations
from tests.page.browser import Page
from tests.page.test_in_browser import a_page
from tests.page.test_recording_page import all_drawn, mixed, page_of, rows_of, sums
from tests.stacks.conftest import MODULES, MS, frames, sample, with_tables

#: Moves the pointer over a drawing, everywhere; gives each thing that was said, with the rows that it was about.
_SWEEP = """((name) => {
    const figure = document.querySelector(`[data-chart="${name}"]`), readout = figure.querySelector(".readout"), found = {};
    const over = figure.querySelectorAll(".u-over");
    for (const target of over.length ? over : [figure.querySelector("canvas")]) {
        target.scrollIntoView({block: "center"});
        const box = target.getBoundingClientRect(), rows = over.length ? 1 : 12;
        for (let x = 0.5; x < 16; x++) for (let y = 0.5; y < rows; y++) {
            const place = {clientX: box.x + (x / 16) * box.width, clientY: box.y + (y / rows) * box.height, bubbles: true};
            target.dispatchEvent(over.length ? new MouseEvent("mousemove", place) : new PointerEvent("pointermove", place));
            if (readout.textContent) found[readout.textContent] = readout.dataset.rows;
        }
    }
    return Object.entries(found);
})"""

Shown = dict[str, Any]
_BY_UNIT: dict[str, Callable[[Any], str]] = {
    "bytes/s": units.rate,
    "share": units.percent,
    "bytes": units.size,
    "pages": units.count,
    "count": units.count,
}


def _lines(chart: Drawn, rows: Sequence[Shown]) -> list[str]:
    by_name = {one.name: _BY_UNIT.get(one.unit) for one in chart.chart.columns}
    return [
        write(row[name])
        for row in rows
        for name, write in by_name.items()
        if write is not None and row[name] is not None
    ]


def _layers(_: Drawn, rows: Sequence[Shown]) -> list[str]:
    operations, moved = (sum(row[key] or 0 for row in rows) for key in ("operations", "bytes"))
    return [
        f"{rows[0]['layer']}: {rows[0]['what']}: {operations:,} operations, {units.size(moved)}"
    ]


#: How each kind says its rows.
SAID: dict[str, Callable[[Drawn, Sequence[Shown]], list[str]]] = {
    "stacked": lambda _, rows: [f"{r['class']} {units.duration(r['elapsed_ns'])}" for r in rows],
    "heat": lambda chart, rows: [
        f": {sum(r[chart.columns[-1]] for r in rows):,} {chart.columns[-1]}"
    ],
    "places": lambda _, rows: [
        f"{r['requests']:,} requests, {r['jumps']:,} jumps, {units.size(r['bytes'])}, {r['file']}"
        for r in rows[:4]
    ],
    "lines": _lines,
    "flame": lambda _, rows: [f": {units.duration(sum(r['thread_ns'] for r in rows))}, "],
    "waterfall": lambda _, rows: (
        [f"{rows[0]['layer']}: {rows[0]['what']}, "]
        + [units.duration(r["dur_ns"]) for r in rows if r["dur_ns"] is not None]
    ),
    "layers": _layers,
}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    yield from a_page()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Every kind of event everywhere, with stacks: all charts are drawn."""
    made = generate(tmp_path_factory.mktemp("pointer") / "busy.iowhy", 1_000)
    taken = {1: ("save", "main"), 2: ("save", "log", "main"), 3: (None, "main")}
    samples = [
        sample(at * 9 * MS, 2 * MS, 1 + at % 4, tid=1000 + at % 5, syscall="fsync")
        for at in range(60)
    ]
    return with_tables(
        made, {"stack_samples": samples, "user_stacks": frames(taken), "modules": MODULES}
    )


def test_every_chart_says_its_rows_under_the_pointer(
    page: Page, recording: Recording, tmp_path: Path
) -> None:
    mixed().write(tmp_path / "mixed.iowhy")
    told: set[str] = set()
    for one in (open_recording(tmp_path / "mixed.iowhy"), recording):
        page_of(one.path)
        page.open(one.path.with_suffix(".html"), width=1200)
        for name, chart in all_drawn(one).items():
            if chart.missing is None and chart.chart.draws not in NARROWED and name not in told:
                told.add(name)
                _must_say_its_rows(page, chart)
    assert told == {one.name for one in charts() if one.draws not in NARROWED}
    assert page.problems == []


def _must_say_its_rows(page: Page, chart: Drawn) -> None:
    readings = page.run(f"{_SWEEP}({json.dumps(chart.chart.name)})")
    assert readings, chart.chart.name
    for text, numbers in readings:
        rows = [dict(zip(chart.columns, chart.rows[at], strict=True)) for at in json.loads(numbers)]
        for words in SAID[chart.chart.draws](chart, rows):
            assert words in text, (chart.chart.name, words, text)


def test_the_cache_over_time_is_the_report(recording: Recording) -> None:
    drawn = all_drawn(recording)["page-cache-over-time"]
    expected = {row["at_s"]: row for row in rows_of(recording, "cache-over-time")}
    shared = [name for name in drawn.columns if name in next(iter(expected.values()))]
    assert {"miss_pages", "readahead_pages", "evicted_pages"} <= set(shared)
    for values in drawn.rows:
        shown = dict(zip(drawn.columns, values, strict=True))
        for name in shared:
            assert shown[name] == pytest.approx(expected[shown["at_s"]][name]), name
        row = expected[shown["at_s"]]
        if row["hit_ratio"] is not None:
            assert shown["hit_pages"] / row["lookup_pages"] == pytest.approx(row["hit_ratio"])


def test_addresses_and_the_slowest_calls_are_those_of_the_recording(recording: Recording) -> None:
    drawn = all_drawn(recording)
    calls = drawn["slowest-calls"]
    at = [calls.columns.index(name) for name in ("layer", "dur_ns")]
    longest = sorted(row[at[1]] for row in calls.rows if row[at[0]] == "call")
    with Relations(recording) as relations:
        found = relations.rows(
            f"SELECT dur_ns FROM syscalls ORDER BY dur_ns DESC LIMIT {len(longest)}"
        )
        [asked] = relations.rows("SELECT count(*), sum(bytes) FROM request_sequence")
    assert longest == sorted(dur_ns for (dur_ns,) in found)
    addresses = drawn["addresses-over-time"]
    assert sum(sums(addresses, "requests", "device").values()) == asked[0]
    assert sum(sums(addresses, "bytes", "device").values()) == asked[1]
