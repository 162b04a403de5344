"""Expectations and the measures that there are, for people and for scripts."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from iowhy.expect import Outcome
from iowhy.measures import Measure
from iowhy.messages import say
from iowhy.views.terminal import Field, paragraph, print_rows

if TYPE_CHECKING:  # slow to import
    from rich.console import Console


def show(outcomes: Sequence[Outcome], *, partly: bool = False) -> None:
    """A line on stderr for each that was broken or is not known; one where all were kept.

    `partly`: they are not all that a project may have meant for its commands, which another line has said.
    """
    bad = [one for one in outcomes if not one.held]
    for one in bad:
        say(one.sentence)
    if outcomes and not bad:
        number = len(outcomes)
        if partly:
            other = (
                "the other expectation holds"
                if number == 1
                else f"the other {number} expectations hold"
            )
            say(other)
        else:
            say("what was expected holds" if number == 1 else f"all {number} expectations hold")


def as_json(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """Each with what was found; null is unknown."""
    return [
        {
            "expectation": one.expectation.text,
            "held": one.held,
            "value": one.value,
            "bound": one.expectation.bound,
            "unit": one.expectation.unit,
            "why": one.why,
            "file": one.file.name if one.file else None,
            "of_file": one.file.value if one.file else None,
            "call": one.call.name if one.call else None,
            "of_call": one.call.value if one.call else None,
        }
        for one in outcomes
    ]


_UNITS = {"count": "N", "ns": "TIME", "bytes": "SIZE", "share": "N %"}


def show_measures(measures: Iterable[Measure], out: "Console") -> None:
    """The names that an expectation may have."""
    table = [(one.name, _UNITS[one.unit], one.title) for one in measures]
    table.append(
        ("cause NAME", "N %", "share of the time that a cause has; 0 % where it was not found")
    )
    fields = [Field(head, str, left=True) for head in ("name", "unit", "what it is")]
    print_rows(out, fields, table)
    paragraph(out, "as in: --expect 'sync_calls <= 10'; also <, >, >= and ==", "dim")
