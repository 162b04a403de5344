"""What other tools' texts state: facts that are worth saying where no cause explains the time. One module each, found by being there.

A module has `state(facts)`, which gives statements. The gravest is the first sentence of a verdict without a leading cause.
"""

from collections.abc import Iterator
from functools import cache
from types import ModuleType

from msgspec import Struct

from iowhy.package_files import modules_of
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Link

#: From it on, a statement is that something is wrong: such a text is of no healthy machine.
WRONG = 0.6
#: From it on, a statement says more than that no single cause explains the time.
TELLING = 0.5


class Statement(Struct, frozen=True):
    """`grave` (0..1): 1 is a device that is gone, `WRONG` something that a healthy machine does not show, 0 that all is well."""

    grave: float
    link: Link


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
