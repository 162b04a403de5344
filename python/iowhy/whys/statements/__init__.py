"""What other tools' texts state: facts that are worth saying where no cause explains the time. One module each, found by being there.

A module has `state(facts)`, which gives statements. The gravest is the first sentence of a verdict without a leading cause.
"""

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from iowhy.package_files import modules_of
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import Statement


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(modules_of(__name__))


def _all(facts: Facts) -> Iterator[Statement]:
    for module in _modules():
        yield from module.state(facts)


def statements(facts: Facts) -> tuple[Statement, ...]:
    """All that the texts state, the gravest first; none of a recording that iowhy made."""
    if not facts.run.pasted:
        return ()
    return tuple(sorted(_all(facts), key=lambda one: -one.grave))
