"""The page of a recording: the answer and its picture, why with what shows it, the time, charts, tables, what is not known, the recording."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from iowhy import units
from iowhy.charts import NARROWED, Drawn
from iowhy.commands.overview import Overview
from iowhy.invocation import joined, typed
from iowhy.recordings import Manifest
from iowhy.reports import Report, find
from iowhy.views import limits
from iowhy.views.html import charts_html
from iowhy.views.html.answer_html import answer_section
from iowhy.views.html.budget_html import budget_section
from iowhy.views.html.findings_html import findings_section
from iowhy.views.html.markup import Markup, Say, element, lines
from iowhy.views.html.tables_html import report_table
from iowhy.views.html.whole_page import whole_page
from iowhy.views.html.would_help_html import would_help_section

#: Charts at the first finding.
PROOF = 2
#: Which report's chart shows the numbers of a report without one.
_CHARTED = {
    "devices": "devices-over-time",
    "cache": "cache-over-time",
    "syscalls": "syscall-latency",
    "files": "addresses",
    "layout": "addresses",
    "request-size": "addresses",
    "waits": "budget",
    "system": "budget",
}
#: What people look for, by the report that answers it.
_QUESTIONS = {
    "files": "Which file",
    "callers": "Whose code",
    "syscalls": "Which call",
    "devices": "Which device",
    "suffers": "Who suffers",
    "processes": "Which process",
}


class Shown(Struct, frozen=True):
    """A report's first rows; the columns in its order."""

    report: Report
    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]


def recording_page(
    overview: Overview,
    drawn: Sequence[Drawn],
    tables: Sequence[Shown],
    say: Say = lambda text: text,
    *,
    redacted: bool = False,
) -> str:
    """The whole file. `say` replaces names; `redacted` says so on the page."""
    place = say(typed(overview.recording.path))
    name = "REC" if redacted else overview.recording.path.name.removesuffix(".iowhy")
    targets = {one.report.name: f"report-{one.report.name}" for one in tables if one.rows}
    targets["budget"] = "report-budget"
    timed = [
        charts_html.over_time(one.report, one.columns, [tuple(row.values()) for row in one.rows])
        for one in tables
        if not any(chart.chart.report == one.report.name for chart in drawn)
    ]
    shown = [*drawn, *(one for one in timed if one is not None)]
    figures = [one for one in drawn if one.rows and one.chart.draws not in NARROWED]
    for one in figures:
        targets.setdefault(one.chart.report, f"chart-{one.chart.name}")
    proof = _proof(overview, figures)
    charts = charts_html.charts_section([one for one in drawn if one not in proof])
    filled = [one for one in tables if one.rows]
    body = [
        Markup('<a class="skip" href="#answer">To the answer</a>'),
        element("p", element("b", "iowhy"), f" · {name}", class_="name"),
        answer_section(overview, limits.went_wrong(overview), say),
        _contents(overview, bool(charts), {one.report.name for one in filled}),
        Markup("<main>"),
        _why(overview, targets, say, proof),
        budget_section(overview, charts_html.narrowing(shown, find("budget"))),
        charts,
        element(
            "section",
            element("h2", "Tables"),
            lines(
                *(
                    report_table(
                        one.report,
                        one.columns,
                        one.rows,
                        say,
                        place,
                        charts_html.narrowing(shown, one.report),
                    )
                    for one in filled
                )
            ),
            id="tables",
        )
        if filled
        else "",
        _unknown(overview, _absent(drawn, tables), say),
        _recording(overview, say, redacted),
        Markup("</main>"),
        _foot(place),
    ]
    return whole_page(f"{name}: why is it slow?", body, charts_html.page_data(shown, overview, say))


def _why(
    overview: Overview, targets: Mapping[str, str], say: Say, proof: Sequence[Drawn]
) -> Markup:
    """Why it is slow, and what would help."""
    why = findings_section(overview, targets, say, proof)
    return lines(why, would_help_section(overview.would_help))


