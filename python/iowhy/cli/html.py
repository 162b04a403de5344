"""`iowhy html`: a result as one page that can be sent round."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from iowhy.cli._boxed import enter
from iowhy.errors import Problem
from iowhy.masking import masked, masked_words, unmasked
from iowhy.messages import say as tell
from iowhy.options.described import option, switch, word
from iowhy.options.output import KEEP_SECRETS
from iowhy.views.progress import working
from iowhy.written_files import check_free, put

if TYPE_CHECKING:  # slow to import
    from iowhy.comparisons.sides import Side
    from iowhy.recordings import Recording
    from iowhy.relations import Relations
    from iowhy.views.html.markup import Say

EPILOG = """Examples:

  iowhy html fio.iowhy --open

  iowhy html --redact -o ticket.html fio.iowhy

  iowhy html before.iowhy after.iowhy

  iowhy html --redact before.iowhy after.iowhy after2.iowhy

  iowhy html sqlite3.iowhy/experiments/000001.json
"""

#: Reports that every page has; those that a finding names come behind them.
TABLES = ("syscalls", "devices", "files", "threads")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the page is of, and where it goes."""

    results: tuple[str, ...] = word(
        "A recording; several, each of which is compared with the first; or what `--export-json` of experiment or compare saved.",
        default=(),
        metavar="REC | BEFORE AFTER [AFTER2]... | FILE.json",
    )
    output: Path | None = option(
        "-o", "--output", help="Where the page goes; by default NAME.html here."
    )
    force: bool = switch("--force", help="A file that exists may be overwritten.")
    open_: bool = switch("--open", help="Open it in the browser.")
    redact: bool = switch(
        "--redact", help="Tokens in place of paths, arguments, names of hosts, users and programs."
    )
    keep_secrets: bool = switch("--keep-secrets", help=KEEP_SECRETS)


def command(options: Options) -> None:
    """Write a result as one HTML page that needs no network: the verdict, its evidence as charts, tables.

    One recording is judged, several are compared with the first of them; a JSON file is what `--export-json` of experiment or compare saved.
    """
    show = _opener() if options.open_ else None
    enter(options.results, [options.output or Path("page.html")])
    made = _page(options.results, unmasked if options.keep_secrets else masked)
    to = options.output or Path(f"{made.name}.html")
    check_free(to, options.force)
    with working(f"drawing {' and '.join(options.results)}"):
        page = made.write(options.redact)
    put(to, page, force=options.force)
    tell(f"{to}: {len(page.encode()):,} bytes")
    if show is not None:
        show(to.resolve().as_uri())


def _opener() -> Callable[[str], None]:
    """What opens an address in the browser, from another process: this one will start none."""
    import os

    read, write = os.pipe()
    opening = os.fork()
    if opening == 0:
        os.close(write)
        with os.fdopen(read) as said:
            address = said.read()
        if address:
            import webbrowser

            webbrowser.open(address)
        os._exit(0)
    os.close(read)

    def show(address: str) -> None:
        os.write(write, address.encode())
        os.close(write)
        os.waitpid(opening, 0)

    return show


class _Page(Struct, frozen=True):
    """What a page is called, and how it is written; `write` takes whether names are hidden."""

    name: str
    write: Callable[[bool], str]


def _page(results: tuple[str, ...], say: "Say") -> _Page:
    if not results:
        raise Problem("html-of-what")
    if len(results) > 1:
        from iowhy.comparisons.sides import open_sides

        return _comparison(open_sides(results), say)
    if results[0].endswith(".json"):
        from iowhy.comparisons.exported import read_exported

        sides = read_exported(Path(results[0]))
        return _experiment(Path(results[0]), say) if sides is None else _comparison(sides, say)
    from iowhy.recordings import open_recording

    recording = _said(open_recording(results[0]), say)
    return _Page(_name(recording.path), lambda redact: _of_recording(recording, redact, say))


def _said(recording: "Recording", say: "Say") -> "Recording":
    return recording if say is unmasked else recording.without_secrets()


def _name(path: Path) -> str:
    name = path.resolve().name
    for suffix in (".zip", ".iowhy"):
        name = name.removesuffix(suffix)
    return name


