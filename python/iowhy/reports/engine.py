"""Run a report over a recording: DuckDB here, the same statement on Spark for fleets."""
# long: every way in which SQL reaches a recording.

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count as count_from
from typing import TYPE_CHECKING, Any

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.recordings import Recording
from iowhy.recordings.open_tables import OpenTables
from iowhy.recordings.row_counts import Mismatch, in_words, mismatches
from iowhy.recordings.schema import tables
from iowhy.relations import RecordedFacts, Relations, recorded_facts
from iowhy.relations.change_points import with_phases
from iowhy.relations.compose import Everything, compose
from iowhy.relations.interpreters import NAMED_BY_A_MAP, interpreter
from iowhy.relations.memory_sizes import CALLS, Memory, with_memory_sizes
from iowhy.relations.relation import named_in, relations, tables_in
from iowhy.reports.batches import BATCH_ROWS, Result, Rows
from iowhy.reports.filters import Filters, Selection, resolve
from iowhy.reports.report import Report, find
from iowhy.reports.sql_errors import first_line

if TYPE_CHECKING:  # slow to import, and not needed for a handful of rows
    import duckdb

    from iowhy.reports.columns import Batch

Row = dict[str, object]

#: The leading cause of each phase.
Causes = Callable[[Recording], Sequence[str | None]]
#: Rows of a batch of arrays.
COLUMN_ROWS = 20_000
#: Reports have the heaviest first: a page that shows five passes over no more than these to find them.
MOST_BESIDE = 200


def run(
    rec: Recording,
    name: str | Report,
    filters: Filters | None = None,
    causes: Causes | None = None,
) -> Rows:
    """The rows of a report over the chosen part of a recording. `causes` judges phases, for who names them.

    Whole numbers are int64, shares and means float64; unknown is null. Raises Problem for a report
    that does not exist, a filter that does not apply, SQL that does not run, a damaged recording.
    """
    return run_all(rec, [name], filters, causes)[0]


def run_all(
    rec: Recording,
    names: Sequence[str | Report],
    filters: Filters | None = None,
    causes: Causes | None = None,
) -> list[Rows]:
    """As `run`, for several reports: the recording is opened once."""
    found = [name if isinstance(name, Report) else find(name) for name in names]
    filters = filters or Filters()
    with rec.opened() as opened:
        facts = recorded_facts(rec, opened)
        asked = [(_statement(rec, one, filters, facts, opened, causes), one.where) for one in found]
        _must_choose(rec, filters, opened, facts)
        return [
            _result(opened, sql, where, notes=_notes(rec, facts, sql, opened)).table()
            for sql, where in asked
        ]


@contextmanager
def result_of(
    rec: Recording,
    name: str | Report,
    filters: Filters | None = None,
    first: int | None = None,
    causes: Causes | None = None,
) -> Iterator[Result]:
    """As `run`, but the rows come a batch at a time, and only the `first` of them if that is given.

    Of a report in the order of time no more is read than the first rows need. `causes` judges phases, for who names them.
    """
    report = name if isinstance(name, Report) else find(name)
    filters = filters or Filters()
    with rec.opened() as opened:
        facts = recorded_facts(rec, opened)
        sql = _statement(rec, report, filters, facts, opened, causes)
        _must_choose(rec, filters, opened, facts)
        if first is None or report.in_order_of is None:
            yield _result(opened, sql, report.where, notes=_notes(rec, facts, sql, opened))
            return
        selection = resolve(filters, rec.manifest, facts)
        # The facts are those of all that was chosen: rows are the same, whatever is read of the others.
        kept = selection.facts(facts)
        relation, time = report.in_order_of
        times = f"SELECT {time} FROM {relation} ORDER BY {time} LIMIT 1 OFFSET {max(first - 1, 0)}"
        last = _one(opened, compose(times, kept, selection), report.where)
        counted = compose(f"SELECT count(*) FROM {relation}", kept, selection)
        yield _result(
            opened,
            _up_to(report, last, kept, selection),
            report.where,
            lambda: _one(opened, counted, report.where) or 0,
            _notes(rec, facts, sql, opened),
        )


