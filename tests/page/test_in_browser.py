"""The page in a browser without a network: nothing complains, every chart is drawn, and what it says is what the reports say."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy import units
from iowhy.recordings import open_recording
from iowhy.reports import run as run_report
from tests.page.browser import Page, browser, found
from tests.page.test_recording_page import hostile_tables, mixed, page_of
from tests.reports.conftest import MS, T0, Make, request

#: Whether what was drawn on a canvas is more than one colour.
_DRAWN = """(figure => [...figure.querySelectorAll("canvas")].every(canvas => {
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3]) seen.add(data[at] * 65536 + data[at + 1] * 256 + data[at + 2]);
    return seen.size > 1;
}) && figure.querySelectorAll("canvas").length > 0)"""
_BOX = "(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })"


def a_page() -> Iterator[Page]:
    """A browser's page; where there is no browser, the test is skipped, and fails in CI."""
    if found() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("chromium is missing: CI has it by tools/setup test")
        pytest.skip("chromium is missing (tools/setup test)")
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    yield from a_page()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("browser") / "sync.iowhy"
    mixed().write(path)
    page_of(path)
    return path


def opened(page: Page, recording: Path, **how: object) -> None:
    page.open(recording.with_suffix(".html"), **how)  # type: ignore[arg-type]
    assert page.problems == []
    assert page.asked == [recording.with_suffix(".html").resolve().as_uri()]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1200])
def test_every_chart_is_drawn_and_nothing_is_fetched(
    page: Page, written: Path, width: int, dark: bool
) -> None:
    opened(page, written, width=width, dark=dark)
    figures = page.run(
        "[...document.querySelectorAll('[data-chart]')].filter(e => !e.matches('.narrowed')).length"
    )
    assert figures >= 7
    names = page.run("[...document.querySelectorAll('.drawing')].map(e => e.dataset.chart)")
    for name in names:
        assert page.run(f"{_DRAWN}(document.querySelector('[data-chart={name}]'))"), name
    assert page.run("document.documentElement.scrollWidth <= innerWidth"), "scrolls sideways"
    assert page.problems == []


def readout(page: Page, name: str) -> tuple[str, list[int]]:
    text, rows = page.run(
        f"(r => [r.textContent, r.dataset.rows])(document.querySelector('[data-chart={name}] .readout'))"
    )
    return text, json.loads(rows or "[]")


def values(page: Page, name: str, rows: list[int]) -> list[dict[str, object]]:
    """The rows of a chart as the page holds them."""
    got: list[dict[str, object]] = page.run(
        "(() => { const chart = JSON.parse(document.getElementById('data').textContent).charts"
        f".find(c => c.name === '{name}'), rows = iowhy.rows(chart);"
        f"return {rows}.map(r => Object.fromEntries(rows.names.map(n => [n, rows.get(n, r)]))); }})()"
    )
    return got


def test_the_numbers_under_the_pointer_are_those_of_the_report(page: Page, written: Path) -> None:
    opened(page, written, width=1200)
    x, y, width, height = page.run(
        f"{_BOX}(document.querySelector('[data-chart=device-load-over-time] .u-over'))"
    )
    page.point(x + width / 2, y + height / 2)
    text, rows = readout(page, "device-load-over-time")
    assert rows
    expected = {
        (row["at_s"], row["device"]): row
        for row in run_report(open_recording(written), "devices-over-time").to_pylist()
    }
    for shown in values(page, "device-load-over-time", rows):
        row = expected[shown["at_s"], shown["device"]]
        for name in ("writes_per_s", "mean_queue", "utilisation", "written_bytes_per_s"):
            assert shown[name] == pytest.approx(row[name], rel=1e-5)
        assert f"utilisation {units.percent(row['utilisation'])}" in text
        assert f"written {units.rate(row['written_bytes_per_s'])}" in text


