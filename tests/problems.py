"""Asks an error for its id and its values, not for its words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from iowhy.errors import Problem


@contextmanager
def wrong(id_: str, **values: object) -> Iterator[pytest.ExceptionInfo[Problem]]:
    """As `pytest.raises`: a Problem of that id, with these values among its own."""
    with pytest.raises(Problem) as found:
        yield found
    said = found.value.sentence
    assert (said.id, {name: said.values.get(name) for name in values}) == (id_, values)
