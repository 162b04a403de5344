"""One module per lever; see iowhy.experiments.lever for what each provides."""

import difflib
from collections.abc import Mapping
from functools import cache

from iowhy.errors import Problem
from iowhy.experiments.lever import Lever
from iowhy.package_files import modules_of


@cache
def levers() -> Mapping[str, Lever]:
    """Every lever by its name."""
    return {module.LEVER.name: module.LEVER for module in modules_of(__name__)}


def named(text: str) -> tuple[Lever, tuple[str, ...]]:
    """A lever as the command line names it: ``NAME`` or ``NAME=LEVEL,LEVEL``."""
    name, _, asked = text.partition("=")
    if name not in levers():
        near = difflib.get_close_matches(name, levers(), 1)
        hint = f"; did you mean {near[0]}?" if near else f": choose from {', '.join(levers())}"
        raise Problem("lever-unknown", name=name, hint=hint)
    return levers()[name], tuple(part for part in asked.split(",") if part)
