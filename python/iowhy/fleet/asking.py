"""A report over many recordings, from the words of a call to its rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.fleet.answered import FRONT, Tables, answered, by_recording
from iowhy.fleet.fleet_reports import JUDGED, ROLLOUT, FleetReport, facts, find
from iowhy.fleet.gathered import Asked, Gathering
from iowhy.fleet.members import LeftOut, utc_text
from iowhy.fleet.verdicts import Verdict, verdicts
from iowhy.relations.relation import named_in
from iowhy.reports.batches import Result
from iowhy.reports.drawing import Drawing
from iowhy.reports.engine import must_take
from iowhy.reports.filters import Filters, must_be_good
from iowhy.reports.report import Report

if TYPE_CHECKING:  # an extra
    from pyspark.sql import SparkSession

#: The columns of the tables that verdicts become.
VERDICTS = {"fleet_no": "BIGINT", "answer": "VARCHAR", "judged_ns": "BIGINT", "lost": "BIGINT"}
FINDINGS = {
    "fleet_no": "BIGINT",
    "place": "BIGINT",
    "cause": "VARCHAR",
    "share": "DOUBLE",
    "gain": "DOUBLE",
    "confidence": "DOUBLE",
    "elapsed_ns": "BIGINT",
    "gain_ns": "BIGINT",
    "thread_ns": "BIGINT",
}


def described(name: str) -> Report:
    """The report as its rows will be: one of recordings has host, recording and started in front. Raises Problem."""
    found = find(name)
    if isinstance(found, FleetReport):
        return found.report
    return replace(found, columns=(*FRONT, *found.columns), drawing=Drawing(), in_order_of=None)


class Question(Struct, frozen=True):
    """A report and what it is asked; `since` is the moment that a trend compares before and after (ISO 8601)."""

    name: str
    filters: Filters
    since: str | None = None


@contextmanager
def fleet_result(
    question: Question, paths: Sequence[Path], left_out: LeftOut, spark: str | None = None
) -> Iterator[Result]:
    """The rows of a report over recordings, by DuckDB or by the Spark at an address; those that cannot be read are in `left_out` then.

    Raises Problem for a report that does not exist, filters that it does not take, and SQL that does not run.
    """
    found, asked = _asked(question)
    if spark is None:
        gathering = Gathering(asked, left_out)
        gathering.gather(paths)
        sql, tables = _answer(found, question, gathering, paths)
        with answered(gathering.members, gathering.parts, sql, tables) as result:
            yield result
        return
    from iowhy.fleet.on_spark import session_at

    with session_at(spark) as session, spark_result(question, paths, left_out, session) as result:
        yield result


@contextmanager
def spark_result(
    question: Question, paths: Sequence[Path], left_out: LeftOut, session: "SparkSession"
) -> Iterator[Result]:
    """As `fleet_result`, by a session that is open."""
    from iowhy.fleet.on_spark import SparkGathering, spark_answer

    found, asked = _asked(question)
    gathering = SparkGathering(asked, left_out, session)
    try:
        gathering.gather(paths)
        sql, tables = _answer(found, question, gathering, paths)
        yield spark_answer(gathering, sql, tables)
    finally:
        gathering.drop()


def _asked(question: Question) -> tuple[FleetReport | Report, dict[str, Asked]]:
    """The report, and what is gathered for it. Raises Problem for what it does not take."""
    found, filters = find(question.name), question.filters
    if question.since is not None and not (
        isinstance(found, FleetReport) and ROLLOUT in found.reads
    ):
        raise Problem("at-does-not-apply", name=question.name)
    if question.since is not None:
        _moment(question.since)
    if not isinstance(found, FleetReport):
        if named_in(found.sql) & {"phases", "memory_sizes"}:
            raise Problem("phases-of-one-recording", name=question.name)
        must_take(found, filters)
        must_be_good(filters)
        return found, {"found": Asked(found.sql, found.where, filters)}
    if filters.given():
        raise Problem("option-of-parts-of-recordings", given=filters.given()[0], name=question.name)
    return found, {
        one: Asked(facts()[one], f"{one}.sql", Filters()) for one in found.reads if one in facts()
    }


def _answer(
    found: FleetReport | Report, question: Question, gathering: Gathering, paths: Sequence[Path]
) -> tuple[str, Tables]:
    """The last query, and the tables that it reads next to those that were gathered."""
    if not isinstance(found, FleetReport):
        return by_recording("found"), {}
    tables: Tables = {}
    if ROLLOUT in found.reads:
        moment = _middle(gathering.members) if question.since is None else _moment(question.since)
        tables[ROLLOUT] = ({"since": "VARCHAR"}, [{"since": moment}])
    if any(one in JUDGED for one in found.reads):
        read = {member["fleet_no"] for member in gathering.members}
        judged = [one for one in verdicts(paths, gathering.left_out) if one[0] in read]
        tables["verdicts"] = (VERDICTS, [_verdict(*one) for one in judged])
        tables["findings"] = (FINDINGS, [row for one in judged for row in _findings(*one)])
    return found.report.sql, tables


def _moment(text: str) -> str:
    """A time as `started` has it; without an offset it is UTC. Raises Problem."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Problem("not-a-time-of-day", text=text) from None
    return utc_text(found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC))


def _middle(members: Sequence[Mapping[str, object]]) -> str:
    """Halfway between the first and the last recording. Raises Problem if there are no two times."""
    known = sorted({str(one["started"]) for one in members if one["started"] is not None})
    if len(known) < 2:
        raise Problem("no-two-moments")
    first, last = (datetime.fromisoformat(one) for one in (known[0], known[-1]))
    return utc_text(first + (last - first) / 2)


def _verdict(number: int, verdict: Verdict) -> Mapping[str, object]:
    return {
        "fleet_no": number,
        "answer": verdict["answer"],
        "judged_ns": _ns(verdict["judged_s"]),
        "lost": verdict["lost"],
    }


def _findings(number: int, verdict: Verdict) -> Iterator[Mapping[str, object]]:
    for place, one in enumerate(verdict["findings"], 1):
        yield {
            "fleet_no": number,
            "place": place,
            "cause": one["cause"],
            "share": one["share"],
            "gain": one["gain"],
            "confidence": one["confidence"],
            "elapsed_ns": _ns(one["seconds"]),
            "gain_ns": _ns(one["gain_seconds"]),
            "thread_ns": _ns(one["thread_seconds"]),
        }


def _ns(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)
