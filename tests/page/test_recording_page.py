"""The page of a recording: its words, hostile names, what is missing, and that charts add up to the reports."""

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from iowhy.charts import MOST_ROWS, Drawn, charts, drawn_charts
from iowhy.charts import drawn as draw
from iowhy.charts.chart import parse
from iowhy.cli._commands import run
from iowhy.recordings import Recording, open_recording
from iowhy.relations import Relations
from iowhy.reports import Filters, reports
from iowhy.reports import run as run_report
from iowhy.views.html import charts_html
from iowhy.whys import classes
from tests.page.test_markup import HOSTILE, Seen
from tests.problems import wrong
from tests.reports.conftest import MS, Make, S, call, request
from tests.whys.made import KIB, Story

# long: one page, whose parts are asked for one by one


def mixed(seconds: float = 4.0) -> Story:
    """Synced writes, reads, computing."""
    story = Story(seconds=seconds).thread(tid=20, user=0.3)
    story.caller("fsync", 300, blocked=9 * MS, reason="device_flush", bytes_=None, gap_share=0.0)
    return story.requests(300, op="write", bytes_=4 * KIB, jump=True).flushes(300, 4 * MS)


def page_of(recording: Path, *words: str) -> str:
    to = recording.with_suffix(".html")
    run(["html", str(recording), "-o", str(to), "--force", *words])
    return to.read_text("utf-8")


#: What was drawn of a recording that stays as it is.
_KEPT: dict[Path, dict[str, Drawn]] = {}


def drawn_once(recording: Recording) -> dict[str, Drawn]:
    if recording.path not in _KEPT:
        _KEPT[recording.path] = all_drawn(recording)
    return _KEPT[recording.path]


def all_drawn(recording: Recording) -> dict[str, Drawn]:
    with recording.damage_named(), Relations(recording) as relations:
        return {one.chart.name: one for one in drawn_charts(relations, reports())}


def sums(drawn: Drawn, amount: str, *by: str) -> dict[tuple[object, ...], float]:
    found: dict[tuple[object, ...], float] = defaultdict(float)
    at = [drawn.columns.index(name) for name in by]
    for row in drawn.rows:
        value = row[drawn.columns.index(amount)]
        assert isinstance(value, (int, float))
        found[tuple(row[one] for one in at)] += value
    return dict(found)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("page") / "sync.iowhy"
    mixed().write(path)
    return open_recording(path)


@pytest.fixture(scope="module")
def story_page(story: Recording) -> str:
    return page_of(story.path)


