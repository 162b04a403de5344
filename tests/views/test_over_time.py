"""Reports over time on a terminal: small plots below the table, and latencies as a heat map; nothing that is there is left out."""

import io
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from iowhy.relations.sql_header import Column
from iowhy.reports import run
from iowhy.reports.drawing import HeatMap, SmallPlots
from iowhy.views import heat_map, small_plots
from tests.command_line import invoke
from tests.page.test_recording_page import mixed

COLUMNS = [Column("low_ns", "", "ns"), Column("requests", "", "count")]
MAP = HeatMap("requests", "low_ns", "high_ns", "at_s", ("device",))


@given(st.dictionaries(st.integers(0, 200), st.integers(0, 1000), min_size=1), st.integers(0, 200))
def test_a_plot_keeps_its_largest_value_and_what_is_unknown(
    known: dict[int, int], end: int
) -> None:
    times = [float(at) for at in range(max(end, *known) + 1)]
    drawn = small_plots.plot({float(at): float(value) for at, value in known.items()}, times)
    assert len(drawn) == min(small_plots.WIDEST, len(times))
    assert ("█" in drawn) == (max(known.values()) > 0)
    for cell, mark in enumerate(drawn):
        low, high = (len(times) * part // len(drawn) for part in (cell, cell + 1))
        inside = [value for at, value in known.items() if low <= at < high]
        assert (mark == " ") == (not inside)
        assert (mark == small_plots.ZERO) == (bool(inside) and max(inside) == 0)


def octave_halves() -> list[tuple[int, int]]:
    bounds = [1, 2]
    while bounds[-1] < 1 << 36:
        power = bounds[-1]
        bounds += [power + power // 2, power * 2]
    return list(pairwise(bounds))


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 119), st.sampled_from(octave_halves())),
        st.integers(1, 10**6),
        min_size=1,
    ),
    st.integers(20, 200),
)
def test_every_row_of_a_heat_map_is_seen(
    found: dict[tuple[int, tuple[int, int]], int], width: int
) -> None:
    out = Console(file=io.StringIO(), width=width, color_system=None)
    rows = [
        {
            "device": "d",
            "at_s": cell * 0.25,
            "span_s": 0.25,
            "low_ns": low,
            "high_ns": high,
            "requests": n,
        }
        for (cell, (low, high)), n in found.items()
    ]
    heat_map.show(out, rows, MAP, COLUMNS)
    lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    drawn = [line.split("│")[1] for line in lines if "│" in line]
    assert len(drawn) <= heat_map.TALLEST
    # The lines from above to below have the buckets from long to short: as many as there are different ones, or fewer.
    marks = sum(mark != " " for line in drawn for mark in line)
    assert 1 <= marks <= len(found)
    assert heat_map.SHADES[-1] in "".join(drawn)
    assert {drawn[0] != "", drawn[-1] != ""} == {True}


def test_what_has_no_row_takes_its_place_in_a_plot() -> None:
    """Else two bursts far from each other would be neighbours."""
    out = Console(file=io.StringIO(), width=100)
    columns = [Column("at_s", "begin", "s"), Column("n", "how many", "count")]
    rows = [{"at_s": at, "n": 8} for at in (0.5, 0.6, 1.4)]
    small_plots.show(out, rows, SmallPlots(("n",), "at_s", None), columns)
    assert "██       █ 8" in out.file.getvalue()  # type: ignore[attr-defined]


def plots(text: str) -> list[str]:
    return [line for line in text.splitlines() if "█" in line]


def test_reports_over_time_end_in_small_plots(tmp_path) -> None:  # type: ignore[no-untyped-def]
    mixed().write(tmp_path / "a.iowhy")
    shown = invoke(["report", "devices-over-time", str(tmp_path / "a.iowhy")]).stdout
    assert any("utilisation" in line for line in plots(shown))
    # All rows are drawn, however few are printed.
    short = invoke(
        ["report", "devices-over-time", str(tmp_path / "a.iowhy"), "--limit", "2"]
    ).stdout
    assert plots(short) == plots(shown)
    wide = invoke(["report", "devices-over-time", str(tmp_path / "a.iowhy"), "--wide"]).stdout
    assert plots(wide) == []


def test_heat_maps_have_the_histograms_sums(tmp_path) -> None:  # type: ignore[no-untyped-def]
    recording = mixed().write(tmp_path / "a.iowhy")
    for over_time, whole, count, by in (
        ("request-latency-over-time", "request-latency", "requests", ("device", "op", "whose")),
        ("syscall-latency-over-time", "syscall-latency", "calls", ("name",)),
    ):
        sums: Counter[object] = Counter()
        for row in run(recording, over_time).to_pylist():
            sums[(*(row[name] for name in by), row["low_ns"], row["high_ns"])] += row[count]
        rows = run(recording, whole).to_pylist()
        assert rows and sums == Counter(
            {
                (*(row[name] for name in by), row["low_ns"], row["high_ns"]): row[count]
                for row in rows
            }
        )
        shown = invoke(["report", over_time, str(recording.path)]).stdout
        assert "│" in shown
