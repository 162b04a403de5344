"""The page of an experiment: the answer, response curves with intervals, what was measured, what limits it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iowhy import units
from iowhy.experiments.condition import BASELINE
from iowhy.experiments.lever_answer import Answer
from iowhy.experiments.saved import Measured, Saved
from iowhy.experiments.sentence import with_interval
from iowhy.invocation import joined
from iowhy.views import experiment_page
from iowhy.views.html.markup import Markup, Say, element
from iowhy.views.html.tables_html import table
from iowhy.views.html.whole_page import whole_page
from iowhy.views.terminal import Field


def experiment_html(saved: Saved, name: str, say: Say = lambda text: text) -> str:
    """The whole file."""
    drawn = any(one.responses for one in saved.answers)
    body = [
        element(
            "header",
            element("p", element("b", "iowhy experiment"), f" · {say(name)}", class_="name"),
            element("h1", say(saved.sentence), id="answer", tabindex=-1),
            element("p", element("code", say(_typed(saved.command)))) if saved.command else "",
        ),
        Markup("<main>"),
        _answers(saved, say),
        _figure() if drawn else "",
        _responses(saved.answers),
        _measured(saved),
        _limits(experiment_page.limits(saved.circumstances), say),
        Markup("</main>"),
    ]
    return whole_page(
        f"{say(name)}: what is it bound by?", body, _data(saved.answers) if drawn else None
    )


def _typed(command: Sequence[str]) -> str:
    """A command of one word was given to the shell as it is."""
    return command[0] if len(command) == 1 else joined(command)


def _answers(saved: Saved, say: Say) -> Markup:
    items = [
        element("li", element("b", one.lever), f": {say(experiment_page.verdict_text(one))}")
        for one in saved.answers
    ]
    judged = [element("li", say(experiment_page.finding_text(one))) for one in saved.findings]
    return element(
        "section",
        element("h2", "What it answers to"),
        element("ul", *items),
        element("ul", *judged) if judged else "",
        id="answers",
    )


def _figure() -> Markup:
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", "Response curves"),
            element("p", "How many times slower is the command at each level?", class_="question"),
        ),
        element("div", "", class_="drawing", data_chart="responses"),
        element("p", "Bars are intervals of 95 %; at 1 nothing changes.", class_="hint"),
        id="chart-responses",
        class_="chart response",
    )


def _responses(answers: Sequence[Answer]) -> Markup:
    rows = [
        [
            one.lever,
            r.label,
            "" if r.factor is None else units.percent(r.factor),
            with_interval(r.slower),
        ]
        for one in answers
        for r in one.responses
    ]
    fields = [
        Field("lever", str, left=True),
        Field("level", str, left=True),
        Field("left of the resource", str),
        Field("times slower", str),
    ]
    if not rows:
        return Markup("")
    return element("section", element("h2", "Levels"), table(fields, rows), id="levels")


def _measured(saved: Saved) -> Markup:
    first = sorted(saved.measured, key=lambda one: one.lever != BASELINE.name)
    rows = [_row(one, saved.unit) for one in first]
    fields = [
        Field("lever", str, left=True),
        Field("level", str, left=True),
        Field("runs", str),
        Field(f"{saved.measure}, geometric mean", str),
        Field("least", str),
        Field("most", str),
        Field("CPU", str),
        Field("disk, by all", str),
    ]
    if not rows:
        return Markup("")
    return element("section", element("h2", "Measured"), table(fields, rows), id="measured")


def _row(one: Measured, unit: str) -> list[object]:
    known = [value for value in one.values if value > 0]
    middle = math.exp(sum(map(math.log, known)) / len(known)) if known else 0.0
    ends = (min(one.values), max(one.values))
    return [
        one.lever,
        one.level,
        len(one.values),
        *(experiment_page.measure(value, unit) for value in (middle, *ends)),
        "" if one.cpu_s is None else units.duration(one.cpu_s * 1e9),
        "" if one.device_bytes is None else units.size(one.device_bytes),
    ]


def _limits(limits: Sequence[str], say: Say) -> Markup:
    if not limits:
        return Markup("")
    items = (element("li", say(text)) for text in limits)
    return element("section", element("h2", "To judge it by"), element("ul", *items), id="limits")


def _data(answers: Sequence[Answer]) -> dict[str, Any]:
    levels = [
        {
            "lever": one.lever,
            "level": r.label,
            "factor": r.factor,
            "value": r.slower.value,
            "low": r.slower.low if r.slower.known else None,
            "high": r.slower.high if r.slower.known and math.isfinite(r.slower.high) else None,
        }
        for one in answers
        for r in one.responses
    ]
    chart = {"name": "responses", "title": "Response curves", "draws": "response", "rows": 0}
    return {
        "elapsed_s": None,
        "classes": [],
        "findings": [],
        "charts": [chart | {"columns": {}, "levels": levels}],
    }


def name_of(path: Path) -> str:
    """What a result is called: by its file, or by the recording that it is in."""
    if path.parent.name == "experiments":
        return f"{path.parent.parent.name.removesuffix('.iowhy')}-{path.stem}"
    return path.stem