def test_what_a_device_did_in_one_interval_only_is_drawn(page: Page, make: Make) -> None:
    """A step goes to the next point, of which there is none: the line ends with its interval all the same."""
    many = [request(at * 10 * MS, 5 * MS, dev=80) for at in range(99)]
    once = [request(510 * MS, 20 * MS, dev=81, bytes=4 << 20)]
    names = [{"dev": 80, "name": "vda"}, {"dev": 81, "name": "vdb"}]
    recording = make({"block_requests": [*many, *once], "devices": names})
    page_of(recording.path)
    opened(page, recording.path)
    assert (
        page.run("""(() => {
        const panel = document.querySelector("[data-chart=device-load-over-time] .panel canvas");
        const one = document.createElement("canvas").getContext("2d");
        // Bytes a second: reads and writes of vda, then those of vdb.
        const colours = [0, 1, 2, 3].map((nth) => {
            one.fillStyle = iowhy.colours.nth(nth); one.fillRect(0, 0, 1, 1);
            return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3).join();
        });
        const data = panel.getContext("2d").getImageData(0, 0, panel.width, panel.height).data, seen = new Set();
        for (let at = 0; at < data.length; at += 4) seen.add([...data.slice(at, at + 3)].join());
        return colours.filter((colour) => seen.has(colour)).length;
    })()""")
        >= 2
    )


