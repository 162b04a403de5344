"""Links of a chain of whys, and the words for their numbers.

One place builds links, so that every statement shows its number the same way and carries the bare
value next to it for programs.
"""

from iowhy.sentences import Sentence, changed, named
from iowhy.units import count, duration, percent, plural, rate, size
from iowhy.whys.finding import Link

__all__ = ["chain_of", "count", "duration", "link", "percent", "plural", "rate", "size"]


def link(
    statement: str, value: float | None, unit: str, report: str, id_: str | None = None
) -> Link:
    """One link: a statement in words, its bare number and unit, the report that holds the rows; `id_` names one that has no id."""
    if id_ is not None or not isinstance(statement, Sentence):
        statement = named(id_ or "", statement, value=value)
    return Link(statement, None if value is None else float(value), unit, report)


def chain_of(*links: Link | None) -> tuple[Link, ...]:
    """The links that could be measured, in order."""
    return tuple(one for one in links if one is not None)


def capital(text: str) -> str:
    """A sentence's begin; names further on keep their letters."""
    return changed(text, text[:1].upper() + text[1:])