def _proof(overview: Overview, figures: Sequence[Drawn]) -> list[Drawn]:
    """The charts that show the first finding: of the reports that its facts come from, or else of those nearest to them."""
    found = overview.verdict.findings
    chain = found[0].chain if found else ()
    named = [link.report for link in chain if link.report != "budget"]
    reports = [*named, *(_CHARTED[one] for one in named if one in _CHARTED)]
    shown = [one for one in figures if one.missing is None and one.chart.report in reports]
    shown.sort(key=lambda one: reports.index(one.chart.report))
    return shown[:PROOF]


def _contents(overview: Overview, charts: bool, tables: set[str]) -> Markup:
    """Where to look for what, as links; only what is there."""
    links = [
        ("#why", "Why") if overview.verdict.findings else None,
        ("#report-budget", "Where the time went") if overview.verdict.budget.known else None,
        ("#charts", "When") if charts else None,
        *((f"#report-{name}", words) for name, words in _QUESTIONS.items() if name in tables),
        ("#tables", "All tables") if tables else None,
        ("#recording", "Recording"),
    ]
    return element(
        "nav",
        *(element("a", one[1], href=one[0]) for one in links if one is not None),
        aria_label="On this page",
    )


def _recording(overview: Overview, say: Say, redacted: bool) -> Markup:
    facts = [(label, say(text)) for label, text in _facts(overview.recording.manifest, overview)]
    return element(
        "section",
        element("h2", "Recording"),
        element(
            "dl",
            *(element("div", element("dt", label), element("dd", text)) for label, text in facts),
            class_="facts",
        ),
        element(
            "p",
            "Paths, arguments, and names of hosts, users and programs were replaced by tokens.",
            class_="hint",
        )
        if redacted
        else "",
        id="recording",
    )


def _facts(manifest: Manifest, overview: Overview) -> list[tuple[str, str]]:
    host, command = manifest.host, manifest.command
    began = _began(manifest)
    elapsed = overview.verdict.elapsed_s
    machine = [
        host.name,
        host.os,
        f"Linux {host.kernel}" if host.kernel else None,
        f"{host.cpus} CPUs" if host.cpus else None,
        units.size(host.memory_bytes) if host.memory_bytes else None,
    ]
    found = [
        ("command", joined(command.argv)),
        ("elapsed", units.duration(elapsed * 1e9) if elapsed is not None else ""),
        ("machine", ", ".join(one for one in machine if one)),
        ("began", began),
        ("user", command.user or ""),
        (
            "recorded by",
            f"iowhy {manifest.iowhy} ({_SOURCES.get(manifest.source, manifest.source)})",
        ),
    ]
    return [(label, text) for label, text in found if text]


_SOURCES = {
    "live": "BPF tracepoints",
    "proc": "/proc alone",
    "diagnose": "other tools' output",
}


def _began(manifest: Manifest) -> str:
    clock, start = manifest.clock, manifest.command.start_ns
    if clock.wall_ns is None or clock.monotonic_ns is None or start is None:
        return ""
    seconds = (clock.wall_ns + start - clock.monotonic_ns) / 1e9
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return ""


def _absent(drawn: Sequence[Drawn], tables: Sequence[Shown]) -> Markup:
    """Charts and tables without data, folded: of a pasted text most are."""
    texts = [
        f"{one.chart.title}. {one.missing}"
        for one in drawn
        if one.missing is not None and one.chart.draws not in NARROWED
    ]
    texts += [
        f"{one.report.title}. No rows: {one.report.question}" for one in tables if not one.rows
    ]
    if not texts:
        return Markup("")
    summary = element("summary", f"Charts and tables without data: {len(texts)}")
    return element("details", summary, element("ul", *(element("li", one) for one in texts)))


def _unknown(overview: Overview, absent: Markup, say: Say) -> Markup:
    parts = [
        lines(element("h3", title), element("ul", *(element("li", say(text)) for text in texts)))
        for title, texts in limits.limits(overview)
    ]
    if absent:
        parts.append(absent)
    if not parts:
        return Markup("")
    return element("section", element("h2", "What is not known"), lines(*parts), id="unknown")


def _foot(place: str) -> Markup:
    return element(
        "footer",
        element(
            "p",
            "Written by ",
            element("code", f"iowhy html {place}"),
            ". This file fetches nothing and sends nothing.",
        ),
    )