def test_memory_has_ticks_that_are_round_as_they_are_written(page: Page, make: Make) -> None:
    """In steps of ten they were 977 KiB and 1.91 MiB."""
    for most in (3 << 10, 1900 << 10, 5 << 20, 777 << 20, 21 << 30):
        samples = [
            {"ts_ns": T0 + at * 20 * MS, "dirty_bytes": at * most // 40, "writeback_bytes": 0}
            for at in range(41)
        ]
        recording = make({"memory_samples": samples})
        page_of(recording.path)
        opened(page, recording.path)
        ticks = page.run("""(() => {
            const seen = [], value = iowhy.format.value;
            iowhy.format.value = (v, unit) => { if (unit === "bytes") seen.push(v); return value(v, unit); };
            dispatchEvent(new Event("beforeprint"));
            return new Promise((done) => setTimeout(() => done([...new Set(seen)].sort((a, b) => a - b)), 200));
        })()""")
        assert len(ticks) >= 3 and ticks[0] == 0 and ticks[-1] <= most
        step = ticks[1]
        assert step & (step - 1) == 0 and ticks == [step * nth for nth in range(len(ticks))]


def test_a_heat_map_says_how_many_are_in_its_cell(page: Page, written: Path) -> None:
    opened(page, written, width=1200)
    page.run("document.querySelector('[data-chart=call-latency-over-time] canvas').focus()")
    for _ in range(5):
        page.press("ArrowRight")
    text, rows = readout(page, "call-latency-over-time")
    total = sum(int(str(row["calls"])) for row in values(page, "call-latency-over-time", rows))
    assert re.search(rf": {total:,} calls", text)


def test_a_stretch_of_time_narrows_charts_and_tables(page: Page, written: Path) -> None:
    opened(page, written, width=1200)
    count = "Number(document.querySelector('#report-syscalls .narrowed td.number').textContent.replace(/,/g, ''))"
    x, y, width, height = page.run(
        f"{_BOX}(document.querySelector('[data-chart=budget-over-time] canvas'))"
    )
    left, right = x + 86, x + width - 8
    page.point(left + (right - left) * 0.25, y + height / 2)
    page.point(left + (right - left) * 0.25, y + height / 2, "mousePressed")
    page.point(left + (right - left) * 0.75, y + height / 2)
    page.point(left + (right - left) * 0.75, y + height / 2, "mouseReleased")
    start, stop = page.run(
        "[Number(document.querySelector('#from').value), Number(document.querySelector('#to').value)]"
    )
    assert (start, stop) == (pytest.approx(1.0, abs=0.05), pytest.approx(3.0, abs=0.05))
    assert page.run("document.querySelector('#report-syscalls .scroll').hidden")
    half = page.run(count)
    assert 100 < half < 200  # of 300 calls that come evenly
    # The budget of the stretch is a whole one.
    shares = page.run(
        "[...document.querySelectorAll('#report-budget .narrowed td:last-child')].map(e => parseFloat(e.textContent))"
    )
    assert len(shares) >= 2 and sum(shares) == pytest.approx(100, abs=1)
    # Each table of the page is of the stretch, or says why it is not.
    left = page.run(
        "[...document.querySelectorAll('.report, #report-budget')].filter(e => !e.querySelector('.whole')"
        " && !e.querySelector('.narrowed table, .narrowed .missing')).map(e => e.id)"
    )
    assert left == []
    tables = page.run("document.querySelectorAll('.narrowed table').length")
    assert tables >= 6
    page.press("Escape")
    page.run("document.querySelector('#whole').click()")
    assert not page.run("document.querySelector('#report-syscalls .scroll').hidden")
    assert page.run("document.querySelector('#report-syscalls .narrowed').textContent") == ""
    assert page.problems == []


def test_nothing_is_cut_on_paper(page: Page, written: Path) -> None:
    """A sheet does not scroll: on one of A4 each table, with the longest paths, is as wide as the page at most."""
    opened(page, written, width=718)
    page.call("Emulation.setEmulatedMedia", media="print")
    path = "/srv/" + "a-long-name/" * 30
    page.run(
        f"document.querySelectorAll('.report td:first-child').forEach(e => {{ e.textContent = '{path}'; }})"
    )
    out = page.run(
        "[...document.querySelectorAll('th, td')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
        " || e.scrollWidth > e.clientWidth + 1).map(e => e.closest('section').id + ': ' + e.textContent)"
    )
    page.call("Emulation.setEmulatedMedia", media="")
    assert out == []


def test_legends_say_numbers_and_what_is_shown(page: Page, make: Make) -> None:
    files = [
        {"dev": 1, "ino": ino, "path": path, "kind": "file", "deleted": False}
        for ino, path in ((5, "/one"), (6, "/two"))
    ]
    many = [
        request(at * MS, MS, dev=80 + at % 2, owner_dev=1, owner_ino=5 + at % 2, sector=at * 64)
        for at in range(99)
    ]
    names = [{"dev": 80, "name": "vda"}, {"dev": 81, "name": "vdb"}]
    recording = make({"block_requests": many, "files": files, "devices": names})
    page_of(recording.path)
    opened(page, recording.path)
    legend = "[...document.querySelectorAll('[data-chart={}] .legend li')].map(e => e.textContent)"
    found = page.run(legend.format("request-latency-over-time"))
    assert re.search(r"\d+ requests? in a cell", found[0])
    assert all(re.search(r"\d", one) for one in found)
    places = legend.format("addresses-over-time")
    assert ["/one" in str(page.run(places)), "/two" in str(page.run(places))].count(True) == 1
    first = page.run(places)
    page.run(
        "(s => { s.value = s.value === 'vda' ? 'vdb' : 'vda'; s.dispatchEvent(new Event('change')); })"
        "(document.querySelector('[data-chart=addresses-over-time] select'))"
    )
    assert page.run(places) != first and page.problems == []


def test_hostile_names_do_nothing(page: Page, make: Make) -> None:
    recording = make(hostile_tables())
    page_of(recording.path)
    opened(page, recording.path)
    assert page.run("document.querySelectorAll('main img, main script, main style').length") == 0
    text = page.run("document.body.textContent")
    assert "onerror=alert(1)" in text
    page.run("document.querySelector('[data-chart=slowest-calls] canvas').focus()")
    page.press("ArrowDown")
    assert page.run("document.querySelectorAll('.drawing img, .drawing script').length") == 0
    assert page.problems == []


def test_an_empty_page_complains_of_nothing(page: Page, make: Make) -> None:
    recording = make({})
    page_of(recording.path)
    opened(page, recording.path)


def test_the_policy_stops_foreign_scripts_and_the_network(page: Page, written: Path) -> None:
    """That the other tests see no request could also mean that none was tried."""
    opened(page, written)
    page.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); })()"
    )
    blocked = page.run("fetch('https://example.org/').then(() => 'sent', () => 'stopped')")
    assert blocked == "stopped" and page.run("window.ran === undefined")
    assert any("Content Security Policy" in one for one in page.problems)


def test_pages_of_comparisons_and_experiments_are_drawn(page: Page, tmp_path: Path) -> None:
    from tests.page import test_other_pages as others

    compared, experiment = tmp_path / "compared.html", tmp_path / "experiment.html"
    others.written(others.sides(tmp_path), compared)
    others.written([str(others.saved_experiment(tmp_path))], experiment)
    several = tmp_path / "several.html"
    both = [str(tmp_path / name) for name in ("before.iowhy", "after.iowhy")]
    others.written([*both, both[1] + "," + both[1]], several)
    for path in (compared, several, experiment):
        page.open(path, width=1200)
        assert page.problems == [] and page.asked == [path.resolve().as_uri()]
        for name in page.run(
            "[...document.querySelectorAll('.drawing')].map(e => e.dataset.chart)"
        ):
            assert page.run(f"{_DRAWN}(document.querySelector('[data-chart={name}]'))"), name
    page.run("document.querySelector('[data-chart=responses] canvas').focus()")
    page.press("ArrowRight")
    text, _ = readout(page, "responses")
    assert re.match(r"cpu-quota 50 %: (1\.99|2) times", text)
