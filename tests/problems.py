"""Asks an error for its id and its values, not for its words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from iowhy.errors import Problem


@contextmanager
def wrong(id_: str, /, **values: object) -> Iterator[pytest.ExceptionInfo[Problem]]:
    """As `pytest.raises`: a Problem of that id, with these among its values, as they are printed."""
    with pytest.raises(Problem) as found:
        yield found
    asks(found.value, id_, **values)


def asks(problem: object, id_: str, /, **values: object) -> None:
    """Of an error that was caught elsewhere: by `invoke`, or by a page."""
    assert isinstance(problem, Problem), problem
    said = problem.sentence
    found = {name: said.values.get(name) for name in values}
    assert said.id == id_
    assert {name: value for name, value in values.items() if not _same(found[name], value)} == {}, (
        found
    )


def _same(found: object, wanted: object) -> bool:
    return found == wanted or str(found) == str(wanted)
