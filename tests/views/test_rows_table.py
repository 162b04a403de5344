"""Reports on a terminal: the columns that a report is about are there however narrow it is, and nothing is said twice."""

import io
import re

import pytest
from rich.console import Console

from iowhy.fleet.fleet_reports import fleet_reports
from iowhy.recordings import open_recording
from iowhy.relations.sql_header import Column
from iowhy.reports import run_all
from iowhy.reports.batches import Rows
from iowhy.reports.report import Report, built_in
from iowhy.views import rows_table
from tests.docs.recordings import kept

#: Between them they have rows of most reports.
RECORDINGS = ("one-row", "always-on", "noisy")


def drawn(rows: Rows, columns: tuple[Column, ...], about: tuple[str, ...], width: int = 80) -> str:
    out = io.StringIO()
    shown = rows.head(20)
    rows_table.show(Console(file=out, width=width), shown, columns, rows.num_rows, False, about)
    return out.getvalue()


def left_out(printed: str) -> set[str]:
    """The columns that are said to be elsewhere, for lack of room."""
    said = " ".join(printed.split()).partition("--format csv): ")[2]
    return set(re.findall(r"\w+", re.split(r" unknown in | – ", said)[0]))


def test_every_report_says_what_it_is_about() -> None:
    assert not [report.name for report in built_in().values() if not report.about]


@pytest.mark.parametrize("name", RECORDINGS)
def test_what_a_report_is_about_is_there_at_80_columns(name: str) -> None:
    recording = open_recording(next(one.path for one in kept() if one.name == name))
    reports = list(built_in().values())
    for report, rows in zip(reports, run_all(recording, reports), strict=True):
        _held(report, rows)


def _held(report: Report, rows: Rows) -> None:
    printed = drawn(rows, report.columns, report.about)
    assert max(map(len, printed.splitlines()), default=0) <= 80, report.name
    assert not left_out(printed) & set(report.about), report.name


def rows_of(**columns: list[object]) -> Rows:
    names = list(columns)
    return Rows.of(
        [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )


def test_equal_columns_are_said_once_and_texts_are_cut_before_a_column_goes() -> None:
    rows = rows_of(
        path=["/a/very/long/way/to/a/file/" + letter * 60 for letter in "ab"],
        device=["vda", "vda"],
        errors=[0, 0],
        total_ns=[5, 6],
        p99_ns=[7, 8],
        nothing=[None, None],
    )
    printed = drawn(rows, (), ("path", "total_ns", "p99_ns"), 60)
    head, *lines = printed.splitlines()
    assert head.split() == ["path", "total", "p99"]
    assert all("…" in line for line in lines[:2])
    assert "device vda" in printed and printed.count("vda") == 1
    assert "errors" in printed and "nothing" in printed and not left_out(printed)


def test_functions_of_a_path_are_never_cut() -> None:
    functions = [f"a_function_with_a_long_name_{number}" for number in range(12)]
    rows = rows_of(own_path=[" ← ".join(functions), "read"], time_ns=[5, 6])
    printed = drawn(rows, (), ("own_path", "time_ns"), 60)
    assert all(one in printed for one in functions) and "…" not in printed


def test_a_column_may_have_the_unit_of_its_row() -> None:
    rows = rows_of(what=["call", "class"], before=[8_410_000.0, 0.17], unit=["ns", "share"])
    columns = (Column("before", "median", "unit of row"), Column("unit", "of before", "text"))
    assert re.findall(r"8.41 ms|17 %", drawn(rows, columns, ("what", "before"))) == ["8.41 ms", "17 %"]  # fmt: skip


def test_causes_that_only_kernel_or_disk_distinguish_are_told_apart() -> None:
    report = fleet_reports()["causes"].report
    same = {"cause": "flush-cost", "elapsed_ns": 10**9, "gain_ns": 10**8, "share": 0.5, "hosts": 2}
    same |= {"service": "postgres", "iowhy": "0.2.0", "recordings": 2, "worst": "/srv/a.iowhy"}
    rows = [
        same | {"kernel": kernel, "device": device}
        for kernel in ("6.12.117+deb13-cloud-amd64", "6.1.0-50-cloud-amd64")
        for device in ("INTEL SSDPE2KX010T8, write through", "ST4000NM0035, rotates")
    ]
    printed = drawn(Rows.of(rows), report.columns, report.about)
    lines = [" ".join(line.split()) for line in printed.splitlines() if "flush-cost" in line]
    assert len(set(lines)) == 4, printed
