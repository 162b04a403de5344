"""What the functions of the API give: a recording to ask, rows, and answers that are shown as on a terminal."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.messages import printable
from iowhy.options.keywords import text_of
from iowhy.recordings import Recording, open_recording
from iowhy.reports.batches import Rows as Found
from iowhy.sources.aside import aside

if TYPE_CHECKING:  # slow to import, or not installed
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from rich.console import Console

    from iowhy import charts
    from iowhy.charts import Drawn
    from iowhy.commands.overview import Overview
    from iowhy.whys.verdict import Verdict

_COLUMNS = 100
_SELECT = "the text of a SELECT"


class Rows:
    """Rows of a report or a query, in memory. `statement` is the SQL that gave them, for DuckDB."""

    def __init__(self, table: Found, statement: str) -> None:
        """Whole numbers are int64, shares and means float64, unknown is null."""
        self._table = table
        self.statement = statement

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._table.types)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the rows lack: events that were lost, tables that are not whole."""
        return tuple(self._table.notes)

    def arrow(self) -> "pa.Table":
        """As a table of Arrow. Raises Problem where pyarrow is not installed."""
        _needed("pyarrow", "arrow", "'iowhy[arrow]'")
        return self._asked(lambda asked: asked.sql("SELECT * FROM rows").to_arrow_table())

    def df(self) -> Any:
        """As a data frame of pandas (`pandas.DataFrame`). Raises Problem if it is not installed."""
        _needed("pandas", "df")
        return self._asked(lambda asked: asked.sql("SELECT * FROM rows").df())

    def pl(self) -> Any:
        """As a data frame of Polars (`polars.DataFrame`). Raises Problem if it is not installed."""
        polars = _needed("polars", "pl")
        return self._asked(lambda asked: polars.DataFrame(asked.sql("SELECT * FROM rows")))

    def head(self, rows: int) -> list[dict[str, Any]]:
        """The first rows as dictionaries. Raises Problem for what is not a number of rows."""
        if not isinstance(rows, int) or rows < 0:
            raise Problem("head-rows-not-a-number", rows=rows)
        return self._table.head(rows).to_pylist()

    def rows(self) -> list[dict[str, Any]]:
        """As dictionaries."""
        return self._table.to_pylist()

    def sql(self, select: str) -> "Rows":
        """A SELECT over these rows, which it calls `rows`. Raises Problem for SQL that does not run."""
        from iowhy.reports.engine import result

        text_of("sql: select", select, _SELECT)
        return Rows(
            self._asked(lambda asked: result(asked.execute(select), nullcontext).table()), select
        )

    @aside()
    def _asked(self, ask: Callable[["DuckDBPyConnection"], Any]) -> Any:
        """What a question to a connection gives that has the rows as `rows`."""
        import duckdb

        from iowhy.recordings.stored_rows import LOOK_AT_ALL
        from iowhy.reports.columns import arrays
        from iowhy.reports.sql_errors import first_line

        connection = duckdb.connect(
            ":memory:", config={"enable_external_access": False, **LOOK_AT_ALL}
        )
        try:
            given = arrays(self._table.types, self._table.values)
            connection.register("given", {f"c{at}": array for at, array in enumerate(given)})
            listed = ", ".join(
                'CAST(c{} AS {}) AS "{}"'.format(at, kind, name.replace('"', '""'))
                for at, (name, kind) in enumerate(self._table.types.items())
            )
            connection.execute(f"CREATE TEMP VIEW rows AS SELECT {listed} FROM given")
            return ask(connection)
        except duckdb.Error as error:
            raise Problem("rows-sql-wrong", error=first_line(error)) from None
        finally:
            connection.close()

    def __len__(self) -> int:
        return self._table.num_rows

    def __repr__(self) -> str:
        return _plain(self._draw)

    def _repr_html_(self) -> str:
        return _as_html(self._draw)

    def _draw(self, out: "Console") -> None:
        from iowhy.options.output import ROWS
        from iowhy.views import rows_table

        rows_table.show(out, self._table.head(ROWS), (), len(self), wide=False)
        for note in self.notes:
            out.print(printable(note), markup=False, soft_wrap=True)


class Answer:
    """What an experiment or a comparison found: `result` as dataclasses, `json()` as `--json`, shown as on a terminal.

    broken: a sentence for each growth or slowness that `fail_on` or `fail_on_regression` forbids, or that is not known.
    """

    def __init__(
        self,
        result: Any,
        json: Callable[[], Any],
        draw: Callable[["Console"], None],
        broken: tuple[str, ...] = (),
    ) -> None:
        """`draw` shows it, `json` gives the documented object."""
        self.broken = broken
        self.result = result
        self.json = json
        self._draw = draw

    def __repr__(self) -> str:
        return _plain(self._draw)

    def _repr_html_(self) -> str:
        return _as_html(self._draw)


class Chart(Struct, frozen=True):
    """A chart: drawn in a notebook, `html()` as its own page, `missing` why there is nothing to draw."""

    drawn: "Drawn"
    overview: "Overview"

    @property
    def missing(self) -> str | None:
        """Why there is nothing to draw, in a sentence; None if there is."""
        return self.drawn.missing

    def rows(self) -> list[dict[str, Any]]:
        """What it draws, as dictionaries: aggregated by SQL, some thousand at most."""
        return [dict(zip(self.drawn.columns, row, strict=True)) for row in self.drawn.rows]

    def html(self) -> str:
        """As a page that fetches nothing."""
        from iowhy.views.html.chart_page import chart_page

        return chart_page(self.drawn, self.overview)

    def __repr__(self) -> str:
        shown = self.missing or f"{len(self.drawn.rows)} rows"
        return f"{self.drawn.chart.title}: {shown}"

    def _repr_html_(self) -> str:
        from iowhy.views.html.chart_page import chart_frame

        return chart_frame(self.html())