def _up_to(report: Report, last: int | None, facts: RecordedFacts, selection: Selection) -> str:
    """The SQL of a report in the order of time that needs no rows after `last`, a time; None: all of them."""
    if last is None or report.in_order_of is None:
        return compose(report.sql, facts, selection)
    relation, time = report.in_order_of
    if (
        relations()[relation].filtered_as == ""
    ):  # made of what the filters leave: these also say which files to read
        return compose(report.sql, facts, selection.before(last + 1))
    return compose(report.sql, facts, selection, only=(relation, f"{time} <= {last}"))


def rows_all(
    relations: Relations, names: Sequence[str], most: int = MOST_BESIDE
) -> list[list[Row]]:
    """The first `most` rows of several reports as dictionaries: for the few that a page shows.

    Raises DuckDB's errors.
    """
    found: list[list[Row]] = []
    for report in map(find, names):
        columns, rows = relations.table(f"SELECT * FROM ({report.sql}) AS r LIMIT {most}")
        found.append([dict(zip(columns, row, strict=True)) for row in rows])
    return found


def query(rec: Recording, sql: str) -> Rows:
    """The rows of one SELECT over the tables and relations of a recording.

    Raises Problem for anything but one statement that reads, and for SQL that does not run.
    """
    with query_result(rec, sql) as found:
        return found.table()


@contextmanager
def query_result(rec: Recording, sql: str) -> Iterator[Result]:
    """As `query`, but the rows come a batch at a time."""
    with queries(rec) as ask:
        yield ask(sql)


@contextmanager
def queries(rec: Recording) -> Iterator[Callable[[str], Result]]:
    """As `query_result` for several in turn, the recording opened once: each is read before the next is asked."""
    with rec.opened() as opened:
        opened.need(tables())  # what shows the tables that there are shows all of them
        facts = recorded_facts(rec, opened)

        def ask(sql: str) -> Result:
            plain = sql.strip().rstrip(";").rstrip()
            sql = compose(
                plain,
                _with_sizes(plain, _with_phases(rec, plain, facts), Everything(), opened),
                Everything(),
            )
            return _result(opened, sql, "SQL", notes=_notes(rec, facts, sql, opened))

        yield ask


@contextmanager
def column_queries(rec: Recording) -> Iterator[Callable[[str], Iterator["Batch"]]]:
    """As `queries` for rows that are read as arrays: put into a table of the connection's, then taken by the batch.

    The numbers of a query must be BIGINT or DOUBLE: those that DuckDB has in 128 bits lose digits in arrays.
    """
    from iowhy.reports.columns import Batch  # numpy is slow to import

    with rec.opened() as opened:
        opened.need(tables())
        facts = recorded_facts(rec, opened)

        def ask(sql: str) -> Iterator[Batch]:
            opened.need(tables_in(sql))
            with _named("SQL"):
                run = opened.connection.execute
                run(f"CREATE OR REPLACE TEMP TABLE asked AS {compose(sql, facts, Everything())}")
                described = run("FROM asked LIMIT 0").description or ()
                types = {name: str(kind) for name, kind, *_ in described}
                count = run("SELECT count(*) FROM asked").fetchone() or (0,)
                for first in range(0, count[0], COLUMN_ROWS):
                    part = f"rowid >= {first} AND rowid < {first + COLUMN_ROWS}"
                    yield Batch(types, run(f"FROM asked WHERE {part} ORDER BY rowid").fetchnumpy())
                run("DROP TABLE asked")

        yield ask


def statement(
    rec: Recording,
    name: str | Report,
    filters: Filters | None = None,
    causes: Causes | None = None,
) -> str:
    """The whole SQL of a report: what `run` executes."""
    report = name if isinstance(name, Report) else find(name)
    with rec.opened() as opened:
        facts = recorded_facts(rec, opened)
        return _statement(rec, report, filters or Filters(), facts, opened, causes)


def spark_statements(
    rec: Recording, name: str | Report, filters: Filters | None = None
) -> list[str]:
    """The same for Spark: statements to run one after the other, of which the last gives the rows.

    The recording's tables must be there as (temporary) views of their names; the relations that are to be
    kept become tables of the current schema. Raises Problem where the extra `spark` is not installed.
    """
    try:
        from iowhy.reports.spark import to_spark
    except ModuleNotFoundError as missing:
        raise Problem("spark-package-missing", name=missing.name) from None

    report = name if isinstance(name, Report) else find(name)
    return to_spark(statement(rec, report, filters), report.where)