def rows_of(recording: Recording, report: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = run_report(recording, report).to_pylist()
    return found


def test_every_chart_says_which_report_has_its_rows_and_what_its_columns_are(
    story: Recording,
) -> None:
    drawn = drawn_once(story)
    for chart in charts():
        assert chart.report in reports()
        if drawn[chart.name].missing is None:
            assert [one.name for one in chart.columns] == list(drawn[chart.name].columns)
        else:
            assert "cannot be read" not in str(drawn[chart.name].missing)


def test_the_budget_over_time_adds_up_to_the_budget(story: Recording) -> None:
    found = sums(drawn_once(story)["budget-over-time"], "elapsed_ns", "class")
    for row in rows_of(story, "budget"):
        assert found.get((row["class"],), 0) == pytest.approx(row["elapsed_ns"], abs=2000, rel=1e-6)


def test_each_cell_of_the_budget_is_as_long_as_its_parts(story: Recording) -> None:
    drawn = drawn_once(story)["budget-over-time"]
    for (_, span_s), elapsed_ns in sums(drawn, "elapsed_ns", "at_s", "span_s").items():
        assert elapsed_ns == pytest.approx(float(str(span_s)) * 1e9, abs=20)


def test_requests_by_latency_add_up_to_the_report(story: Recording) -> None:
    drawn = drawn_once(story)["request-latency-over-time"]
    found: dict[tuple[str, int], float] = defaultdict(float)
    for (group, low_ns), count in sums(drawn, "requests", "group", "low_ns").items():
        found[str(group), int(str(low_ns))] += count
    expected = {
        (f"{row['device']} {row['op']} ({row['whose']})", row["low_ns"]): row["requests"]
        for row in rows_of(story, "request-latency")
        if row["low_ns"] is not None
    }
    assert found == expected


def test_calls_files_and_threads_in_time_add_up_to_their_reports(story: Recording) -> None:
    drawn = drawn_once(story)
    calls = {(row["name"],): row for row in rows_of(story, "syscalls")}
    for name, total in sums(drawn["calls-in-time"], "total_ns", "name").items():
        assert calls[name]["total_ns"] == total
    for name, total in sums(drawn["call-latency-over-time"], "calls", "group").items():
        assert calls[name]["calls"] == total
    files = {(row["path"],): row for row in rows_of(story, "files")}
    for path, total in sums(drawn["files-in-time"], "time_ns", "path").items():
        if path != ("name not known",):
            assert files[path]["time_ns"] == total
    spent = sums(drawn["time-of-threads"], "thread_ns", "class")
    for row in rows_of(story, "budget"):
        assert spent.get((row["class"],), 0) == pytest.approx(row["thread_ns"], abs=1000)


#: Recordings that have rows for each of the charts that narrow tables, but for those of stacks and of pasted numbers.
NARROWING = ("one-row", "throttled-writer")
_KEY = ("text", "id", "bool")


def by_key(
    rows: Iterable[dict[str, object]], keys: list[str], amounts: list[str]
) -> dict[tuple[object, ...], dict[str, float]]:
    """Sums, largest and least values of rows by their key; what is not known is left out."""
    found: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        one = found[tuple(row[key] for key in keys)]
        for name in amounts:
            value = row[name]
            if isinstance(value, int | float):
                before = one.get(name)
                one[name] = (
                    value
                    if before is None
                    else max(before, value)
                    if name.startswith("max_")
                    else before + value
                )
    return found


@pytest.mark.parametrize("name", NARROWING)
def test_what_narrows_a_table_adds_up_to_the_report(name: str) -> None:
    """Each amount that chart and report have under one name, for each key that the chart has."""
    recording, compared = open_recording(f"docs/recordings/{name}.iowhy.zip"), 0
    with recording.damage_named(), Relations(recording) as relations:
        for chart in charts():
            if chart.draws != "narrowed":
                continue
            drawn = draw(relations, chart)
            assert "cannot be read" not in str(drawn.missing)
            report = {one.name: one.unit for one in reports()[chart.report].columns}
            keys = [
                one.name
                for one in chart.columns
                if one.unit in _KEY or re.match("low_|high_", one.name)
            ]
            assert set(keys) <= set(report), chart.name
            amounts = [
                one.name
                for one in chart.columns[2:]
                if report.get(one.name) == one.unit and one.name not in keys
            ]
            rows = [dict(zip(drawn.columns, row, strict=True)) for row in drawn.rows]
            expected = by_key(rows_of(recording, chart.report), keys, amounts)
            for key, sums_ in by_key(rows, keys, amounts).items():
                for amount, value in sums_.items():
                    known = expected[key].get(amount, 0)
                    # Each cell's share of a thread's time is cut to whole ns.
                    assert value == pytest.approx(known, rel=1e-6, abs=200), (chart.name, key)
                    compared += 1
    assert compared > 80


def test_longer_cells_have_the_same_sums(story: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn_once(story)["calls-in-time"]
    monkeypatch.setattr(sys.modules["iowhy.charts.drawn"], "MOST_NARROWED", 20)
    after = all_drawn(story)["calls-in-time"]
    assert len(before.rows) > 40 and len(after.rows) <= 20
    for amount in ("calls", "total_ns"):
        assert sums(after, amount, "name") == sums(before, amount, "name")
    longest = [row[before.columns.index("max_ns")] for row in before.rows]
    assert max(row[after.columns.index("max_ns")] for row in after.rows) == max(longest)
    cells = sums(after, "calls", "at_s", "span_s")
    [span] = {float(str(span)) for _, span in cells}
    assert all(abs(float(str(at)) / span - round(float(str(at)) / span)) < 1e-9 for at, _ in cells)


def test_each_table_is_narrowed_or_says_why_not() -> None:
    """Every report that there is, as if findings had named all of them."""
    recording = open_recording("docs/recordings/one-row.iowhy.zip")
    with recording.damage_named(), Relations(recording) as relations:
        drawn = drawn_charts(relations, reports())
    whole = {}
    for report in reports().values():
        said = str(charts_html.narrowing(drawn, report))
        assert ("data-rows" in said) != ('class="hint whole"' in said)
        if "data-rows" not in said:
            whole[report.name] = said
    assert str(reports()["layout"].of_whole_run) in whole["layout"]
    linked = "syscalls devices files threads waits sync cache writeback journal request-size cgroup"
    more = "request-pattern request-latency processes dirtied-by-others evictions pressure events"
    for name in f"{linked} {more} amplification addresses budget".split():
        assert name not in whole


def test_layers_add_up_to_amplification(story: Recording) -> None:
    drawn = drawn_once(story)["amplification-by-layer"]
    for row in rows_of(story, "amplification"):
        key = (row["layer"], row["what"])
        assert sums(drawn, "operations", "layer", "what").get(key, 0) == (row["operations"] or 0)
        assert sums(drawn, "bytes", "layer", "what").get(key, 0) == (row["bytes"] or 0)


def test_a_spike_does_not_disappear(make: Make) -> None:
    calls = [call(at * MS, 10_000, "pread64", bytes=4096, ret=4096) for at in range(0, 900, 2)]
    spike = call(333 * MS, 77 * MS, "pread64", bytes=4096, ret=4096, tid=11)
    drawn = all_drawn(make({"syscalls": [*calls, spike]}))["call-latency-over-time"]
    highest = max(drawn.rows, key=lambda row: row[drawn.columns.index("low_ns")])
    cell = dict(zip(drawn.columns, highest, strict=True))
    assert cell["low_ns"] <= 77 * MS < cell["high_ns"] and cell["calls"] == 1
    assert cell["at_s"] <= 0.333 < cell["at_s"] + cell["span_s"]


def test_a_device_that_has_done_its_work_is_idle_to_the_end(make: Make) -> None:
    """Its line on the page ended with its last request, as if the rest were not known; the report's rows do end there."""
    work = [request(210 * MS, 80 * MS), request(220 * MS, 280 * MS), request(510 * MS, 20 * MS)]
    recording = make({"block_requests": work, "devices": [{"dev": 80, "name": "vda"}]})
    chart = all_drawn(recording)["device-load-over-time"]
    shown = [dict(zip(chart.columns, values, strict=True)) for values in chart.rows]
    assert [row["at_s"] for row in shown] == pytest.approx([at / 10 for at in range(10)])
    assert [row["most_queue"] for row in shown] == [0, 0, 2, 1, 1, 1, 0, 0, 0, 0]
    assert [row["mean_queue"] for row in shown] == pytest.approx([0, 0, 1.6, 1, 1, 0.2, 0, 0, 0, 0])
    assert [row["utilisation"] for row in shown] == pytest.approx(
        [0, 0, 0.9, 1, 1, 0.2, 0, 0, 0, 0]
    )
    assert [row["writes_per_s"] for row in shown] == pytest.approx([0, 0, 10, 0, 0, 20] + [0] * 4)
    report = rows_of(recording, "devices-over-time")
    assert [row["at_s"] for row in report] == pytest.approx([0.2, 0.3, 0.4, 0.5])
    late = run_report(recording, "devices-over-time", Filters(since="0.5")).to_pylist()
    assert [row["at_s"] for row in late] == pytest.approx([0.5])


def test_the_page_reads_without_scripts(story_page: str) -> None:
    page = story_page
    plain = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    words = " ".join("".join(Seen(plain).texts).split())
    assert "fsync" in words and classes.SYNC in words and "<noscript>" in plain
    for part in ("answer", "why", "report-budget", "report-syscalls", "report-files"):
        assert f'id="{part}"' in plain
    assert len(page) < 2_000_000


def test_the_words_of_the_page_are_as_they_were(story: Recording, story_page: str) -> None:
    """What the page itself says; what findings and reports say is theirs. UPDATE_SNAPSHOTS=1 writes it anew."""
    page = story_page.replace(str(story.path), "sync.iowhy")
    page = re.sub(r"<article\b.*?</article>", "", page, flags=re.DOTALL)
    own = r'<(?:h2|h3|caption|footer|noscript|p class="(?:question|missing)")(?=[ >]).*?</(?:h2|h3|caption|p|footer|noscript)>'
    texts = ["".join(Seen(one).texts) for one in re.findall(own, page, flags=re.DOTALL)]
    words = "\n".join(" ".join(one.split()) for one in texts) + "\n"
    kept = Path(__file__).with_name("page.txt")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        kept.write_text(words)
    assert words == kept.read_text(), (
        "UPDATE_SNAPSHOTS=1 pytest tests/page, then look at the difference"
    )


def test_each_link_of_a_chain_leads_somewhere(story_page: str) -> None:
    seen = Seen(story_page)
    ids = {value for key, value in seen.attributes if key == "id"}
    links = [value for key, value in seen.attributes if key == "href" and value]
    assert len(links) > 3
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert len(ids) == len([1 for key, _ in seen.attributes if key == "id"])


def hostile_tables() -> dict[str, list[dict[str, object]]]:
    names = [name for name in HOSTILE if name.isprintable() or "\ud800" not in name]
    return {
        "files": [
            {"dev": 1, "ino": at, "path": f"/x/{name}", "kind": "file", "deleted": False}
            for at, name in enumerate(names, 2)
        ],
        "syscalls": [
            call(at * MS, MS, "pread64", ino=at, bytes=4096, ret=4096)
            for at, _ in enumerate(names, 2)
        ],
        "threads": [
            {"tid": 10, "tgid": 10, "comm": "</script><b>", "start_ns": 7_000 * S, "exit_code": 0}
        ],
    }


def test_hostile_names_are_only_text(make: Make) -> None:
    page = page_of(make(hostile_tables()).path)
    seen = Seen(page)
    assert page.count("</script>") == seen.names.count("script")
    assert "img" not in seen.names and "b" not in seen.names[seen.names.index("main") :]
    assert not [key for key, _ in seen.attributes if key.startswith("on")]
    assert "\x1b" not in page and "\u202e" not in page and "\x07" not in page


def test_an_empty_recording_has_a_page(make: Make) -> None:
    page = page_of(make({}).path)
    assert page.count("Not drawn:") >= 9


def test_what_a_sensor_would_have_told_is_not_nothing(make: Make) -> None:
    """A sensor that did not run, and one that saw nothing, are two things."""
    drawn = all_drawn(make({}, without=["syscalls"]))
    assert drawn["call-latency-over-time"].missing
    assert drawn["request-latency-over-time"].missing
    assert len({re.sub(r"\w+_\w+", "", str(one.missing)) for one in drawn.values()}) >= 2


def test_why_there_are_no_stacks(make: Make) -> None:
    """They come where they are asked for; a sensor has not the name of the tables that it fills."""
    unasked = all_drawn(make({}, without=["user_stacks"]))["time-of-functions"]
    assert "--stacks" in str(unasked.missing)
    asked = all_drawn(make({}))["time-of-functions"]
    assert asked.missing and "--stacks" not in asked.missing


@pytest.mark.parametrize("lost", ["syscalls", "thread_time", "block_requests", "files", "threads"])
def test_a_missing_table_costs_its_charts_only(story: Recording, tmp_path: Path, lost: str) -> None:
    import shutil

    path = tmp_path / "half.iowhy"
    shutil.copytree(story.path, path)
    shutil.rmtree(path / lost)
    drawn = all_drawn(open_recording(path))
    assert sum(one.missing is None for one in drawn.values()) >= 4
    assert all("cannot be read" not in str(one.missing) for one in drawn.values())
    assert "<h1" in page_of(path)


def test_a_chart_is_cut_and_says_so(story: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ROWS >= 10_000
    # By its module: the package has a function of that name.
    monkeypatch.setattr(sys.modules["iowhy.charts.drawn"], "MOST_ROWS", 3)
    drawn = all_drawn(story)["request-latency-over-time"]
    assert len(drawn.rows) == 3 and drawn.cut


def test_a_page_is_not_overwritten_unasked(story: Recording, tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.write_text("mine")
    with wrong("file-exists", path=there):
        run(["html", str(story.path), "-o", str(there)])
    assert there.read_text() == "mine"
    with wrong("html-of-what"):
        run(["html"])


DRAWN = "-- question: x\n-- report: x\n-- draws: {}\n-- place: {}\n"


@pytest.mark.parametrize(
    ("header", "id_"),
    [
        ("", "header-key-missing"),
        (DRAWN.format("pie", 1), "sql-drawing-unknown"),
        (DRAWN.format("heat", "a"), "sql-place-not-number"),
        (DRAWN.format("heat", "1\n-- needs: y"), "sql-needs-unknown"),
    ],
)
def test_a_wrong_header_is_named(header: str, id_: str) -> None:
    with wrong(id_):
        parse("x", f"-- title: x\n{header}SELECT 1")


def test_a_busy_recording_is_drawn_whole_and_small(tmp_path: Path) -> None:
    """Every kind of event everywhere all the time: the charts are coarser, and nothing is left out."""
    from benchmarks.generated import generate

    recording = generate(tmp_path / "busy.iowhy", 60_000)
    drawn = all_drawn(recording)
    assert [one.chart.name for one in drawn.values() if one.cut] == []
    requests = drawn["addresses-over-time"]
    with Relations(recording) as relations:
        [(count,)] = relations.rows("SELECT count(*) FROM request_sequence")
    assert sum(sums(requests, "requests", "device").values()) == count
    assert len(page_of(recording.path)) < 2_000_000
