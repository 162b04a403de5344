"""`iowhy html`: a result as one page that can be sent round."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.described import option, switch, word
from iowhy.options.output import check_free
from iowhy.views.progress import working

if TYPE_CHECKING:  # slow to import
    from iowhy.recording import Recording

EPILOG = """Examples:

  iowhy html fio.iowhy --open

  iowhy html --redact -o ticket.html fio.iowhy
"""

#: Reports that every page has; those that a finding names come behind them.
TABLES = ("syscalls", "devices", "files", "threads")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the page is of, and where it goes."""

    results: tuple[str, ...] = word("A recording, NAME.iowhy.", default=(), metavar="REC...")
    output: Path | None = option(
        "-o", "--output", help="Where the page goes; by itself NAME.html here."
    )
    force: bool = switch("--force", help="A file that exists may be overwritten.")
    open_: bool = switch("--open", help="Open it in the browser.")
    redact: bool = switch(
        "--redact", help="Tokens in place of paths, arguments, host and user names."
    )


def command(options: Options) -> None:
    """Write a result as one HTML page that needs no network: the verdict, its evidence as charts, tables."""
    if not options.results:
        raise Problem("of what? `iowhy html NAME.iowhy`")
    if len(options.results) > 1:
        raise Problem("one recording at a time: iowhy html NAME.iowhy")
    from iowhy.recording import open_recording

    recording = open_recording(options.results[0])
    to = options.output or Path(f"{recording.path.resolve().name.removesuffix('.iowhy')}.html")
    check_free(to, options.force)
    with working(f"drawing {options.results[0]}"):
        page = _page_of(recording, options.redact)
    _save(to, page)
    say(f"{to}: {len(page.encode()):,} bytes")
    if options.open_:
        import webbrowser

        webbrowser.open(to.resolve().as_uri())


def _page_of(recording: "Recording", redact: bool) -> str:
    from iowhy.charts import drawn_charts
    from iowhy.overview import overview
    from iowhy.relations import Relations
    from iowhy.reports import engine, find
    from iowhy.views.html.recording_html import Shown, recording_page
    from iowhy.views.html.redaction import redactor_of

    found = overview(recording, keep=True)
    linked = [link.report for one in found.verdict.findings for link in one.chain]
    names = list(dict.fromkeys([*TABLES, *linked]))
    names = [name for name in names if name != "budget"]
    with recording.damage_named(), Relations.of(recording) as relations:
        drawn = drawn_charts(relations)
        rows = engine.rows_all(relations, names)
        paths = relations.rows("SELECT DISTINCT path FROM files") if redact else []
    tables = [
        Shown(find(name), list(one[0]) if one else [], one)
        for name, one in zip(names, rows, strict=True)
    ]
    if not redact:
        return recording_page(found, drawn, tables)
    redactor = redactor_of(recording, [str(row[0]) for row in paths if row[0] is not None])
    return recording_page(found, drawn, tables, redactor.say, redacted=True)


def _save(to: Path, text: str) -> None:
    from iowhy.recording.plain_file import write_whole

    try:
        # What is no file, as /dev/stdout, cannot be replaced by one.
        to.write_text(text, "utf-8") if to.exists() and not to.is_file() else write_whole(
            to, text.encode()
        )
    except OSError as error:
        raise Problem(f"{to}: {error.strerror}") from None