def what_lacks(rec: Recording) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Rows of each table that has any, by the files' footers, and what is to be known of all of them."""
    with rec.opened() as opened:
        rows = opened.row_counts()
    wrong = mismatches(rec.manifest, rows)
    return rows, _sentences(rec, wrong, tables())


def _notes(rec: Recording, facts: RecordedFacts, sql: str, opened: OpenTables) -> tuple[str, ...]:
    """What is to be known of rows: what the recording does not hold though it says so, what was lost of the tables that `sql` reads, and which functions have no names."""
    reads = tables_in(sql)
    said = _sentences(rec, facts.mismatches, reads)
    if not {"modules", "user_stacks"} <= set(reads):
        return said
    opened.need(("modules", "user_stacks"))
    if any(row[0] for row in opened.connection.execute(NAMED_BY_A_MAP).fetchall()):
        return said
    paths = opened.connection.execute("SELECT DISTINCT path FROM modules").fetchall()
    found = {interpreter((row[0] or "").rpartition("/")[2]) for row in paths}
    return *said, *sorted(one.without_names for one in found if one)


def _sentences(
    rec: Recording, wrong: Sequence[Mismatch], reads: Collection[str]
) -> tuple[str, ...]:
    lost = [
        f"{one.lost:,} events of {name} were lost ({one.kept:,} kept): these numbers lack them"
        for name, one in rec.manifest.tables.items()
        if one.lost and name in reads
    ]
    return (in_words(wrong, rec.path), *lost) if wrong else tuple(lost)