def _of_recording(recording: "Recording", redact: bool, say: "Say") -> str:
    from iowhy.charts import drawn_charts, without_functions
    from iowhy.commands.overview import overview
    from iowhy.relations import Relations
    from iowhy.reports import engine, find
    from iowhy.views.html.recording_html import Shown, recording_page
    from iowhy.views.html.redaction import redactor_of
    from iowhy.whys.in_whose_code import without_code

    found = overview(recording, would_help=True)
    if redact:
        findings = tuple(map(without_code, found.verdict.findings))
        found = replace(found, verdict=replace(found.verdict, findings=findings))
    linked = [link.report for one in found.verdict.findings for link in one.chain]
    names = [name for name in dict.fromkeys([*TABLES, *linked]) if name != "budget"]
    with recording.damage_named(), Relations(recording) as relations:
        drawn = drawn_charts(relations, {*names, "budget"})
        names += ["statements"] if relations.has_statements else []
        names = list(dict.fromkeys(names))
        rows = engine.rows_all(relations, names)
        secret = _names(relations) if redact else _Names()
    tables = [
        Shown(find(name), list(one[0]) if one else [], one)
        for name, one in zip(names, rows, strict=True)
    ]
    if not redact:
        return recording_page(found, drawn, tables, say)
    drawn = [without_functions(one) for one in drawn]
    redactor = redactor_of([recording], secret.paths, (), *secret[1:])
    return recording_page(found, drawn, tables, redactor.say, redacted=True)


def _comparison(sides: "Sequence[Side]", say: "Say") -> _Page:
    if len(sides) < 2:
        raise Problem("html-compares-two")
    sides = [
        replace(
            one,
            recordings=tuple(_said(recording, say) for recording in one.recordings),
            typical=_said(one.typical, say),
        )
        for one in sides
    ]
    names = [Path(one.label).name for one in sides]
    name = f"{names[0]}-against-{names[1]}" if len(names) == 2 else f"{names[0]}-and-others"

    def write(redact: bool) -> str:
        from iowhy.charts import drawn_charts
        from iowhy.comparisons.comparison import compare_all
        from iowhy.relations import Relations
        from iowhy.views.html.comparison_html import comparison_html
        from iowhy.views.html.redaction import redactor_of

        found = compare_all(sides)
        drawn, names = [], []
        for side in sides:
            with side.typical.damage_named(), Relations(side.typical) as relations:
                drawn.append(drawn_charts(relations))
                names += [_names(relations)] if redact else []
        if not redact:
            return comparison_html(found, drawn, say)
        recordings = [side.typical for side in sides]
        paths, *others = ([name for one in names for name in one[at]] for at in range(4))
        redactor = redactor_of(recordings, paths, [side.label for side in sides], *others)
        # Names of functions tell what a program is.
        found = tuple(replace(one, paths=()) for one in found)
        return comparison_html(found, drawn, redactor.say, redacted=True)

    return _Page(name, write)


def _experiment(path: Path, say: "Say") -> _Page:
    from iowhy.experiments.saved import read_saved
    from iowhy.views.html.experiment_html import experiment_html, name_of
    from iowhy.views.html.redaction import Redactor

    saved, name = read_saved(path), name_of(path)
    if say is not unmasked:
        saved = replace(saved, command=masked_words(saved.command))

    def write(redact: bool) -> str:
        if not redact:
            return experiment_html(saved, name, say)
        return experiment_html(saved, "experiment", Redactor([], [], commands=[saved.command]).say)

    return _Page(name, write)


class _Names(NamedTuple):
    """Paths of its files; names and titles of its processes, threads and containers and of those next to them; peers' addresses;
    statements of databases, with the names of these and their tables."""

    paths: Sequence[str] = ()
    programs: Sequence[str] = ()
    peers: Sequence[str] = ()
    statements: Sequence[str] = ()


def _names(relations: "Relations") -> _Names:
    programs = (
        "SELECT comm FROM threads WHERE comm IS NOT NULL UNION SELECT comm FROM neighbours WHERE comm IS NOT NULL "
        "UNION SELECT title FROM threads WHERE title IS NOT NULL UNION SELECT title FROM neighbours WHERE title IS NOT NULL "
        "UNION SELECT container FROM named_containers WHERE level <> 'session'"
    )
    statements = (
        "SELECT text FROM statements UNION SELECT database FROM statements WHERE database IS NOT NULL "
        "UNION SELECT unnest([object, split_part(object, ' (', 1)]) FROM database_objects "
        "WHERE object IN (SELECT object FROM database_files) ORDER BY ALL"
    )
    return _Names(
        relations.values(str, "SELECT DISTINCT path FROM files WHERE path IS NOT NULL"),
        relations.values(str, programs),
        relations.values(str, "SELECT DISTINCT address FROM connections ORDER BY ALL"),
        relations.values(str, statements),
    )
