"""Experiments done elsewhere: a CSV table of conditions and what was measured, judged like our own.

Columns: ``lever`` (a lever's name, or ``baseline``), ``level`` (any text), ``factor`` (the share of the
resource that is left, empty if it has no amount) and ``value``. Lines that begin with ``#`` are
comments; ``# metric: NAME``, ``# unit: UNIT`` and ``# better: higher|lower`` describe the values, and
``# command: TEXT`` what was run. One value per condition gives sensitivities without intervals; more
(one line each, in the order they were run) give intervals too.
"""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.experiments.condition import BASELINE, Condition, Trial
from iowhy.experiments.interval import Interval
from iowhy.experiments.lever import Level
from iowhy.experiments.lever_answer import (
    BOUND_SAVED,
    BOUND_SENSITIVITY,
    MATERIAL,
    Answer,
    Response,
    Verdict,
    answer,
)
from iowhy.experiments.levers import levers
from iowhy.experiments.result import Result
from iowhy.experiments.sentence import sentence
from iowhy.experiments.statistics import FALSE_ALARM

_COLUMNS = ("lever", "level", "factor", "value")


class _Table(Struct):
    about: dict[str, str] = field(default_factory=dict)
    values: dict[Condition, list[float]] = field(default_factory=dict)


def judge_table(path: Path) -> Result:
    """Judges a table. Raises Problem naming file and line."""
    table = _read(path)
    higher = table.about.get("better", "lower") == "higher"
    names = list(dict.fromkeys(c.lever for c in table.values if c.lever is not None))
    least = min(len(values) for values in table.values.values())
    trials = [
        Trial(condition, value, float(block), value, block=block)
        for condition, values in table.values.items()
        for block, value in enumerate(values)
    ]
    answers = []
    for name in names:
        if least >= 3:
            answers.append(answer(name, trials, higher, FALSE_ALARM / len(names), 1))
        else:
            answers.append(_single(name, table, higher))
    notes: tuple[str, ...] = ()
    if least < 3:
        notes = (
            "one value per condition has no interval: the sensitivities are as good as the table",
        )
    return Result(
        command=(table.about.get("command", str(path)),),
        measure=table.about.get("metric", "value"),
        unit=table.about.get("unit", ""),
        higher_is_better=higher,
        seed=None,
        sentence=sentence(answers, levers()),
        answers=tuple(answers),
        conditions=tuple(table.values),
        trials=tuple(trials),
        blocks=least,
        notes=notes,
    )


def _single(name: str, table: _Table, higher: bool) -> Answer:
    """The answer from one value (or the mean logarithm of two) per condition, without intervals."""
    sign = -1.0 if higher else 1.0
    base = _log(table.values[BASELINE])
    responses = []
    points: list[tuple[float, float]] = []
    for condition, values in table.values.items():
        if condition.lever != name or condition.level is None:
            continue
        effect = sign * (_log(values) - base)
        ratio = math.exp(effect)
        factor = condition.level.factor
        responses.append(
            Response(condition.level.label, condition.level.key, factor, _point(ratio), 1)
        )
        if factor is not None:
            points.append((-math.log(factor), effect))
    amount = len(points) == len(responses)
    strongest = max((math.log(r.slower.value) for r in responses), key=abs)
    if amount:
        slope = sum(x * y for x, y in points) / sum(x * x for x, _ in points)
        bound, matters = slope >= BOUND_SENSITIVITY, slope * max(x for x, _ in points) >= MATERIAL
    else:
        takes = not levers()[name].relieves
        strongest = strongest if takes else -strongest
        slope = 0.0
        bound = 1 - math.exp(-strongest) >= BOUND_SAVED
        matters = strongest >= MATERIAL
    verdict = Verdict.NOT_BOUND
    if matters:
        verdict = Verdict.BOUND if bound else Verdict.PARTLY
    return Answer(
        lever=name,
        verdict=verdict,
        responses=tuple(responses),
        sensitivity=_point(slope) if amount else None,
        share=None if amount else _point(1 - math.exp(-strongest)),
        p=None,
        alpha=FALSE_ALARM,
        blocks=1,
        more_blocks=None,
    )


def _log(values: Sequence[float]) -> float:
    return sum(math.log(value) for value in values) / len(values)


def _point(value: float) -> Interval:
    return Interval(value, float("nan"), float("nan"))


def _read(path: Path) -> _Table:
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror) from None
    except UnicodeDecodeError:
        raise Problem("table-not-text", path=path) from None
    table = _Table()
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            key, colon, text = line[1:].partition(":")
            if colon:
                table.about[key.strip().lower()] = text.strip()
        elif line.strip():
            try:
                rows.append((number, [cell.strip() for cell in next(csv.reader([line]))]))
            except csv.Error as error:
                raise Problem(
                    "table-line-unreadable", path=path, number=number, error=error
                ) from None
    if not rows or tuple(rows[0][1]) != _COLUMNS:
        where = rows[0][0] if rows else 1
        raise Problem("table-first-line", path=path, where=where, columns=",".join(_COLUMNS))
    if table.about.get("better", "lower") not in ("higher", "lower"):
        raise Problem("table-better-unknown", path=path, about=table.about["better"])
    for number, cells in rows[1:]:
        condition, value = _row(path, number, cells)
        table.values.setdefault(condition, []).append(value)
    if BASELINE not in table.values:
        raise Problem("table-without-baseline", path=path)
    if len(table.values) < 2:
        raise Problem("table-only-baseline", path=path)
    return table


def _row(path: Path, number: int, cells: list[str]) -> tuple[Condition, float]:
    if len(cells) != len(_COLUMNS):
        raise Problem(
            "table-cells", path=path, number=number, cells=len(cells), columns=len(_COLUMNS)
        )
    name, level, factor_text, value_text = cells
    value = _number(path, number, "value", value_text)
    if name == "baseline":
        return BASELINE, value
    if name not in levers():
        raise Problem(
            "table-lever-unknown", path=path, number=number, name=name, levers=", ".join(levers())
        )
    factor = _number(path, number, "factor", factor_text) if factor_text else None
    if factor is not None and factor == 1:
        raise Problem("table-factor-one", path=path, number=number)
    takes = factor is None and not levers()[name].relieves
    return Condition(name, Level(level, level, factor, takes=takes)), value


def _number(path: Path, number: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise Problem(
            "table-number-not-positive", path=path, number=number, column=column, text=text
        )
    return value