class Opened(Struct, frozen=True, dict=True):
    """A recording, at `path`; it is opened by the first question, and may still be under way before.

    broken: of what record() was given to expect, a sentence for each that is broken or not known.
    """

    path: Path
    broken: tuple[str, ...] = ()

    @cached_property
    @aside()
    def recording(self) -> Recording:
        """The recording itself, with its manifest. Raises Problem where it cannot be opened."""
        return open_recording(self.path)

    @cached_property
    @aside()
    def overview(self) -> "Overview":
        """The verdict and what is next to it, all measures included."""
        from iowhy.commands.overview import overview

        return overview(self.recording, measured=True)

    @property
    def verdict(self) -> "Verdict":
        """The answer, the findings with their chains, and the time budget."""
        return self.overview.verdict

    @property
    def measures(self) -> Mapping[str, float | None]:
        """Counts, bytes and times by name (`iowhy run --expect list`); None for what is not known."""
        return self.overview.measured

    @property
    def exit_status(self) -> int | None:
        """How the command ended; None where it was killed, or nothing was waited for."""
        return self.recording.manifest.command.exit_status

    @aside()
    def json(self) -> dict[str, Any]:
        """The object of `iowhy why --json` (docs/verdict.md)."""
        from iowhy.views import verdict_page

        return verdict_page.as_document(self.overview)

    @aside()
    def what_if(self, *devices: str) -> dict[str, Any]:
        """The object of `iowhy what-if --json`; `devices` as its `--device`. Raises Problem for a device that it does not know."""
        from iowhy.commands.what_if import what_if
        from iowhy.views.what_if_page import as_document

        return as_document(what_if(self.recording, devices))

    @aside()
    def report(
        self,
        name: str,
        *,
        since: str | float | None = None,
        until: str | float | None = None,
        pid: int | Sequence[int] = (),
        container: str | None = None,
        file: str | None = None,
        device: str | None = None,
    ) -> Rows:
        """A report (docs/reports.md) over a part of the recording, chosen as by `iowhy report`.

        since, until: seconds after the start, or text as on the command line. Raises Problem for a report that does
        not exist and a filter that does not apply.
        """
        from iowhy.reports import run, statement

        name = text_of("report: name", name, "the name of a report")
        from iowhy.commands.report import filters_of

        filters = filters_of(
            since=since, until=until, pid=pid, container=container, file=file, device=device
        )
        asked = (self.recording, name, filters, lambda _: self._causes_of_phases)
        return Rows(run(*asked), statement(*asked))

    @cached_property
    def _causes_of_phases(self) -> list[str | None]:
        """Judged once for the rows of a report and its statement."""
        from iowhy.commands.report import leading_causes

        return leading_causes(self.recording)

    @aside()
    def sql(self, select: str) -> Rows:
        """One SELECT over the tables (docs/recording.md). Raises Problem for anything else."""
        from iowhy.reports.engine import query

        return Rows(query(self.recording, text_of("sql: select", select, _SELECT)), select)

    @property
    def charts(self) -> tuple[str, ...]:
        """The names of the charts (docs/page.md)."""
        return tuple(one.name for one in _figures())

    @aside()
    def chart(self, name: str) -> "Chart":
        """A chart of `iowhy html`; a notebook shows it. Raises Problem for one that does not exist."""
        from iowhy.charts import drawn
        from iowhy.relations import Relations

        found = next((one for one in _figures() if one.name == name), None)
        if found is None:
            raise Problem("no-such-chart", name=name, charts=", ".join(self.charts))
        with self.recording.damage_named(), Relations(self.recording) as relations:
            return Chart(drawn(relations, found), self.overview)

    @aside()
    def expect(self, *texts: str) -> list[str]:
        """Expectations, as `--expect` has them: a sentence for each that is broken or not known, none where all hold."""
        from iowhy.expect import outcomes, read_expectation

        asked = [
            read_expectation("expect", text_of("expect: texts", text, "NAME <= NUMBER"))
            for text in texts
        ]
        found = outcomes(self.recording, self.verdict, asked)
        return [one.sentence for one in found if not one.held]

    def __repr__(self) -> str:
        return f"iowhy.open({str(self.path)!r})"

    def __str__(self) -> str:
        return _plain(self._draw)

    def _repr_html_(self) -> str:
        return _as_html(self._draw)

    def _draw(self, out: "Console") -> None:
        from iowhy.views import verdict_page

        verdict_page.show(self.overview, out)


def _figures() -> "list[charts.Chart]":
    """Those that are shown alone, not next to a table that they narrow."""
    from iowhy.charts import NARROWED, charts

    return [one for one in charts() if one.draws not in NARROWED]


def _needed(package: str, method: str, brought_by: str | None = None) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise Problem(
            "package-missing", method=method, package=package, brought_by=brought_by or package
        ) from None


@aside()
def _plain(draw: "Callable[[Console], None]") -> str:
    """As on a terminal without colours."""
    import io

    from rich.console import Console

    out = io.StringIO()
    draw(Console(file=out, force_jupyter=False, width=_COLUMNS, highlight=False))
    return out.getvalue().rstrip("\n")


@aside()
def _as_html(draw: "Callable[[Console], None]") -> str:
    """As on a terminal, for a notebook: text alone, whatever names of files hold."""
    import io

    from rich.console import Console

    # In a kernel rich would show each line by itself, beside what is asked for.
    out = Console(
        record=True, file=io.StringIO(), force_jupyter=False, width=_COLUMNS, highlight=False
    )
    draw(out)
    return out.export_html(
        inline_styles=True, code_format='<pre style="line-height: 1.3">{code}</pre>'
    )