def _result(
    opened: OpenTables,
    sql: str,
    where: str,
    count: Callable[[], int] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    opened.need(tables_in(sql))
    with _named(where, sql):
        return result(_select(opened.connection, sql, where), lambda: _named(where), count, notes)


def result(
    asked: "duckdb.DuckDBPyConnection",
    named: Callable[[], AbstractContextManager[None]],
    count: Callable[[], int] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """The rows of the query that a connection has run last, each batch of which is fetched inside `named`."""
    types: dict[str, str] = {}
    for name, kind, *_ in asked.description or ():
        # Of several columns of one name the later ones are numbered, as DuckDB does it in a subquery.
        again = (f"{name}_{number}" for number in count_from(1))
        types[name if name not in types else next(n for n in again if n not in types)] = str(kind)
    return Result(types, _batches(asked, named), count, notes)


def _batches(
    asked: "duckdb.DuckDBPyConnection", named: Callable[[], AbstractContextManager[None]]
) -> Iterator[Sequence[tuple[Any, ...]]]:
    while True:
        with named():
            batch = asked.fetchmany(BATCH_ROWS)
        if not batch:
            return
        yield batch


def _one(opened: OpenTables, sql: str, where: str) -> int | None:
    """The whole number that a query gives, None if it has no row."""
    opened.need(tables_in(sql))
    with _named(where):
        rows = opened.connection.execute(sql).fetchall()
    return rows[0][0] if rows else None


@contextmanager
def _named(where: str, sql: str = "") -> Iterator[None]:
    """Errors of SQL are Problems that name it; damage is the recording's to name."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error as error:
        table = min(tables_in(sql), default="syscalls")
        lists = {duckdb.CatalogException: "--list", duckdb.BinderException: f'"DESCRIBE {table}"'}
        shown = lists.get(type(error)) if where == "SQL" else None
        hint = f" (see `iowhy sql REC {shown}`)" if shown else ""
        raise Problem("sql-wrong", where=where, error=first_line(error), hint=hint) from None


def _select(
    connection: "duckdb.DuckDBPyConnection", sql: str, where: str
) -> "duckdb.DuckDBPyConnection":
    """One statement that only reads.

    The connection may open the recording's own files, also for writing: so nothing that writes may
    get there.
    """
    bare = only_select(connection.extract_statements, sql, where)
    asked = connection.execute(sql)
    kinds_of = [str(kind) for _, kind, *_ in asked.description or ()]
    if not any("TIME ZONE" in kind for kind in kinds_of):
        return asked
    # Python has no type for them without another package; as texts they are what DuckDB shows.
    names = [str(name).replace('"', '""') for name, *_ in asked.description or ()]
    shown = [
        f'{f"CAST(c{at} AS VARCHAR)" if "TIME ZONE" in kind else f"c{at}"} AS "{name}"'
        for at, (name, kind) in enumerate(zip(names, kinds_of, strict=True))
    ]
    given = ", ".join(f"c{at}" for at in range(len(names)))
    return connection.execute(f"SELECT {', '.join(shown)} FROM ({bare}\n) AS asked({given})")


def only_select(extract: Callable[[str], list[Any]], sql: str, where: str) -> str:
    """The text of one statement that only reads, without what may follow it. Raises Problem.

    `extract` is a connection's `extract_statements`.
    """
    import duckdb

    with _named(where):
        statements = extract(sql)
    # Not EXPLAIN either: EXPLAIN ANALYZE runs what it explains.
    if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
        raise Problem("not-one-select", where=where)
    return sql.strip().rstrip(";").rstrip()


def must_take(report: Report, filters: Filters) -> None:
    """Raises Problem for a filter that does not apply to the report."""
    for name in filters.given():
        if name not in report.filters:
            able = ", ".join(f"--{word}" for word in report.filters) or "no filter"
            raise Problem("filter-not-of-report", name=name, report=report.name, able=able)


def _statement(
    rec: Recording,
    report: Report,
    filters: Filters,
    facts: RecordedFacts,
    opened: OpenTables,
    causes: Causes | None = None,
) -> str:
    must_take(report, filters)
    facts = _with_phases(rec, report.sql, facts, causes)
    selection = resolve(filters, rec.manifest, facts)
    facts = _with_sizes(report.sql, selection.facts(facts), selection, opened)
    return compose(report.sql, facts, selection)


def _with_phases(
    rec: Recording, sql: str, facts: RecordedFacts, causes: Causes | None = None
) -> RecordedFacts:
    """Phases are found before the statement that names them."""
    if "phases" not in named_in(sql):
        return facts
    with Relations(rec) as relations:
        found = relations.phases
    return with_phases(facts, found, () if causes is None else causes(rec))


def _with_sizes(
    sql: str, facts: RecordedFacts, selection: Selection | Everything, opened: OpenTables
) -> RecordedFacts:
    """What is in memory by its size is found before the statement that names it."""
    if "memory_sizes" not in named_in(sql):
        return facts
    calls = _result(opened, compose(CALLS, facts, selection), "memory_sizes").table()
    return with_memory_sizes(facts, Memory(calls.values, facts.page_bytes))


def _must_choose(
    rec: Recording, filters: Filters, opened: OpenTables, facts: RecordedFacts
) -> None:
    """Raises Problem for a filter that chooses nothing of the recording."""
    if filters.pids:
        _must_have_run(rec, filters, opened)
    asked = Filters(file=filters.file, container=filters.container, device=filters.device)
    chosen, place = resolve(asked, rec.manifest, facts), quoted(str(rec.path))
    for sql, nothing in (
        (
            chosen.chosen_files(),
            Problem("file-not-in-recording", file=asked.file, recording=place),
        ),
        (
            chosen.in_container,
            Problem("container-not-in-recording", container=asked.container, recording=place),
        ),
        (
            chosen.on_device,
            Problem("device-not-in-recording", device=asked.device, recording=place),
        ),
    ):
        if sql is None:
            continue
        opened.need(tables_in(sql))
        if not opened.connection.execute(f"FROM ({sql}) AS c LIMIT 1").fetchall():
            raise nothing


def _must_have_run(rec: Recording, filters: Filters, opened: OpenTables) -> None:
    seen = " UNION ".join(
        f"SELECT {column.name} AS id FROM main.{table.name}"
        for table in tables().values()
        for column in table.columns
        if column.name in ("tgid", "tid")
    )
    opened.need(tables_in(seen))
    known = {row[0] for row in opened.connection.execute(seen).fetchall()}
    for pid in filters.pids:
        if pid not in known:
            raise Problem("pid-not-in-recording", pid=pid, path=quoted(str(rec.path)))
